package sched_test

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// watcher is a policy that notes what it is shown.
type watcher struct{ gone, tasks []cluster.TaskID }

func (w *watcher) Plan(_ *sched.Trial, c *sched.Changed, _ int64, _ *sched.Plan) {
	w.gone, w.tasks = slices.Clone(c.Gone), slices.Clone(c.Tasks)
}

func (w *watcher) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// A row whose task ended, and that a task of another lane took over before the
// next round, is gone for the lane that had it.
func TestRowThatGoesToAnotherLaneIsGone(t *testing.T) {
	a, b := &watcher{}, &watcher{}
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil),
		sched.Lane{Name: "a", Policy: a, Owns: func(j *cluster.Job) bool { return j.User == "ann" }},
		sched.Lane{Name: "b", Policy: b})
	if err != nil {
		t.Fatal(err)
	}
	step := func(at cluster.Time, events ...cluster.Event) {
		t.Helper()
		if _, _, err := core.Step(at, events, nil); err != nil {
			t.Fatal(err)
		}
	}
	step(0, cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}},
		cluster.JobSubmitted{Job: 0, User: "ann"}, cluster.JobSubmitted{Job: 1, User: "bob"},
		cluster.TaskSubmitted{Task: 0, Seq: 1, Job: 0}, cluster.TaskSubmitted{Task: 1, Seq: 2, Job: 0})
	if !slices.Equal(a.tasks, []cluster.TaskID{0, 1}) || len(a.gone) > 0 || len(b.tasks) > 0 {
		t.Fatalf("first round: a was shown %+v, b %+v", a, b)
	}
	step(1, cluster.TaskEnded{Task: 0, Seq: 1}, cluster.TaskEnded{Task: 1, Seq: 2},
		cluster.TaskSubmitted{Task: 0, Seq: 3, Job: 1}, cluster.TaskSubmitted{Task: 1, Seq: 4, Job: 0})
	if !slices.Equal(a.tasks, []cluster.TaskID{1}) || !slices.Equal(a.gone, []cluster.TaskID{0, 1}) {
		t.Errorf("a was shown %+v, want task 1, and rows 0 and 1 gone", a)
	}
	if !slices.Equal(b.tasks, []cluster.TaskID{0}) || len(b.gone) > 0 {
		t.Errorf("b was shown %+v, want task 0", b)
	}
}
