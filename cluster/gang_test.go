package cluster

import (
	"slices"
	"testing"
)

// TestGangCounts: who is reserved, starting, running, or leaving for another node counts, and who has finished; nobody else does.
func TestGangCounts(t *testing.T) {
	s := NewState([]Kind{{Name: "cpu"}}, nil)
	apply := func(events ...Event) {
		t.Helper()
		for _, e := range events {
			if err := s.Apply(s.Now()+1, e); err != nil {
				t.Fatalf("%+v: %v", e, err)
			}
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
	}
	do := func(refusals ...Refusal) {
		t.Helper()
		for _, r := range refusals {
			if r.Refused() {
				t.Fatal(r)
			}
		}
	}
	want := func(has, lacks int) {
		t.Helper()
		if got := GangHas(&s.View, 0); got != has {
			t.Errorf("the gang has %d, want %d", got, has)
		}
		if got := GangLacks(&s.View, 0); got != lacks {
			t.Errorf("the gang lacks %d, want %d", got, lacks)
		}
		own := NewState(s.Kinds(), s.Classes())
		own.CopyAll(&s.View)
		if err := own.Check(); err != nil || GangHas(&own.View, 0) != has || !slices.Equal(GangTasks(&own.View, 0), GangTasks(&s.View, 0)) {
			t.Errorf("a copy has %d of %v, want %d of %v: %v", GangHas(&own.View, 0), GangTasks(&own.View, 0), has, GangTasks(&s.View, 0), err)
		}
	}
	apply(NodeAdded{Node: 0, Spec: NodeSpec{Capacity: Vector{3}}}, NodeAdded{Node: 1, Spec: NodeSpec{Capacity: Vector{9}}}, ShapeDefined{Spec: Shape{Demand: Vector{1}}},
		JobSubmitted{Job: 0, Gang: 3}, JobSubmitted{Job: 1, Gang: 1})
	for i := range TaskID(4) {
		apply(TaskSubmitted{Task: 3 - i, Seq: Seq(i), Job: 0})
	}
	apply(TaskSubmitted{Task: 9, Seq: 9, Job: 1})
	if got := GangTasks(&s.View, 0); !slices.Equal(got, []TaskID{3, 2, 1, 0}) {
		t.Errorf("the gang is %v, want the order of submission", got)
	}
	if IsGang(&s.View, 1) || len(GangTasks(&s.View, 1)) > 0 || GangLacks(&s.View, 1) != 0 {
		t.Error("a job of which one has to run is a gang")
	}
	want(0, 3)
	do(s.Place(0, 0, 0))
	want(1, 2)
	if GangAwaits(&s.View, 0) {
		t.Error("the gang awaits others, of which enough wait")
	}
	do(s.Place(1, 0, 0), s.Place(2, 0, 0))
	want(3, 0)
	do(s.Evict(2))
	want(2, 1)
	do(s.Place(3, 0, 0)) // reserved, where task 2 has to leave first
	want(3, 0)
	do(s.Place(2, 1, 0)) // it moves
	want(4, 0)
	apply(TaskLeft{Task: 2, Attempt: 1})
	want(4, 0)
	apply(BindRefused{Task: 0, Attempt: 1}, TaskStarted{Task: 1, Attempt: 1, Node: 0}, TaskEnded{Task: 1, Seq: 2, Finished: true})
	want(3, 0)
	apply(TaskEnded{Task: 2, Seq: 1})
	want(2, 1)
	apply(TaskEnded{Task: 0, Seq: 3})
	if !GangAwaits(&s.View, 0) {
		t.Error("the gang lacks one, nobody of it waits, and it awaits nobody")
	}
	apply(TaskEnded{Task: 3, Seq: 0}, JobForgotten{Job: 0}, JobSubmitted{Job: 0, Gang: 3})
	want(0, 3) // who has finished belonged to another job
	apply(TaskSubmitted{Task: 0, Seq: 10, Job: 0}, TaskFound{Task: 0, Seq: 10, Node: 1})
	want(1, 2)
	apply(TaskEnded{Task: 0, Seq: 10}) // it has failed, and nobody waits for it
	want(1, 2)
	for _, e := range []JobSubmitted{{Job: 7, Gang: -1}, {Job: 7, Gang: 2, Foreign: true}} {
		if err := s.Apply(s.Now(), e); err == nil {
			t.Errorf("%+v is taken", e)
		}
	}
}
