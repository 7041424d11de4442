package lane

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/conflict"
	"fairlead.dev/fairlead/sched"
)

// This file says why an application waits.

// forQuestion is the effort of each attempt to place an application that waits where fewer
// demands count.
const forQuestion = 100_000

// Why says why the task is not placed: of its own, and of its application as a whole.
func (p *Policy) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	s := t.View()
	r := sched.Explain(s, task)
	if s.Task(task).Phase != cluster.Waiting || r.Unplaceable() || cluster.GangAwaits(s, s.Task(task).Job) {
		return r
	}
	job := s.Task(task).Job
	whole := p.whole(s, job, nil)
	if len(whole.Conflict) > 0 {
		if with := p.needed(s, job); len(with) > 0 {
			whole = p.whole(s, job, with)
		}
	}
	several := whole.Tasks > 1 || len(whole.With) > 0
	if several || whole.Tasks == 1 && r.Admit > 0 { // of one by itself that no node takes they have said it all
		r.Hinder(whole)
	}
	return r
}

// needed are the other jobs that wait, as far as the policy has been shown, and that the job may
// have to stand beside by a hard constraint, those that these may have to, and so on, by number.
func (p *Policy) needed(s *cluster.View, job cluster.JobID) []cluster.JobID {
	type kind struct {
		job   cluster.JobID
		shape cluster.ShapeID
	}
	var waiting []kind
	seen := map[kind]bool{}
	for row := range cluster.TaskID(s.TaskRows()) {
		k := kind{s.Task(row).Job, s.Task(row).Shape}
		own := int(row) < len(p.own) && p.own[row].waiting && p.own[row].seq == s.Task(row).Seq
		if s.Task(row).Phase == cluster.Waiting && (own || k.job == job) && !seen[k] && !cluster.GangAwaits(s, k.job) {
			seen[k] = true
			waiting = append(waiting, k)
		}
	}
	jobs := []cluster.JobID{job}
	for i := 0; i < len(jobs); i++ {
		for _, subject := range waiting {
			if subject.job != jobs[i] {
				continue
			}
			for _, target := range waiting {
				if !slices.Contains(jobs, target.job) && mayNeed(s, subject.shape, target.shape) {
					jobs = append(jobs, target.job)
				}
			}
		}
	}
	slices.Sort(jobs[1:])
	return jobs[1:]
}

// mayNeed reports whether tasks of one shape may have to stand beside those of the other.
func mayNeed(s *cluster.View, subject, target cluster.ShapeID) bool {
	for _, id := range s.ConstraintsOf(subject) {
		c := s.Constraint(id)
		if !c.Hard || c.Arriving {
			continue
		}
		for _, bounds := range c.Any {
			for i := range bounds {
				is, _ := bounds[i].Affects(s.Shape(subject).Tags)
				_, counts := bounds[i].Affects(s.Shape(target).Tags)
				if bounds[i].Min > 0 && is && counts {
					return true
				}
			}
		}
	}
	return false
}

// afresh poses the state with nothing to be placed but the jobs, as a policy would that has just
// been shown all of it: what this one knows may be of an earlier round.
func (p *Policy) afresh(s *cluster.View, jobs []cluster.JobID) *posed {
	all := sched.Changed{All: true}
	for n := range cluster.NodeID(s.NodeRows()) {
		if s.NodeLive(n) {
			all.Nodes = append(all.Nodes, n)
		}
	}
	for t := range cluster.TaskID(s.TaskRows()) {
		if task := s.Task(t); task.Phase == cluster.Waiting && slices.Contains(jobs, task.Job) {
			all.Tasks = append(all.Tasks, t)
		}
	}
	fresh := New(p.options)
	fresh.learn(s, &all)
	return fresh.pose(s, func(cluster.TaskID) bool { return true })
}

// whole is how it stands with the application of a job that waits, placed with those of others;
// of one that runs and lacks containers, which come one by one, it says nothing.
func (p *Policy) whole(s *cluster.View, job cluster.JobID, with []cluster.JobID) sched.Whole {
	q := p.afresh(s, append([]cluster.JobID{job}, with...))
	application := slices.Index(q.jobs, job)
	app := &q.problem.Applications[application]
	if app.Deployed {
		return sched.Whole{}
	}
	var rows []int
	var names []string
	for _, other := range with {
		rows = append(rows, slices.Index(q.jobs, other))
		names = append(names, s.Job(other).Name)
	}
	question := conflict.Question{
		Problem: &q.problem, Base: q.problem.Start(), Application: application, With: rows,
		Solve: func(p2 *constraint.Problem) constraint.Assignment {
			a, _ := p.options.Solve(p2, forQuestion)
			return a
		},
	}
	w := sched.Whole{Tasks: int(app.End - app.First), With: names}
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
	c := &q.problem.Constraints[d.Row]
	if c.Name == "" || c.Name == constraint.Format(c) {
		return constraint.Title(c)
	}
	return c.Name
}
