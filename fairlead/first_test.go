package fairlead_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
)

// TestExplainsBeforeTheFirstRound: whoever asks about a task that was found running before there was a round is told what the state says.
func TestExplainsBeforeTheFirstRound(t *testing.T) {
	core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, []cluster.Class{{Name: "gold", Availability: cluster.Whole / 2}}), sched.Lane{Name: "all", Policy: fairlead.New(fairlead.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := core.Observe(0, []cluster.Event{
		cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{4}}},
		cluster.JobSubmitted{},
		cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}},
		cluster.TaskSubmitted{},
		cluster.TaskFound{},
		cluster.TaskSubmitted{Task: 1, Seq: 1},
	}, nil); err != nil {
		t.Fatal(err)
	}
	for task := range cluster.TaskID(2) {
		x, _, err := sched.ExplainTask(core, task, 3)
		if err != nil || x.Others.Nodes != 1 {
			t.Errorf("task %d: %+v, %v", task, x, err)
		}
		if why := core.Why(task); why.Nodes != 1 {
			t.Errorf("task %d: %+v", task, why)
		}
	}
}
