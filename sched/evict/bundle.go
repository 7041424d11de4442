package evict

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Replace tries a bundle: the victims leave the node, the first to go first, and the task
// goes there. It fails, and leaves the trial as it was, where a task of the same job, or a
// constraint, is in the way; a victim is so too, since it holds its place until it has left, but for constraints that bind who comes.
func Replace(t *sched.Trial, victims []Candidate, task cluster.TaskID, n cluster.NodeID, out *sched.Plan) bool {
	s, mark := t.View(), t.Mark()
	try := func(a sched.Action) bool {
		a.Attempt = s.Task(a.Task).Attempt
		if t.Try(a).Refused() {
			t.Rollback(mark)
			out.Drop()
			return false
		}
		out.Add(a)
		return true
	}
	for _, victim := range slices.Backward(victims) {
		if !try(sched.Action{Kind: sched.Evict, Task: victim.Task}) { // somebody who stays must stand beside it
			return false
		}
	}
	if !try(sched.Action{Kind: sched.Place, Task: task, Node: n}) {
		return false
	}
	out.Close()
	return true
}
