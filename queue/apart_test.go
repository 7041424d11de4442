package queue

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestApartSleeps lets a task wait of whose job a node may have one task, as each has
// already: there is no look at all nodes when one of them changes, though on each somebody
// could be evicted.
func TestApartSleeps(t *testing.T) {
	const nodes = 200
	l := newLab(t, policyNamed(t, "priority"))
	for range nodes {
		l.node(10, 10)
	}
	shape := cluster.ShapeID(100)
	l.pending = append(
		l.pending, cluster.ShapeDefined{Shape: shape, Spec: cluster.Shape{Demand: cluster.Vector{2, 2}, PerNode: 1}},
		cluster.JobSubmitted{Job: 100, Name: "apart", User: "apart"},
	)
	apart := func() cluster.TaskID {
		l.seq++
		task := cluster.TaskID(l.tasks.Take())
		l.pending = append(l.pending, cluster.TaskSubmitted{Task: task, Seq: l.seq, Job: 100, Shape: shape, Priority: 9})
		return task
	}
	for range nodes {
		apart()
	}
	l.step()
	var fillers []cluster.TaskID
	for range nodes {
		fillers = append(fillers, l.task(work{user: "filler", cpu: 8, mem: 8}))
	}
	l.step()
	waits := apart()
	l.step()
	before := l.core.Counts().Ticks
	l.end(fillers[0])
	if out := l.step(); len(out) > 0 {
		t.Fatalf("decided %v", out)
	}
	if ticks := l.core.Counts().Ticks - before; ticks > nodes/2 {
		t.Errorf("%d ticks for one node of %d that changed, on which the task may not be", ticks, nodes)
	}
	// Where one of its job has ended it may be.
	var first cluster.TaskID
	for task := range cluster.TaskID(nodes) {
		if l.on(task) == 7 {
			first = task
		}
	}
	l.end(first)
	l.step()
	l.wantOn(waits, 7)
}
