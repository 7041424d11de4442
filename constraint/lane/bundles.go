package lane

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/sched"
)

// This file turns an assignment into bundles, each of which is tried first.

// bundles adds to the plan: a bundle for each application that is placed whole, one for each
// container that a running application lacks, and one for those of them that cannot come
// alone, but for who awaits somebody that moves (movers.go); then for what needs those of other applications; and then for what comes one container after
// the other. It returns, of each application of which a bundle places something, the first container that
// it lacked; and the tasks that are shut out (arrive.go).
func (q *posed) bundles(t *sched.Trial, a constraint.Assignment, out *sched.Plan) (planned []int32, shut []cluster.TaskID) {
	lacked := make([]int32, len(q.problem.Applications))
	came := make([]bool, len(q.problem.Applications))
	var left []unit
	for i := range q.problem.Applications {
		app := &q.problem.Applications[i]
		var tasks []int32
		for c := app.First; c < app.End; c++ {
			if q.problem.Containers[c].At == constraint.Nowhere && a[c] != constraint.Nowhere {
				tasks = append(tasks, c)
			}
		}
		comers := len(tasks)
		tasks = slices.DeleteFunc(tasks, func(c int32) bool { return q.awaitsMover(a, c) })
		if len(tasks) < comers && !app.Deployed {
			continue // it comes whole
		}
		switch {
		case len(tasks) == 0:
			continue
		case app.Deployed:
			rest := q.singly(t, a, tasks, out)
			came[i] = len(rest) < len(tasks)
			for _, c := range rest {
				left = append(left, unit{i, []int32{c}})
			}
		case q.place(t, a, tasks, out):
			came[i] = true
		default:
			left = append(left, unit{i, tasks})
		}
		lacked[i] = tasks[0]
	}
	together, left := q.jointly(t, a, left, out)
	after, shut := q.oneAfterOther(t, a, left, out)
	for _, u := range append(together, after...) {
		came[u.application] = true
	}
	for i, c := range lacked {
		if came[i] {
			planned = append(planned, c)
		}
	}
	return planned, shut
}

// othersWait reports whether a task of the problem still waits, beside those.
func (q *posed) othersWait(s *cluster.View, those []cluster.TaskID) bool {
	return slices.ContainsFunc(q.problem.Containers, func(c constraint.Container) bool {
		return s.Task(c.Task).Phase == cluster.Waiting && !slices.Contains(those, c.Task)
	})
}

// moved adds a bundle for each container that goes elsewhere, some perhaps only after others, and one for those that
// change places, and returns those that move. Each bundle gains by how many fewer violate a constraint after it, all others being as
// the assignment has them.
func (q *posed) moved(t *sched.Trial, a constraint.Assignment, out *sched.Plan) (tasks []cluster.TaskID) {
	var left []int32
	for c := range q.problem.Containers {
		if at := q.problem.Containers[c].At; at != constraint.Nowhere && a[c] != at && a[c] != constraint.Nowhere {
			left = append(left, int32(c))
		}
	}
	if len(left) == 0 {
		return nil
	}
	now := slices.Clone(a) // how all stand once the bundles so far are done, and how many of them violate something then
	for _, c := range left {
		now[c] = q.problem.Containers[c].At
	}
	violated := constraint.Evaluate(&q.problem, now).Violated
	move := func(containers ...int32) bool {
		bundle := q.moving(t, a, containers)
		if len(containers) == 0 || t.TryTogether(bundle).Refused() {
			return false
		}
		for _, c := range containers {
			now[c] = a[c]
			tasks = append(tasks, q.problem.Containers[c].Task)
		}
		q.movers = append(q.movers, containers...)
		still := constraint.Evaluate(&q.problem, now).Violated
		out.Gains(sched.Gain{Violations: int32(violated - still)})
		violated = still
		put(bundle, out)
		return true
	}
	for before := -1; len(left) != before; {
		before = len(left)
		left = slices.DeleteFunc(left, func(c int32) bool { return move(c) })
	}
	move(left...)
	return tasks
}

// moving are the actions that move the containers, until it is asked again.
func (q *posed) moving(t *sched.Trial, a constraint.Assignment, containers []int32) []sched.Action {
	q.actions = q.actions[:0]
	for _, c := range containers {
		task := q.problem.Containers[c].Task
		q.actions = append(q.actions, sched.Action{Kind: sched.Evict, Task: task, Attempt: t.View().Task(task).Attempt})
	}
	q.actions = q.placeAll(t, a, containers, q.actions)
	return q.actions
}

// place adds a bundle that places the containers, and reports whether that is possible.
func (q *posed) place(t *sched.Trial, a constraint.Assignment, containers []int32, out *sched.Plan) bool {
	return len(containers) > 0 && add(t, q.placing(t, a, containers), out)
}

// placing are the actions that place the containers, until it is asked again.
func (q *posed) placing(t *sched.Trial, a constraint.Assignment, containers []int32) []sched.Action {
	q.actions = q.placeAll(t, a, containers, q.actions[:0])
	return q.actions
}

// placeAll appends the actions that place the containers.
func (q *posed) placeAll(t *sched.Trial, a constraint.Assignment, containers []int32, list []sched.Action) []sched.Action {
	for _, c := range containers {
		task := q.problem.Containers[c].Task
		list = append(list, sched.Action{Kind: sched.Place, Task: task, Attempt: t.View().Task(task).Attempt, Node: q.rows[a[c]]})
	}
	return list
}

// singly adds a bundle for each of the containers that can come alone, some perhaps only after
// others, and one for those that want each other. It returns those that cannot come.
func (q *posed) singly(t *sched.Trial, a constraint.Assignment, containers []int32, out *sched.Plan) []int32 {
	left := slices.Clone(containers)
	for before := -1; len(left) != before; {
		before = len(left)
		left = slices.DeleteFunc(left, func(c int32) bool { return q.place(t, a, []int32{c}, out) })
	}
	if q.place(t, a, left, out) {
		return nil
	}
	return left
}

// add adds the bundle to the plan, and reports whether that is possible.
func add(t *sched.Trial, bundle []sched.Action, out *sched.Plan) bool {
	if t.TryTogether(bundle).Refused() {
		return false
	}
	put(bundle, out)
	return true
}

// put adds the bundle to the plan as it is.
func put(bundle []sched.Action, out *sched.Plan) {
	for _, action := range bundle {
		out.Add(action)
	}
	out.Close()
}
