package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/sched"
)

// This file makes room by stopping several small tasks for a large one, or one task
// in whose slot not everybody would fit who asks (slots.go: covers). Flow cannot say
// so: there one unit comes where one leaves. So after the flow of a round each task
// that got no place, the dearest to leave waiting first, may propose a bundle: evict
// these, then place it; its place is reserved until they have left. A proposal is
// made where it pays, by the model's own prices:
//
//	price of waiting − price of the place  >  Σ (price of waiting − price of staying)
//
// with the sum over the victims; where the model says that pairs decide (Ranker), with
// the greatest of these instead of their sum. What a task is worth where it runs, and that it is
// not stopped for its equal, is in its price of staying. A running task keeps its
// tier: nobody of a lower one evicts it, and those of a higher one pay its price, too.
//
// For each request stands, node by node, what making room would cost at least, and a
// heap of nodes by that and the price of the place. Nodes are looked at again that were
// noted since (network.journal); whom to stop there, and at which price, is found out
// when the node comes up in the heap (chooser.go). That a running task has become dearer
// to evict, as it has worked on, need not be noted: what stands there is merely too low.
// So a task that failed before costs a comparison with the top of the heap, and no more,
// as long as it would fail again.
//
// A budget may end all of that at any point. The next round then goes on: with the node
// that was to be looked at next, and, if nothing was heard of meanwhile, with the task
// after the last one that was tried. Each gets one further at least.
//
// A task looks at the nodes that it has arcs to, and at mostOffered of those that are
// the cheapest for its request. If aggregators ask of it very different prices, a
// better one may be beyond these.

const (
	// mostOffered is how many nodes the tasks of a request may choose from.
	mostOffered = 16
	// mostTried is how many bundles may be refused before a task gives up.
	mostTried = 4
)

// hunt is what making room for a request would cost, node by node.
type hunt struct {
	tier  int32          // of the tasks that want the room
	seen  uint64         // position in the journal up to which nodes were looked at
	next  cluster.NodeID // where the first look at all nodes goes on
	first bool           // it has not ended
	down  Cost           // at most what any way from an aggregator down to a node adds
	seats []seat         // by node
	bids  heap.Heap[bid]
}

// seat is a node as a hunt sees it.
type seat struct {
	price   Cost   // of evicting, at least, and of the load of the node; unreached if it cannot be
	ticket  uint32 // of the bid that is not out of date
	checked uint32 // the round in which the price was exact
}

// bid is a node at the price of evicting, its load, and the place.
type bid struct {
	cost   Cost
	node   cluster.NodeID
	ticket uint32
}

// Before orders bids by cost, then by node. The latest of a node comes first.
func (b bid) Before(o bid) bool {
	return cmp.Or(cmp.Compare(b.cost, o.cost), cmp.Compare(b.node, o.node), cmp.Compare(o.ticket, b.ticket)) < 0
}

// victims is the memory of this step.
type victims struct {
	chooser chooser
	line    heap.Heap[head]
	round   uint32
	menu    []bid
	moves   []move
	looked  bool // a node was looked at in this round, for a hunt that has not ended its first look
	cut     bool // the last round's budget was spent
	last    head // of those that it tried
}

// head is the task of a share that is the dearest to leave waiting.
type head struct {
	tier int32
	entry
	taskGroup, share int32
}

// Before puts the higher tier first, then the dearest to leave waiting.
func (h head) Before(o head) bool {
	if h.tier != o.tier {
		return h.tier > o.tier
	}
	return h.entry.Before(o.entry)
}

// taskGroupOfTask is the task group of a task, or noTaskGroup of a tenant that has none.
func (w *network) taskGroupOfTask(t cluster.TaskID) int32 {
	if sh := w.members[t].share; sh >= 0 {
		return w.shares[sh].taskGroup
	}
	return noTaskGroup
}

// makeRoom evicts for tasks that got no place, and reports whether it came to an end.
func (p *Policy) makeRoom(t *sched.Trial, budget int64, out *sched.Plan) bool {
	w, s, v := p.net, t.State(), &p.victims
	if w.pinned {
		return true
	}
	w.settleTaskGroups()
	v.round++
	v.looked, v.line = false, v.line[:0]
	all := true // nodes were looked at
	for _, c := range w.active {
		if w.stopped() {
			return true
		}
		for _, sh := range w.taskGroups[c].shares {
			h, ok := w.headOf(c, sh)
			if !ok || v.cut && !v.last.Before(h) {
				continue
			}
			if p.hopes(s, h, budget) {
				v.line = append(v.line, h)
			}
			all = all && !w.huntOf(w.taskGroups[c].request, h.tier).first
		}
	}
	v.line.Init()
	v.cut = false
	for tried := false; len(v.line) > 0 && !w.stopped(); tried = true {
		if tried && p.spent(budget) {
			v.cut = all // else whoever was tried may have a place yet
			return false
		}
		h := v.line.Pop()
		v.last = h
		if !p.hopes(s, h, budget) || !p.oust(t, h, out) {
			continue // nor can the others of the share
		}
		if next, ok := w.headOf(h.taskGroup, h.share); ok {
			v.line.Push(next)
		}
	}
	return all
}

