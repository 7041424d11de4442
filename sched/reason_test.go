package sched_test

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// nodesOf is a state with nodes of so many cpu each, and a waiting task that asks for so many.
func nodesOf(t *testing.T, cpu int64, sizes ...int64) (s *cluster.State, apply func(cluster.Event)) {
	t.Helper()
	s = cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil)
	apply = func(e cluster.Event) {
		t.Helper()
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	for i, cpu := range sizes {
		apply(cluster.NodeAdded{Node: cluster.NodeID(i), Spec: cluster.NodeSpec{Name: fmt.Sprint("n", i), Capacity: cluster.Vector{cpu}}})
	}
	apply(cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{cpu}, Tags: []string{"a"}}})
	apply(cluster.JobSubmitted{Name: "j"})
	apply(cluster.TaskSubmitted{Task: 0, Seq: 1})
	return s, apply
}

// TestWhyCopiesWait: copies want a node of their own each, and more than the least of it.
func TestWhyCopiesWait(t *testing.T) {
	for _, tc := range []struct {
		want       int
		grant      int64
		code, text string
	}{
		{2, 0, "turn", "waits for its turn: 2 of 3 nodes would take it: 1 are too small: cpu (needs 2, the largest has 1)"},
		{3, 0, "unplaceable", "unplaceable: it wants a node for each of 3 copies, and 2 of 3 nodes could hold one, even empty: 1 are too small: cpu (needs 2, the largest has 1)"},
		{2, 4, "turn", "waits for its turn: 2 of 3 nodes would take it: 1 are too small: cpu (needs 2, the largest has 1)"},
		{2, 5, "share", "1 of 3 nodes have the 5 cpu left that it is to be given, and it wants 2: 1 are too small: cpu (needs 2, the largest has 1)"},
		{1, 6, "turn", "waits for its turn: 2 of 3 nodes would take it: 1 are too small: cpu (needs 2, the largest has 1)"},
		{1, 7, "share", "0 of 3 nodes have the 7 cpu left that it is to be given, and it wants 1: 1 are too small: cpu (needs 2, the largest has 1)"},
	} {
		s, _ := nodesOf(t, 2, 1, 4, 6)
		r := sched.ExplainCopies(&s.View, 0, sched.Copies{Want: tc.want, Grant: tc.grant})
		if code, text := r.Code(s.Kinds()), r.Text(s.Kinds()); code != tc.code || text != tc.text {
			t.Errorf("%d copies of %d: %s: %s\nwant %s: %s", tc.want, tc.grant, code, text, tc.code, tc.text)
		}
	}
	s, apply := nodesOf(t, 2, 4, 4)
	apply(cluster.TaskSubmitted{Task: 1, Seq: 2})
	if r := s.Place(1, 0, 0); r.Refused() {
		t.Fatal(r)
	}
	r := sched.ExplainCopies(&s.View, 0, sched.Copies{Want: 2, Grant: 3})
	if c, _ := sched.Find[sched.Copies](&r); c.Now != 1 || c.Ever != 2 || r.Unplaceable() {
		t.Errorf("beside another task: %+v, want one node now and two in all", c)
	}
}

// TestWhyConstraintsRefuse: the constraints that nodes refuse a task for are named in the order of
// their rows, each once, with the count that is nearest to its limit.
func TestWhyConstraintsRefuse(t *testing.T) {
	s, apply := nodesOf(t, 1, 9, 9, 9, 9)
	least := func(tag string, target int32) cluster.Constraint {
		return cluster.Constraint{Name: "beside " + tag, Hard: true, Any: [][]cluster.Bound{{{Subject: []string{"a"}, Target: []string{tag}, Min: target, Max: cluster.Unbounded, Group: cluster.EachNode}}}}
	}
	apart := cluster.Constraint{Name: "apart from c", Hard: true, Any: [][]cluster.Bound{{{Subject: []string{"a"}, Target: []string{"c"}, Max: 1, Group: cluster.EachNode}}}}
	apply(cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{1}, Tags: []string{"b"}}})
	apply(cluster.ShapeDefined{Shape: 2, Spec: cluster.Shape{Demand: cluster.Vector{1}, Tags: []string{"b", "c"}}})
	row := cluster.TaskID(1)
	on := func(n cluster.NodeID, shape cluster.ShapeID, count int) {
		for range count {
			apply(cluster.TaskSubmitted{Task: row, Seq: cluster.Seq(row) + 1, Shape: shape})
			apply(cluster.TaskFound{Task: row, Seq: cluster.Seq(row) + 1, Node: n})
			row++
		}
	}
	on(0, 1, 1) // one b
	on(1, 1, 2) // two
	on(2, 2, 3) // three b that are c
	on(3, 2, 5) // five
	apply(cluster.ConstraintDefined{Constraint: 0, Spec: apart})
	apply(cluster.ConstraintDefined{Constraint: 1, Spec: least("b", 3)})
	want := "0 of 4 nodes take it: 2 violate apart from c: 3 counted, at most 1, 2 violate beside b: 2 counted, at least 3"
	if r := sched.Explain(&s.View, 0); r.Text(s.Kinds()) != want || r.Code(s.Kinds()) != "constraint" {
		t.Errorf("%s: %s\nwant %s", r.Code(s.Kinds()), r.Text(s.Kinds()), want)
	}
}

