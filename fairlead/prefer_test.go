package fairlead_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// TestPreferredNodesChange: tasks go to the node that they prefer, or away from the one that they shun, also when another one has become
// that since the last was placed. Nothing else of the nodes changes, so that an index that looked at changed nodes alone would be stale.
func TestPreferredNodesChange(t *testing.T) {
	for _, weight := range []int32{100, -100} {
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest})})
		if err != nil {
			t.Fatal(err)
		}
		// The set starts as the first node where it is preferred, and as the second where it is shunned.
		liked := weight > 0
		const first, second = cluster.NodeID(0), cluster.NodeID(1)
		in := first
		if !liked {
			in = second
		}
		pending := []cluster.Event{
			cluster.NodeAdded{Node: first, Spec: cluster.NodeSpec{Name: "a", Capacity: cluster.Vector{100}}},
			cluster.NodeAdded{Node: second, Spec: cluster.NodeSpec{Name: "b", Capacity: cluster.Vector{100}}},
			cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{in}},
			cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}, Prefers: []cluster.Preference{{Set: 1, Weight: weight}}}},
			cluster.JobSubmitted{Name: "j"},
		}
		came := cluster.TaskID(0)
		comes := func(want cluster.NodeID) {
			t.Helper()
			pending = append(pending, cluster.TaskSubmitted{Task: came, Seq: cluster.Seq(came)})
			out, _, err := core.Step(cluster.Time(came), pending, nil)
			if err != nil {
				t.Fatal(err)
			}
			pending = pending[:0]
			if len(out) != 1 || out[0].Kind != sched.Place || out[0].Node != want {
				t.Errorf("weight %d, task %d: %+v, want a place on node %d", weight, came, out, want)
			}
			came++
		}
		comes(first)
		comes(first)
		pending = append(pending, cluster.EligibilityChanged{Set: 1, Node: first, Eligible: !liked}, cluster.EligibilityChanged{Set: 1, Node: second, Eligible: liked})
		comes(second)
		comes(second)
		pending = append(pending, cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{in}})
		comes(first)
	}
}

// TestRoomOutweighsNoPreference: a task goes to a node that it prefers with the largest weight, or where it violates no soft constraint, though
// there alone is room for large ones, which are most of those that are there.
func TestRoomOutweighsNoPreference(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 0x9ef))
		bySet := rng.IntN(2) == 0
		const large, other, comes = cluster.ShapeID(0), cluster.ShapeID(1), cluster.ShapeID(2)
		events := []cluster.Event{cluster.JobSubmitted{Name: "there"}, cluster.JobSubmitted{Job: 1, Name: "comes"}}
		emit := func(e cluster.Event) { events = append(events, e) }
		size := 2 + rng.Int64N(99)
		emit(cluster.ShapeDefined{Shape: large, Spec: cluster.Shape{Demand: cluster.Vector{size}, Tags: []string{"there"}}})
		emit(cluster.ShapeDefined{Shape: other, Spec: cluster.Shape{Demand: cluster.Vector{1 + rng.Int64N(size-1)}, Tags: []string{"there"}}})
		task := cluster.TaskID(0)
		there := func(shape cluster.ShapeID, n cluster.NodeID) {
			emit(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Shape: shape})
			emit(cluster.TaskFound{Task: task, Seq: cluster.Seq(task), Node: n})
			task++
		}
		var liked []cluster.NodeID
		for n := range cluster.NodeID(2 + rng.IntN(6)) {
			fill := rng.IntN(4)
			switch free := rng.IntN(3) == 0; {
			case !free:
				emit(cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Capacity: cluster.Vector{int64(fill+1) * size}}})
				there(other, n)
			case bySet:
				emit(cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Capacity: cluster.Vector{int64(fill+1) * size}}})
				liked = append(liked, n)
			default:
				emit(cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Capacity: cluster.Vector{size}}})
				liked, fill = append(liked, n), 0
			}
			for range fill {
				there(large, n)
			}
		}
		shape := cluster.Shape{Demand: cluster.Vector{1}, Tags: []string{"comes"}}
		if bySet {
			emit(cluster.SetDefined{Set: 1, Nodes: liked})
			shape.Prefers = []cluster.Preference{{Set: 1, Weight: cluster.MostPreference}}
		} else {
			emit(cluster.ConstraintDefined{Spec: cluster.Constraint{Weight: cluster.DefaultWeight, Arriving: true, Any: [][]cluster.Bound{{
				{Subject: []string{"comes"}, Target: []string{"there"}, Group: cluster.EachNode},
			}}}})
		}
		emit(cluster.ShapeDefined{Shape: comes, Spec: shape})
		emit(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Job: 1, Shape: comes})
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest})})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := core.Step(0, events, nil)
		if err != nil || len(out) != 1 {
			t.Fatal(err, out)
		}
		if len(liked) > 0 && !slices.Contains(liked, out[0].Node) {
			t.Fatalf("seed %d, by sets %v: it goes to node %d, and prefers %d:\n%s", seed, bySet, out[0].Node, liked, core.View().Picture())
		}
	}
}
