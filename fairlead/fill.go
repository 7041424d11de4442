package fairlead

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file makes room for tasks that a batch has left over. Placed one by one, the last ones find here a node with cpu left, and there one
// with memory. If somebody of the batch makes room for one of them by standing elsewhere, one task more is served, and none less.

const (
	// leastBatch is how many tasks make a batch, and mostLeft for how many groups room is looked for.
	leastBatch = 2
	mostLeft   = 256
)

// leave notes that the pass has found no place for the first task of the group.
func (r *refine) leave(g *group) {
	if !r.off && len(r.over.left) < mostLeft && len(r.batch) >= leastBatch {
		r.over.left = append(r.over.left, g)
	}
}

// fill places tasks that were left over, for as long as somebody makes room for them. It reports whether any were.
func (p refining) fill() (some bool) {
	r := &p.refine
	for _, how := range []func(batched) bool{p.insert, p.swap} {
		for _, g := range r.over.left {
			for g.Len() > 0 && r.ticks < mostExchanges {
				t := p.waiting.First(g)
				id := p.s.Task(t).Shape
				if p.s.Task(t).Phase != cluster.Waiting || fixedShape(p.s, id) || len(p.s.Input(t)) > 0 {
					break
				}
				if !how(batched{task: t, node: cluster.NoNode, was: cluster.NoNode, rank: p.who.waiting(p.s, p.s.Task(t))}) {
					break
				}
				p.waiting.Leave(t)
				some = true
			}
		}
	}
	for p.giveWay() {
		some = true
	}
	return some
}

// giveWay has one of the batch wait, so that two can be served who stand in line as it does and are not larger.
func (p refining) giveWay() bool {
	r, s := &p.refine, p.s
	for n := range cluster.NodeID(s.NodeRows()) {
		for _, j := range r.on[n] {
			u := &r.batch[j]
			if r.ticks >= mostExchanges {
				return false
			}
			if u.fixed || u.reads {
				continue
			}
			if first, second := p.two(j, n); first != nil {
				r.shift(s, j, cluster.NoNode)
				for _, g := range []*group{first, second} {
					t := p.waiting.First(g)
					p.waiting.Leave(t)
					r.take(s, batched{task: t, node: cluster.NoNode, was: cluster.NoNode, rank: p.who.waiting(s, s.Task(t))}, n)
				}
				return true
			}
		}
	}
	return false
}

// two are groups, perhaps the same one twice, of which there is room for a task of each where one of the batch is; nil if there are none.
func (p refining) two(i int32, n cluster.NodeID) (first, second *group) {
	r, s := &p.refine, p.s
	u := &r.batch[i]
	own := s.Task(u.task)
	large := halves(p.worth.SizeOf(s, own.Shape))
	room := r.roomBut(s, n, i)
	could := func(g *group) bool {
		r.ticks++
		t := p.waiting.First(g)
		return p.rankOf(s, g) == u.rank && halves(p.worth.SizeOf(s, g.Shape)) <= large && g.User == p.users.of(s, own.Job) &&
			s.Task(t).Phase == cluster.Waiting && !fixedShape(s, g.Shape) && len(s.Input(t)) == 0 && p.open(&batched{task: t, rank: u.rank}, n)
	}
	for at, g := range r.over.left {
		if g.Len() == 0 || !s.Shape(g.Shape).Demand.Fits(room) || !could(g) {
			continue
		}
		for _, h := range r.over.left[at:] {
			if r.ticks++; h == g && g.Len() < 2 || h.Len() == 0 || !fitBoth(s.Shape(g.Shape).Demand, s.Shape(h.Shape).Demand, room) {
				continue
			}
			if h == g || could(h) {
				return g, h
			}
		}
	}
	return nil, nil
}

// insert finds a node for the task where one of the batch makes room, and goes to another one.
func (p refining) insert(b batched) bool {
	r, s := &p.refine, p.s
	id := s.Task(b.task).Shape
	demand := s.Shape(id).Demand
	clear(r.elsewhere)
	for n := range cluster.NodeID(s.NodeRows()) {
		if !s.NodeLive(n) || len(r.on[n]) == 0 || !p.open(&b, n) {
			continue
		}
		for _, j := range r.on[n] {
			u := &r.batch[j]
			own := s.Task(u.task).Shape
			r.ticks++
			if u.fixed || u.reads || own == id || !demand.Fits(r.roomBut(s, n, j)) {
				continue
			}
			if to := p.roomFor(u, n); to != cluster.NoNode {
				r.shift(s, j, to)
				r.take(s, b, n)
				return true
			}
		}
	}
	return false
}

// swap finds two of the batch that change places, so that there is room for the task where one of them was. It looks at the nodes that lack
// least.
func (p refining) swap(b batched) bool {
	r, s := &p.refine, p.s
	demand := s.Shape(s.Task(b.task).Shape).Demand
	near := p.moves.near[:0]
	for n := range cluster.NodeID(s.NodeRows()) {
		if s.NodeLive(n) && len(r.on[n]) > 0 && p.open(&b, n) {
			lack := int64(0)
			for k, q := range demand {
				lack += max(cluster.Fraction(q-r.free[n][k], max(s.Limit(n)[k], 1)), 0)
			}
			near = append(near, displacing{n, lack})
		}
	}
	slices.SortStableFunc(near, func(x, y displacing) int { return cmp.Compare(x.lack, y.lack) })
	p.moves.near = near
	for _, at := range near[:min(len(near), roomyNodes)] {
		for _, other := range near {
			if other.node != at.node && p.swapOn(b, at.node, other.node) {
				return true
			}
			if r.ticks >= mostExchanges {
				return false
			}
		}
	}
	return false
}

// swapOn is swap of one who is on the node with one on another node.
func (p refining) swapOn(b batched, n, other cluster.NodeID) bool {
	r, s := &p.refine, p.s
	demandOf := func(i int32) cluster.Vector { return s.Shape(s.Task(r.batch[i].task).Shape).Demand }
	demand := s.Shape(s.Task(b.task).Shape).Demand
	for _, i := range r.on[n] {
		u := &r.batch[i]
		if r.ticks++; u.fixed || u.reads || !demand.Fits(r.roomBut(s, n, i)) {
			continue
		}
		for _, j := range r.on[other] {
			v := &r.batch[j]
			if r.ticks++; v.fixed || v.reads || !demandOf(i).Fits(r.roomBut(s, other, j)) || !fitBoth(demand, demandOf(j), r.roomBut(s, n, i)) {
				continue
			}
			if p.open(u, other) && p.open(v, n) {
				r.shift(s, i, other)
				r.shift(s, j, n)
				r.take(s, b, n)
				return true
			}
		}
	}
	return false
}

// roomFor is the first node but that one with room for a task of the batch. Of each shape the nodes are looked for once.
func (p refining) roomFor(u *batched, but cluster.NodeID) cluster.NodeID {
	r, s := &p.refine, p.s
	own := s.Task(u.task).Shape
	nodes, known := r.elsewhere[own]
	if !known {
		for n := range cluster.NodeID(s.NodeRows()) {
			if s.NodeLive(n) && s.Shape(own).Demand.Fits(r.free[n]) {
				nodes = append(nodes, n)
			}
		}
		r.ticks += int64(s.NodeRows())
		if r.elsewhere == nil {
			r.elsewhere = map[cluster.ShapeID][]cluster.NodeID{}
		}
		r.elsewhere[own] = nodes
	}
	at := slices.IndexFunc(nodes, func(n cluster.NodeID) bool { return n != but && p.open(u, n) })
	if at < 0 {
		return cluster.NoNode
	}
	return nodes[at]
}
