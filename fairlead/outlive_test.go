package fairlead_test

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/lifetime"
)

// arrivals has tasks come to three nodes, two that leave little room first, and returns where each of them goes.
func arrivals(t *testing.T, by lifetime.Predictor, told bool) []cluster.NodeID {
	t.Helper()
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{Ties: book.Lowest, Lifetimes: by})})
	if err != nil {
		t.Fatal(err)
	}
	var pending []cluster.Event
	for n := range cluster.NodeID(3) {
		pending = append(pending, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: string(rune('a' + n)), Capacity: cluster.Vector{100}}})
	}
	pending = append(pending, cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{10}}}, cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{60}}}, cluster.JobSubmitted{Name: "j"})
	var nodes []cluster.NodeID
	for i, c := range []struct {
		shape cluster.ShapeID
		lasts cluster.Time
	}{{1, 10 * cluster.Minute}, {1, 100 * cluster.Hour}, {0, 20 * cluster.Hour}, {0, 5 * cluster.Minute}} {
		task := cluster.TaskID(i)
		if !told {
			c.lasts = 0
		}
		pending = append(pending, cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(i), Shape: c.shape, Lasts: c.lasts})
		out, _, err := core.Step(cluster.Time(i)*cluster.Second, pending, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(out) != 1 || out[0].Kind != sched.Place {
			t.Fatalf("task %d: %+v, want a place", i, out)
		}
		pending = append(pending[:0], cluster.TaskStarted{Task: task, Attempt: out[0].Attempt, Node: out[0].Node})
		nodes = append(nodes, out[0].Node)
	}
	return nodes
}

// TestLifetimes: where lifetimes are asked, a task goes where another one leaves no sooner, and none that leaves sooner than all others
// goes to an empty node; where they are not, it does not matter what was said of the tasks.
func TestLifetimes(t *testing.T) {
	truth, _ := lifetime.Named(lifetime.Truth)
	on := arrivals(t, truth, true)
	if short, long, day, minutes := on[0], on[1], on[2], on[3]; short == long || day != long || minutes != long && minutes != short {
		t.Errorf("what stays for ten minutes is on node %d, for 100 hours on %d; for a day on %d, want that of 100 hours; for five minutes on %d", short, long, day, minutes)
	}
	if told, untold := arrivals(t, nil, true), arrivals(t, nil, false); !slices.Equal(told, untold) {
		t.Errorf("who does not ask places on %v, and on %v where nothing was said", told, untold)
	}
}
