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
	// then has what Solve leaves of the effort of a round, of which Solve has half; or RepairTicks, where that is not 0, beside what Solve has.
	Repair      func(p *constraint.Problem, found constraint.Assignment, budget int64) Repaired
	RepairTicks int64
	// Quick places one application at once: what Replan uses, and what chooses for who comes one container after the
	// other (arrive.go).
	Quick Solver
	// Ticks limits a plan, of which a round may make several (planAll); 0 leaves that to the solver.
	Ticks int64
	// Moves lets containers of running applications move where that is worth what the objective asks for
	// a move: at most twice in MovesAfter each, and nobody who is not to be evicted (Evictable says
	// so of a run, MayMove of a task).
	Moves   bool
	MayMove func(*cluster.View, cluster.TaskID) bool // nil: all may
	// Every is how long those who found no place wait before they are planned again, where something has changed and
	// nobody of the lane has come since; 0 plans in each round, as where rounds are few by themselves.
	Every cluster.Time
	// Objective is what is weighed.
	Objective constraint.Objective
}

// Repaired is what a repair came to.
type Repaired struct {
	Assignment constraint.Assignment
	Ticks      int64 // that it took
	// Score is what the assignment costs, and Bound what none costs less than.
	Score, Bound int64
	Better       bool // than what was found before
}

const (
	// MovesAfter is how long a container stays that has moved twice, since the first of these moves.
	MovesAfter = cluster.Hour
	// RepairAfter is how long after a round that did something another one looks whether moves would end
	// violations, if nothing waits. There is no other until something is done again, so that it comes to an end: each
	// move is worth more than it costs.
	RepairAfter = cluster.Minute
)

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
	repair  cluster.Time // when to look for moves; Never
	again   cluster.Time // when to plan again those who found no place
	came    bool         // somebody has begun to wait since the last plan
	changed bool         // or a node has changed
	mends   bool         // Repair may be asked
}

// ownTask is what is known of a task row of the lane's own.
type ownTask struct {
	seq     cluster.Seq
	waiting bool
	moved   [2]cluster.Time // its last two moves: when each of them does not count any more
}

// refusals counts how often an application was planned and came back.
type refusals struct {
	first cluster.Seq // of the first task that was planned: a row may come to hold another job
	count int
}

// New returns the policy.
func New(o Options) *Policy {
	return &Policy{options: o, jobs: map[cluster.JobID]*refusals{}, repair: cluster.Never}
}

// Plan poses, solves, and makes bundles.
func (p *Policy) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	p.learn(s, c)
	if p.options.Repair != nil && s.SolverReady() && !p.mends { // who found no place, or violates something, may find a better one
		p.mends, p.changed, p.again = true, true, s.Now()
		if p.options.Moves {
			p.repair = min(p.repair, s.Now())
		}
	}
	if due := p.due(); s.Now() < due {
		out.Wake = min(out.Wake, due)
		return
	}
	p.came, p.changed, p.again = false, false, s.Now()+p.options.Every
	if p.options.Ticks > 0 && (budget <= 0 || p.options.Ticks < budget) {
		budget = p.options.Ticks
	}
	done := out.Bundles()
	p.planAll(t, budget, out)
	if p.repair = cluster.Never; p.options.Moves && out.Bundles() > done {
		p.repair = s.Now() + RepairAfter
		out.Wake = min(out.Wake, p.repair)
	}
}

// mostPlans is how often a round plans at most.
const mostPlans = 8

