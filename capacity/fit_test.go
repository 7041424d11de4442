package capacity_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/capacity"
	"fairlead.dev/fairlead/cluster"
)

// world is a small cluster by chance: nodes in two zones, one of three has GPUs, some tasks run on them, and task 0 waits.
type world struct {
	state *cluster.State
	nodes int
	task  cluster.Shape
}

func newWorld(t *testing.T, rng *rand.Rand) *world {
	t.Helper()
	w := &world{nodes: 1 + rng.IntN(4), state: cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "gpu", PerUnit: 10, Devices: true}}, nil)}
	apply := func(e cluster.Event) {
		t.Helper()
		if err := w.state.Apply(0, e); err != nil {
			t.Fatalf("%T: %v", e, err)
		}
	}
	var some []cluster.NodeID
	for n := range cluster.NodeID(w.nodes) {
		apply(cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{
			Name: fmt.Sprint("n", n), Capacity: cluster.Vector{int64(rng.IntN(6)), int64(rng.IntN(3) * 10)},
			Groups: []cluster.Label{{Key: "zone", Value: fmt.Sprint(rng.IntN(2))}},
		}})
		if rng.IntN(4) > 0 {
			some = append(some, n)
		}
	}
	apply(cluster.SetDefined{Set: 1, Nodes: some})
	w.task = cluster.Shape{Demand: cluster.Vector{int64(rng.IntN(3)), []int64{0, 0, 3, 5, 10, 20}[rng.IntN(6)]}, PerNode: int32(max(0, rng.IntN(6)-3)), Tags: []string{"web"}}
	if w.task.Demand[0] == 0 {
		w.task.PerNode = 2
	}
	if rng.IntN(2) == 0 {
		w.task.Eligible = 1
	}
	apply(cluster.ShapeDefined{Shape: 0, Spec: w.task})
	apply(cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{1, int64(rng.IntN(2) * 5)}, Tags: []string{"other"}}})
	for i, b := range []cluster.Bound{
		{Subject: []string{"web"}, Target: []string{"web"}, Max: int32(rng.IntN(3)), Group: "zone"},
		{Subject: []string{"web"}, Target: []string{"other"}, Max: 0, Group: cluster.EachNode},
		{Subject: []string{"web"}, Target: []string{"web"}, Max: 1, Group: cluster.EachNode, SelfCounted: true},
	} {
		if rng.IntN(3) == 0 {
			apply(cluster.ConstraintDefined{Constraint: cluster.ConstraintID(i), Spec: cluster.Constraint{Name: fmt.Sprint(i), Hard: true, Any: [][]cluster.Bound{{b}}}})
		}
	}
	apply(cluster.JobSubmitted{Job: 0, Name: "web"})
	apply(cluster.JobSubmitted{Job: 1, Name: "other"})
	apply(cluster.TaskSubmitted{Task: 0, Seq: 0, Job: 0, Shape: 0})
	for i := range cluster.TaskID(rng.IntN(3)) {
		apply(cluster.TaskSubmitted{Task: i + 1, Seq: cluster.Seq(i) + 1, Job: 1, Shape: 1})
		for n := range cluster.NodeID(w.nodes) {
			if !w.state.Place(i+1, n, 0).Refused() {
				break
			}
		}
	}
	return w
}

// most is for how many there is room, by trying everything: tasks are placed in any order on any nodes.
func most(t *testing.T, s *cluster.State, next cluster.TaskID, from cluster.NodeID) int {
	t.Helper()
	if err := s.Apply(0, cluster.TaskSubmitted{Task: next, Seq: cluster.Seq(next) + 100, Job: 0, Shape: 0}); err != nil {
		t.Fatal(err)
	}
	best := 0
	for n := range cluster.NodeID(s.NodeRows()) {
		if s.Admits(next, n).Refused() || n < from { // without constraints that want someone near, the order of nodes is free
			continue
		}
		own := cluster.NewState(s.Kinds(), s.Classes())
		own.CopyAll(&s.View)
		if own.Place(next, n, 0).Refused() {
			t.Fatal("admitted and refused")
		}
		best = max(best, 1+most(t, own, next+1, n))
	}
	return best
}

// TestCount holds the count and the bound against all ways to place tasks.
func TestCount(t *testing.T) {
	exact, constrained := 0, 0
	for seed := range uint64(600) {
		w := newWorld(t, rand.New(rand.NewPCG(seed, 1)))
		before := fmt.Sprint(w.state.Totals())
		f, err := capacity.NewCounter(&w.state.View).Count(0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if after := fmt.Sprint(w.state.Totals()); after != before {
			t.Fatalf("seed %d: the cluster has changed", seed)
		}
		want := most(t, w.state, cluster.TaskID(w.state.TaskRows()), 0)
		if f.Count > want || f.Bound < want {
			t.Errorf("seed %d: %d fit, at most %d; there is room for %d", seed, f.Count, f.Bound, want)
		}
		if !w.state.Constrained(0) {
			if f.Count != want || f.Bound != want {
				t.Errorf("seed %d: without constraints %d fit and at most %d, want %d", seed, f.Count, f.Bound, want)
			}
		} else if constrained++; f.Count == want && f.Bound == want {
			exact++
		}
		sum := 0
		for _, on := range f.On {
			sum += on.Count
		}
		if sum != f.Count {
			t.Errorf("seed %d: nodes take %d of %d", seed, sum, f.Count)
		}
		if refusing := 0; f.Count < 1000 {
			for _, c := range f.Why.Causes {
				refusing += c.Refusing()
			}
			if f.Why.Nodes != w.nodes || refusing != w.nodes {
				t.Errorf("seed %d: %d of %d nodes refuse one more: %v", seed, refusing, w.nodes, f.Why.Causes)
			}
		}
	}
	if constrained < 100 || exact < constrained*9/10 {
		t.Errorf("with constraints %d of %d are exact", exact, constrained)
	}
}

// TestCountGoesOn lets what was counted stay: two counts share the room.
func TestCountGoesOn(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(0, 1)))
	all, err := capacity.NewCounter(&w.state.View).Count(0, 1000)
	for seed := uint64(1); err == nil && all.Count < 3; seed++ {
		w = newWorld(t, rand.New(rand.NewPCG(seed, 1)))
		all, err = capacity.NewCounter(&w.state.View).Count(0, 1000)
	}
	c := capacity.NewCounter(&w.state.View)
	first, err := c.Count(0, 1)
	if err != nil || first.Count != 1 || first.Why.Causes != nil {
		t.Errorf("the first count is %+v, %v; want 1 and no reason", first, err)
	}
	rest, err := c.Count(0, 1000)
	if err != nil || rest.Count != all.Count-1 || slices.Equal(rest.On, all.On) {
		t.Errorf("after 1 there is room for %d, %v; want %d", rest.Count, err, all.Count-1)
	}
}
