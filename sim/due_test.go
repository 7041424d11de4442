package sim

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// one is a node for a task at a time, and the tasks.
func one(tasks ...trace.Record) *list {
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}}
	l.records = append([]trace.Record{{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{1}}}}, tasks...)
	return l
}

// task is one of a job.
func jobTask(at cluster.Time, t trace.Task) trace.Record {
	t.Demand = cluster.Vector{1}
	return trace.Record{Time: at, What: trace.TaskSubmitted, Task: t}
}

// TestDeadlines: a job gains what it is worth when all of its tasks are done, and a deadline is kept at the last moment; a job that fails, is
// killed or is there at the end gains nothing, and one whose deadline has not come by then does not count.
func TestDeadlines(t *testing.T) {
	const s = cluster.Second
	due := func(moments ...cluster.Time) []trace.Due {
		var all []trace.Due
		for i, m := range moments {
			all = append(all, trace.Due{Within: m, Worth: int64(10 - 4*i)})
		}
		return all
	}
	run := func(policy string, until cluster.Time, tasks ...trace.Record) report.Run {
		t.Helper()
		p, err := policies.New(policy, policies.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(Config{Source: one(tasks...), Lanes: []sched.Lane{{Name: policy, Policy: p}}, Planner: Planner{Time: Zero}, Until: until})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := run(
		"first-fit", 100*s,
		jobTask(0, trace.Task{Job: 1, JobTasks: 2, Work: 10 * s, Priority: 9, Due: due(20 * s)}), // done at 20 s, of gold
		jobTask(0, trace.Task{Job: 1, Index: 1, JobTasks: 2, Work: 10 * s}),                      // the second task of the same
		jobTask(0, trace.Task{Job: 2, JobTasks: 1, Work: 10 * s, Due: due(29*s, 30*s)}),          // done at 30 s
		jobTask(0, trace.Task{Job: 3, JobTasks: 1, Work: 10 * s, Fails: true, Due: due(60 * s)}), // fails at 40 s
		jobTask(0, trace.Task{Job: 4, JobTasks: 1, Work: 10 * s, Due: due(20*s, 25*s)}),          // done at 50 s
		jobTask(0, trace.Task{Job: 5, JobTasks: 1, Work: cluster.Never, Due: due(90 * s)}),       // there at the end
		jobTask(0, trace.Task{Job: 6, JobTasks: 1, Work: s, Due: due(200 * s)}),                  // waits, and may yet keep it
		trace.Record{Time: 50 * s, What: trace.TaskSubmitted, Task: trace.Task{Job: 7, JobTasks: 1, Work: s, Due: due(10 * s), Demand: cluster.Vector{1}}},
		trace.Record{Time: 55 * s, What: trace.TaskKilled, Task: trace.Task{Job: 7}},
	)
	want := map[string]*report.Deadlines{"gold": {Due: 1, KeptDeadlines: 1, Worth: 10, Gained: 10}, "bronze": {Due: 5, KeptDeadlines: 0, Worth: 50, Gained: 6}}
	for name, d := range want {
		if diff := gocmp.Diff(d, r.Classes[name].Deadlines); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// The policy edf knows the deadlines.
	for policy, kept := range map[string]int{"first-fit": 1, "edf": 2} {
		r := run(policy, 0,
			jobTask(0, trace.Task{Job: 1, JobTasks: 1, Work: 10 * s, Due: due(50 * s)}),
			jobTask(s, trace.Task{Job: 2, JobTasks: 1, Work: 10 * s}),
			jobTask(2*s, trace.Task{Job: 3, JobTasks: 1, Work: 10 * s, Due: due(20 * s)}))
		if got := r.Classes["bronze"].Deadlines; got == nil || got.Due != 2 || got.KeptDeadlines != kept {
			t.Errorf("%s: %+v, want %d of 2 kept", policy, got, kept)
		}
	}
}

// TestLeastRun: a run that is promised to last is evicted then and no sooner, by whichever policy evicts, and the report says how often, and how
// long the class waited.
func TestLeastRun(t *testing.T) {
	const s = cluster.Second
	for _, policy := range []string{"priority", "fairlead", "kube-scheduler"} {
		for _, least := range []cluster.Time{0, 30 * s} {
			p, err := policies.New(policy, policies.Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			table := class.Spot()
			table.Classes[1].LeastRun = least
			r, err := Run(Config{
				Source: one(
					jobTask(0, trace.Task{Job: 1, JobTasks: 1, Work: 100 * s}),
					jobTask(10*s, trace.Task{Job: 2, JobTasks: 1, Work: 50 * s, Priority: 1}),
				),
				Lanes: []sched.Lane{{Name: policy, Policy: p}}, Planner: Planner{Time: Zero}, Classes: table,
			})
			if err != nil {
				t.Fatal(err)
			}
			begins := report.Number(max(least-10*s, 0).Seconds())
			if got := r.Classes["hp"].PlacementLatency.Max; got < begins || got > begins+0.01*begins+0.1 {
				t.Errorf("%s, least run %v: the important task waited for %v s, want %v", policy, least, got, begins)
			}
			got := r.Classes["spot"].Lasting
			switch {
			case r.Classes["spot"].Preempted != 1:
				t.Errorf("%s, least run %v: %d spot tasks were preempted, want 1", policy, least, r.Classes["spot"].Preempted)
			case least == 0 && got != nil:
				t.Errorf("%s: %+v of a class that promises nothing", policy, got)
			case least > 0 && gocmp.Diff(&report.Lasting{LeastRun: 30, EvictedRuns: 1, MeanWait: 50}, got) != "":
				t.Errorf("%s: %+v, want one run evicted, none of them early, and 50 s waited", policy, got)
			}
		}
	}
}
