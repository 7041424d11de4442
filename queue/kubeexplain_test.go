package queue_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// What kube-scheduler says of a task is what it does next, and it does the same where nobody has asked: where the task goes, and whom it evicts.
func TestKubeSchedulerDoesWhatItSays(t *testing.T) {
	var core *sched.Core
	step := func(now cluster.Time, events ...cluster.Event) []sched.Decision {
		t.Helper()
		decisions, _, err := core.Step(now, events, nil)
		if err != nil {
			t.Fatal(err)
		}
		return decisions
	}
	run := func(ask bool) (decided []sched.Decision, said []sched.Explanation) {
		policy, err := queue.New("kube-scheduler", queue.Options{Ties: book.Lowest})
		if err != nil {
			t.Fatal(err)
		}
		if core, err = sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1000}}, nil), sched.Lane{Name: "l", Policy: policy}); err != nil {
			t.Fatal(err)
		}
		step(0,
			cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Name: "small", Capacity: cluster.Vector{4000}}},
			cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Name: "large", Capacity: cluster.Vector{8000}}},
			cluster.JobSubmitted{Job: 0}, cluster.ShapeDefined{Shape: 0, Spec: cluster.Shape{Demand: cluster.Vector{3000}}},
		)
		for i := range cluster.TaskID(4) { // the fourth evicts the third, which came last
			now := cluster.Time(i+1) * cluster.Second
			if _, err := core.Observe(now, []cluster.Event{cluster.TaskSubmitted{Task: i, Seq: cluster.Seq(i) + 1, Priority: int32(i) / 3}}, nil); err != nil {
				t.Fatal(err)
			}
			if ask {
				x, explains, err := sched.ExplainTask(core, i, 10)
				if err != nil || !explains {
					t.Fatal(explains, err)
				}
				said = append(said, x)
			}
			for _, d := range step(now) {
				decided = append(decided, d)
				if d.Kind == sched.Place {
					step(now, cluster.TaskStarted{Task: d.Task, Attempt: d.Attempt, Node: d.Node})
				}
			}
		}
		return decided, said
	}
	decided, said := run(true)
	unasked, _ := run(false)
	if len(decided) != 4 || len(unasked) != len(decided) {
		t.Fatalf("asked it decides %+v, and unasked %+v; want four decisions", decided, unasked)
	}
	for i, d := range decided {
		if u := unasked[i]; u.Kind != d.Kind || u.Task != d.Task || u.Node != d.Node {
			t.Errorf("asked it decides %+v, and unasked %+v", d, u)
		}
		if i < 3 && (len(said[i].Candidates) == 0 || said[i].Candidates[0].Node != d.Node) {
			t.Errorf("it says %+v and decides %+v", said[i], d)
		}
	}
	want := "It costs least to evict for it on node " + core.View().NodeSpec(decided[3].Node).Name + ": " + core.View().TaskName(decided[3].Task)
	if decided[3].Kind != sched.Evict || !strings.HasPrefix(said[3].Standing[0], want) {
		t.Errorf("it says %q and decides %+v", said[3].Standing, decided[3])
	}
}
