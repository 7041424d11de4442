package queue

import (
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// pass is what policies share that place one task after the other in the order of a queue, one pass a
// round. A task that fits nowhere is passed over (no head-of-line blocking). With victims, such a task may
// evict less important ones. The policy says what came of a task (placer).
//
// Within a pass room only shrinks, but for what an eviction leaves over, so that
// a task which did not fit stands for all others of its group.
type pass struct {
	explained
	order   Order
	victims *victims // nil: never preempt
	waiting book.Waiting[none]
	line    book.Line[none]
	company sched.Company
	work    *int64 // of the pass, in ticks
}

// none is what a policy keeps of a group that keeps nothing.
type none = struct{}

// placer is a policy whose pass it is.
type placer interface {
	// serve has the pass serve the group, after what the policy has to do for it.
	serve(t *sched.Trial, group *book.Group[none], budget int64, out *sched.Plan)
	// placeOne places the first task of the group. Beside says that some node was refused only for another
	// task of the job.
	placeOne(t *sched.Trial, group *book.Group[none], out *sched.Plan) (placed, beside bool)
}

// explained is a policy that has nothing to add to why a task is not placed.
type explained struct{}

// Why says why the task is not placed.
func (explained) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// plan is one pass over the queue. However small the budget, it tries a task.
func (p *pass) plan(by placer, t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	for group := p.line.Next(&p.waiting); group != nil; group = p.line.Next(&p.waiting) {
		by.serve(t, group, budget, out)
		if p.spent(budget) {
			break
		}
	}
	out.Ticks, *p.work = *p.work, 0
	if p.line.Peek(&p.waiting) != nil {
		out.Wake = t.View().Now() // the budget ended the pass
	}
	p.company.Plan(t, c, budget, out)
}

func (p *pass) spent(budget int64) bool { return budget > 0 && *p.work >= budget }

// learn takes in who waits and what they wait for.
func (p *pass) learn(s *cluster.View, c *sched.Changed) {
	if p.victims != nil {
		p.victims.learn(s, c)
	}
	for _, task := range c.Tasks {
		if s.Task(task).Phase == cluster.Waiting {
			p.join(s, task)
		}
	}
	p.wake(s, c, math.MaxInt64)
}

// wake wakes groups of a lower priority that may find a place on one of the nodes that changed.
func (p *pass) wake(s *cluster.View, c *sched.Changed, below int64) {
	*p.work += p.waiting.Wake(s, c, func(group *book.Group[none], n cluster.NodeID) bool {
		if below < math.MaxInt64 { // only by what was evicted there is more room
			return int64(group.Priority) < below && p.mayEvict(s, group, n)
		}
		return p.waiting.Fits(s, group, n) || p.victims != nil && p.mayEvict(s, group, n)
	}, p.enter)
}

// enter puts a group that is awake into the line.
func (p *pass) enter(group *book.Group[none]) { p.line.Enter(&p.waiting, group, 0) }

// mayEvict reports whether some task of the group may find a place on the node by
// eviction. None does where the node has as many tasks of the job as it may, which whoever
// looks only at room would find out anew at each change.
func (p *pass) mayEvict(s *cluster.View, group *book.Group[none], n cluster.NodeID) bool {
	return p.victims.choose(s, group.Shape, group.Priority, n) &&
		(group.Job == book.NoJob || !s.Crowded(p.waiting.First(group), n))
}

func (p *pass) join(s *cluster.View, t cluster.TaskID) {
	task := s.Task(t)
	id := book.ID{Priority: task.Priority, Shape: task.Shape, Job: book.JobOf(s, task)}
	group, joined := p.waiting.Join(s, t, id, p.order(s, t))
	if joined && !group.Asleep() && p.waiting.First(group) == t {
		p.enter(group)
	}
}

// serveGroup places tasks of the group for as long as they are first in the queue
// and fit. A group whose first task does not fit goes to sleep.
func (p *pass) serveGroup(by placer, t *sched.Trial, group *book.Group[none], budget int64, out *sched.Plan) {
	s := t.View()
	for tried := false; group.Len() > 0 && !group.Asleep(); tried = true {
		if group.Short(s) { // the next round is told of that
			p.waiting.Sleep(s, group)
			return
		}
		if tried && (!p.line.Behind(&p.waiting, p.waiting.Turn(group, 0)) || p.spent(budget)) {
			p.enter(group)
			return
		}
		task := p.waiting.First(group)
		placed, beside := by.placeOne(t, group, out)
		switch {
		case placed:
			p.waiting.Leave(task)
		case beside && group.Job == book.NoJob:
			if own := p.waiting.Separate(s, group); own.Len() == 1 {
				p.waiting.Sleep(s, own)
			}
		default:
			p.waiting.Sleep(s, group)
		}
	}
}

// place places a task, which is known to hold, as a bundle of its own.
func place(t *sched.Trial, a sched.Action, out *sched.Plan) {
	a.Kind, a.Attempt = sched.Place, t.View().Task(a.Task).Attempt
	mustTry(t, a)
	out.Add(a)
	out.Close()
}

// mustTry does an action that is known to hold.
func mustTry(t *sched.Trial, a sched.Action) {
	if r := t.Try(a); r.Refused() {
		panic("queue: a node that admits the task refuses it: " + r.Code.String())
	}
}
