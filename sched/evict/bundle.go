package evict

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Replace tries a bundle: the victims leave the node, the first to go first, and the task
// goes there. With a victim whose job's runs leave all at once all of these go, wherever they are. It fails, and leaves the trial as it was, where a task of the
// same job, or a constraint, is in the way; a victim is so too, since it holds its place until it has left, but for constraints that bind who comes.
func Replace(t *sched.Trial, victims []Candidate, task cluster.TaskID, n cluster.NodeID, out *sched.Plan) bool {
	return ReplaceBy(t, victims, []cluster.TaskID{task}, n, out)
}

// ReplaceBy is Replace with several tasks that go there.
func ReplaceBy(t *sched.Trial, victims []Candidate, tasks []cluster.TaskID, n cluster.NodeID, out *sched.Plan) bool {
	s, mark := t.View(), t.Mark()
	if slices.ContainsFunc(victims, func(v Candidate) bool { return leavesWith(s, v.Task, tasks) }) {
		return false
	}
	try := func(actions ...sched.Action) bool {
		for i := range actions {
			actions[i].Attempt = s.Task(actions[i].Task).Attempt
		}
		refused := false
		if len(actions) == 1 {
			refused = t.Try(actions[0]).Refused()
		} else {
			refused = t.TryTogether(actions).Refused()
		}
		if refused {
			t.Rollback(mark)
			out.Drop()
			return false
		}
		for _, a := range actions {
			out.Add(a)
		}
		return true
	}
	for _, victim := range slices.Backward(victims) {
		if phase := s.Task(victim.Task).Phase; phase == cluster.Leaving || phase == cluster.Waiting {
			continue // with another of its job
		}
		if !try(leaving(s, victim.Task)...) { // somebody who stays must stand beside it
			return false
		}
	}
	for _, task := range tasks {
		if !try(sched.Action{Kind: sched.Place, Task: task, Node: n}) {
			return false
		}
	}
	out.Close()
	return true
}

// leavesWith reports whether all runs of the task's job leave at once, and some of the tasks are of that job: who comes in place of one of them would have to leave with it.
func leavesWith(s *cluster.View, t cluster.TaskID, tasks []cluster.TaskID) bool {
	job := s.Task(t).Job
	return s.Job(job).Disruption == cluster.DisruptTogether && slices.ContainsFunc(tasks, func(o cluster.TaskID) bool { return s.Task(o).Job == job })
}

// leaving are the evictions without which the task is not evicted.
func leaving(s *cluster.View, t cluster.TaskID) (actions []sched.Action) {
	with, _ := cluster.DisruptedTogether(s, s.Task(t).Job)
	if len(with) == 0 {
		with = []cluster.TaskID{t}
	}
	for _, other := range with {
		actions = append(actions, sched.Action{Kind: sched.Evict, Task: other})
	}
	return actions
}
