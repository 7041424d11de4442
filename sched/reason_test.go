package sched_test

import (
	"fmt"
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
		{2, 0, "turn", "waits for its turn: 2 of 3 nodes would take it: 1 lack cpu (needs 2, left at most 1)"},
		{3, 0, "unplaceable", "unplaceable: it wants a node for each of 3 copies, and 2 of 3 nodes could hold one, even empty: 1 lack cpu (needs 2, the largest offers 1)"},
		{2, 4, "turn", "waits for its turn: 2 of 3 nodes would take it: 1 lack cpu (needs 2, left at most 1)"},
		{2, 5, "share", "1 of 3 nodes have the 5 cpu left that it is to be given, and it wants 2: 1 lack cpu (needs 2, left at most 1)"},
		{1, 6, "turn", "waits for its turn: 2 of 3 nodes would take it: 1 lack cpu (needs 2, left at most 1)"},
		{1, 7, "share", "0 of 3 nodes have the 7 cpu left that it is to be given, and it wants 1: 1 lack cpu (needs 2, left at most 1)"},
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
	if r := sched.ExplainCopies(&s.View, 0, sched.Copies{Want: 2, Grant: 3}); r.Copies.Now != 1 || r.Copies.Ever != 2 || r.Unplaceable {
		t.Errorf("beside another task: %+v, want one node now and two in all", r.Copies)
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