// planAll plans for all that wait; and again, up to mostPlans times, without those that are shut out, who may have had in the plan what
// others that wait could have. Each plan has the budget of the round.
func (p *Policy) planAll(t *sched.Trial, budget int64, out *sched.Plan) {
	s, mark, done := t.View(), t.Mark(), out.Bundles()
	var shut []cluster.TaskID
	for plans := 1; ; plans++ {
		posed := p.pose(s, func(task cluster.TaskID) bool { return !slices.Contains(shut, task) })
		a := p.solve(&posed.problem, budget, out)
		moved := posed.moved(t, a, out)
		planned, more := posed.bundles(t, a, out)
		if plans == mostPlans || len(more) == 0 || !posed.othersWait(s, more) {
			for _, task := range moved {
				m := &p.own[task].moved
				m[0], m[1] = m[1], s.Now()+MovesAfter
			}
			p.count(s, posed, planned)
			return
		}
		shut = append(shut, more...)
		t.Rollback(mark)
		out.Cut(done)
	}
}

// due is when the lane wants to plan, which may be in the past; Never if it does not.
func (p *Policy) due() cluster.Time {
	switch {
	case p.waiting == 0:
		return p.repair
	case p.came || p.options.Every == 0:
		return 0
	case p.changed:
		return min(p.again, p.repair)
	}
	return p.repair
}

// mayMove reports whether a container that is placed may go elsewhere.
func (p *Policy) mayMove(s *cluster.View, t cluster.TaskID) bool {
	task := s.Task(t)
	if !p.options.Moves || int(t) >= len(p.own) || p.own[t].seq != task.Seq || p.own[t].moved[0] > s.Now() {
		return false
	}
	return task.Phase == cluster.Running && !s.Shape(task.Shape).Stays && !s.Evictable(t).Refused() && (p.options.MayMove == nil || p.options.MayMove(s, t))
}

// solve solves, and repairs if that may be.
func (p *Policy) solve(problem *constraint.Problem, budget int64, out *sched.Plan) constraint.Assignment {
	if !p.mends {
		a, ticks := p.options.Solve(problem, budget)
		out.Ticks += ticks
		out.Solved = sched.Solved{By: sched.Search}
		return a
	}
	search, own := budget, p.options.RepairTicks
	if own == 0 {
		search = budget / 2
	}
	a, ticks := p.options.Solve(problem, search)
	if own == 0 {
		own = max(budget-ticks, budget/2)
	}
	r := p.options.Repair(problem, a, own)
	out.Ticks += ticks + r.Ticks
	out.Solved = sched.Solved{By: sched.Search, Cost: r.Score, Bound: r.Bound, Bounded: true}
	if r.Better {
		out.Solved.By = sched.Programs
	}
	return r.Assignment
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
		p.own, p.waiting, p.tagged, p.repair = p.own[:0], 0, p.tagged[:0], cluster.Never
		clear(p.jobs)
	}
	for _, t := range c.Gone {
		p.note(t, ownTask{})
	}
	for _, t := range slices.Concat(c.Tasks, c.Gangs) { // gangs, too, as all tasks of a job are placed together
		task := s.Task(t)
		now := ownTask{seq: task.Seq, waiting: task.Phase == cluster.Waiting}
		if int(t) < len(p.own) && p.own[t].seq == task.Seq {
			now.moved = p.own[t].moved
		}
		p.note(t, now)
	}
	p.changed = p.changed || len(c.Nodes)+len(c.Constrained)+len(c.Members) > 0
	if p.options.Moves && !c.All && len(c.Constrained) > 0 {
		p.repair = min(p.repair, s.Now()+RepairAfter)
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
	p.came = p.came || now.waiting // for the first time, or again, as after a refusal
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
	posed := p.pose(s, func(task cluster.TaskID) bool { return slices.Contains(jobs, s.Task(task).Job) })
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
func (p *Policy) waitingTasks(s *cluster.View, wanted func(cluster.TaskID) bool) []cluster.TaskID {
	var list []cluster.TaskID
	for row := range p.own {
		if t := cluster.TaskID(row); p.own[row].waiting && s.Task(t).Phase == cluster.Waiting && wanted(t) && !cluster.GangAwaits(s, s.Task(t).Job) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b cluster.TaskID) int { return bySeq(s, a, b) })
	return list
}
