package fairlead

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/lifetime"
	"fairlead.dev/fairlead/sched/worth"
)

// Options are what a run may choose.
type Options struct {
	Seed uint64
	Ties book.Ties
	// Patience is how long a task waits before it claims a node: 0 is the constant of that name, cluster.Never is for ever.
	Patience cluster.Time
	Without  Without // mechanisms that are switched off
	// NodePrice is what a node with tasks costs, in hundredths of what all its room is worth. Above 0 tasks are kept on few
	// nodes, and moved away from others.
	NodePrice int64
	// Lifetimes says how long tasks will run, so that they go where others leave no sooner; nil: that counts for nothing.
	Lifetimes lifetime.Predictor
	// Applications places long-running jobs with tags, each of them whole; nil leaves them to the stages for tasks.
	Applications sched.Policy
}

// mostNodePrice bounds Options.NodePrice: more than that is as good.
const mostNodePrice = 1_000_000

// policy is the policy. A round is one pass over who waits, in order: each task goes where it costs least,
// or evicts others where no node has room. Room only shrinks within a pass, but for what
// evictions leave over, so that a task which found none stands for all others of its group.
type policy struct {
	who        who
	users      users
	worth      *worth.Worth
	waiting    book.Waiting[turn]
	line       book.Line[turn]
	table      book.Indexes
	victims    victims
	claims     claims
	grants     grants
	company    sched.Company
	surcharges surcharges
	moves      moves
	refine     refine
	without    Without
	// brink is when somebody who waits may become critical, and evict others than before; no later than
	// when the first does.
	brink cluster.Time
}

// turn is where a group stood in line when it came there, the rank with which it was tried last, and what its gang asked for then; nil where
// nobody knows, or there is none.
type turn struct {
	place int64
	tried rank
	asks  *asking
}

type group = book.Group[turn]

// New makes the policy.
func New(o Options) sched.Policy {
	p := &policy{table: book.NewIndexes(o.Ties, o.Seed), without: o.Without}
	p.surcharges.onPrice = min(max(o.NodePrice, 0), mostNodePrice)
	p.company.Gangs.Off = true // they stand in line here
	p.victims.off, p.victims.bids = o.Without.lacks(WithoutEvictions), book.NewIndexes(o.Ties, o.Seed)
	p.grants = grants{off: o.Without.lacks(WithoutGrants), users: &p.users, bids: book.NewIndexes(o.Ties, o.Seed)}
	p.surcharges.grants = &p.grants
	if o.Lifetimes != nil {
		p.surcharges.outliving.nodes = &lifetime.Nodes{By: o.Lifetimes}
	}
	p.refine.off = o.Without.lacks(WithoutRefine)
	p.surcharges.siblings.off = o.Without&(WithoutSiblings|WithoutWorth) != 0 // their price is in the unit of worth
	p.moves = newMoves(o.Without&(WithoutEvictions|WithoutMoves|WithoutWorth) != 0)
	if p.claims.patience = o.Patience; o.Patience == 0 {
		p.claims.patience = Patience
	}
	if o.Without.lacks(WithoutClaims) {
		p.claims.patience = cluster.Never
	}
	p.reset()
	if o.Applications != nil {
		return &united{policy: p, apps: o.Applications}
	}
	return p
}

// reset forgets everything.
func (p *policy) reset() {
	p.who, p.users, p.worth = who{eager: p.without.lacks(WithoutSwitching)}, users{}, worth.New()
	p.victims = p.victims.anew(&p.who, p.worth)
	p.grants.reset()
	p.moves.reset()
	p.table.Reset()
	p.forgetWaiting()
}

// forgetWaiting forgets who waits.
func (p *policy) forgetWaiting() {
	p.waiting, p.line, p.brink = book.Waiting[turn]{Room: book.Whole, Evicts: p.evicts}, book.Line[turn]{}, cluster.Never
	p.victims.foremost = nobodyYet
	p.claims = claims{patience: p.claims.patience, next: cluster.Never}
}

// Plan is one pass. However small the budget, it tries a task.
func (p *policy) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	p.table.Ticks, p.grants.bids.Ticks, p.victims.bids.Ticks, p.victims.occupants.Looks = 0, 0, 0, 0
	p.learn(s, c)
	p.claims.release(s)
	p.claim(t, budget, out)
	p.wake(s, &sched.Changed{Nodes: append(p.victims.fallen, p.claims.released...)}, nobody)
	p.refine.begin(t, out)
	for g := p.next(s); g != nil; g = p.next(s) {
		p.serve(t, g, budget, out)
		if p.spent(budget) {
			break
		}
	}
	refining{p, t, s, out}.refineBatch()
	out.Gap = gap(p, s, out)
	p.growNew(t, out)
	p.grow(t, out)
	moving{p, t, budget, out}.rebalance()
	if p.line.Peek(&p.waiting) != nil {
		out.Wake = s.Now() // the budget ended the pass
	} else {
		out.Wake = min(out.Wake, p.brink, p.claims.next, p.grants.next, p.moves.next)
		if len(p.waiting.Groups()) > 0 {
			out.Wake = min(out.Wake, p.victims.due)
		} else {
			p.victims.foremost = nobodyYet
		}
	}
	out.Ticks = p.ticks()
	p.company.Plan(t, c, budget, out)
}

