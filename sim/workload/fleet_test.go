package workload

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// TestPeak sums up, at each moment at which something comes, who is there.
func TestPeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records, until := drawTasks(t), 30*cluster.Minute
		want := make(cluster.Vector, 2)
		for _, r := range records {
			if r.What != trace.TaskSubmitted || r.Time > until {
				continue
			}
			there := make(cluster.Vector, 2)
			for i, o := range records {
				comes := o.What == trace.TaskSubmitted && o.Time <= r.Time
				// What takes no time is there when it comes, and not with what comes later.
				stays := o.Task.Work > r.Time-o.Time || o.Task.Job == r.Task.Job
				later := o.Time == r.Time && o.Task.Job > r.Task.Job
				if comes && stays && !later {
					there[0], there[1] = there[0]+records[i].Task.Demand[0], there[1]+records[i].Task.Demand[1]
				}
			}
			want[0], want[1] = max(want[0], there[0]), max(want[1], there[1])
		}
		got, err := Peak(&records, until)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("peak %v, want %v (%v)", got, want, err)
		}
	})
}

// TestFleet wants of every fleet: it has what is needed of the kind of which that is most,
// and would not without its last host; a part is the first hosts of any larger part, and
// is no larger than it must be, either.
func TestFleet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := drawTasks(t)
		kinds := records.Kinds()
		nodes, err := Nodes(&records)
		if err != nil || len(nodes) != 2 {
			t.Fatalf("%d nodes, want 2 (%v)", len(nodes), err)
		}
		peak := cluster.Vector{int64(rapid.IntRange(0, 100_000).Draw(t, "cpu")), int64(rapid.IntRange(0, 1000).Draw(t, "memory"))}
		seed := rapid.Uint64().Draw(t, "seed")
		f, err := NewFleet(nodes, kinds, peak, seed)
		if err != nil {
			t.Fatal(err)
		}
		if dominant := peak[1]*100 > peak[0]; dominant != (f.Kind == 1) || f.Need != peak[f.Kind] {
			t.Fatalf("of %v it needs %d of kind %d", peak, f.Need, f.Kind)
		}
		has := func(hosts []trace.Node) (sum int64) {
			for _, h := range hosts {
				sum += h.Capacity[f.Kind]
			}
			return sum
		}
		var last []trace.Node
		for _, percent := range []int64{0, 50, 80, 90, 100} {
			part := f.Part(float64(percent) / 100)
			need := f.Need * percent / 100
			if has(part) < need || len(part) > 0 && has(part[:len(part)-1]) >= need {
				t.Fatalf("%d %% are %d hosts with %d, need %d", percent, len(part), has(part), need)
			}
			for i, h := range part {
				if h.ID != uint64(i+1) || i < len(last) && !slices.Equal(h.Capacity, last[i].Capacity) {
					t.Fatalf("host %d of %d %% is %v", i, percent, h)
				}
			}
			last = part
		}
		again, err := NewFleet(nodes, kinds, peak, seed)
		if err != nil || !slices.EqualFunc(again.Part(1), last, func(a, b trace.Node) bool { return slices.Equal(a.Capacity, b.Capacity) }) {
			t.Fatal("the same seed gave other hosts")
		}
	})
}

// TestFleetOfNothing refuses nodes that could never be enough.
func TestFleetOfNothing(t *testing.T) {
	kinds := new(taskRecords).Kinds()
	for _, nodes := range [][]trace.Node{nil, {{ID: 1, Capacity: cluster.Vector{1000, 0}}}} {
		if _, err := NewFleet(nodes, kinds, cluster.Vector{0, 5}, 1); err == nil || !strings.Contains(err.Error(), "memory") {
			t.Errorf("%d nodes: %v", len(nodes), err)
		}
	}
}

// TestHostMix draws hosts in the shares of Google's cluster: half of cpu and memory 53 %
// of them, half and a quarter 31 %, half and three quarters 8 %, the largest 6 to 7 %
// (specification §9).
func TestHostMix(t *testing.T) {
	g := Default()
	g.Nodes = 12_500
	src, err := New(g)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := Nodes(src)
	if err != nil || len(nodes) != g.Nodes {
		t.Fatalf("%d nodes (%v)", len(nodes), err)
	}
	f, err := NewFleet(nodes, src.Kinds(), vector(10_000, 0), 1)
	if err != nil {
		t.Fatal(err)
	}
	hosts, share := f.Part(1), map[[2]int64]float64{}
	for _, h := range hosts {
		quarters := func(v int64) int64 { return (v*4 + perUnit/2) / perUnit }
		share[[2]int64{quarters(h.Capacity[0]), quarters(h.Capacity[1])}] += 1 / float64(len(hosts))
	}
	for size, want := range map[[2]int64]float64{{2, 2}: 0.53, {2, 1}: 0.31, {2, 3}: 0.08, {4, 4}: 0.065} {
		if got := share[size]; got < want-0.015 || got > want+0.015 {
			t.Errorf("%v quarters: %.3f of %d hosts, published %.3f", size, got, len(hosts), want)
		}
	}
}

// TestOnNodes names the nodes that it is given, and none of the source's own.
func TestOnNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := drawTasks(t)
		tasks := 0
		for _, r := range records {
			if !r.What.OfNode() {
				tasks++
			}
		}
		src := &onNodes{Source: &records, nodes: []trace.Node{{ID: 7}, {ID: 8}, {ID: 9}}}
		var r trace.Record
		for i := 0; ; i++ {
			err := src.Next(&r)
			if errors.Is(err, io.EOF) {
				if i != tasks+3 {
					t.Fatalf("%d records, want %d tasks and 3 nodes", i, tasks)
				}
				return
			}
			if node := i < 3; err != nil || node != r.What.OfNode() || node && r.Node.ID != uint64(i+7) {
				t.Fatalf("record %d is %v (%v)", i, r, err)
			}
		}
	})
}