// TestWhyAnApplicationWaitsInWords: how many would find a node comes before how many there are.
func TestWhyAnApplicationWaitsInWords(t *testing.T) {
	w := sched.Whole{Tasks: 5, Found: 3, Conflict: []string{"room", "x"}}
	if got, want := w.String(), "its application is placed whole, and 3 of its 5 tasks would find a node: no place was found for all under room; x"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestFiltersAreNamed: where the world says which filters keep a task off nodes, the reason names
// each with its nodes, the one that keeps it off the most first.
func TestFiltersAreNamed(t *testing.T) {
	s := cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil)
	core, err := sched.New(s, sched.Lane{Policy: neverPlaces{}})
	if err != nil {
		t.Fatal(err)
	}
	var events []cluster.Event
	for i := range 5 {
		events = append(events, cluster.NodeAdded{Node: cluster.NodeID(i), Spec: cluster.NodeSpec{Name: fmt.Sprint("n", i), Capacity: cluster.Vector{4}}})
	}
	events = append(events,
		cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{4}},
		cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{5}, Eligible: 1}},
		cluster.JobSubmitted{Name: "j"}, cluster.TaskSubmitted{Task: 0, Seq: 1})
	if _, err := core.Observe(0, events, nil); err != nil {
		t.Fatal(err)
	}
	want := "unplaceable on any of 5 nodes, even empty: 1 are too small: cpu (needs 5, the largest has 4), 4 are not eligible; it would fit on a node that has 5 cpu"
	if got := core.Why(0).Text(s.Kinds()); got != want {
		t.Errorf("without a world that says: %s\nwant %s", got, want)
	}
	core.SetFilters(func(set cluster.SetID, n cluster.NodeID) []sched.Filtered {
		if set != 1 {
			t.Errorf("asked of set %d", set)
		}
		return []sched.Filtered{{Mechanism: "cordon"}, {Mechanism: "label", Wants: "zone=a"}, {Mechanism: "label", Wants: "zone=a"}, {Mechanism: "taint", Wants: "gpu:NoSchedule"}}[n : n+1]
	})
	want = "unplaceable on any of 5 nodes, even empty: 1 are too small: cpu (needs 5, the largest has 4), 2 lack the label zone=a, 1 are cordoned, 1 have the taint gpu:NoSchedule; it would fit on a node that has 5 cpu"
	if got := core.Why(0); got.Text(s.Kinds()) != want || got.Code(s.Kinds()) != "unplaceable by cpu" {
		t.Errorf("%s: %s\nwant %s", got.Code(s.Kinds()), got.Text(s.Kinds()), want)
	}
	// They are named as well where nothing else is in the way.
	small := []cluster.Event{cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{1}, Eligible: 1}}, cluster.TaskSubmitted{Task: 1, Seq: 2, Shape: 1}}
	if _, err := core.Observe(0, small, nil); err != nil {
		t.Fatal(err)
	}
	want = "waits for its turn: 1 of 5 nodes would take it: 2 lack the label zone=a, 1 are cordoned, 1 have the taint gpu:NoSchedule"
	if got := core.Why(1).Text(s.Kinds()); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestNodesThatAreOff: who would fit on a node that is off is not unplaceable, and what is woken already helps before what is not; who has to have something