func (p *policy) spent(budget int64) bool { return budget > 0 && p.ticks() >= budget }

// ticks is the effort that the pass has taken so far.
func (p *policy) ticks() int64 {
	return p.table.Ticks + p.grants.bids.Ticks + p.victims.bids.Ticks + p.victims.occupants.Looks
}

// learn takes in what changed since the last pass.
func (p *policy) learn(s *cluster.View, c *sched.Changed) {
	if c.All { // as it is after each change of a class
		p.reset()
		p.who.learn(s)
	}
	p.table.Learn(s, c)
	p.waiting.Forget(s, c)
	p.users.learn(s, c)
	p.surcharges.learn(s, c)
	p.grants.learn(s, c)
	p.moves.learn(s, c)
	if p.worth.Learn(s, c, p.table.Journal.Note) {
		p.table.Clear()
	}
	p.victims.learn(s, c)
	for _, task := range c.Tasks {
		if s.Task(task).Phase == cluster.Waiting {
			p.join(s, task)
		}
	}
	joinGangs(p, s, c)
	if s.Now() >= p.brink {
		p.wakeCritical(s)
	}
	p.wake(s, c, nobody)
}

// wake wakes the sleeping groups that come after that rank, and could find a place on one of the nodes that changed.
func (p *policy) wake(s *cluster.View, c *sched.Changed, after rank) {
	var last *group
	var own rank
	vain := false
	p.table.Ticks += p.waiting.Wake(s, c, func(g *group, n cluster.NodeID) bool {
		if g != last { // of one after the other all nodes are looked at
			last, own = g, p.rankOf(s, g)
			vain = g.Own.asks != nil && !mayMakeRoom(p, s, g.Own.asks)
		}
		if vain {
			return false
		}
		if after != nobody { // they have had their turn: only by what leaves there is more room
			return own > after && p.mayEvict(s, g, n, own)
		}
		return p.waiting.Fits(s, g, n) || mayStand(s, g, n) || p.grants.may(s, g.Shape, n) || p.mayEvict(s, g, n, own)
	}, func(g *group) { p.enter(s, g) })
}

// join lets a task wait. Within its group the first is whose slack runs out first, or else who came first, and it
// stands for all of them: of tasks that are the same the one that waits longest goes first, also among the critical, of
// whom it is the farthest from its promise.
func (p *policy) join(s *cluster.View, t cluster.TaskID) {
	task := s.Task(t)
	id := book.ID{Priority: task.Priority, Shape: task.Shape, Job: book.JobOf(s, task), Class: task.Class, User: p.users.of(s, task.Job)}
	key := int64(0)
	if s.Classes()[task.Class].Promises() {
		key = int64(runsOut(s, task))
	}
	g, joined := p.waiting.Join(s, t, id, key)
	if g.Own.asks != nil { // the gang may lack fewer, or none any more, or has more who wait
		if g.Own.asks = nil; g.Asleep() {
			p.enter(s, g)
		}
	}
	if !joined || p.waiting.First(g) != t {
		return
	}
	p.noteBrink(s, g)
	if !g.Asleep() || p.rankOf(s, g) < g.Own.tried {
		p.enter(s, g)
	}
}

// rankOf is the rank of the group's first task.
func (p *policy) rankOf(s *cluster.View, g *group) rank {
	return p.who.waiting(s, s.Task(p.waiting.First(g)))
}

// placeOf is where the group's first task stands in line.
func (p *policy) placeOf(s *cluster.View, g *group) int64 {
	task := s.Task(p.waiting.First(g))
	share, long := 0, 0
	if !p.without.lacks(WithoutShares) {
		share = p.users.share(s, g.User)
	}
	if !p.without.lacks(WithoutStretch) {
		long = stretch(sizeAtOnce(p, s, g), p.worth.Smallest(), s.Now()-task.Account.Submitted)
	}
	return inLine(p.who.waiting(s, task), share, long)
}

// enter puts a group that is awake into the line.
func (p *policy) enter(s *cluster.View, g *group) {
	g.Own.place = p.placeOf(s, g)
	p.line.Enter(&p.waiting, g, g.Own.place)
}

// next takes the group whose turn it is out of the line; nil if nobody is in it. Who was served meanwhile
// comes later, and so do all groups of that user.
func (p *policy) next(s *cluster.View) *group {
	for {
		g := p.line.Next(&p.waiting)
		if g == nil || p.placeOf(s, g) <= g.Own.place {
			return g
		}
		p.enter(s, g)
	}
}

// wakeCritical wakes those who have become critical, and finds out who does next.
func (p *policy) wakeCritical(s *cluster.View) {
	p.brink = cluster.Never
	for _, g := range p.waiting.Groups() {
		if g.Asleep() && p.rankOf(s, g) < g.Own.tried {
			p.enter(s, g)
		}
		p.noteBrink(s, g)
	}
	p.table.Ticks += int64(len(p.waiting.Groups()))
}

// noteBrink takes in when the group's first task becomes critical.
func (p *policy) noteBrink(s *cluster.View, g *group) {
	if !s.Classes()[g.Class].Promises() {
		return
	}
	if out := runsOut(s, s.Task(p.waiting.First(g))); out >= s.Now() {
		p.brink = min(p.brink, later(out, 1))
	}
}
