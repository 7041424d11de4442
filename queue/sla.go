package queue

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// sla is the allocation loop of "A Resource Allocation Framework with Qualitative and
// Quantitative SLA Classes" (Euro-Par 2018 Workshops; specs/sla-classes.md): pick what
// waits by PROMETHEE II, find the nodes that it may use, say how many cores it gets, and
// place all its copies at once, each on a node of its own, where the fewest cores are
// left that suffice. What cannot be placed now waits, and the next in rank is tried.
// After each placement all is ranked anew, and what it would get is reckoned anew.
//
// What differs: tiers are no matter of this policy. They are in the sets of eligible
// nodes, so that commit keeps them, whoever places. A copy that was lost is replaced
// alone. Where the formula asks for more than any node could hold, it is cut to that;
// but where that much is merely not free, the task waits as in the paper, although less
// would fit. Among nodes as full as each other the tie-break chooses.
//
// Invariant: during a pass room only shrinks. So a lot that failed is not tried again
// before it would be given less, or a node gains room (slaline.go). A pass costs a look
// at an index for each copy that is placed and each lot that fails; besides, for each
// placement, a ranking of the classes and a formula for each lot that is held. Scanning
// all nodes for each copy, as "best fit is O(n)" suggests, was the first version; the
// tests keep it as a rival.
type sla struct {
	rank    slaRank
	line    slaLine
	table   book.Indexes
	pools   map[cluster.SetID]*pool
	nodes   nodeLimits
	chosen  []cluster.NodeID // scratch of try
	company sched.Company
}

func newSLA(o Options) sched.Policy {
	p := &sla{rank: slaRank{criteria: o.SLA.criteria()}, table: book.NewIndexes(o.Ties, o.Seed)}
	p.company.Not = func(j *cluster.Job) bool { return j.FirstEnds }
	p.reset()
	return p
}

func (p *sla) reset() {
	p.line, p.pools = slaLine{}, map[cluster.SetID]*pool{}
	p.rank.counted = nil // the levels of a class may be others
	p.nodes = nodeLimits{version: p.nodes.version + 1}
	p.table.Reset()
}

// Plan places what it can. However small the budget, it tries something.
func (p *sla) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	p.learn(s, c)
	for tried := false; ; tried = true {
		class := p.next(s)
		if class < 0 {
			break
		}
		if tried && budget > 0 && p.table.Ticks >= budget {
			out.Wake = s.Now() // the budget ended the pass
			break
		}
		p.serve(t, p.line.ready[class].Next(&p.line.waiting), out)
	}
	out.Ticks, p.table.Ticks = p.table.Ticks, 0
	p.company.Plan(t, c, budget, out)
}

// learn takes in what changed since the last pass.
func (p *sla) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		p.reset()
	}
	p.table.Learn(s, c)
	p.nodes.learn(s, c)
	for set, of := range p.pools { // each by itself, in any order
		if slices.Contains(c.Shapes, of.shape) {
			delete(p.pools, set)
			continue
		}
		for _, m := range c.MembersOf(set) {
			of.count(s, set, m.Node)
		}
	}
	for _, t := range c.Gone {
		p.line.withdraw(s, t)
	}
	for _, t := range c.Tasks {
		if !p.line.stands(s, t) || slices.Contains(c.Shapes, s.Task(t).Shape) { // a shape whose row was given anew is another one
			p.line.withdraw(s, t)
		}
	}
	for _, t := range c.Tasks {
		if s.Task(t).Phase == cluster.Waiting && !p.line.stands(s, t) {
			p.line.enlist(s, t)
		}
	}
	p.wake(s, c)
}

// wake makes those lots ready that may fit since the last pass.
func (p *sla) wake(s *cluster.View, c *sched.Changed) {
	p.line.recheck(func(l *lot) bool {
		grant := p.share(s, l)
		if grant < l.Own.failed {
			return true
		}
		l.Own.failed = grant // what is less may fit by now on a node that changed
		return false
	})
	p.table.Ticks += p.line.waiting.Wake(s, c, func(l *lot, n cluster.NodeID) bool {
		return holds(s, l.Shape, l.Own.failed, n) && p.line.waiting.Fits(s, l, n)
	}, p.line.enter)
}

// holds reports whether the node has room now for a task of the shape that is given so
// much of the first kind. Of what it takes nothing the node may have too little.
func holds(s *cluster.View, id cluster.ShapeID, grant int64, n cluster.NodeID) bool {
	return s.RoomNow(id, n) && (grant == 0 || s.Limit(n)[0]-s.Used(n)[0] >= grant)
}

