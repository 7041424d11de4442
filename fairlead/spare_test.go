package fairlead

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestSpareLooksAtSoMany: of the victims of a gang who turn out not to be wanted those stay who are looked at, and that is done for so many and no more,
// whether they stay or not.
func TestSpareLooksAtSoMany(t *testing.T) {
	for _, tc := range []struct{ wanted, more, leave int }{
		{0, mostSpared - 1, 0},
		{0, mostSpared, 0},
		{0, mostSpared + 1, 1},
		{0, 100, 100 - mostSpared},
		{10, mostSpared - 10, 10},
		{10, mostSpared, 20},
		{mostSpared, 5, mostSpared + 5},
	} {
		s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil)
		apply := func(e cluster.Event) {
			if err := s.Apply(0, e); err != nil {
				t.Fatal(err)
			}
		}
		victims := tc.wanted + tc.more
		apply(cluster.NodeAdded{Spec: cluster.NodeSpec{Capacity: cluster.Vector{int64(tc.wanted)}}})
		apply(cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Capacity: cluster.Vector{int64(tc.more)}}})
		apply(cluster.JobSubmitted{Name: "there"})
		apply(cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1}}})
		var bundle []sched.Action
		for task := range cluster.TaskID(victims) {
			node := cluster.NodeID(0)
			if int(task) >= tc.wanted {
				node = 1
			}
			apply(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task)})
			apply(cluster.TaskFound{Task: task, Seq: cluster.Seq(task), Node: node})
			bundle = append(bundle, sched.Action{Kind: sched.Evict, Task: task, Attempt: s.Task(task).Attempt})
		}
		for i := range tc.wanted { // who comes to the first node needs all of it
			task := cluster.TaskID(victims + i)
			apply(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task)})
			bundle = append(bundle, sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt})
		}
		p := ganging{t: sched.OnCopy(&s.View)}
		got := p.spare(p.t.Mark(), bundle)
		if leave, come := count(got, sched.Evict), count(got, sched.Place); leave != tc.leave || come != tc.wanted {
			t.Errorf("%d are wanted and %d are not: %d leave for %d who come, want %d", tc.wanted, tc.more, leave, come, tc.leave)
		}
	}
}
