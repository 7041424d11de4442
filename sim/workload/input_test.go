package workload

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// inMemory is a source of records that are held in memory.
type inMemory struct{ records []trace.Record }

func (l *inMemory) Kinds() []cluster.Kind { return []cluster.Kind{{Name: "cpu", PerUnit: 1}} }
func (l *inMemory) Close() error          { return nil }
func (l *inMemory) Next(r *trace.Record) error {
	if len(l.records) == 0 {
		return io.EOF
	}
	*r, l.records = l.records[0], l.records[1:]
	return nil
}

func joins(nodes int) []trace.Record {
	var records []trace.Record
	for i := range nodes {
		records = append(records, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(i*7 + 3), Capacity: cluster.Vector{1}}})
	}
	return records
}

func submits(job uint64, index uint32, work cluster.Time) trace.Record {
	return trace.Record{What: trace.TaskSubmitted, Task: trace.Task{Job: job, Index: index, Demand: cluster.Vector{1}, Work: work}}
}

// withInput returns the racks of nodes and the inputs of tasks, in order.
func withInput(t interface{ Fatal(...any) }, d Data, records []trace.Record) (racks map[uint64]string, inputs [][]trace.Block) {
	src, err := WithData(&inMemory{records}, d)
	if err != nil {
		t.Fatal(err)
	}
	racks = map[uint64]string{}
	var r trace.Record
	for err = src.Next(&r); err == nil; err = src.Next(&r) {
		switch r.What {
		case trace.NodeAdded, trace.NodeChanged:
			racks[r.Node.ID] = ""
			for _, g := range r.Node.Groups {
				if g.Key == "rack" {
					racks[r.Node.ID] = g.Value
				}
			}
		case trace.TaskSubmitted:
			var input []trace.Block
			for _, b := range r.Task.Input {
				input = append(input, trace.Block{Bytes: b.Bytes, Replicas: slices.Clone(b.Replicas)})
			}
			inputs = append(inputs, input)
		default: // has neither
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return racks, inputs
}

// Whatever the cluster: each block's replicas are on different nodes, but for bounded as many as
// are asked for and there, of whole blocks; those of HDFS are on one node for
// all blocks, and otherwise in one other rack, if that has room for them.
func TestReplicas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := DefaultData()
		d.Layout = rapid.SampledFrom(Layouts()).Draw(t, "layout")
		d.Rack, d.Replicas = rapid.IntRange(1, 5).Draw(t, "rack"), rapid.IntRange(1, 3).Draw(t, "replicas")
		d.Block = int64(rapid.SampledFrom([]int{1 << 20, 64 << 20, 65 << 20, 1 << 30}).Draw(t, "block"))
		d.Seed = rapid.Uint64().Draw(t, "seed")
		nodes := rapid.IntRange(1, 12).Draw(t, "nodes")
		work := cluster.Time(rapid.Int64Range(1, int64(3*cluster.Hour)).Draw(t, "work"))
		task := submits(rapid.Uint64().Draw(t, "job"), 0, work)
		task.Task.JobTasks = rapid.Uint32Range(0, 4).Draw(t, "tasks")
		records := append(joins(nodes), task)
		racks, inputs := withInput(t, d, records)
		count := map[string]int{}
		for _, rack := range racks {
			count[rack]++
		}
		size := int64(0)
		for _, b := range inputs[0] {
			size += b.Bytes
			if fewer := d.Layout == Bounded && len(b.Replicas) > 0; b.Bytes != d.Block || len(b.Replicas) > min(d.Replicas, nodes) || len(b.Replicas) < min(d.Replicas, nodes) && !fewer {
				t.Fatalf("block %+v, want %d bytes on %d of %d nodes", b, d.Block, d.Replicas, nodes)
			}
			if different := slices.Compact(slices.Sorted(slices.Values(b.Replicas))); len(different) != len(b.Replicas) {
				t.Fatalf("block %+v is twice on one node", b)
			}
			if d.Layout == HDFS {
				checkHDFS(t, b.Replicas, inputs[0][0].Replicas[0], racks, count)
			}
		}
		if size < inputPart || size > mostParts*inputPart+d.Block {
			t.Fatalf("input of %d bytes", size)
		}
	})
}

func checkHDFS(t *rapid.T, replicas []uint64, writer uint64, racks map[uint64]string, count map[string]int) {
	own := racks[writer]
	if replicas[0] != writer {
		t.Fatalf("block on %v, the writer is %d", replicas, writer)
	}
	if len(replicas) == 1 || len(count) == 1 {
		return
	}
	second := racks[replicas[1]]
	if second == own {
		t.Fatalf("the second replica is in the writer's rack %s of %v", own, count)
	}
	if len(replicas) == 3 && count[second] > 1 && racks[replicas[2]] != second {
		t.Fatalf("the third replica is in rack %s, the second in %s, which has %d nodes", racks[replicas[2]], second, count[second])
	}
}

