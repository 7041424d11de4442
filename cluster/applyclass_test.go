package cluster

import (
	"strings"
	"testing"
)

// TestClassesChange defines a class, changes and forgets it while a task runs, and wants the
// account of the task to count on whatever the promise.
func TestClassesChange(t *testing.T) {
	s := NewState([]Kind{{Name: "cpu"}}, nil)
	apply := func(at Time, e Event) error { return s.Apply(at, e) }
	must := func(at Time, e Event) {
		t.Helper()
		if err := apply(at, e); err != nil {
			t.Fatal(err)
		}
	}
	gold := Class{Name: "gold", Availability: Whole / 2}
	must(0, ClassDefined{Class: 2, Spec: gold})
	if s.ClassLive(1) || !s.ClassLive(2) || len(s.Classes()) != 3 {
		t.Fatalf("classes are %v", s.Classes())
	}
	must(0, NodeAdded{Node: 0, Spec: NodeSpec{Name: "n", Capacity: Vector{4}}})
	must(0, ShapeDefined{Shape: 0, Spec: Shape{Demand: Vector{1}}})
	must(0, JobSubmitted{Job: 0})
	task := TaskSubmitted{Task: 0, Seq: 1, Job: 0, Shape: 0, Class: 1}
	if err := apply(0, task); err == nil || !strings.Contains(err.Error(), "class row 1 of 3 holds no class") {
		t.Errorf("a task of a row without a class: %v", err)
	}
	task.Class = 2
	must(0, task)
	must(0, TaskFound{Task: 0, Seq: 1, Node: 0})
	before := s.Task(0).Account.At(10*Second, Running)
	end := s.LogEnd()
	must(10*Second, ClassDefined{Class: 2, Spec: Class{Name: "gold", Availability: Whole / 4}})
	touches, _ := s.ChangesSince(end)
	if len(touches) != 1 || touches[0].Table != Classes || touches[0].Row != 2 {
		t.Errorf("the log says %v, want class row 2", touches)
	}
	if after := s.Task(0).Account.At(10*Second, Running); after != before {
		t.Errorf("the account was %+v and is %+v", before, after)
	}
	if slack := s.Classes()[2].Slack(s.Task(0).Account.At(s.Now(), Running)); slack != 30*Second {
		t.Errorf("slack is %v, want 10s at a quarter less 10s", slack)
	}
	view := NewState([]Kind{{Name: "cpu"}}, nil)
	view.CopyAll(&s.View)
	if view.Classes()[2] != s.Classes()[2] || view.ClassLive(1) || !view.ClassLive(2) {
		t.Errorf("the copy has %v", view.Classes())
	}
	for _, tc := range []struct {
		event Event
		want  string
	}{
		{ClassForgotten{Class: 2}, `class row 2: "gold" is still that of task row 0`},
		{ClassForgotten{Class: 1}, "class row 1 holds no class"},
		{ClassForgotten{Class: 9}, "class row 9 holds no class"},
		{ClassDefined{Class: 255, Spec: gold}, "class row 255 is too large, want a row below 255"},
		{ClassDefined{Class: 3, Spec: Class{Name: "odd", Availability: -1}}, `class "odd": availability is -0.000001, want 0 to 1`},
	} {
		if err := apply(s.Now(), tc.event); err == nil || err.Error() != tc.want {
			t.Errorf("%+v: %v, want %q", tc.event, err, tc.want)
		}
	}
	must(s.Now(), TaskEnded{Task: 0, Seq: 1})
	must(s.Now(), ClassForgotten{Class: 2})
	if s.ClassLive(2) || s.Classes()[2] != (Class{}) {
		t.Errorf("class row 2 is %v", s.Classes()[2])
	}
}
