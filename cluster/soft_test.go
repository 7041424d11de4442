package cluster

import (
	"fmt"
	"testing"
)

// TestSoftFloor: where a group has many sets, what a task pays at least follows from whether there is anybody at all whom it would like to be beside.
func TestSoftFloor(t *testing.T) {
	for _, nodes := range []int{3, 2 * fewSets} {
		s := NewState([]Kind{{Name: "cpu"}}, nil)
		apply := func(e Event) {
			t.Helper()
			if err := s.Apply(0, e); err != nil {
				t.Fatal(err)
			}
		}
		floor := func(want int64) {
			t.Helper()
			if least, known := SoftFloor(&s.View, 0, 1000, 100); least != want || !known {
				t.Errorf("%d nodes: at least %d (known: %t), want %d", nodes, least, known, want)
			}
		}
		for n := range NodeID(nodes) {
			apply(NodeAdded{Node: n, Spec: NodeSpec{Name: fmt.Sprint(n), Capacity: Vector{4}, Groups: []Label{{Key: "zone", Value: "a"}}}})
		}
		apply(ConstraintDefined{Constraint: 0, Spec: Constraint{Name: "near", Arriving: true, Weight: DefaultWeight, Any: [][]Bound{{{
			Subject: []string{"web"}, Target: []string{"cache"}, Min: 1, Max: Unbounded, Group: EachNode,
		}}}}})
		apply(ShapeDefined{Shape: 0, Spec: Shape{Demand: Vector{1}, Tags: []string{"web"}}})
		apply(ShapeDefined{Shape: 1, Spec: Shape{Demand: Vector{1}, Tags: []string{"cache"}}})
		apply(JobSubmitted{Job: 0, Name: "a"})
		floor(1100)
		apply(TaskSubmitted{Task: 0, Seq: 0, Job: 0, Shape: 1})
		apply(TaskFound{Task: 0, Seq: 0, Node: 2})
		floor(0)
		apply(ConstraintDefined{Constraint: 1, Spec: Constraint{Name: "apart", Arriving: true, Weight: DefaultWeight / 2, Any: [][]Bound{{{
			Subject: []string{"web"}, Target: []string{"cache"}, Group: "zone",
		}}}}})
		floor(550)
		apply(ConstraintDefined{Constraint: 2, Spec: Constraint{Name: "for all", Weight: 1, Any: [][]Bound{{{
			Subject: []string{"web"}, Target: []string{"cache"}, Group: "zone",
		}}}}})
		if _, known := SoftFloor(&s.View, 0, 1000, 100); known {
			t.Error("a constraint that does not bind who comes may gain by it")
		}
	}
}
