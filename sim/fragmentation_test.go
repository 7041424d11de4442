package sim

import (
	"fmt"
	"math"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// gpuStory is a cluster of nodes with up to three GPUs of two models and up to two
// network cards, and tasks that share one or have whole ones.
func gpuStory(nodes, tasks int) *list {
	l := &list{kinds: []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1}, {Name: "gpu", PerUnit: 10, Devices: true}, {Name: "nic", PerUnit: 4, Devices: true}}}
	for i := range nodes {
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{
			ID: uint64(i), Capacity: cluster.Vector{4, int64(i%4) * 10, int64(i%3) * 4}, Labels: []cluster.Label{{Key: "model", Value: string(rune('a' + i%2))}},
		}})
	}
	shares := []int64{0, 3, 5, 10, 20, 3, 3}
	for i := range tasks {
		task := trace.Task{Job: uint64(i), JobTasks: 1, Priority: int32(i % 11), Demand: cluster.Vector{1, shares[i%len(shares)], int64(i % 4 / 2)}, Work: 10 * cluster.Second}
		if i%5 == 0 {
			task.Requirements = []cluster.Requirement{{Key: "model", Op: cluster.Equal, Value: "a"}}
		}
		l.records = append(l.records, trace.Record{Time: cluster.Time(i) * cluster.Second, What: trace.TaskSubmitted, Task: task})
	}
	return l
}

// Whatever goes wrong, the sums over the nodes that changed are those over all
// nodes, whether the typical tasks are given or learned.
func TestFragmentationFromScratch(t *testing.T) {
	faults := Hostile()
	faults.NodeLoss, faults.Foreign = 10*cluster.Minute, 20*cluster.Second
	given := []fragmentation.Typical{
		{Demand: cluster.Vector{1, 3, 1}, Tasks: 3},
		{Demand: cluster.Vector{2, 0, 4}, Tasks: 1},
		{Demand: cluster.Vector{1, 20, 0}, Tasks: 1, Requirements: []cluster.Requirement{{Key: "model", Op: cluster.Equal, Value: "b"}}},
	}
	for seed := range uint64(6) {
		for name, typical := range map[string][]fragmentation.Typical{"given": given, "learned": nil} {
			t.Run(fmt.Sprintf("%s/seed=%d", name, seed), func(t *testing.T) {
				s, err := newSimulation(Config{
					Source: gpuStory(8, 600), Lanes: lane(t, "priority"), Typical: typical,
					World: World{Seed: seed, Faults: faults}, Until: cluster.Hour,
				})
				if err != nil {
					t.Fatal(err)
				}
				looks, different := 0, [2]map[float64]bool{{}, {}}
				s.measures.overTime.gauge("check", func() float64 {
					for kind := range different {
						got, want := s.measures.waste.share(s.planner.view(), kind), scratch(s, kind)
						if math.Abs(got-want) > 1e-6 {
							t.Errorf("at %v, kind %d: %g, measured from scratch %g", s.kernel.now, kind, got, want)
						}
						different[kind][got] = true
					}
					looks++
					return 0
				})
				if err := s.play(); err != nil {
					t.Fatal(err)
				}
				if looks < 100 || len(different[0]) < 20 || len(different[1]) < 20 {
					t.Errorf("%d looks saw %d and %d different values: too few to tell", looks, len(different[0]), len(different[1]))
				}
				if learned := s.measures.waste.mix.Tasks(); typical == nil && (learned > 600 || learned < 200) {
					t.Errorf("the mix is of %d tasks, of 600 that were submitted", learned)
				}
				var r report.Run
				s.measures.result(s.planner.view(), s.kernel.now, &r)
				for _, kind := range []string{"gpu", "nic"} {
					if final := r.Series.Columns["fragmentation."+kind]; len(final) == 0 {
						t.Errorf("the series have no fragmentation of %s", kind)
					}
				}
			})
		}
	}
}

// A task that runs at the start is submitted and found at once, and counts once.
func TestFragmentationOfWhatRuns(t *testing.T) {
	for _, running := range []bool{false, true} {
		l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "gpu", PerUnit: 10, Devices: true}}}
		for i := range uint64(3) {
			l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: i, Capacity: cluster.Vector{4, 10}}})
		}
		for i := range uint64(4) {
			l.records = append(l.records, trace.Record{What: trace.TaskSubmitted, Task: trace.Task{
				Job: i, Demand: cluster.Vector{1, int64(i%2) * 10}, Work: cluster.Never, Running: running && i < 2, OnNode: i,
			}})
		}
		r, err := Run(Config{Source: l, Lanes: lane(t, "first-fit"), Until: cluster.Hour})
		if err != nil {
			t.Fatal(err)
		}
		// One GPU is free, of use to the half of the tasks that want one.
		if got := r.Fragmentation["gpu"].Final; got != 0.5 {
			t.Errorf("running %v: %v of the free GPU is a fragment, want a half", running, got)
		}
	}
}

// Devices that hold too much are told, also where the sum of the node does not.
func TestOverfullDevices(t *testing.T) {
	gpus := []cluster.Kind{{Name: "gpu", PerUnit: 10, Devices: true}}
	node := func(at cluster.Time, what trace.What, capacity int64) trace.Record {
		return trace.Record{Time: at, What: what, Node: trace.Node{ID: 1, Name: "n1", Capacity: cluster.Vector{capacity}}}
	}
	task := func(job uint64, ask int64, work cluster.Time, running bool) trace.Record {
		return trace.Record{What: trace.TaskSubmitted, Task: trace.Task{Job: job, Demand: cluster.Vector{ask}, Work: work, Running: running, OnNode: 1}}
	}
	for _, tc := range []struct {
		records []trace.Record
		want    string
	}{
		{
			[]trace.Record{node(0, trace.NodeAdded, 20), task(1, 6, cluster.Never, true), task(2, 6, cluster.Never, true), task(3, 6, cluster.Never, true)},
			"node n1 holds 1.2 of gpu on device 0, over its limit of 1",
		},
		{
			[]trace.Record{node(0, trace.NodeAdded, 20), task(1, 10, cluster.Second, false), task(2, 10, cluster.Never, false), node(5*cluster.Second, trace.NodeChanged, 10)},
			"node n1 holds 1 of gpu on device 1, which it has lost",
		},
	} {
		r, err := Run(Config{Source: &list{kinds: gpus, records: tc.records}, Lanes: lane(t, "kube"), Until: cluster.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Examples[report.Overfull]; r.NodesOverfull != 1 || got != tc.want {
			t.Errorf("%d nodes are overfull, %q; want one, %q", r.NodesOverfull, got, tc.want)
		}
	}
}

// scratch measures a kind on every node.
func scratch(s *simulation, kind int) float64 {
	state, mix := s.planner.view(), s.measures.waste.mix
	waste, free := 0.0, 0.0
	for i := range state.NodeRows() {
		n := cluster.NodeID(i)
		if !state.NodeLive(n) {
			continue
		}
		var left fragmentation.Left
		mix.Left(state, n, &left)
		for at, d := range state.Devices(n) {
			if state.DeviceKinds()[kind].Places().Has(at) {
				free += float64(max(d.Limit-d.Used, 0))
			}
		}
		waste += float64(mix.Waste(mix.Admits(state, n, nil), &left)[kind])
	}
	if free == 0 {
		return 0
	}
	return waste / free / float64(mix.Tasks())
}
