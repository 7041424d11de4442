package keeper

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file is one decision: who waits has room where, and which nodes are woken for the others.

// plan is a decision that is being made.
type plan struct {
	*Keeper
	s      *cluster.View
	now    cluster.Time
	orders *Orders

	crowds []*crowd // who would be placed if there was room; who has waited longest first
	wants  []*want  // of those

	on    []cluster.NodeID // in the order of their rows
	soon  []cluster.NodeID // that are waking, and then those that are woken by this decision
	cheap []cluster.NodeID // that are off, by what they draw; nil until somebody asks
	woken map[cluster.NodeID]bool

	room    map[cluster.NodeID]cluster.Vector // what is left of nodes on which somebody was counted
	counted map[jobOn]int32                   // how many were counted there, where it matters
}

// jobOn is a job on a node.
type jobOn struct {
	node cluster.NodeID
	job  cluster.JobID
}

// newPlan looks at who waits.
func newPlan(k *Keeper, s *cluster.View, now cluster.Time, orders *Orders) *plan {
	p := &plan{Keeper: k, s: s, now: now, orders: orders}
	short := map[cluster.JobID]bool{} // gangs that cannot be placed however much room there is
	for _, c := range k.crowds {
		if c.apart && cluster.IsGang(s, c.job) {
			is, known := short[c.job]
			if !known {
				is = cluster.GangAwaits(s, c.job)
				short[c.job] = is
			}
			if is {
				continue
			}
		}
		p.crowds = append(p.crowds, c)
		if !c.want.met {
			c.want.met = true
			p.wants = append(p.wants, c.want)
		}
	}
	for _, w := range p.wants {
		w.met, w.on, w.soon, w.cheap, w.coming = false, 0, 0, 0, cluster.Never
	}
	slices.SortFunc(p.crowds, func(a, b *crowd) int { return a.waiters[0].before(b.waiters[0]) })
	return p
}

// wanted reports whether somebody waits whom the node would take.
func (p *plan) wanted(n cluster.NodeID) bool {
	return slices.ContainsFunc(p.wants, func(w *want) bool { return p.fitsEmpty(p.s, w.shape, n) })
}

// wake wakes nodes for those who wait.
func (p *plan) wake() {
	helps := false
	for _, w := range p.wants {
		w.helped = w.helper != cluster.NoNode || slices.ContainsFunc(p.waking, func(n cluster.NodeID) bool { return p.fitsEmpty(p.s, w.shape, n) })
		helps = helps || w.helped
	}
	if !helps {
		return
	}
	for n := range cluster.NodeID(p.s.NodeRows()) {
		if p.s.NodeLive(n) && p.world.Standing(n) == On {
			p.on = append(p.on, n)
		}
	}
	p.soon = slices.Clone(p.waking)
	p.woken, p.room, p.counted = map[cluster.NodeID]bool{}, map[cluster.NodeID]cluster.Vector{}, map[jobOn]int32{}
	for _, c := range p.crowds {
		if c.want.helped {
			p.serve(c)
		}
	}
	slices.Sort(p.orders.Wake)
}

// serve finds room for a crowd, and wakes nodes where there is none, or where it was of no use.
func (p *plan) serve(c *crowd) {
	left := len(c.waiters)
	if p.due(c) <= p.now {
		left -= p.force(c)
	}
	left = p.countOn(c, left)
	for left > 0 {
		n, found := p.cheapest(c.want)
		if !found {
			break
		}
		left -= p.wakeFor(c, n, left)
	}
	if due := p.due(c); due > p.now {
		p.orders.Waits = min(p.orders.Waits, due)
	}
	until := c.waiters[0].since + 2*p.rules.Patience()
	if left > 0 {
		until = p.now
	}
	c.want.coming = min(c.want.coming, until)
}

// coming are the shapes for which room is on its way for all who wait, in order, so that nobody is evicted for them yet.
func (p *plan) coming() (shapes []cluster.ShapeID) {
	for _, w := range p.wants {
		if w.helped && w.coming > p.now {
			shapes = append(shapes, w.shape)
			p.orders.Waits = min(p.orders.Waits, w.coming)
		}
	}
	slices.Sort(shapes)
	return shapes
}

// due is when nodes are woken for the crowd whatever room there seems to be.
func (p *plan) due(c *crowd) cluster.Time {
	return max(c.until, c.waiters[0].since+p.rules.Patience())
}

