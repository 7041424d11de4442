package cluster

import "testing"

// TestNobodyComesWhereOthersLeave is of a task that is spread over nodes, for which two leave a node: as long as they leave, nobody comes to
// that node who would keep it off there; others may, and to other nodes. It begins when both have gone, and waits again if one stays.
func TestNobodyComesWhereOthersLeave(t *testing.T) {
	build := func() *State {
		s := NewState([]Kind{{Name: "cpu"}}, nil)
		apply := func(e Event) {
			t.Helper()
			if err := s.Apply(0, e); err != nil {
				t.Fatal(err)
			}
		}
		for n := range NodeID(2) {
			apply(NodeAdded{Node: n, Spec: NodeSpec{Name: string(rune('m' + n)), Capacity: Vector{9}}})
		}
		bound := Bound{Subject: []string{"new"}, Target: []string{"web"}, Max: 1, Group: EachNode, SelfCounted: true, OverFewest: true}
		apply(ConstraintDefined{Spec: Constraint{Name: "spread", Any: [][]Bound{{bound}}, Hard: true, Arriving: true}})
		apply(JobSubmitted{Name: "j"})
		for i, tags := range [][]string{{"web"}, {"web"}, {"new", "web"}, {"web"}, {"other"}} {
			apply(ShapeDefined{Shape: ShapeID(i), Spec: Shape{Demand: Vector{1}, Tags: tags}})
			apply(TaskSubmitted{Task: TaskID(i), Seq: Seq(i), Shape: ShapeID(i)})
		}
		apply(TaskSubmitted{Task: 5, Seq: 5, Shape: 3, Priority: 1})
		for i := range TaskID(2) {
			apply(TaskFound{Task: i, Seq: Seq(i)})
			if r := s.Evict(i); r.Refused() {
				t.Fatal(r.Code)
			}
		}
		if r := s.Place(2, 0, 0); r.Refused() || s.Task(2).Phase != Reserved {
			t.Fatalf("it is %s, %s", s.Task(2).Phase, r.Code)
		}
		return s
	}
	const subject, target, other, above = TaskID(2), TaskID(3), TaskID(4), TaskID(5)
	s := build()
	if r := s.Admits(target, 0); r.Code != Violates || r.Need != 1 || r.Have != 2 {
		t.Errorf("a target may come where others leave: %+v", r)
	}
	if r := s.Place(target, 0, 0); r.Code != Violates {
		t.Errorf("a target comes where others leave: %s", r.Code)
	}
	if s.Admits(target, 1).Refused() || s.Admits(other, 0).Refused() || s.Admits(above, 0).Refused() {
		t.Error("a target may not come elsewhere, or who is none, or of a higher priority, may not come")
	}
	for i := range TaskID(2) {
		if _, phase, ok := s.Promote(0, NoJob); ok {
			t.Fatalf("it is %s before all have left", phase)
		}
		if err := s.Apply(0, TaskLeft{Task: i, Attempt: s.Task(i).Attempt}); err != nil {
			t.Fatal(err)
		}
	}
	if task, phase, ok := s.Promote(0, NoJob); !ok || task != subject || phase != Starting {
		t.Fatalf("it is %s when both have left", phase)
	}
	if s.Admits(target, 0).Refused() {
		t.Error("a target may not come when it has begun")
	}
	s = build()
	if r := s.Place(above, 0, 0); r.Refused() {
		t.Errorf("a target of a higher priority does not come: %s", r.Code)
	}
	if task, phase, ok := s.Promote(0, NoJob); !ok || task != subject || phase != Waiting {
		t.Errorf("it is %s where one of a higher priority has come", phase)
	}
	s = build()
	if err := s.Apply(0, EvictRefused{Task: 1, Attempt: s.Task(1).Attempt}); err != nil {
		t.Fatal(err)
	}
	if task, phase, ok := s.Promote(0, NoJob); !ok || task != subject || phase != Waiting {
		t.Fatalf("it is %s where one stays", phase)
	}
}
