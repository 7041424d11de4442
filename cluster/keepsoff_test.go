package cluster

import (
	"math/rand/v2"
	"testing"
)

// TestNobodyComesToTheSet compares small clusters with a look at all tasks: who is counted by a bound over racks, zones or nodes may not come to a set
// where a place is kept for one that the bound would not let in any more, unless it has a higher priority and that one was promised nothing.
func TestNobodyComesToTheSet(t *testing.T) {
	elsewhere, promised, let := 0, 0, 0
	for seed := range uint64(10_000) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := NewState([]Kind{{Name: "cpu"}}, []Class{{Name: "none"}, {Name: "promise", Availability: Whole / 2}})
		apply := func(e Event) {
			t.Helper()
			if err := s.Apply(0, e); err != nil {
				t.Fatal(err)
			}
		}
		const nodes, tasks = 4, 7
		for n := range NodeID(nodes) {
			apply(NodeAdded{Node: n, Spec: NodeSpec{Name: string(rune('m' + n)), Capacity: Vector{4}, Groups: rackOf(r.IntN(3))}})
		}
		bound := Bound{Subject: tagsOf(1), Target: tagsOf(2), Max: int32(r.IntN(3)), Group: []string{"rack", "rack", EachNode}[r.IntN(3)]}
		bound.SelfCounted, bound.OverFewest = r.IntN(2) == 0, r.IntN(4) == 0
		if bound.OverFewest {
			bound.Max = max(bound.Max, 1)
		}
		apply(ConstraintDefined{Spec: Constraint{Name: "c", Any: [][]Bound{{bound}}, Hard: true, Arriving: true}})
		apply(JobSubmitted{Name: "j"})
		for i := range 3 {
			apply(ShapeDefined{Shape: ShapeID(i), Spec: Shape{Demand: Vector{1 + int64(r.IntN(2))}, Tags: tagsOf(1 + i)}})
		}
		for i := range TaskID(tasks) {
			apply(TaskSubmitted{Task: i, Seq: Seq(i), Shape: ShapeID(r.IntN(3)), Priority: int32(r.IntN(2)), Class: ClassID(r.IntN(2))})
			if r.IntN(2) == 0 {
				apply(TaskFound{Task: i, Seq: Seq(i), Node: NodeID(r.IntN(nodes))})
				if r.IntN(2) == 0 {
					s.Evict(i)
				}
			}
		}
		for range 6 {
			s.Place(TaskID(r.IntN(tasks)), NodeID(r.IntN(nodes)), 0) // as a rule beside those who leave
		}
		h := &history{s: s, gone: NoNode}
		for task := range TaskID(tasks) {
			for n := range NodeID(nodes) {
				if s.takes(task, n).Refused() {
					continue
				}
				before := h.disturbing
				late := h.comesLate(task, n)
				comes := coming{view: &s.View, priority: s.Task(task).Priority, table: s.constraints, n: n, from: s.Task(task).Node}
				if got := comes.arrives(&s.View, s.Task(task).Shape).Refused(); got != late {
					t.Fatalf("seed %d: task row %d is kept off node row %d: %t, want %t\n%s", seed, task, n, got, late, s.Picture())
				}
				switch {
				case h.disturbing > before:
					elsewhere++
					if s.Task(task).Priority > 0 {
						promised++
					}
				case !late:
					let++
				}
			}
		}
	}
	if elsewhere < 40 || promised < 10 || let < 1_000 {
		t.Errorf("%d were kept off for a place on another node, %d of them of the higher priority, and %d let in: too few to say anything", elsewhere, promised, let)
	}
}