// spent reports whether nothing is left of a budget.
func (p *Policy) spent(budget int64) bool {
	return budget > 0 && p.ticks/looksPerTick+p.net.asks+p.net.looks >= budget
}

// headOf is the first task of a share, if it is still that of the task group.
func (w *network) headOf(taskGroup, share int32) (head, bool) {
	if w.shares[share].taskGroup != taskGroup {
		return head{}, false
	}
	t, ok := w.first(share)
	if !ok {
		return head{}, false
	}
	m := &w.members[t]
	return head{m.terms.Tier, entry{m.terms.Wait, m.seq - 1, t, m.ticket}, taskGroup, share}, true
}

// hopes reports whether the task could gain on some node, as far as is known without
// looking at nodes that did not change.
func (p *Policy) hopes(s *cluster.State, t head, budget int64) bool {
	w := p.net
	c := &w.taskGroups[t.taskGroup]
	h := w.huntOf(c.request, t.tier)
	p.follows(s, c.request, h, budget)
	for _, o := range c.outs {
		if o.group < 0 && int(o.node) < len(h.seats) && h.seats[o.node].price < t.wait-o.cost {
			return true
		}
	}
	top, ok := h.top()
	return ok && top.cost < w.bound(h, t)
}

// bound is more than a bid may ask of the task: what it would gain with the cheapest
// way to a node by way of aggregators.
func (w *network) bound(h *hunt, t head) Cost {
	bound := Cost(-unreached)
	for _, o := range w.taskGroups[t.taskGroup].outs {
		if o.group >= 0 {
			bound = max(bound, t.wait-o.cost-h.down)
		}
	}
	return bound
}

// huntOf finds the hunt of a request and tier, or begins one.
func (w *network) huntOf(row, tier int32) *hunt {
	q := &w.requests[row]
	for _, h := range q.hunts {
		if h.tier == tier {
			return h
		}
	}
	h := &hunt{tier: tier, seen: never}
	q.hunts = append(q.hunts, h)
	return h
}

// top is the cheapest bid that is not out of date.
func (h *hunt) top() (bid, bool) {
	for len(h.bids) > 0 {
		if b := h.bids[0]; h.seats[b.node].ticket == b.ticket {
			return b, true
		}
		h.bids.Pop()
	}
	return bid{}, false
}

// follows looks at the nodes that were noted since the last time; at first at all of
// them, in as many rounds as the budget makes it take.
func (p *Policy) follows(s *cluster.State, row int32, h *hunt, budget int64) {
	w := p.net
	end := w.start + uint64(len(w.journal))
	if h.seen == never || h.seen < w.start {
		h.seen, h.first, h.next = end, true, 0
	}
	for at := h.seen; at < end; at++ {
		if n := w.journal[at-w.start]; w.latest[n] == at+1 && (!h.first || n < h.next) {
			p.look(s, row, h, n, false)
		}
	}
	h.seen = end
	for h.first && (!p.victims.looked || !p.spent(budget)) {
		p.victims.looked = true
		if h.first = int(h.next) < s.NodeRows(); h.first {
			p.look(s, row, h, h.next, false)
			h.next++
		}
	}
}

// look finds out what making room on a node would cost: exactly, or at least.
func (p *Policy) look(s *cluster.State, row int32, h *hunt, n cluster.NodeID, exact bool) {
	w := p.net
	w.machine(n)
	for int(n) >= len(h.seats) {
		h.seats = append(h.seats, seat{price: unreached})
	}
	w.looks++
	seat := &h.seats[n]
	seat.price, seat.checked = unreached, 0
	seat.ticket++
	id, c := w.requests[row].id, &p.victims.chooser
	if int(n) >= s.NodeRows() || s.Overfull(n) || !s.FitsEmpty(id.shape, n) || !s.Upholds(id.shape, n) || id.job != noJob && beside(s, id, n) <= 0 {
		return
	}
	price, ok := c.atLeast(w, s, id.shape, n)
	if exact && ok {
		price, ok = c.choose(w, s, id.shape, h.tier, n)
		seat.checked = p.victims.round
	}
	if !ok {
		return
	}
	if w.loaded != nil {
		load, ok := w.load(s, n)
		if !ok {
			return
		}
		price += load.first()
	}
	seat.price = price
	if a, into := w.into(s, id.shape, n); a != Nowhere {
		w.descend(s, a, func(_ Aggregator, cost Cost) { h.down = min(h.down, cost) })
		h.bid(bid{price + into, n, seat.ticket})
	}
}