// The sizes of inputs are distributed as was published: half are one part, and
// the share of inputs of at most x parts grows with the logarithm of x.
func TestInputSizes(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	s := &withData{works: inputWorks()}
	const draws = 200_000
	atMost := map[int]float64{}
	points := []int{1, 2, 4, 10, 32, 100, 200, 319}
	for range draws {
		// A job lasts longer than h hours with chance 0.298 h^-0.2627.
		hours := math.Pow(chance.Float64()/0.298, -1/0.2627)
		work := cluster.Never - 1
		if us := hours * float64(cluster.Hour); us < float64(work) {
			work = cluster.Time(us)
		}
		parts := int(s.bytesOf(work) / inputPart)
		for _, x := range points {
			if parts <= x {
				atMost[x] += 1.0 / draws
			}
		}
	}
	for _, x := range points {
		want := 0.5 + 0.5*math.Log2(float64(x)+0.5)/math.Log2(mostParts) // rounded: up to half a part more
		if got := atMost[x]; math.Abs(got-want) > 0.005 {
			t.Errorf("%.4f of inputs have at most %d parts, published %.4f", got, x, want)
		}
	}
	for _, c := range []struct {
		work cluster.Time
		want int64
	}{{1, 1}, {8 * cluster.Minute, 1}, {cluster.Hour, 10}, {cluster.Day, 72}, {30 * cluster.Day, 174}} {
		if got := s.bytesOf(c.work) / inputPart; got != c.want {
			t.Errorf("a task of %v reads %d parts, want %d", c.work, got, c.want)
		}
	}
}

// A task's input does not depend on which tasks came before it, and differs from
// task to task and from seed to seed.
func TestInputIsTheTasksOwn(t *testing.T) {
	const work = 2 * cluster.Hour
	for _, layout := range Layouts() {
		d := DefaultData()
		d.Layout = layout
		_, alone := withInput(t, d, append(joins(200), submits(5, 3, work)))
		_, among := withInput(t, d, append(joins(200), submits(4, 3, work), submits(5, 2, 1), submits(5, 3, work), submits(3, 5, work)))
		if !reflect.DeepEqual(alone[0], among[2]) {
			t.Errorf("%s: alone %v, among others %v", layout, alone[0], among[2])
		}
		d.Seed++
		_, other := withInput(t, d, append(joins(200), submits(5, 3, work)))
		for i, input := range [][]trace.Block{among[0], among[3], other[0]} {
			if reflect.DeepEqual(alone[0], input) {
				t.Errorf("%s: input %d is that of another task", layout, i)
			}
		}
	}
}

// A job's inputs are on as many nodes as its tasks have replicas of a block, at
// most and about, and each of those holds its part.
func TestBoundedPool(t *testing.T) {
	const nodes, tasks, jobs = 2000, 20, 30
	d := DefaultData()
	d.Layout = Bounded
	pools := 0.0
	for job := range uint64(jobs) {
		records := joins(nodes)
		for i := range uint32(tasks) {
			task := submits(job, i, cluster.Day)
			task.Task.JobTasks = tasks
			records = append(records, task)
		}
		_, inputs := withInput(t, d, records)
		held, all := map[uint64]float64{}, 0.0
		for _, input := range inputs {
			for _, b := range input {
				for _, n := range b.Replicas {
					held[n]++
					all++
				}
			}
		}
		if len(held) > tasks*3 {
			t.Errorf("job %d is on %d nodes, want at most %d", job, len(held), tasks*3)
		}
		for n, blocks := range held {
			if part := blocks / all * tasks * 3; part < 0.3 { // those drawn twice hold twice as much
				t.Errorf("node %d holds %.2f of the part of one", n, part)
			}
		}
		pools += float64(len(held)) / jobs
	}
	if want := nodes * (1 - math.Pow(1-1.0/nodes, tasks*3)); math.Abs(pools-want) > 1 {
		t.Errorf("jobs are on %.1f nodes, want %.1f", pools, want)
	}
}

