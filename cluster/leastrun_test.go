package cluster

import (
	"strings"
	"testing"
)

// TestLeastRun: a run of a class that promises it to last is not to be evicted before, whatever else is said of it,
// and may be then: the node is noted when that is over.
func TestLeastRun(t *testing.T) {
	s := NewState([]Kind{{Name: "cpu"}}, []Class{{Name: "spot", LeastRun: Hour}, {Name: "other"}})
	applyAll(t, s, NodeAdded{Spec: NodeSpec{Name: "n", Capacity: Vector{8}}}, ShapeDefined{Spec: Shape{Demand: Vector{1}}}, JobSubmitted{},
		TaskSubmitted{Task: 0, Seq: 1}, TaskSubmitted{Task: 1, Seq: 2, Class: 1}, TaskSubmitted{Task: 2, Seq: 3})
	until := func(task TaskID) Time {
		r := s.Evictable(task)
		if !r.Refused() {
			return 0
		}
		if r.Code != Protected {
			return -1
		}
		return Time(r.Need)
	}
	want := func(when string, task TaskID, want Time) {
		t.Helper()
		if got := until(task); got != want {
			t.Errorf("%s: task %d may be evicted from %v on, want %v", when, task, got, want)
		}
	}
	// Task 0 was sent out, and begins five minutes later.
	for _, task := range []TaskID{0, 1} {
		if r := s.Place(task, 0, 0); r.Refused() {
			t.Fatal(r.Code)
		}
	}
	s.Advance(5 * Minute)
	want("before it begins", 0, 5*Minute+Hour)
	want("before it begins", 1, 0)
	applyAll(t, s, TaskStarted{Task: 0, Attempt: 1}, TaskStarted{Task: 1, Attempt: 1})
	want("when it begins", 0, 5*Minute+Hour)
	want("when it begins", 1, 0)
	if p := s.Task(0).Protection(); !strings.Contains(p.Reason, "spot promises that a run lasts") {
		t.Errorf("the reason is %q", p.Reason)
	}
	// What others say of it may be more, and is never less.
	applyAll(t, s, TaskProtected{Task: 0, Attempt: 1, Until: 10 * Hour})
	want("when somebody says more", 0, 10*Hour)
	applyAll(t, s, TaskProtected{Task: 0, Attempt: 1, Until: 0})
	want("when that is taken back", 0, 5*Minute+Hour)
	applyAll(t, s, TaskProtected{Task: 0, Attempt: 1, Until: 2 * Hour, But: 1})
	want("when a lane may evict it", 0, 5*Minute+Hour)
	// A run that is found has lasted for nobody knows how long.
	applyAll(t, s, TaskFound{Task: 2, Seq: 3})
	want("when it is found", 2, 5*Minute+Hour)
	before := s.LogEnd()
	s.Advance(Hour + 5*Minute - 1)
	want("a moment before the end", 0, 5*Minute+Hour)
	s.Advance(Hour + 5*Minute)
	want("at the end", 0, 0)
	if s.LogEnd() == before {
		t.Error("nobody is told that it is over")
	}
	// It is told to leave, and stays: that is no other run.
	if r := s.Evict(0); r.Refused() {
		t.Fatal(r.Code)
	}
	applyAll(t, s, EvictRefused{Task: 0, Attempt: 1})
	want("after it was to leave", 0, 0)
	soon := s.now + Minute
	applyAll(t, s, TaskProtected{Task: 0, Attempt: 1, Until: soon})
	want("when somebody protects it then", 0, soon)
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if err := CheckClasses([]Class{{Name: "a", LeastRun: -1}}); err == nil {
		t.Error("a promise of less than nothing is a class")
	}
}