// bid adds a bid, and forgets those out of date before they are the most.
func (h *hunt) bid(b bid) {
	if len(h.bids) > 2*len(h.seats)+mostOffered {
		h.bids = slices.DeleteFunc(h.bids, func(b bid) bool { return h.seats[b.node].ticket != b.ticket })
		h.bids.Init()
	}
	h.bids.Push(b)
}

// into is the aggregator above a node, and what the place costs.
func (w *network) into(s *cluster.State, shape cluster.ShapeID, n cluster.NodeID) (Aggregator, Cost) {
	w.asks++
	a, curve := w.model.Into(s, shape, n)
	if err := curve.check(); err != nil {
		w.refuse("curve to node %s: %w", s.NodeSpec(n).Name, err)
		return Nowhere, 0
	}
	return a, curve.first()
}

// descend yields an aggregator and all above it, with what the way from there down
// to it costs.
func (w *network) descend(s *cluster.State, a Aggregator, yield func(Aggregator, Cost)) {
	const deepest = 64 // of those that are in a circle is told elsewhere (groupOf)
	cost := Cost(0)
	for range deepest {
		yield(a, cost)
		if w.tree == nil {
			return
		}
		w.asks++
		above, more := w.tree.Above(s, a)
		if above == Nowhere || checkCost(more) != nil {
			return
		}
		a, cost = above, cost+more
	}
}

// oust evicts for a task on the node where it gains the most by it, and reports
// whether it did.
func (p *Policy) oust(t *sched.Trial, h head, out *sched.Plan) bool {
	w, s, v := p.net, t.State(), &p.victims
	row := w.taskGroups[h.taskGroup].request
	p.offered(s, h)
	for _, b := range v.menu[:min(len(v.menu), mostTried)] {
		hunt := w.huntOf(row, h.tier)
		if _, ok := v.chooser.choose(w, s, w.requests[row].id.shape, hunt.tier, b.node); !ok {
			panic("flow: room that could be made cannot be made the next moment")
		}
		v.moves = v.moves[:0]
		for _, i := range v.chooser.best {
			victim := v.chooser.list[i].task
			v.moves = append(v.moves, move{task: victim, taskGroup: w.taskGroupOfTask(victim), from: b.node, to: cluster.NoNode})
		}
		v.moves = append(v.moves, move{task: h.task, taskGroup: h.taskGroup, from: cluster.NoNode, to: b.node})
		if p.do(t, v.moves, out) {
			return true
		}
		if w.members[h.task].ticket != h.ticket {
			return false // it has to stand apart, and asks for something else now
		}
	}
	return false
}

// offered lists the nodes where the task would gain, the cheapest first.
func (p *Policy) offered(s *cluster.State, t head) {
	w, v := p.net, &p.victims
	row := w.taskGroups[t.taskGroup].request
	h := w.huntOf(row, t.tier)
	v.menu = v.menu[:0]
	cheapest := w.bound(h, t)
	for len(v.menu) < mostOffered {
		b, ok := h.top()
		if !ok || b.cost >= cheapest {
			break
		}
		h.bids.Pop()
		if h.seats[b.node].checked != v.round {
			p.look(s, row, h, b.node, true)
			continue
		}
		v.menu = append(v.menu, b)
	}
	for i, b := range v.menu {
		h.bids.Push(b)
		v.menu[i].cost += w.way(s, t, b.node)
	}
	for _, o := range w.taskGroups[t.taskGroup].outs {
		if o.group >= 0 || int(o.node) >= len(h.seats) {
			continue
		}
		if h.seats[o.node].checked != v.round {
			p.look(s, row, h, o.node, true)
		}
		v.menu = append(v.menu, bid{cost: h.seats[o.node].price + o.cost, node: o.node})
	}
	v.menu = slices.DeleteFunc(v.menu, func(b bid) bool { return b.cost >= t.wait })
	slices.SortFunc(v.menu, func(a, b bid) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.node, b.node)) })
	w.looks += int64(len(v.menu))
}

// way is what the cheapest way of the task to a node costs by way of aggregators, but
// for what the place itself costs.
func (w *network) way(s *cluster.State, t head, n cluster.NodeID) Cost {
	c, least := &w.taskGroups[t.taskGroup], Cost(unreached)
	a, _ := w.into(s, w.requests[c.request].id.shape, n)
	w.descend(s, a, func(a Aggregator, down Cost) {
		for _, o := range c.outs {
			if o.group >= 0 && w.groups[o.group].of == a {
				least = min(least, o.cost+down)
			}
		}
	})
	return least
}
