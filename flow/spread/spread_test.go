package spread_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/flow/spread"
	"fairlead.dev/fairlead/sched"
)

// TestSpreadsInsideABatch places eleven tasks of two shapes at once on four nodes, one
// of which has two already: each node ends up with three or four.
func TestSpreadsInsideABatch(t *testing.T) {
	s := cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil)
	core, err := sched.New(s, sched.Lane{Name: "spread", Policy: flow.New(&spread.Model{}, flow.Options{Name: "load-spreading"})})
	if err != nil {
		t.Fatal(err)
	}
	events := []cluster.Event{
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}},
		cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{2}}},
		cluster.JobSubmitted{Job: 0, Name: "a"},
		cluster.JobSubmitted{Job: 1, Name: "foreign", Foreign: true},
	}
	for n := range cluster.NodeID(4) {
		events = append(events, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: fmt.Sprint("n", n), Capacity: cluster.Vector{20}}})
	}
	for i := range cluster.TaskID(2) {
		events = append(events,
			cluster.TaskSubmitted{Task: i, Seq: cluster.Seq(i), Job: 1}, cluster.TaskFound{Task: i, Seq: cluster.Seq(i), Node: 2})
	}
	for i := range cluster.TaskID(11) {
		events = append(events, cluster.TaskSubmitted{Task: 2 + i, Seq: cluster.Seq(2 + i), Job: 0, Shape: cluster.ShapeID(i % 2)})
	}
	decided, _, err := core.Step(0, events, nil)
	if err != nil || len(decided) != 11 {
		t.Fatalf("%d decisions (%v), want 11", len(decided), err)
	}
	for n := range cluster.NodeID(4) {
		if tasks := len(s.TasksOn(n)); tasks < 3 || tasks > 4 {
			t.Errorf("node %d has %d tasks, want 3 or 4", n, tasks)
		}
	}
}

// TestShapeGivenAnew has a task that nothing has room for become another shape, and the row of its old one mean what a new task asks
// for, all before one round: the new task is looked for by its own demand.
func TestShapeGivenAnew(t *testing.T) {
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, nil),
		sched.Lane{Name: "all", Policy: flow.New(&spread.Model{}, flow.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	step := func(now cluster.Time, events ...cluster.Event) []sched.Decision {
		out, _, err := core.Step(now, events, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	step(0,
		cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{4, 4}}},
		cluster.JobSubmitted{Name: "j"},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{9, 0}}},
		cluster.TaskSubmitted{Task: 0, Seq: 0, Shape: 0})
	out := step(cluster.Second,
		cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{8, 0}}},
		cluster.TaskReshaped{Task: 0, Shape: 1},
		cluster.ShapeForgotten{Shape: 0},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{0, 1}}},
		cluster.TaskSubmitted{Task: 1, Seq: 1, Shape: 0})
	if len(out) != 1 || out[0].Task != 1 {
		t.Errorf("%+v, want task 1 placed", out)
	}
}
