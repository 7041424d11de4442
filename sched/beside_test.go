package sched_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// A round beside the core begins when nobody has come for a moment, or when they have come for long; and what makes it begin but those who come does so at once.
func TestRoundsBesideTheCoreGather(t *testing.T) {
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil), sched.Lane{Name: "beside", Policy: idle{}, Beside: true})
	if err != nil {
		t.Fatal(err)
	}
	at := func(ms int, in ...cluster.Event) {
		t.Helper()
		if _, _, err := core.Step(cluster.Time(ms)*cluster.Millisecond, in, nil); err != nil {
			t.Fatal(err)
		}
	}
	due := func(ms, waits int, want bool) {
		t.Helper()
		now := cluster.Time(ms) * cluster.Millisecond
		_, waiting, is := sched.DueBeside(core, now)
		if is != want || is && waiting != waits {
			t.Errorf("at %d ms a round is due: %t for %d; want %t for %d", ms, is, waiting, want, waits)
		}
		if wake := core.Wake(now); is != (wake <= now) {
			t.Errorf("at %d ms a round is due: %t, and the core wants to be called at %s", ms, is, wake)
		}
	}
	begin := func(ms int) *sched.Round {
		t.Helper()
		lane, _, is := sched.DueBeside(core, cluster.Time(ms)*cluster.Millisecond)
		if !is {
			t.Fatalf("at %d ms no round is due", ms)
		}
		return core.Begin(lane, cluster.Time(ms)*cluster.Millisecond)
	}
	come := func(n int) cluster.Event {
		return cluster.TaskSubmitted{Task: cluster.TaskID(n), Seq: cluster.Seq(n)}
	}
	at(0, cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{1000}}},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}}, cluster.JobSubmitted{Job: 0, Name: "a"})
	at(1000, come(0))
	due(1000, 1, false)
	at(1200, come(1))
	due(1499, 2, false)
	due(1500, 2, true)
	round := begin(1500)
	at(1600, come(2)) // while it is under way
	round.Run(0)
	core.Finish(round, 1650*cluster.Millisecond, nil)
	due(1899, 3, false)
	due(1900, 3, true)
	core.Finish(begin(1900), 1900*cluster.Millisecond, nil)

	n := 3
	for ms := 2000; ms < 7000; ms += 200 { // they never cease to come
		at(ms, come(n))
		due(ms, n, false)
		n++
	}
	due(7000, n, true)
	core.Finish(begin(7000), 7000*cluster.Millisecond, nil)

	at(8000, cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Name: "m", Capacity: cluster.Vector{1}}})
	due(8000, n, true) // those who wait have waited for that
}