// next is the class of the ready lot of the highest rank; of equal ones, that which has waited
// longest. It is -1 where none is ready.
func (p *sla) next(s *cluster.View) int {
	p.table.Ticks += p.rank.rank(s.Classes(), p.line.count)
	best, first := -1, cluster.Seq(0)
	for class := range p.line.ready {
		l := p.line.ready[class].Peek(&p.line.waiting)
		if l == nil {
			continue
		}
		flow, seq := p.rank.flow[class], p.line.waiting.Turn(l, 0).Seq
		if best < 0 || flow > p.rank.flow[best] || flow == p.rank.flow[best] && seq < first {
			best, first = class, seq
		}
	}
	return best
}

// share is what each task of the lot is to be given of the first kind.
func (p *sla) share(s *cluster.View, l *lot) int64 {
	shape := s.Shape(l.Shape)
	least := shape.Demand[0]
	if shape.Max == nil || shape.Max[0] == least {
		return least
	}
	of := p.pools[shape.Eligible]
	if of == nil {
		of = &pool{shape: l.Shape, synced: book.Never}
		p.pools[shape.Eligible] = of
	}
	p.table.Ticks += 1 + of.sync(s, shape.Eligible, &p.table.Journal)
	most := min(shape.Max[0], l.Own.most.of(s, l.ID, p.nodes.version))
	return formula(parts{l.Own.weight, p.line.wants[l.Own.tier]}, of.total, s.Kinds()[0].PerUnit, least, most)
}

// serve places the first replica group of the lot, or lets the lot wait.
func (p *sla) serve(t *sched.Trial, l *lot, out *sched.Plan) {
	s := t.View()
	first, grant := p.line.waiting.First(l), p.share(s, l)
	placed, beside := p.try(t, l, grant, out)
	defer p.line.again(l)
	own := l
	switch {
	case placed:
		p.line.remove(first)
		p.line.recheck(func(l *lot) bool { return p.share(s, l) < l.Own.failed })
		return
	case beside && l.Job == book.NoJob:
		own = p.line.separate(s, l)
	}
	if !own.Asleep() {
		p.line.sleep(s, own, grant)
	}
}

// try places all tasks of the lot's first replica group on different nodes, or none. Beside says that
// some node was refused for another task of the job.
func (p *sla) try(t *sched.Trial, l *lot, grant int64, out *sched.Plan) (placed, beside bool) {
	s, mark := t.View(), t.Mark()
	shape := l.Shape
	x := p.table.Sync(s, book.IndexID{Shape: shape, Grant: grant}, func(n cluster.NodeID) int64 {
		if !holds(s, shape, grant, n) {
			return book.None
		}
		return s.Used(n)[0] - s.Limit(n)[0] // the fewest cores left
	})
	defer p.table.Unhide(x)
	takes := granted(s.Shape(shape), grant)
	p.chosen = p.chosen[:0]
	for _, task := range p.line.tasks(p.line.waiting.First(l)) {
		n, ok, other := p.table.Find(s, x, task)
		beside = beside || other
		if !ok {
			t.Rollback(mark)
			out.Drop()
			for _, n := range p.chosen {
				p.table.Update(x, n)
			}
			return false, beside
		}
		a := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n, Grant: takes}
		mustTry(t, a)
		out.Add(a)
		p.table.Update(x, n)
		p.table.Hide(x, n) // the next copy stands elsewhere
		p.chosen = append(p.chosen, n)
	}
	out.Close()
	return true, beside
}

// granted is the least of the shape with so much of the first kind; nil where that is
// the least.
func granted(shape *cluster.Shape, grant int64) cluster.Vector {
	if grant == shape.Demand[0] {
		return nil
	}
	v := slices.Clone(shape.Demand)
	v[0] = grant
	return v
}

// PlacesCopies says that all copies of a job that wait are placed on as many nodes at once, or none.
func (p *sla) PlacesCopies() {}

// Why says why the task is not placed: with its copies, and with what it was to be given
// when the policy last looked.
func (p *sla) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	s := t.View()
	if !p.line.stands(s, task) {
		return sched.Explain(s, task)
	}
	tasks, ticks := p.line.tasks(task), p.table.Ticks
	defer func() { p.table.Ticks = ticks }() // being asked is no effort
	return sched.ExplainCopies(s, task, sched.Copies{Want: len(tasks), Grant: p.share(s, p.line.waiting.Of(tasks[0]))})
}
