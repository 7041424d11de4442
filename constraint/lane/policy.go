// Package lane is the constraint scheduler as a policy: all long-running applications that
// wait are placed together, each of them whole, by one of the solvers of package constraint
// (Medea §3: the LRA scheduler). Beside it, in a lane of their own, short tasks are placed by
// any other policy; both go through one commit.
//
// A round poses the state as a constraint.Problem, solves it, and makes a bundle of each
// application, or of several that need one another. What commit refuses, because somebody else took the room meanwhile, waits for
// the next round, in which all the others are where they were put; what was refused
// mostRefusals times is planned once more by Replan, at commit, where nobody comes between.
package lane

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/sched"
)

// Solver places what the problem leaves to be placed, from where things stand. It spends
// about so many ticks, or as many as it wants where budget is 0, and returns how many it
// did.
type Solver func(p *constraint.Problem, budget int64) (constraint.Assignment, int64)

// Options are what a run may choose.
type Options struct {
	Solve Solver
	// Repair makes what Solve found better, in about so many ticks, from the round on in which
	// the state says that the solver of integer programs is ready; nil leaves it as it is. It
	// then has what Solve leaves of the effort of a round, of which Solve has half.
	Repair func(p *constraint.Problem, found constraint.Assignment, budget int64) (constraint.Assignment, int64)
	// Quick places one application at once: what Replan uses.
	Quick Solver
	// Ticks limits a round; 0 leaves that to the solver.
	Ticks int64
	// Objective is what is weighed.
	Objective constraint.Objective
}

// mostRefusals is how often commit may refuse an application before it is planned at commit
// (Medea: resubmit; specification A1).
const mostRefusals = 3

// Policy is the constraint scheduler. It is made by New.
type Policy struct {
	options Options
	own     []ownTask // by task row
	waiting int
	tagged  [][]cluster.TaskID // by node: the tasks there that have tags
	jobs    map[cluster.JobID]*refusals
}

// ownTask is what is known of a task row of the lane's own.
type ownTask struct {
	seq     cluster.Seq
	waiting bool
}

// refusals counts how often an application was planned and came back.
type refusals struct {
	first cluster.Seq // of the first task that was planned: a row may come to hold another job
	count int
}

// New returns the policy.
func New(o Options) *Policy {
	return &Policy{options: o, jobs: map[cluster.JobID]*refusals{}}
}

// Plan poses, solves, and makes bundles.
func (p *Policy) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	p.learn(s, c)
	if p.waiting == 0 {
		return
	}
	posed := p.pose(s, func(cluster.JobID) bool { return true })
	if p.options.Ticks > 0 && (budget <= 0 || p.options.Ticks < budget) {
		budget = p.options.Ticks
	}
	a, ticks := p.solve(s, &posed.problem, budget)
	out.Ticks += ticks
	p.count(s, posed, posed.bundles(t, a, out))
}

// solve solves, and repairs if that may be.
func (p *Policy) solve(s *cluster.View, problem *constraint.Problem, budget int64) (constraint.Assignment, int64) {
	if p.options.Repair == nil || !s.SolverReady() {
		return p.options.Solve(problem, budget)
	}
	a, ticks := p.options.Solve(problem, budget/2)
	a, more := p.options.Repair(problem, a, max(budget-ticks, budget/2))
	return a, ticks + more
}

// count notes which applications were planned again although they had been before: commit
// had refused them.
func (p *Policy) count(s *cluster.View, q *posed, planned []int32) {
	was := p.jobs
	p.jobs = make(map[cluster.JobID]*refusals, len(planned))
	for _, c := range planned {
		task := s.Task(q.problem.Containers[c].Task)
		r := &refusals{first: task.Seq}
		if before := was[task.Job]; before != nil && before.first == r.first {
			r.count = before.count + 1
		}
		p.jobs[task.Job] = r
	}
}

// learn takes in what changed.
func (p *Policy) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		p.own, p.waiting, p.tagged = p.own[:0], 0, p.tagged[:0]
		clear(p.jobs)
	}
	for _, t := range c.Gone {
		p.note(t, ownTask{})
	}
	for _, t := range c.Tasks {
		task := s.Task(t)
		p.note(t, ownTask{task.Seq, task.Phase == cluster.Waiting})
	}
	for _, n := range c.Nodes {
		for int(n) >= len(p.tagged) {
			p.tagged = append(p.tagged, nil)
		}
		p.tagged[n] = p.tagged[n][:0]
		if !s.NodeLive(n) {
			continue
		}
		for _, t := range s.TasksOn(n) {
			if len(s.Shape(s.Task(t).Shape).Tags) > 0 {
				p.tagged[n] = append(p.tagged[n], t)
			}
		}
	}
}

// note writes down what is known of a row.
func (p *Policy) note(t cluster.TaskID, now ownTask) {
	for int(t) >= len(p.own) {
		p.own = append(p.own, ownTask{})
	}
	if p.own[t].waiting {
		p.waiting--
	}
	if now.waiting {
		p.waiting++
	}
	p.own[t] = now
}

// Replan plans an application once more that was refused too often, with those that came in
// one bundle with it, on the state as it is at commit: what it finds there nobody can take any
// more.
func (p *Policy) Replan(t *sched.Trial, refused []sched.Action, out *sched.Plan) {
	s := t.View()
	var jobs []cluster.JobID
	often := false
	for _, action := range refused {
		job := s.Task(action.Task).Job
		r := p.jobs[job]
		often = often || r != nil && r.count >= mostRefusals
		if !slices.Contains(jobs, job) {
			jobs = append(jobs, job)
		}
	}
	if !often {
		return
	}
	posed := p.pose(s, func(j cluster.JobID) bool { return slices.Contains(jobs, j) })
	solve, budget := p.options.Quick, int64(0)
	if len(jobs) > 1 { // one after the other, as Quick places them, they find no place
		solve, budget = p.options.Solve, forQuestion
	}
	a, ticks := solve(&posed.problem, budget)
	out.Ticks += ticks
	posed.bundles(t, a, out)
}

// waitingTasks are the lane's tasks that wait, in the order of jobs as their first task
// came, and then of tasks. Where Replan asks, some that waited may be gone.
func (p *Policy) waitingTasks(s *cluster.View, wanted func(cluster.JobID) bool) []cluster.TaskID {
	var list []cluster.TaskID
	for row := range p.own {
		if t := cluster.TaskID(row); p.own[row].waiting && s.Task(t).Phase == cluster.Waiting && wanted(s.Task(t).Job) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b cluster.TaskID) int { return bySeq(s, a, b) })
	return list
}
