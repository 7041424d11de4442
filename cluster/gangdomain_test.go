package cluster

import (
	"fmt"
	"testing"
)

// TestGangDomains: the sets of a group are domains as long as nobody of the gang has a place; of two groups those that are smaller count, and a task
// that no rule concerns makes the gang free.
func TestGangDomains(t *testing.T) {
	s := NewState([]Kind{{Name: "cpu"}}, nil)
	apply := func(e Event) {
		t.Helper()
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	one := func(group string) Constraint {
		b := Bound{Subject: []string{"gang"}, Target: []string{"gang"}, Min: 1, Max: Unbounded, Group: group, OrFirst: true}
		return Constraint{Name: group, Hard: true, Arriving: true, Any: [][]Bound{{b}}}
	}
	apply(ConstraintDefined{Constraint: 0, Spec: one("zone")})
	apply(ShapeDefined{Shape: 0, Spec: Shape{Demand: Vector{1}, Tags: []string{"gang"}}})
	apply(ShapeDefined{Shape: 1, Spec: Shape{Demand: Vector{1}}})
	for n, groups := range [][]Label{{{Key: "rack", Value: "a"}, {Key: "zone", Value: "x"}}, {{Key: "rack", Value: "b"}, {Key: "zone", Value: "x"}}, nil, {{Key: "rack", Value: "c"}, {Key: "zone", Value: "y"}}} {
		apply(NodeAdded{Node: NodeID(n), Spec: NodeSpec{Name: fmt.Sprint(n), Capacity: Vector{9}, Groups: groups}})
	}
	apply(JobSubmitted{Job: 0, Name: "gang", Gang: 2})
	for task := range TaskID(3) {
		apply(TaskSubmitted{Task: task, Seq: Seq(task), Shape: ShapeID(task / 2)})
	}
	expect := func(want string, tasks ...TaskID) {
		t.Helper()
		sets, bound := GangDomains(&s.View, tasks)
		if got := fmt.Sprint(sets, bound); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	expect("[[0 1] [3]] true", 0, 1)
	expect("[] false", 0, 2)
	expect("[] false")
	apply(ConstraintDefined{Constraint: 1, Spec: one("rack")})
	expect("[[0] [1] [3]] true", 0, 1)
	apply(NodeLost{Node: 0})
	expect("[[1] [3]] true", 0, 1)
	apply(TaskFound{Task: 0, Seq: 0, Node: 3})
	expect("[] false", 1)
}

// TestGangPreferences: a level for each soft constraint of the kind, that with the most sets first; none of one that some tasks have not, nor where somebody stands already.
func TestGangPreferences(t *testing.T) {
	s := NewState([]Kind{{Name: "cpu"}}, nil)
	apply := func(e Event) {
		t.Helper()
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	for i, group := range []string{"zone", "rack", "other"} {
		tags := []string{"gang"}
		if group == "other" {
			tags = []string{"some"}
		}
		b := Bound{Subject: tags, Target: tags, Min: 1, Max: Unbounded, Group: group, OrFirst: true}
		apply(ConstraintDefined{Constraint: ConstraintID(i), Spec: Constraint{Name: group, Weight: DefaultWeight, Arriving: true, Any: [][]Bound{{b}}}})
	}
	apply(ShapeDefined{Shape: 0, Spec: Shape{Demand: Vector{1}, Tags: []string{"gang"}}})
	apply(ShapeDefined{Shape: 1, Spec: Shape{Demand: Vector{1}, Tags: []string{"gang", "some"}}})
	for n, groups := range [][]Label{{{Key: "rack", Value: "a"}, {Key: "zone", Value: "x"}}, {{Key: "rack", Value: "b"}, {Key: "zone", Value: "x"}}, {{Key: "other", Value: "o"}}, {{Key: "rack", Value: "c"}, {Key: "zone", Value: "y"}}} {
		apply(NodeAdded{Node: NodeID(n), Spec: NodeSpec{Name: fmt.Sprint(n), Capacity: Vector{9}, Groups: groups}})
	}
	apply(JobSubmitted{Job: 0, Name: "gang", Gang: 2})
	for task := range TaskID(3) {
		apply(TaskSubmitted{Task: task, Seq: Seq(task), Shape: ShapeID(task % 2)})
	}
	expect := func(want string, tasks ...TaskID) {
		t.Helper()
		if got := fmt.Sprint(GangPreferences(&s.View, tasks)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	expect("[[[0] [1] [3]] [[0 1] [3]]]", 0, 1)
	expect("[[[0] [1] [3]] [[0 1] [3]] [[2]]]", 1)
	expect("[]")
	apply(NodeLost{Node: 0})
	expect("[[[1] [3]] [[1] [3]]]", 0, 2)
	apply(TaskFound{Task: 0, Seq: 0, Node: 3})
	expect("[]", 2)
}
