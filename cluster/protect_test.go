package cluster

import (
	"fmt"
	"testing"
)

// newProtected is a state with so many runs on one node.
func newProtected(tb testing.TB, runs int) *State {
	tb.Helper()
	s := NewState([]Kind{{Name: "cpu"}}, nil)
	events := []Event{NodeAdded{Spec: NodeSpec{Name: "n", Capacity: Vector{1 << 40}}}, ShapeDefined{Spec: Shape{Demand: Vector{1}}}, JobSubmitted{}}
	for t := range TaskID(runs) {
		events = append(events, TaskSubmitted{Task: t, Seq: Seq(t), Gated: true}, TaskFound{Task: t, Seq: Seq(t)})
	}
	applyAll(tb, s, events...)
	return s
}

func applyAll(tb testing.TB, s *State, events ...Event) {
	tb.Helper()
	for _, e := range events {
		if err := s.Apply(s.Now(), e); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestOneProtectionARun: what is said of a run replaces what was said before, and ends with
// the run, so that no round is due for what holds no more.
func TestOneProtectionARun(t *testing.T) {
	s := newProtected(t, 2)
	next := func(want Time) {
		t.Helper()
		got := Never
		if runs := s.ProtectedRuns(); len(runs) > 0 {
			got = runs[0].Until
		}
		if got != want {
			t.Errorf("the first protection ends at %v, want %v", got, want)
		}
	}
	for i := range Time(100) {
		applyAll(t, s, TaskProtected{Task: 0, Attempt: 1, Until: Hour + i})
	}
	next(Hour + 99)
	applyAll(t, s, TaskProtected{Task: 1, Attempt: 1, Until: Minute})
	next(Minute)
	applyAll(t, s, TaskProtected{Task: 1, Attempt: 1, Until: Never})
	next(Hour + 99)
	applyAll(t, s, TaskLeft{Task: 0, Attempt: 1})
	next(Never)
	applyAll(t, s, TaskLeft{Task: 1, Attempt: 1})
	if n := len(s.ProtectedRuns()); n > 0 {
		t.Errorf("%d runs are protected, of which none is left", n)
	}
}

// BenchmarkProtect reports of run after run, round and round, that it is protected a little
// longer than the one before.
func BenchmarkProtect(b *testing.B) {
	for _, runs := range []int{1, 10_000, 100_000} {
		b.Run(fmt.Sprintf("runs=%d", runs), func(b *testing.B) {
			s := newProtected(b, runs)
			at := 0
			for b.Loop() {
				if err := s.Apply(0, TaskProtected{Task: TaskID(at % runs), Attempt: 1, Until: Hour + Time(at)}); err != nil {
					b.Fatal(err)
				}
				if at++; at%1000 == 0 {
					s.TrimLog(s.LogEnd())
				}
			}
		})
	}
}
