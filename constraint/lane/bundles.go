package lane

import (
	"slices"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/sched"
)

// This file turns an assignment into bundles, each of which is tried first.

// bundles adds to the plan: a bundle for each container that moves, one for each application
// that is placed whole, one for each container that a running application lacks. It returns,
// of each application of which a bundle places something, the first container of that.
func (q *posed) bundles(t *sched.Trial, a constraint.Assignment, out *sched.Plan) []int32 {
	q.moves(t, a, out)
	var planned []int32
	for i := range q.problem.Applications {
		app := &q.problem.Applications[i]
		var tasks []int32
		for c := app.First; c < app.End; c++ {
			if q.problem.Containers[c].At == constraint.Nowhere && a[c] != constraint.Nowhere {
				tasks = append(tasks, c)
			}
		}
		parts := [][]int32{tasks}
		if app.Deployed {
			parts = slices.Collect(slices.Chunk(tasks, 1))
		}
		done := false
		for _, part := range parts {
			done = q.place(t, a, part, out) || done
		}
		if done {
			planned = append(planned, tasks[0])
		}
	}
	return planned
}

// place adds a bundle that places the containers, and reports whether that is possible.
func (q *posed) place(t *sched.Trial, a constraint.Assignment, containers []int32, out *sched.Plan) bool {
	mark := t.Mark()
	for _, c := range containers {
		task := q.problem.Containers[c].Task
		action := sched.Action{Kind: sched.Place, Task: task, Attempt: t.State().Task(task).Attempt, Node: q.rows[a[c]]}
		if t.Try(action).Refused() {
			t.Rollback(mark)
			out.Drop()
			return false
		}
		out.Add(action)
	}
	out.Close()
	return len(containers) > 0
}

// moves adds a bundle for each container that is to be elsewhere. One that has no room yet is
// tried again after the others.
func (q *posed) moves(t *sched.Trial, a constraint.Assignment, out *sched.Plan) {
	var left []int32
	for c := range q.problem.Containers {
		if at := q.problem.Containers[c].At; at != constraint.Nowhere && a[c] != at {
			left = append(left, int32(c))
		}
	}
	for before := -1; len(left) != before; {
		before = len(left)
		left = slices.DeleteFunc(left, func(c int32) bool { return q.move(t, c, a[c], out) })
	}
}

// move adds a bundle that moves the container, and reports whether that is possible.
func (q *posed) move(t *sched.Trial, c, to int32, out *sched.Plan) bool {
	mark, task := t.Mark(), q.problem.Containers[c].Task
	attempt := t.State().Task(task).Attempt
	evict := sched.Action{Kind: sched.Evict, Task: task, Attempt: attempt, Node: q.rows[q.problem.Containers[c].At]}
	place := sched.Action{Kind: sched.Place, Task: task, Attempt: attempt, Node: q.rows[to]}
	if t.Try(evict).Refused() || t.Try(place).Refused() {
		t.Rollback(mark)
		return false
	}
	out.Add(evict)
	out.Add(place)
	out.Close()
	return true
}
