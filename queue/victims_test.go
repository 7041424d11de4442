package queue

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// TestForgottenClassTakesNoRank evicts one of two, of which the less important class is told
// apart from the other only in the last rank. A row whose class was forgotten would take
// the first rank, and leave both of them in the last.
func TestForgottenClassTakesNoRank(t *testing.T) {
	classes := []cluster.Class{{Name: "unused", Importance: 9}, {Name: "a", Importance: 1}, {Name: "b", Importance: 2}, {Name: "c", Importance: 3}, {Name: "d", Importance: 4}}
	for _, less := range []cluster.TaskID{0, 1} {
		core, err := sched.New(cluster.NewState([]cluster.Kind{{Name: "cpu"}}, classes), sched.Lane{Name: "all", Policy: policyNamed(t, "priority")})
		if err != nil {
			t.Fatal(err)
		}
		events := []cluster.Event{cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{4}}}, cluster.JobSubmitted{}}
		for i := range cluster.TaskID(2) {
			class := cluster.ClassID(3)
			if i == less {
				class = 4
			}
			events = append(events, cluster.NodeAdded{Node: cluster.NodeID(i), Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{4}}},
				cluster.TaskSubmitted{Task: i, Seq: cluster.Seq(i), Class: class, Gated: true},
				cluster.TaskFound{Task: i, Seq: cluster.Seq(i), Node: cluster.NodeID(i)})
		}
		events = append(events, cluster.ClassForgotten{Class: 0}, cluster.TaskSubmitted{Task: 2, Seq: 2, Class: 1, Priority: 10})
		out, _, err := core.Step(0, events, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(out) == 0 || out[0].Kind != sched.Evict || out[0].Task != less {
			t.Errorf("decided %v, want first the eviction of task %d, which is of the less important class", out, less)
		}
		if ranks := book.RankClasses(core.View(), nil); ranks.Count != 4 || ranks.Of[1] != 0 || ranks.Of[4] != 3 {
			t.Errorf("the ranks are %v, want 0 to 3 for the classes that there are", ranks)
		}
	}
}