// What the source says itself stands; a task that never ends reads nothing, and
// neither does one before there are nodes. A node keeps its rack.
func TestInputLeavesAlone(t *testing.T) {
	d := DefaultData()
	d.Rack = 2
	mine := submits(1, 1, cluster.Hour)
	mine.Task.Input = []trace.Block{{Bytes: 5, Replicas: []uint64{3}}}
	records := append([]trace.Record{submits(1, 0, cluster.Hour)}, joins(5)...)
	records[2].Node.Groups = []cluster.Label{{Key: "rack", Value: "mine"}}
	records[3].Node.Groups = []cluster.Label{{Key: "zone", Value: "z"}}
	changed := records[3]
	changed.What = trace.NodeChanged
	racks, inputs := withInput(t, d, append(records, changed, mine, submits(1, 2, cluster.Never)))
	want := map[uint64]string{3: "r0", 10: "mine", 17: "r0", 24: "r1", 31: "r1"}
	if !reflect.DeepEqual(racks, want) {
		t.Errorf("racks %v, want %v", racks, want)
	}
	if inputs[0] != nil || !reflect.DeepEqual(inputs[1], mine.Task.Input) || inputs[2] != nil {
		t.Errorf("inputs %v", inputs)
	}
}

// Skewed and uniform layouts hold what they promise: by the power law, and alike.
func TestLayouts(t *testing.T) {
	const nodes, tasks = 50, 20_000
	records := joins(nodes)
	for i := range tasks {
		records = append(records, submits(uint64(i), 0, 1))
	}
	d := DefaultData()
	d.Replicas = 1
	for _, layout := range Layouts() {
		d.Layout = layout
		_, inputs := withInput(t, d, records)
		held := make([]float64, nodes)
		for _, input := range inputs {
			held[(input[0].Replicas[0]-3)/7] += 1.0 / tasks
		}
		for i, got := range held {
			want := 1.0 / nodes
			if layout == Skewed {
				behind := func(k int) float64 { return math.Pow(float64(k+1), -d.Skew) }
				want = (behind(i) - behind(i+1)) / (1 - behind(nodes))
			}
			if math.Abs(got-want) > 5*math.Sqrt(want/tasks) {
				t.Errorf("%s: node %d holds %.4f of all, want %.4f", layout, i, got, want)
			}
		}
	}
}

func TestDataValidate(t *testing.T) {
	for want, change := range map[string]func(*Data){
		`Layout = "ceph", want one of [hdfs bounded uniform skewed]`: func(d *Data) { d.Layout = "ceph" },
		"Rack = 0, want 1 to 1000000":                                func(d *Data) { d.Rack = 0 },
		"Replicas = 4, want 1 to 3":                                  func(d *Data) { d.Replicas = 4 },
		"Block = 1024, want 1048576 to 1099511627776 bytes":          func(d *Data) { d.Block = 1024 },
		"Skew = NaN, want 0.01 to 3":                                 func(d *Data) { d.Skew = math.NaN() },
	} {
		d := DefaultData()
		change(&d)
		if _, err := WithData(&inMemory{}, d); err == nil || err.Error() != "workload: "+want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Making input up costs no memory once there were tasks of the size.
func TestInputCostsNoMemory(t *testing.T) {
	l := &inMemory{joins(500)}
	src, err := WithData(l, DefaultData())
	if err != nil {
		t.Fatal(err)
	}
	var r trace.Record
	for range 500 {
		if err := src.Next(&r); err != nil {
			t.Fatal(err)
		}
	}
	tasks := []trace.Record{submits(1, 0, cluster.Day), submits(1, 1, cluster.Hour)}
	per := testing.AllocsPerRun(100, func() {
		l.records = tasks
		for range tasks {
			if err := src.Next(&r); err != nil {
				t.Fatal(err)
			}
		}
	})
	if per > 0 {
		t.Errorf("%v allocations for two tasks", per)
	}
}

// One input of each layout, as it is: what a seed means does not change.
func TestInputGolden(t *testing.T) {
	var b strings.Builder
	for _, layout := range Layouts() {
		d := DefaultData()
		d.Layout, d.Rack, d.Block = layout, 4, 512<<20
		task := submits(5, 3, 2*cluster.Hour)
		task.Task.JobTasks = 1
		_, inputs := withInput(t, d, append(joins(20), task))
		fmt.Fprintln(&b, layout, inputs[0])
	}
	const want = `hdfs [{536870912 [17 101 108]} {536870912 [17 80 66]} {536870912 [17 136 115]}]
bounded [{536870912 [94 31]} {536870912 [94]} {536870912 [80 94 31]}]
uniform [{536870912 [129 101 3]} {536870912 [129 122 115]} {536870912 [80 136 24]}]
skewed [{536870912 [45 17 3]} {536870912 [45 38 24]} {536870912 [10 73 3]}]
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