// force wakes nodes for those of the crowd who have waited for too long: as many as hold them, and twice as many as the last time. It counts
// on no other: what is empty, or waking, may be so for ever, one after the other, and of no use to them. It says for how many there is room now.
func (p *plan) force(c *crowd) (served int) {
	if c.waiters[0].since >= c.forced { // for whom that was wait no more
		c.more = 1
	}
	late, _ := slices.BinarySearchFunc(c.waiters, p.now-p.rules.Patience(), func(w waiter, since cluster.Time) int {
		if w.since <= since {
			return -1
		}
		return 1
	})
	woken := 0
	for served < late || woken < c.more {
		n, found := p.cheapest(c.want)
		if !found {
			break
		}
		served += p.wakeFor(c, n, late-served)
		woken++
	}
	if woken > 0 {
		c.more, c.forced = 2*woken, p.now
	}
	return served
}

// wakeFor wakes the node for the crowd, and says how many of those who are left it holds.
func (p *plan) wakeFor(c *crowd, n cluster.NodeID, left int) int {
	p.woken[n] = true
	p.orders.Wake = append(p.orders.Wake, n)
	p.soon = append(p.soon, n)
	_, takes := p.world.Wakes(n)
	c.until = max(c.until, p.now+takes+p.rules.Patience())
	return p.count(c, n, left)
}

// countOn counts those of the crowd who are left on nodes that are on, then on those that will be soon, and says how many find no room.
func (p *plan) countOn(c *crowd, left int) int {
	shape := p.s.Shape(c.shape)
	search := func(nodes []cluster.NodeID, from *int, admits func(n cluster.NodeID) bool) {
		for at := *from; at < len(nodes) && left > 0; at++ {
			n := nodes[at]
			full := p.fit(shape.Demand, n) == 0
			if !full && admits(n) {
				left -= p.count(c, n, left)
			} else if at == *from && (full || shape.PerNode == 0) { // for others of the shape, too
				*from++
			}
		}
	}
	search(p.on, &c.want.on, func(n cluster.NodeID) bool { return !p.s.Admits(c.waiters[0].task, n).Refused() })
	search(p.soon, &c.want.soon, func(n cluster.NodeID) bool { return p.fitsEmpty(p.s, c.shape, n) })
	return left
}

// fit is how many tasks of the demand the node has room for beside those that were counted there.
func (p *plan) fit(demand cluster.Vector, n cluster.NodeID) int64 {
	room, known := p.room[n]
	limit, used, leaving := p.s.Limit(n), p.s.Used(n), p.s.LeavingDemand(n)
	fit := int64(math.MaxInt32)
	for kind, q := range demand {
		has := limit[kind] + leaving[kind] - used[kind]
		if known {
			has = room[kind]
		}
		if q > has {
			return 0
		}
		if q > 0 {
			fit = min(fit, has/q)
		}
	}
	return fit
}

// count counts those of the crowd who are left on the node, as far as it has room for them beside those that were counted there, and says how many that are.
func (p *plan) count(c *crowd, n cluster.NodeID, left int) int {
	shape := p.s.Shape(c.shape)
	fit := min(p.fit(shape.Demand, n), int64(left))
	if shape.PerNode > 0 {
		at := jobOn{n, c.job}
		fit = min(fit, int64(max(shape.PerNode-p.counted[at], 0)))
		p.counted[at] += int32(fit)
	}
	room, known := p.room[n]
	if !known {
		room = slices.Clone(p.s.Limit(n))
		for kind := range room {
			room[kind] += p.s.LeavingDemand(n)[kind] - p.s.Used(n)[kind]
		}
		p.room[n] = room
	}
	for kind, q := range shape.Demand {
		room[kind] -= fit * q
	}
	return int(fit)
}

// cheapest is the node that draws least of those that are off, would take a task of the shape and are not woken yet.
func (p *plan) cheapest(w *want) (best cluster.NodeID, found bool) {
	if p.cheap == nil {
		p.cheap = p.byWatts()
	}
	for ; w.cheap < len(p.cheap); w.cheap++ {
		if n := p.cheap[w.cheap]; !p.woken[n] && p.fitsEmpty(p.s, w.shape, n) {
			return n, true
		}
	}
	return 0, false
}

// byWatts are the nodes that are off, by what they would draw.
func (p *plan) byWatts() []cluster.NodeID {
	watts := make(map[cluster.NodeID]int64, len(p.off))
	for _, n := range p.off {
		watts[n], _ = p.world.Wakes(n)
	}
	nodes := slices.Clone([]cluster.NodeID(p.off))
	slices.SortFunc(nodes, func(a, b cluster.NodeID) int { return cmp.Or(cmp.Compare(watts[a], watts[b]), cmp.Compare(a, b)) })
	return nodes
}
