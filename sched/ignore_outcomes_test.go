package sched_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// idle decides nothing.
type idle struct{}

func (idle) Plan(*sched.Trial, *sched.Changed, int64, *sched.Plan) {}

func (idle) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// rounding is a step of the core that is to have so many rounds.
func rounding(t *testing.T, core *sched.Core, what string) func(at cluster.Time, want int64, in ...cluster.Event) {
	t.Helper()
	return func(at cluster.Time, want int64, in ...cluster.Event) {
		t.Helper()
		before := core.Counts().Rounds
		if _, _, err := core.Step(at, in, nil); err != nil {
			t.Fatal(err)
		}
		if got := core.Counts().Rounds - before; got != want {
			t.Errorf("%s: %d rounds at %v, want %d", what, got, at, want)
		}
	}
}

// TestIgnoreOutcomes counts the rounds of a lane for which outcomes are no cause, beside one
// for which they are.
func TestIgnoreOutcomes(t *testing.T) {
	const second = cluster.Second
	for _, ignore := range []bool{true, false} {
		s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, []cluster.Class{{Name: "all"}})
		core, err := sched.New(s, sched.Lane{Name: "l", Policy: idle{}, When: sched.Trigger{Watchdog: 30 * second, IgnoreOutcomes: ignore}})
		if err != nil {
			t.Fatal(err)
		}
		step := rounding(t, core, fmt.Sprintf("ignoring outcomes %v", ignore))
		outcomes := int64(1)
		if ignore {
			outcomes = 0
		}
		step(0, 1,
			cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{1}}}, cluster.JobSubmitted{Job: 0},
			cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}},
			cluster.TaskSubmitted{Task: 0, Seq: 1, Job: 0}, cluster.TaskSubmitted{Task: 1, Seq: 2, Job: 0})
		step(10*second, 1, cluster.TaskFound{Task: 0, Seq: 1, Node: 0})
		step(20*second, outcomes, cluster.TaskLeft{Task: 0, Attempt: 1})
		if want := (10+10*cluster.Time(outcomes))*second + 30*second; core.Wake(20*second) != want {
			t.Errorf("ignoring outcomes %v: the watchdog is due at %v, want %v", ignore, core.Wake(20*second), want)
		}
		step(60*second, 1)
		step(61*second, 1-outcomes, cluster.TaskEnded{Task: 0, Seq: 1})
	}
}

// taker places whoever waits on the first node, and evicts whoever is there.
type taker struct{ idle }

func (taker) Plan(t *sched.Trial, _ *sched.Changed, _ int64, out *sched.Plan) {
	s := t.View()
	for waits := range cluster.TaskID(s.TaskRows()) {
		if s.Task(waits).Phase != cluster.Waiting {
			continue
		}
		for _, runs := range s.TasksOn(0) {
			out.Add(sched.Action{Kind: sched.Evict, Task: runs, Attempt: s.Task(runs).Attempt})
		}
		out.Add(sched.Action{Kind: sched.Place, Task: waits, Attempt: s.Task(waits).Attempt, Node: 0})
		out.Close()
		return
	}
}

// TestWhomAnEvictionLetsWaitIsNoCause: on Kubernetes who was evicted is gated until its owner has made another pod. For a lane that ignores outcomes that is one, and the
// task waits for the watchdog; what happens to others is a cause, and so is what happens to the task when it has had another place.
func TestWhomAnEvictionLetsWaitIsNoCause(t *testing.T) {
	const second = cluster.Second
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, []cluster.Class{{Name: "all"}})
	core, err := sched.New(s, sched.Lane{Name: "l", Policy: taker{}, When: sched.Trigger{Watchdog: 30 * second, IgnoreOutcomes: true}})
	if err != nil {
		t.Fatal(err)
	}
	step := rounding(t, core, "whom an eviction lets wait")
	step(0, 1,
		cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{1}}}, cluster.JobSubmitted{Job: 0},
		cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}}, cluster.TaskSubmitted{Task: 0, Seq: 1, Job: 0})
	step(1*second, 0, cluster.TaskStarted{Task: 0, Attempt: 1, Node: 0})
	step(2*second, 1, cluster.TaskSubmitted{Task: 1, Seq: 2, Job: 0})
	step(3*second, 0, cluster.TaskLeft{Task: 0, Attempt: 1}, cluster.TaskGated{Task: 0, Seq: 1})
	step(4*second, 0, cluster.TaskStarted{Task: 1, Attempt: 1, Node: 0}, cluster.TaskUngated{Task: 0, Seq: 1})
	step(31*second, 0)
	step(32*second, 1)
	step(33*second, 0, cluster.TaskLeft{Task: 1, Attempt: 1}, cluster.TaskGated{Task: 1, Seq: 2}, cluster.TaskStarted{Task: 0, Attempt: 2, Node: 0})
	step(34*second, 0, cluster.TaskLeft{Task: 0, Attempt: 2}, cluster.TaskGated{Task: 0, Seq: 1}) // somebody has deleted it, and nobody waits
	step(35*second, 1, cluster.TaskUngated{Task: 0, Seq: 1})
}

// TestWhoComesForAnotherIsNoCause: where pods take their time to end, the next one of their owner has a task of its own. It waits as whom an eviction lets wait, and that the task of the
// one before it ends, once that one is gone, is no cause either.
func TestWhoComesForAnotherIsNoCause(t *testing.T) {
	const second = cluster.Second
	for _, displaced := range []bool{true, false} {
		s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, []cluster.Class{{Name: "all"}})
		core, err := sched.New(s, sched.Lane{Name: "l", Policy: taker{}, When: sched.Trigger{Watchdog: 30 * second, IgnoreOutcomes: true}})
		if err != nil {
			t.Fatal(err)
		}
		step := rounding(t, core, fmt.Sprintf("displaced %v", displaced))
		outside := int64(1)
		if displaced {
			outside = 0
		}
		step(0, 1,
			cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{1}}}, cluster.JobSubmitted{Job: 0},
			cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{1}}}, cluster.TaskSubmitted{Task: 0, Seq: 1, Job: 0})
		step(1*second, 0, cluster.TaskStarted{Task: 0, Attempt: 1, Node: 0})
		step(2*second, 1, cluster.TaskSubmitted{Task: 1, Seq: 2, Job: 0})
		step(3*second, 0, cluster.TaskSubmitted{Task: 2, Seq: 3, Job: 0, Gated: true, Displaced: displaced})
		step(4*second, outside, cluster.TaskUngated{Task: 2, Seq: 3})
		if !displaced {
			continue
		}
		step(5*second, 0, cluster.TaskLeft{Task: 0, Attempt: 1}, cluster.TaskGated{Task: 0, Seq: 1}, cluster.TaskEnded{Task: 0, Seq: 1})
		if w := core.Counts().WithoutPlacement; w != 0 {
			t.Errorf("%d runs left without a placement", w)
		}
		step(6*second, 0, cluster.TaskStarted{Task: 1, Attempt: 1, Node: 0})
		step(7*second, 1, cluster.TaskEnded{Task: 1, Seq: 2}) // who ran is gone, and there is room
	}
}
