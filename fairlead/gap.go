package fairlead

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// This file says how much better a pass might have been by how many tasks have a place: each that waits on, and could have had one when
// the pass began, counts one. Prices have no bound of this kind, as a placement may lower those of others.
//
// Who was left over could have stood on nodes that the pass has filled, also for a while, and on claimed ones; anywhere else it would stand. So no pass leaves
// fewer than are too many for the room of those nodes in sum, by each kind and by all of them, if all who were placed stood elsewhere but
// those for whom there is no other place left. Devices can only leave more.
//
// Nothing is said where somebody has to leave, or could give back what it has beyond its least; where a task is left over whose place goes
// by others, by a constraint or as one of a gang; and of applications.

// mostFitting bounds the comparisons of a pass with nodes; beyond it nothing is said.
const mostFitting = 1 << 20

// leftover is whom a pass has let sleep, and what its bound is made of.
type leftover struct {
	groups []*group         // some of them more than once, some served since
	while  []cluster.NodeID // that the pass has filled until the batch was placed anew
	left   []*group         // those for whose first task the batch may be placed anew

	nodes  []cluster.NodeID // filled, or claimed, by id
	room   []cluster.Vector // of these, when the pass began, with what leaves
	used   []bool           // some item fits there
	items  []item
	placed []item         // scratch
	sum    cluster.Vector // scratch: the room of all these nodes
}

// item is tasks of one shape that could have stood on the nodes.
type item struct {
	shape cluster.ShapeID
	tier  int32
	count int64
	left  bool // they wait on
	size  int64
}

// begin begins a pass.
func (l *leftover) begin() {
	clear(l.groups)
	clear(l.left)
	l.groups, l.left, l.while = l.groups[:0], l.left[:0], l.while[:0]
}

// gap is how many wait on, and how many would at least. It is not known where the pass has ended before its time, and where there was nothing
// to place.
func gap(p *policy, s *cluster.View, out *sched.Plan) sched.Gap {
	l := &p.refine.over
	leaves := slices.ContainsFunc(s.Totals().Leaving, func(q int64) bool { return q > 0 })
	if p.line.Peek(&p.waiting) != nil || p.grants.some || leaves && p.victims.off || !l.fill(s, &p.claims, out) || len(l.groups)*len(l.nodes) > mostFitting {
		return sched.Gap{}
	}
	if !l.collect(p, s, out) {
		return sched.Gap{}
	}
	value := int64(0)
	for _, i := range l.items {
		if i.left {
			value += i.count
		}
	}
	switch {
	case value == 0 && out.Bundles() == 0:
		return sched.Gap{}
	case value == 0:
		return sched.Gap{Omits: sched.OmitsNothing}
	}
	omits := sched.OmitsPieces
	if !p.victims.off {
		omits = sched.OmitsEvictions
	}
	return sched.Gap{Value: value, Bound: min(value, l.tooMany(s)), Omits: omits}
}

// fill fills in the nodes where a place was taken, or is claimed; false if something else was done than to place.
func (l *leftover) fill(s *cluster.View, c *claims, out *sched.Plan) bool {
	l.nodes = append(l.nodes[:0], l.while...)
	for i := range out.Bundles() {
		for _, a := range out.Bundle(i) {
			if a.Kind != sched.Place {
				return false
			}
			l.nodes = append(l.nodes, a.Node)
		}
	}
	if len(l.groups) == 0 {
		return true
	}
	for _, own := range c.list {
		if s.NodeLive(own.node) {
			l.nodes = append(l.nodes, own.node)
		}
	}
	slices.Sort(l.nodes)
	l.nodes = slices.Compact(l.nodes)
	for len(l.room) < len(l.nodes) {
		l.room = append(l.room, nil)
	}
	for i, n := range l.nodes {
		l.room[i] = append(l.room[i][:0], s.Limit(n)...)
		used, leaving := s.Used(n), s.LeavingDemand(n)
		for k := range l.room[i] {
			l.room[i][k] += leaving[k] - used[k]
		}
	}
	for i := range out.Bundles() {
		for _, a := range out.Bundle(i) {
			at, _ := slices.BinarySearch(l.nodes, a.Node)
			for k, q := range s.Demand(a.Task) {
				l.room[at][k] += q
			}
		}
	}
	return true
}

