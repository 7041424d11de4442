package queue

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
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
	table   table
	pools   map[cluster.SetID]*pool
	nodes   nodeLimits
	chosen  []cluster.NodeID // scratch of try
	changed []cluster.NodeID // scratch of wake
	company sched.Company
}

func newSLA(o Options) sched.Policy {
	p := &sla{rank: newSLARank(o.SLA), table: newTable(o)}
	p.company.Not = func(j *cluster.Job) bool { return j.FirstEnds }
	p.reset()
	return p
}

func (p *sla) reset() {
	p.line, p.pools = newSLALine(), map[cluster.SetID]*pool{}
	p.nodes = nodeLimits{version: p.nodes.version + 1}
	p.table.reset()
}

// Plan places what it can. However small the budget, it tries something.
func (p *sla) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	p.learn(s, c)
	for tried := false; ; tried = true {
		l, ok := p.next(s)
		if !ok {
			break
		}
		if tried && budget > 0 && p.table.ticks >= budget {
			out.Wake = s.Now() // the budget ended the pass
			break
		}
		p.serve(t, l, out)
	}
	out.Ticks, p.table.ticks = p.table.ticks, 0
	p.company.Plan(t, c, budget, out)
}

// learn takes in what changed since the last pass.
func (p *sla) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		p.reset()
	}
	p.table.learn(s, c)
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
		if !p.line.stands(s, t) {
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
		if grant < l.failed || p.gains(s, c, l, grant) {
			return true
		}
		l.failed = grant // what is less may fit by now on a node that changed
		return false
	})
	p.changed = p.changed[:0]
	for _, n := range c.Nodes {
		if p.line.least.within(s, n, false) {
			p.changed = append(p.changed, n)
		}
	}
	near := sched.Changed{Nodes: p.changed, Members: c.Members, Constrained: c.Constrained}
	p.table.ticks += int64(len(c.Nodes))
	if len(near.Nodes) > 0 || len(near.Members) > 0 || len(near.Constrained) > 0 {
		p.line.rouse(s, func(l *lot) bool { return p.gains(s, &near, l, s.Shape(l.id.shape).Demand[0]) })
	}
}

// gains reports whether a task of the lot that is given so much may go on a node that
// changed, or that came into the set of those it may use.
func (p *sla) gains(s *cluster.View, c *sched.Changed, l *lot, grant int64) bool {
	fits := func(n cluster.NodeID) bool {
		p.table.ticks++
		return holds(s, l.id.shape, grant, n) && (l.id.job == noJob && !s.Constrained(l.id.shape) || !s.Admits(l.first().tasks[0], n).Refused())
	}
	return slices.Contains(c.Constrained, l.id.shape) || slices.ContainsFunc(c.Nodes, fits) ||
		slices.ContainsFunc(c.MembersOf(s.Shape(l.id.shape).Eligible), func(m sched.Member) bool { return fits(m.Node) })
}

// holds reports whether the node has room now for a task of the shape that is given so
// much of the first kind. Of what it takes nothing the node may have too little.
func holds(s *cluster.View, id cluster.ShapeID, grant int64, n cluster.NodeID) bool {
	return roomNow(s, id, n) && (grant == 0 || s.Limit(n)[0]-s.Used(n)[0] >= grant)
}

// next is the ready lot of the highest rank; of equal ones, that which has waited
// longest.
func (p *sla) next(s *cluster.View) (*lot, bool) {
	p.table.ticks += p.rank.rank(s.Classes(), p.line.replicaGroups)
	var best lotTurn
	flow := 0.0
	for class := range p.line.ready {
		turn, ok := p.line.next(class)
		if !ok {
			continue
		}
		if f := p.rank.flow[class]; best.lot == nil || f > flow || f == flow && turn.seq < best.seq {
			best, flow = turn, f
		}
	}
	return best.lot, best.lot != nil
}

// share is what each task of the lot is to be given of the first kind.
func (p *sla) share(s *cluster.View, l *lot) int64 {
	shape := s.Shape(l.id.shape)
	least := shape.Demand[0]
	if shape.Max == nil || shape.Max[0] == least {
		return least
	}
	of := p.pools[shape.Eligible]
	if of == nil {
		of = &pool{shape: l.id.shape}
		p.pools[shape.Eligible] = of
	}
	p.table.ticks += 1 + of.sync(s, shape.Eligible, &p.table)
	most := min(shape.Max[0], l.most.of(s, l.id, p.nodes.version))
	return formula(parts{l.weight, p.line.wants[l.tier]}, of.total, s.Kinds()[0].PerUnit, least, most)
}

// serve places the first replica group of the lot, or lets the lot wait.
func (p *sla) serve(t *sched.Trial, l *lot, out *sched.Plan) {
	s := t.View()
	g, grant := l.first(), p.share(s, l)
	placed, beside := p.try(t, g, grant, out)
	switch {
	case placed:
		p.line.remove(g)
		p.line.recheck(func(l *lot) bool { return p.share(s, l) < l.failed })
		return
	case beside && l.id.job == noJob:
		l = p.line.exile(s, g)
	}
	switch {
	case l.state != lotReady:
	case grant > s.Shape(l.id.shape).Demand[0]:
		p.line.hold(l, grant)
	default:
		p.line.sleep(s, l)
	}
}

// try places all tasks of the replica group on different nodes, or none. Beside says that
// some node was refused for another task of the job.
func (p *sla) try(t *sched.Trial, g *replicaGroup, grant int64, out *sched.Plan) (placed, beside bool) {
	s, mark := t.View(), t.Mark()
	shape := g.lot.id.shape
	x := p.table.sync(indexID{shape: shape, grant: grant}, func(n cluster.NodeID) int64 {
		if !holds(s, shape, grant, n) {
			return none
		}
		return s.Used(n)[0] - s.Limit(n)[0] // the fewest cores left
	})
	defer p.table.unhide(x)
	takes := granted(s.Shape(shape), grant)
	p.chosen = p.chosen[:0]
	for _, task := range g.tasks {
		n, ok, other := p.table.find(s, x, task)
		beside = beside || other
		if !ok {
			t.Rollback(mark)
			out.Drop()
			for _, n := range p.chosen {
				p.table.update(x, n)
			}
			return false, beside
		}
		a := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n, Grant: takes}
		mustTry(t, a)
		out.Add(a)
		p.table.update(x, n)
		p.table.hide(x, n) // the next copy stands elsewhere
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

// Why says why the task is not placed: with its copies, and with what it was to be given
// when the policy last looked.
func (p *sla) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	s := t.View()
	if !p.line.stands(s, task) {
		return sched.Explain(s, task)
	}
	g, ticks := p.line.wards[task].group, p.table.ticks
	defer func() { p.table.ticks = ticks }() // being asked is no effort
	return sched.ExplainCopies(s, task, sched.Copies{Want: len(g.tasks), Grant: p.share(s, g.lot)})
}
