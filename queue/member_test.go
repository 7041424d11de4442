package queue

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// crowd is a core with many nodes, and as many shapes with sets of their own,
// each with a task that waits for a node that no set holds yet.
func crowd(t *testing.T, name string, rows int) *sched.Core {
	t.Helper()
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil)
	core, err := sched.New(s, sched.Lane{Name: "all", Policy: policyNamed(t, name)})
	if err != nil {
		t.Fatal(err)
	}
	events := []cluster.Event{cluster.JobSubmitted{User: "a"}}
	for n := range rows {
		events = append(events, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{4}}})
	}
	for i := range rows {
		set := cluster.SetID(i + 1)
		events = append(events, cluster.SetDefined{Set: set},
			cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: cluster.Shape{Demand: cluster.Vector{2}, Eligible: set}},
			cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i), Shape: cluster.ShapeID(i)})
	}
	if _, _, err := core.Step(0, events, nil); err != nil {
		t.Fatal(err)
	}
	return core
}

// TestRedefinedSetCostsItsDifference: when a set gains one node, the policy
// looks at that node for the shapes of that set, not at every node for every
// shape.
func TestRedefinedSetCostsItsDifference(t *testing.T) {
	const rows = 300
	for _, name := range []string{"kube", "priority", "best-fit", "mesos"} {
		core := crowd(t, name, rows)
		before := core.Counts().Ticks
		out, _, err := core.Step(cluster.Second, []cluster.Event{cluster.SetDefined{Set: 8, Nodes: []cluster.NodeID{5}}}, nil)
		if err != nil || len(out) != 1 || out[0].Task != 7 || out[0].Node != 5 {
			t.Fatalf("%s: decided %+v, %v; want task 7 on node 5", name, out, err)
		}
		if ticks := core.Counts().Ticks - before; ticks > 2*rows {
			t.Errorf("%s: %d ticks for one node that came into one of %d sets", name, ticks, rows)
		}
	}
}

// TestStraysWithoutUse: an index that is not used while its set changes again
// and again forgets its leaves, and is right when it is used.
func TestStraysWithoutUse(t *testing.T) {
	core := crowd(t, "kube", 10)
	place := func(at cluster.Time, want cluster.NodeID, events ...cluster.Event) {
		t.Helper()
		out, _, err := core.Step(at, events, nil)
		if err != nil || len(out) != 1 || out[0].Node != want {
			t.Fatalf("decided %+v, %v; want node %d", out, err, want)
		}
	}
	place(1, 3, cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{3}})
	flip := func(n cluster.NodeID, in bool) cluster.Event {
		return cluster.EligibilityChanged{Set: 1, Node: n, Eligible: in}
	}
	for i := range 50 { // 4 comes for 3, and then 7 comes and goes
		if _, _, err := core.Step(cluster.Time(2+i), []cluster.Event{flip(3, false), flip(4, true), flip(7, i%2 == 0)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	place(100, 4, cluster.TaskSubmitted{Task: 77, Seq: 77, Shape: 0})
}

// TestSparrowHonoursSets: a probe that stands first, on a node that its task may
// not use any more, holds up those behind it no longer.
func TestSparrowHonoursSets(t *testing.T) {
	core := crowd(t, "sparrow", 2)
	node := func(eligible bool) cluster.Event {
		return cluster.EligibilityChanged{Set: 1, Node: 0, Eligible: eligible}
	}
	step := func(at cluster.Time, events ...cluster.Event) []sched.Decision {
		t.Helper()
		out, _, err := core.Step(at, events, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	step(1, cluster.NodeLost{Node: 1},
		cluster.ShapeDefined{Shape: 5, Spec: cluster.Shape{Demand: cluster.Vector{3}}},
		cluster.TaskSubmitted{Task: 20, Seq: 20, Shape: 5})
	step(2, node(true), cluster.TaskSubmitted{Task: 22, Seq: 22, Shape: 0}) // probes node 0, where there is 1 left
	step(3, cluster.ShapeDefined{Shape: 6, Spec: cluster.Shape{Demand: cluster.Vector{1}}},
		cluster.TaskSubmitted{Task: 21, Seq: 21, Shape: 6})
	if core.View().Task(21).Phase != cluster.Waiting {
		t.Fatal("task 21 was not held up, so that there is nothing to see")
	}
	if out := step(4, node(false)); len(out) != 1 || out[0].Task != 21 {
		t.Errorf("decided %+v, want task 21 on node 0", out)
	}
}