// else changed as well, or is too large, is told that.
func TestNodesThatAreOff(t *testing.T) {
	off, waking, label := sched.Filtered{Mechanism: sched.ByOff, Wants: "2m"}, sched.Filtered{Mechanism: sched.ByWaking}, sched.Filtered{Mechanism: "label", Wants: "zone=a"}
	for _, c := range []struct {
		needs      int64
		nodes      [3][]sched.Filtered // by what the nodes of 4 cpu are filtered
		code, want string
	}{
		{2, [3][]sched.Filtered{{off}, {off}, {label}}, "off", "0 of 3 nodes take it: 2 are off (waking takes 2m), 1 lack the label zone=a; it would fit once awake on any of 2 nodes"},
		{2, [3][]sched.Filtered{{off}, {waking}, {off}}, "waking", "0 of 3 nodes take it: 1 are waking, 2 are off (waking takes 2m); it would fit once awake on n1"},
		{2, [3][]sched.Filtered{{label, off}, {label, off}, {label, waking}}, "unplaceable by label", "unplaceable on any of 3 nodes: 3 lack the label zone=a; it would fit without asking for zone=a and once awake on n2"},
		{5, [3][]sched.Filtered{{off}, {off}, {waking}}, "unplaceable by cpu", "unplaceable on any of 3 nodes: 2 are off (waking takes 2m), 1 are waking; it would fit on a node that has 5 cpu"},
	} {
		s := cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil)
		core, err := sched.New(s, sched.Lane{Policy: neverPlaces{}})
		if err != nil {
			t.Fatal(err)
		}
		core.SetFilters(func(_ cluster.SetID, n cluster.NodeID) []sched.Filtered { return c.nodes[n] })
		var events []cluster.Event
		for i := range c.nodes {
			events = append(events, cluster.NodeAdded{Node: cluster.NodeID(i), Spec: cluster.NodeSpec{Name: fmt.Sprint("n", i), Capacity: cluster.Vector{4}}})
		}
		events = append(events, cluster.SetDefined{Set: 1}, cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{c.needs}, Eligible: 1}}, cluster.JobSubmitted{Name: "j"}, cluster.TaskSubmitted{Task: 0, Seq: 1})
		if _, err := core.Observe(0, events, nil); err != nil {
			t.Fatal(err)
		}
		if got := core.Why(0); got.Text(s.Kinds()) != c.want || got.Code(s.Kinds()) != c.code {
			t.Errorf("%s: %s\nwant %s: %s", got.Code(s.Kinds()), got.Text(s.Kinds()), c.code, c.want)
		}
	}
}

// TestAnotherNodeIsDescribed: where every node is too small and lacks a label, what would help is another node: it
// is said how large, and then with which label.
func TestAnotherNodeIsDescribed(t *testing.T) {
	s := cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil)
	core, err := sched.New(s, sched.Lane{Policy: neverPlaces{}})
	if err != nil {
		t.Fatal(err)
	}
	core.SetFilters(func(cluster.SetID, cluster.NodeID) []sched.Filtered {
		return []sched.Filtered{{Mechanism: "label", Wants: "zone=a"}}
	})
	if _, err := core.Observe(0, []cluster.Event{
		cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n0", Capacity: cluster.Vector{4}}},
		cluster.SetDefined{Set: 1},
		cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{5}, Eligible: 1}},
		cluster.JobSubmitted{Name: "j"},
		cluster.TaskSubmitted{Task: 0, Seq: 1},
	}, nil); err != nil {
		t.Fatal(err)
	}
	list := core.Why(0).Remedies
	if len(list) != 1 {
		t.Fatalf("%d remedies, want 1: %+v", len(list), list)
	}
	if got, want := list[0].Text(s.Kinds()), "on a node that has 5 cpu and the label zone=a"; got != want {
		t.Errorf("it would fit %s, want %s", got, want)
	}
	if got, want := list[0].Sort(s.Kinds()), "on nodes with more cpu and the label zone=a"; got != want {
		t.Errorf("it would fit %s, want %s", got, want)
	}
}

// TestFewFiltersAreNamed: where many filters keep a task off, the reason names those that keep it off
// the most nodes, and counts the others.
func TestFewFiltersAreNamed(t *testing.T) {
	s := cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil)
	core, err := sched.New(s, sched.Lane{Policy: neverPlaces{}})
	if err != nil {
		t.Fatal(err)
	}
	events := []cluster.Event{cluster.SetDefined{Set: 1}, cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}, Eligible: 1}}, cluster.JobSubmitted{Name: "j"}, cluster.TaskSubmitted{Task: 0, Seq: 1}}
	for i := range 15 {
		events = append(events, cluster.NodeAdded{Node: cluster.NodeID(i), Spec: cluster.NodeSpec{Name: fmt.Sprint("n", i), Capacity: cluster.Vector{4}}})
	}
	if _, err := core.Observe(0, events, nil); err != nil {
		t.Fatal(err)
	}
	core.SetFilters(func(_ cluster.SetID, n cluster.NodeID) []sched.Filtered {
		return []sched.Filtered{{Mechanism: "taint", Wants: fmt.Sprintf("of=n%d:NoSchedule", min(n, 13))}}
	})
	got := core.Why(0).Text(s.Kinds())
	if !strings.Contains(got, "2 have the taint of=n13:NoSchedule, 1 have the taint of=n0:NoSchedule") || !strings.Contains(got, "of=n8:NoSchedule, 4 are not eligible; it would fit with the toleration of=n13:NoSchedule on any of 2 nodes, or ") {
		t.Error(got)
	}
}

// neverPlaces places nothing.
type neverPlaces struct{}

func (neverPlaces) Plan(*sched.Trial, *sched.Changed, int64, *sched.Plan) {}

func (neverPlaces) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}