// collect lists who waits on, and who was placed and had no other place; false if the place of one who waits goes by others.
func (l *leftover) collect(p *policy, s *cluster.View, out *sched.Plan) bool {
	l.items, l.used = l.items[:0], append(l.used[:0], make([]bool, len(l.nodes))...)
	l.groups = slices.DeleteFunc(l.groups, func(g *group) bool { return g.Len() == 0 || !g.Asleep() })
	slices.SortFunc(l.groups, func(a, b *group) int { return cmp.Compare(p.waiting.First(a), p.waiting.First(b)) })
	for _, g := range slices.Compact(l.groups) {
		switch {
		case !l.fits(s, g.Shape):
		case len(s.ConstraintsOf(g.Shape)) > 0 || g.Short(s):
			return false
		default:
			l.items = append(l.items, item{shape: g.Shape, count: int64(g.Len()), left: true})
		}
	}
	if len(l.items) == 0 || slices.ContainsFunc(s.Totals().Leaving, func(q int64) bool { return q > 0 }) {
		return true // to what leaves somewhere those could go who were placed
	}
	placed := l.placed[:0]
	for i := range out.Bundles() {
		for _, a := range out.Bundle(i) {
			task := s.Task(a.Task)
			placed = append(placed, item{shape: task.Shape, tier: p.surcharges.tierOf(&s.Classes()[task.Class]), count: 1})
		}
	}
	slices.SortFunc(placed, func(a, b item) int { return cmp.Or(cmp.Compare(a.shape, b.shape), cmp.Compare(a.tier, b.tier)) })
	l.placed = placed
	ticks := p.table.Ticks // nothing is decided by it
	for from, to := 0, 0; from < len(placed); from = to {
		one := placed[from]
		for to = from; to < len(placed) && placed[to].shape == one.shape && placed[to].tier == one.tier; to++ {
		}
		if p.index(s, one.shape, one.tier).Most() == book.None {
			one.count = int64(to - from)
			l.fits(s, one.shape)
			l.items = append(l.items, one)
		}
	}
	p.table.Ticks = ticks
	return true
}

// fits reports whether some node had room for the shape, and marks all that had.
func (l *leftover) fits(s *cluster.View, id cluster.ShapeID) (some bool) {
	shape := s.Shape(id)
	for i, n := range l.nodes {
		if s.Eligible(shape.Eligible, n) && shape.Demand.Fits(l.room[i]) {
			l.used[i], some = true, true
		}
	}
	return some
}

// tooMany is how many of the tasks are more than the nodes hold by the kind that most is lacking of, or by all kinds together, the
// smallest first.
func (l *leftover) tooMany(s *cluster.View) (most int64) {
	kinds := len(s.Kinds())
	l.sum = append(l.sum[:0], make(cluster.Vector, kinds)...)
	for i := range l.nodes {
		for k := range l.sum {
			if l.used[i] {
				l.sum[k] += max(l.room[i][k], 0)
			}
		}
	}
	const whole = int64(1) << cluster.FractionBits
	for mix := range kinds + 1 {
		room := whole
		if mix == kinds {
			room *= int64(kinds)
		}
		for i := range l.items {
			own := &l.items[i]
			own.size = 0
			for k, q := range s.Shape(own.shape).Demand {
				if mix == k || mix == kinds {
					own.size += cluster.Fraction(q, l.sum[k]) // at most whole, as a node that counts holds one
				}
			}
		}
		most = max(most, l.over(room))
	}
	return most
}

// over is how many of the tasks do not find room by their sizes, the smallest first.
func (l *leftover) over(room int64) (over int64) {
	slices.SortFunc(l.items, func(a, b item) int { return cmp.Compare(a.size, b.size) })
	for _, i := range l.items {
		stand := i.count
		if i.size > 0 {
			stand = min(stand, room/i.size)
			room -= stand * i.size
		}
		over += i.count - stand
	}
	return over
}
