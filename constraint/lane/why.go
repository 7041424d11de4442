package lane

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/conflict"
	"fairlead.dev/fairlead/sched"
)

// This file says why an application waits.

// forQuestion is the effort of each attempt to place an application that waits with less to
// heed.
const forQuestion = 100_000

// Why says why the task is not placed: of its own, and of its application as a whole.
func (p *Policy) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	s := t.State()
	r := sched.Explain(s, task)
	if s.Task(task).Phase != cluster.Waiting || r.Unplaceable {
		return r
	}
	q := p.afresh(s, s.Task(task).Job)
	for i := range q.jobs {
		if q.jobs[i] == s.Task(task).Job && !q.problem.Applications[i].Deployed {
			r.Whole = p.whole(q, i)
		}
	}
	return r
}

// afresh poses the state with nothing to be placed but the job, as a policy would that has just
// been shown all of it: what this one knows may be of an earlier round.
func (p *Policy) afresh(s *cluster.State, job cluster.JobID) *posed {
	all := sched.Changed{All: true}
	for n := range cluster.NodeID(s.NodeRows()) {
		if s.NodeLive(n) {
			all.Nodes = append(all.Nodes, n)
		}
	}
	for t := range cluster.TaskID(s.TaskRows()) {
		if task := s.Task(t); task.Phase == cluster.Waiting && task.Job == job {
			all.Tasks = append(all.Tasks, t)
		}
	}
	fresh := New(p.options)
	fresh.learn(s, &all)
	return fresh.pose(s, func(cluster.JobID) bool { return true })
}

// whole is how it stands with an application that waits.
func (p *Policy) whole(q *posed, application int) sched.Whole {
	app := &q.problem.Applications[application]
	question := conflict.Question{
		Problem: &q.problem, Base: q.problem.Start(), Application: application,
		Solve: func(p2 *constraint.Problem) constraint.Assignment {
			a, _ := p.options.Solve(p2, forQuestion)
			return a
		},
	}
	w := sched.Whole{Tasks: int(app.End - app.First)}
	for _, d := range question.Smallest() {
		w.Conflict = append(w.Conflict, q.called(d))
	}
	if w.Found = w.Tasks; len(w.Conflict) > 0 {
		w.Found = question.Alone()
	}
	return w
}

// called is what a demand is called.
func (q *posed) called(d conflict.Demand) string {
	switch d.Kind {
	case conflict.Room:
		return "room"
	case conflict.Where:
		return "eligibility"
	case conflict.PerNode:
		return "tasks per node"
	case conflict.Constraint:
	}
	return constraint.Title(&q.problem.Constraints[d.Row])
}
