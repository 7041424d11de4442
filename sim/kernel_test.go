package sim

import (
	"fmt"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// TestOrderOfOneMoment: in one moment runs end and victims leave before others begin, and what
// is alike happens in the order of setting; an earlier moment comes first in any case.
func TestOrderOfOneMoment(t *testing.T) {
	order := []uint8{runEnds, runLeaves, runBegins, runRefused, reported, nodeFails, nodeReturns, nodesMeasure, foreign, roundEnds}
	var k kernel
	var want []string
	name := func(t timer) string { return fmt.Sprint(t.at, " ", t.kind, " ", t.node) }
	for _, node := range []cluster.NodeID{7, 2} {
		for _, kind := range slices.Backward(order) {
			k.set(timer{at: 5, kind: kind, node: node})
			k.set(timer{at: 4, kind: kind, node: node})
		}
	}
	for _, at := range []cluster.Time{4, 5} {
		for _, kind := range order {
			want = append(want, name(timer{at: at, kind: kind, node: 7}), name(timer{at: at, kind: kind, node: 2}))
		}
	}
	if k.busy != 2*2*5 { // of the ten kinds, five are of work under way
		t.Errorf("%d timers of work are under way, want 20", k.busy)
	}
	var got []string
	for k.next() != cluster.Never {
		got = append(got, name(k.pop()))
	}
	if !slices.Equal(got, want) || k.busy != 0 {
		t.Errorf("got %v, want %v; %d timers of work left", got, want, k.busy)
	}
}

// TestNeverIsNotSet: what never happens takes no place, and keeps no run going.
func TestNeverIsNotSet(t *testing.T) {
	var k kernel
	k.set(timer{at: cluster.Never, kind: runEnds})
	k.set(timer{at: -1, kind: runEnds})
	if k.busy != 0 || len(k.timers) != 0 || k.next() != cluster.Never {
		t.Errorf("%d timers, %d of work, the next at %v", len(k.timers), k.busy, k.next())
	}
	k.set(timer{at: 0, kind: runEnds})
	if k.busy != 1 || k.next() != 0 {
		t.Errorf("%d timers of work, the next at %v; want one, now", k.busy, k.next())
	}
}

// TestRunsEndBeforeOthersBegin: an end is reported to the core before a start in the same
// moment, whichever was set first.
func TestRunsEndBeforeOthersBegin(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1}}
	second := cluster.Second
	// The one is placed at second 0 and begins at 10; the other is found at second 1 and ends at
	// 10, so that its timer is the later one.
	s, err := newSimulation(Config{
		Source: &list{kinds: kinds, records: []trace.Record{
			{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{2}}},
			{What: trace.TaskSubmitted, Task: trace.Task{Job: 1, JobTasks: 1, Demand: cluster.Vector{1}, Work: 10 * second}},
			{Time: second, What: trace.TaskSubmitted, Task: trace.Task{Job: 2, JobTasks: 1, Demand: cluster.Vector{1}, Work: 9 * second, Running: true, OnNode: 1}},
		}},
		Lanes: lane(t, "kube"), Planner: Planner{Time: Zero},
		World: World{Overheads: Overheads{Cold: []cluster.Time{10 * second}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.replay.read(); err != nil {
		t.Fatal(err)
	}
	for next := s.nextMoment(); next < 10*second; next = s.nextMoment() {
		s.pass(next)
		if err := s.moment(); err != nil {
			t.Fatal(err)
		}
	}
	s.pass(10 * second)
	s.fire(roundEnds)
	var got []string
	for _, e := range s.outbox.events {
		got = append(got, fmt.Sprintf("%T", e))
	}
	if want := []string{"cluster.TaskEnded", "cluster.TaskStarted"}; !slices.Equal(got, want) {
		t.Errorf("reported were %v, want %v", got, want)
	}
}
