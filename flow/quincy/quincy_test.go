package quincy

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
	"fairlead.dev/fairlead/sched"
)

// TestStep wants steps of a half or a third more each, told before they come.
func TestStep(t *testing.T) {
	for _, tc := range []struct {
		waited  cluster.Time
		seconds int64
		next    cluster.Time
	}{
		{0, 0, cluster.Second},
		{cluster.Second - 1, 0, cluster.Second},
		{cluster.Second, 1, 2 * cluster.Second},
		{2500 * cluster.Millisecond, 2, 3 * cluster.Second},
		{3 * cluster.Second, 3, 4 * cluster.Second},
		{5 * cluster.Second, 4, 6 * cluster.Second},
		{cluster.Hour, 3072, 4096 * cluster.Second},
		{longest - 1, 98_304, longest},
		{longest, 100_000, cluster.Never},
		{2 * longest, 100_000, cluster.Never},
	} {
		if seconds, next := step(tc.waited); seconds != tc.seconds || next != tc.next {
			t.Errorf("step(%v) = %d s, then at %v; want %d s, then at %v", tc.waited, seconds, next, tc.seconds, tc.next)
		}
	}
	steps, last := 0, int64(-1)
	for at := cluster.Time(0); at < longest; steps++ {
		seconds, next := step(at)
		if seconds <= last || next <= at {
			t.Fatalf("after %d s the step at %v is %d s, and the next at %v", last, at, seconds, next)
		}
		last, at = seconds, next
	}
	if steps > 36 {
		t.Errorf("a price changes %d times in %v, want about 32", steps, longest)
	}
}

// world is four nodes in two racks, and a task that reads ten gigabytes: nine on n0
// and, for a copy, in the other rack; one on n1 alone.
func world(t *testing.T) (*cluster.View, cluster.TaskID) {
	t.Helper()
	s := cluster.NewState([]cluster.Kind{{Name: "slots", PerUnit: 1}}, nil)
	events := []cluster.Event{
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}},
		cluster.JobSubmitted{Job: 0, Name: "j"},
	}
	for i, rack := range []string{"a", "a", "b", "b"} {
		events = append(events, cluster.NodeAdded{Node: cluster.NodeID(i), Spec: cluster.NodeSpec{
			Name: "n" + string(rune('0'+i)), Capacity: cluster.Vector{4}, Groups: []cluster.Label{{Key: "rack", Value: rack}},
		}})
	}
	events = append(events, cluster.TaskSubmitted{Task: 0, Seq: 0, Job: 0, Shape: 0, Input: []cluster.Block{
		{Bytes: 9 * gigabyte, Replicas: [3]cluster.NodeID{0, 2, cluster.NoNode}},
		{Bytes: 1 * gigabyte, Replicas: [3]cluster.NodeID{1, cluster.NoNode, cluster.NoNode}},
	}})
	for _, e := range events {
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	return &s.View, 0
}

// TestFetch prices what is not on the node: a gigabyte is 1,000 from within the rack,
// 2,000 from another one.
func TestFetch(t *testing.T) {
	s, task := world(t)
	m := New(Standard())
	m.Learn(s, true, []cluster.NodeID{0, 1, 2, 3})
	for n, want := range []flow.Cost{
		1 * 1000,        // n0 has nine, n1 beside it the tenth
		9 * 1000,        // n1 has one, n0 beside it nine
		1 * 2000,        // n2 has nine, the tenth is in the other rack
		9*1000 + 1*2000, // n3 has nothing, n2 beside it nine
	} {
		if got := m.fetch(s, task, cluster.NodeID(n)); got != want {
			t.Errorf("fetching to n%d costs %d, want %d", n, got, want)
		}
		sum := flow.Cost(0)
		for _, term := range m.Explain(s, task, cluster.NodeID(n)) {
			sum += term.Cost
		}
		if sum != want {
			t.Errorf("the terms for n%d add up to %d, want %d", n, sum, want)
		}
	}
}

// TestPreferences draws the task to what holds a seventh of its input, or a fiftieth.
func TestPreferences(t *testing.T) {
	s, task := world(t)
	for _, tc := range []struct {
		threshold int64
		why       string
		nodes     int
	}{{140, "two nodes hold nine of ten", 2}, {20, "and one a tenth", 3}} {
		o := Standard()
		o.Threshold = tc.threshold
		m := New(o)
		m.Learn(s, true, []cluster.NodeID{0, 1, 2, 3})
		var arcs flow.Arcs
		m.Out(s, task, &arcs)
		if nodes := arcs.Nodes(); nodes != tc.nodes {
			t.Errorf("with %d thousandths %d nodes are preferred, want %d: %s", tc.threshold, nodes, tc.nodes, tc.why)
		}
	}
}

// TestServiceFirst gives the only slot that comes free to the service, although the
// batch task has waited for longer and is the nearer one.
func TestServiceFirst(t *testing.T) {
	s := cluster.NewState([]cluster.Kind{{Name: "slots", PerUnit: 1}}, nil)
	core, err := sched.New(s, sched.Lane{Name: "quincy", Policy: flow.New(New(Standard()), flow.Options{Name: "quincy", Stages: []flow.Stage{flow.Spread, flow.Preempt}})})
	if err != nil {
		t.Fatal(err)
	}
	decided, _, err := core.Step(0, []cluster.Event{
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}},
		cluster.JobSubmitted{Job: 0, Name: "j"},
		cluster.TaskSubmitted{Task: 0, Seq: 0, Job: 0, Priority: 0},
	}, nil)
	if err != nil || len(decided) != 0 {
		t.Fatal(decided, err)
	}
	decided, _, err = core.Step(cluster.Hour, []cluster.Event{
		cluster.TaskSubmitted{Task: 1, Seq: 1, Job: 0, Priority: 9},
		cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n0", Capacity: cluster.Vector{1}}},
	}, nil)
	if err != nil || len(decided) != 1 || decided[0].Task != 1 {
		t.Errorf("decided %v (%v), want the service placed", decided, err)
	}
}
