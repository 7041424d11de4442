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
// that was to be looked at next, and, if nothing changed meanwhile, with the task
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

// search is what making room for a request would cost, node by node.
type search struct {
	tier       int32          // of the tasks that want the room
	seen       uint64         // position in the journal up to which nodes were looked at
	next       cluster.NodeID // where the first look at all nodes goes on
	first      bool           // it has not ended
	down       Cost           // at most what any way from an aggregator down to a node adds
	candidates []candidate    // by node
	bids       heap.Heap[bid]
}

// candidate is a node as a search sees it.
type candidate struct {
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
	looked  bool // a node was looked at in this round, for a search that has not ended its first look
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
	w, s, v := p.net, t.View(), &p.victims
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
			if p.mayPreempt(s, h, budget) {
				v.line = append(v.line, h)
			}
			all = all && !w.searchOf(w.taskGroups[c].request, h.tier).first
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
		if !p.mayPreempt(s, h, budget) || !p.preempt(t, h, out) {
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

// mayPreempt reports whether the task could gain on some node, as far as is known without
// looking at nodes that did not change.
func (p *Policy) mayPreempt(s *cluster.View, t head, budget int64) bool {
	w := p.net
	c := &w.taskGroups[t.taskGroup]
	x := w.searchOf(c.request, t.tier)
	p.follows(s, c.request, x, budget)
	for _, o := range c.outs {
		if o.group < 0 && int(o.node) < len(x.candidates) && x.candidates[o.node].price < t.wait-o.cost {
			return true
		}
	}
	top, ok := x.top()
	return ok && top.cost < w.bound(x, t)
}

// bound is more than a bid may ask of the task: what it would gain with the cheapest
// way to a node by way of aggregators.
func (w *network) bound(x *search, t head) Cost {
	bound := Cost(-unreached)
	for _, o := range w.taskGroups[t.taskGroup].outs {
		if o.group >= 0 {
			bound = max(bound, t.wait-o.cost-x.down)
		}
	}
	return bound
}

// searchOf finds the search of a request and tier, or begins one.
func (w *network) searchOf(row, tier int32) *search {
	q := &w.requests[row]
	for _, x := range q.searches {
		if x.tier == tier {
			return x
		}
	}
	x := &search{tier: tier, seen: never}
	q.searches = append(q.searches, x)
	return x
}

// top is the cheapest bid that is not out of date.
func (x *search) top() (bid, bool) {
	for len(x.bids) > 0 {
		if b := x.bids[0]; x.candidates[b.node].ticket == b.ticket {
			return b, true
		}
		x.bids.Pop()
	}
	return bid{}, false
}

// follows looks at the nodes that were noted since the last time; at first at all of
// them, in as many rounds as the budget makes it take.
func (p *Policy) follows(s *cluster.View, row int32, x *search, budget int64) {
	w := p.net
	end := w.start + uint64(len(w.journal))
	if x.seen == never || x.seen < w.start {
		x.seen, x.first, x.next = end, true, 0
	}
	for at := x.seen; at < end; at++ {
		if n := w.journal[at-w.start]; w.latest[n] == at+1 && (!x.first || n < x.next) {
			p.look(s, row, x, n, false)
		}
	}
	x.seen = end
	for x.first && (!p.victims.looked || !p.spent(budget)) {
		p.victims.looked = true
		if x.first = int(x.next) < s.NodeRows(); x.first {
			p.look(s, row, x, x.next, false)
			x.next++
		}
	}
}

// look finds out what making room on a node would cost: exactly, or at least.
func (p *Policy) look(s *cluster.View, row int32, x *search, n cluster.NodeID, exact bool) {
	w := p.net
	w.machine(n)
	for int(n) >= len(x.candidates) {
		x.candidates = append(x.candidates, candidate{price: unreached})
	}
	w.looks++
	candidate := &x.candidates[n]
	candidate.price, candidate.checked = unreached, 0
	candidate.ticket++
	id, c := w.requests[row].id, &p.victims.chooser
	if int(n) >= s.NodeRows() || s.Overfull(n) || !s.FitsEmpty(id.shape, n) || !s.Upholds(id.shape, n) || id.job != noJob && beside(s, id, n) <= 0 {
		return
	}
	price, ok := c.atLeast(w, s, id.shape, n)
	if exact && ok {
		price, ok = c.choose(w, s, id.shape, x.tier, n)
		candidate.checked = p.victims.round
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
	candidate.price = price
	if a, into := w.into(s, id.shape, n); a != Nowhere {
		w.descend(s, a, func(_ Aggregator, cost Cost) { x.down = min(x.down, cost) })
		x.bid(bid{price + into, n, candidate.ticket})
	}
}

// bid adds a bid, and forgets those out of date before they are the most.
func (x *search) bid(b bid) {
	if len(x.bids) > 2*len(x.candidates)+mostOffered {
		x.bids = slices.DeleteFunc(x.bids, func(b bid) bool { return x.candidates[b.node].ticket != b.ticket })
		x.bids.Init()
	}
	x.bids.Push(b)
}

// into is the aggregator above a node, and what the place costs.
func (w *network) into(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (Aggregator, Cost) {
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
func (w *network) descend(s *cluster.View, a Aggregator, yield func(Aggregator, Cost)) {
	const deepest = 64 // those that are in a circle are reported elsewhere (groupOf)
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

// preempt evicts for a task on the node where it gains the most by it, and reports
// whether it did.
func (p *Policy) preempt(t *sched.Trial, h head, out *sched.Plan) bool {
	w, s, v := p.net, t.View(), &p.victims
	row := w.taskGroups[h.taskGroup].request
	p.offered(s, h)
	for _, b := range v.menu[:min(len(v.menu), mostTried)] {
		search := w.searchOf(row, h.tier)
		if _, ok := v.chooser.choose(w, s, w.requests[row].id.shape, search.tier, b.node); !ok {
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
			return false // it may not be beside others of its job, and asks for something else now
		}
	}
	return false
}

// offered lists the nodes where the task would gain, the cheapest first.
func (p *Policy) offered(s *cluster.View, t head) {
	w, v := p.net, &p.victims
	row := w.taskGroups[t.taskGroup].request
	x := w.searchOf(row, t.tier)
	v.menu = v.menu[:0]
	cheapest := w.bound(x, t)
	for len(v.menu) < mostOffered {
		b, ok := x.top()
		if !ok || b.cost >= cheapest {
			break
		}
		x.bids.Pop()
		if x.candidates[b.node].checked != v.round {
			p.look(s, row, x, b.node, true)
			continue
		}
		v.menu = append(v.menu, b)
	}
	for i, b := range v.menu {
		x.bids.Push(b)
		v.menu[i].cost += w.way(s, t, b.node)
	}
	for _, o := range w.taskGroups[t.taskGroup].outs {
		if o.group >= 0 || int(o.node) >= len(x.candidates) {
			continue
		}
		if x.candidates[o.node].checked != v.round {
			p.look(s, row, x, o.node, true)
		}
		v.menu = append(v.menu, bid{cost: x.candidates[o.node].price + o.cost, node: o.node})
	}
	v.menu = slices.DeleteFunc(v.menu, func(b bid) bool { return b.cost >= t.wait })
	slices.SortFunc(v.menu, func(a, b bid) int { return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.node, b.node)) })
	w.looks += int64(len(v.menu))
}

// way is what the cheapest way of the task to a node costs by way of aggregators, but
// for what the place itself costs.
func (w *network) way(s *cluster.View, t head, n cluster.NodeID) Cost {
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
