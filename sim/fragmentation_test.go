package sim

import (
	"fmt"
	"math"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// gpuStory is a cluster of nodes with up to three GPUs of two models, and tasks
// that share one or have whole ones.
func gpuStory(nodes, tasks int) *list {
	l := &list{kinds: []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1}, {Name: "gpu", PerUnit: 10, Devices: true}}}
	for i := range nodes {
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{
			ID: uint64(i), Capacity: cluster.Vector{4, int64(i%4) * 10}, Labels: []cluster.Label{{Key: "model", Value: string(rune('a' + i%2))}},
		}})
	}
	shares := []int64{0, 3, 5, 10, 20, 3, 3}
	for i := range tasks {
		task := trace.Task{Job: uint64(i), JobTasks: 1, Priority: int32(i % 11), Demand: cluster.Vector{1, shares[i%len(shares)]}, Work: 10 * cluster.Second}
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
	given := []cluster.Typical{
		{Demand: cluster.Vector{1, 3}, Tasks: 3},
		{Demand: cluster.Vector{2, 0}, Tasks: 1},
		{Demand: cluster.Vector{1, 20}, Tasks: 1, Requirements: []cluster.Requirement{{Key: "model", Op: cluster.Equal, Value: "b"}}},
	}
	for seed := range uint64(6) {
		for name, typical := range map[string][]cluster.Typical{"given": given, "learned": nil} {
			t.Run(fmt.Sprintf("%s/seed=%d", name, seed), func(t *testing.T) {
				s, err := newSimulation(Config{
					Source: gpuStory(8, 600), Lanes: lane(t, "priority"), Typical: typical,
					World: World{Seed: seed, Faults: faults}, Until: cluster.Hour,
				})
				if err != nil {
					t.Fatal(err)
				}
				looks, different := 0, map[float64]bool{}
				s.series.gauge("check", func() float64 {
					got, want := s.waste.share(s.core.State()), scratch(s)
					if math.Abs(got-want) > 1e-6 {
						t.Errorf("at %v: %g, measured from scratch %g", s.now, got, want)
					}
					looks++
					different[got] = true
					return 0
				})
				if err := s.play(); err != nil {
					t.Fatal(err)
				}
				if looks < 100 || len(different) < 20 {
					t.Errorf("%d looks saw %d different values: too few to tell", looks, len(different))
				}
				if final := s.overTime().Columns["fragmentation.gpu"]; len(final) == 0 {
					t.Error("the series have no fragmentation")
				}
			})
		}
	}
}

// scratch measures every node.
func scratch(s *simulation) float64 {
	state, mix := s.core.State(), s.waste.mix
	waste, free := 0.0, 0.0
	for i := range state.NodeRows() {
		n := cluster.NodeID(i)
		if !state.NodeLive(n) {
			continue
		}
		var left []int64
		for _, d := range state.Devices(n) {
			left = append(left, max(state.DeviceLimit(n)-d.Used, 0))
			free += float64(left[len(left)-1])
		}
		waste += float64(mix.Waste(mix.Admits(state, n, nil), mix.FreeCPU(state, n), left))
	}
	if free == 0 {
		return 0
	}
	return waste / free / float64(mix.Tasks())
}
