package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/sched/book"
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
// For each request stands, node by node, what making room would cost at least, and an
// index of nodes by that and the price of the place. Nodes are looked at again that were
// noted since (journal); whom to stop there, and at which price, is found out
// when the node comes up in the index (chooser.go). That a running task has become dearer
// to evict, as it has worked on, need not be noted: what stands there is merely too low.
// So a task that failed before costs a comparison with the best of the index, and no more,
// as long as it would fail again.
//
// A budget may end all of that at any point. The next round then goes on: with the node
// that was to be looked at next, and, if nothing changed meanwhile, no price either, with the task
// after the last one that was tried. Each gets one further at least.
//
// Whoever keeps the task off by a constraint that binds who comes leaves for it as for room; the flow passes over such nodes.
//
// Where fewest of the victims violate a budget is tried first, whatever it costs; the flow evicts nobody whom a budget guards.
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
	bids       *book.Index    // of nodes: the negative of what they ask, with the place
}

// candidate is a node as a search sees it.
type candidate struct {
	price   Cost   // of evicting, at least, and of the load of the node; unreached if it cannot be
	checked uint32 // the round in which the price was exact
	// violations are, where it was, how many of the victims violate a budget
	violations int
}

// bid is a node at the price of evicting, its load, and the place.
type bid struct {
	cost       Cost
	node       cluster.NodeID
	violations int // of budgets
}

// preempt evicts for tasks that got no place.
type preempt struct {
	net     *network
	effort  *effort
	chooser chooser
	line    heap.Heap[head]
	round   uint32
	menu    []bid
	moves   []move
	looked  bool   // a node was looked at in this round, for a search that has not ended its first look
	cut     bool   // the last round's budget was spent
	news    uint64 // round.news then
	last    head   // of those that it tried
}

// head is the task of a share that is the dearest to leave waiting.
type head struct {
	tier int32
	book.Entry
	taskGroup, share int32
}

// Before puts the higher tier first, then the dearest to leave waiting.
func (h head) Before(o head) bool {
	if h.tier != o.tier {
		return h.tier > o.tier
	}
	return h.Entry.Before(o.Entry)
}

// wait is the price of leaving it waiting.
func (h head) wait() Cost { return -h.Key }

// plan evicts for tasks that got no place, and reports whether it came to an end.
func (v *preempt) plan(r *round) bool {
	w, s := v.net, r.trial.View()
	if w.stopped() {
		return true
	}
	all := v.enlist(r)
	v.cut = false
	for tried := false; len(v.line) > 0 && !w.stopped(); tried = true {
		if tried && v.effort.spent(r.budget) {
			v.cut = all // else whoever was tried may have a place yet
			return false
		}
		h := v.line.Pop()
		v.last = h
		if !v.mayPreempt(s, h, r.budget) || !v.preempt(r, h) {
			all = all && w.shares.tickets.Counts(h.Entry) // else it asks for something else now, which the next round tries
			continue                                      // nor can the others of the share
		}
		if next, ok := v.headOf(h.taskGroup, h.share); ok {
			v.line.Push(next)
		}
	}
	return all
}

// enlist lists the first task of each share that may gain, and reports whether all nodes
// were looked at for it.
func (v *preempt) enlist(r *round) (all bool) {
	if v.news != r.news {
		v.news, v.cut = r.news, false
	}
	w := v.net
	w.supply.settle()
	v.round++
	v.looked, v.line = false, v.line[:0]
	all = true
	for _, c := range w.turn.active {
		for _, sh := range w.group(c).shares {
			h, ok := v.headOf(c, sh)
			if !ok || v.cut && !v.last.Before(h) {
				continue
			}
			if v.mayPreempt(r.trial.View(), h, r.budget) {
				v.line = append(v.line, h)
			}
			all = all && !v.searchOf(w.group(c).request, h.tier).first
		}
		if w.stopped() {
			v.line = v.line[:0]
			return true
		}
	}
	v.line.Init()
	return all
}

// headOf is the first task of a share, if it is still that of the task group.
func (v *preempt) headOf(taskGroup, share int32) (head, bool) {
	if v.net.shares.list[share].taskGroup != taskGroup {
		return head{}, false
	}
	e, ok := v.net.shares.first(share)
	return head{v.net.group(taskGroup).id.tier, e, taskGroup, share}, ok
}

// mayPreempt reports whether the task could gain on some node, as far as is known without
// looking at nodes that did not change.
func (v *preempt) mayPreempt(s *cluster.View, t head, budget int64) bool {
	c := v.net.group(t.taskGroup)
	x := v.searchOf(c.request, t.tier)
	v.follows(s, c.request, x, budget)
	for _, o := range c.outs {
		if o.group < 0 && int(o.node) < len(x.candidates) && x.candidates[o.node].price+v.straight(s, c, o) < t.wait() {
			return true
		}
	}
	return x.bids.Most() > -v.bound(x, t)
}

// bound is more than a bid may ask of the task: what it would gain with the cheapest
// way to a node by way of aggregators.
func (v *preempt) bound(x *search, t head) Cost {
	bound := Cost(-unreached)
	for _, o := range v.net.group(t.taskGroup).outs {
		if o.group >= 0 {
			bound = max(bound, t.wait()-o.cost-x.down)
		}
	}
	return bound
}

// searchOf finds the search of a request and tier, or begins one.
func (v *preempt) searchOf(row, tier int32) *search {
	q := v.net.request(row)
	for _, x := range q.searches {
		if x.tier == tier {
			return x
		}
	}
	x := &search{tier: tier, seen: book.Never, bids: book.NewIndex(len(v.net.ports.nodes), book.Lowest)}
	x.bids.Fill(func(int) int64 { return book.None })
	q.searches = append(q.searches, x)
	return x
}

// follows looks at the nodes that were noted since the last time; at first at all of
// them, in as many rounds as the budget makes it take.
func (v *preempt) follows(s *cluster.View, row int32, x *search, budget int64) {
	j := &v.net.journal
	end := j.End()
	if !j.Reaches(x.seen) {
		x.seen, x.first, x.next = end, true, 0
	}
	for n := range j.Since(x.seen) {
		if !x.first || n < x.next {
			v.look(s, row, x, n, false)
		}
	}
	x.seen = end
	for x.first && (!v.looked || !v.effort.spent(budget)) {
		v.looked = true
		if x.first = int(x.next) < s.NodeRows(); x.first {
			v.look(s, row, x, x.next, false)
			x.next++
		}
	}
}

// look finds out what making room on a node would cost: exactly, or at least.
func (v *preempt) look(s *cluster.View, row int32, x *search, n cluster.NodeID, exact bool) {
	w := v.net
	w.ports.node(n)
	x.candidates = book.Grown(x.candidates, n, candidate{price: unreached})
	v.effort.looks++
	candidate := &x.candidates[n]
	candidate.price, candidate.checked = unreached, 0
	x.bid(n, book.None)
	id, c := w.request(row).id, &v.chooser
	if int(n) >= s.NodeRows() || s.Overfull(n) || !s.FitsEmpty(id.shape, n) || barred(s, id.shape, n) || id.job != noJob && beside(s, id, n) <= 0 {
		return
	}
	price, ok := c.atLeast(w, s, id.shape, n)
	if exact && ok {
		price, ok = c.choose(w, s, id.shape, x.tier, n)
		candidate.checked, candidate.violations = v.round, c.search.Violations
	}
	if !ok {
		return
	}
	load, ok := w.answers.load(s, n)
	if !ok {
		return
	}
	price += load.first()
	candidate.price = price
	if a, into := w.answers.into(s, id.shape, n); a != Nowhere {
		cost := price + into.first()
		w.answers.descend(s, a, func(_ Aggregator, cost Cost) { x.down = min(x.down, cost) })
		x.bid(n, -cost)
	}
}

// barred reports whether a hard constraint keeps the shape off the node whoever leaves that.
func barred(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) bool {
	refusal := s.Breaks(shape, n)
	switch {
	case !refusal.Refused():
		return false
	case refusal.Kept || !s.Constraint(refusal.Constraint).Arriving:
		return true
	}
	_, ok := cluster.Obstacles(s, shape, n, nil)
	return !ok
}

// bid is the bid of a node, which may be new.
func (x *search) bid(n cluster.NodeID, number int64) {
	if old := x.bids.Leaves(); int(n) >= len(old) {
		x.bids = book.NewIndex(2*int(n), book.Lowest)
		x.bids.Fill(func(row int) int64 {
			if row < len(old) {
				return old[row]
			}
			return book.None
		})
	}
	x.bids.Set(int(n), number)
}

// preempt evicts for a task on the node where it gains the most by it, and reports
// whether it did.
func (v *preempt) preempt(r *round, h head) bool {
	w, s := v.net, r.trial.View()
	row := w.group(h.taskGroup).request
	v.offered(s, h)
	for _, b := range v.menu[:min(len(v.menu), mostTried)] {
		_, ok := v.chooser.choose(w, s, w.request(row).id.shape, h.tier, b.node)
		if !ok && !s.Constrained(w.request(row).id.shape) {
			panic("flow: room that could be made cannot be made the next moment")
		}
		// The round has evicted who was the last that a budget spares, or has placed on another node of a set those who are too many there by now.
		if !ok || v.chooser.search.Violations > b.violations {
			v.searchOf(row, h.tier).candidates[b.node].checked = 0
			return v.preempt(r, h)
		}
		v.moves = v.moves[:0]
		for _, o := range v.chooser.search.Victims {
			v.moves = append(v.moves, move{task: o.Task, taskGroup: w.members.group(o.Task), from: b.node, to: cluster.NoNode})
		}
		v.moves = append(v.moves, move{task: h.Task, taskGroup: h.taskGroup, from: cluster.NoNode, to: b.node})
		if v.net.do(r, v.moves, true) {
			return true
		}
		if !w.shares.tickets.Counts(h.Entry) {
			return false // it may not be beside others of its job, and asks for something else now
		}
	}
	return false
}

// offered lists the nodes where the task would gain, the cheapest first.
func (v *preempt) offered(s *cluster.View, t head) {
	c := v.net.group(t.taskGroup)
	row := c.request
	x := v.searchOf(row, t.tier)
	v.menu = v.menu[:0]
	cheapest := v.bound(x, t)
	for within := 0; within < mostOffered; {
		top, ok := x.bids.Top(nil)
		b := bid{cost: -x.bids.Most(), node: cluster.NodeID(top)}
		if !ok || b.cost >= cheapest {
			break
		}
		if x.candidates[b.node].checked != v.round {
			v.look(s, row, x, b.node, true)
			continue
		}
		if b.violations = x.candidates[b.node].violations; b.violations == 0 {
			within++
		}
		v.menu = append(v.menu, b)
		x.bid(b.node, book.None)
	}
	for i, b := range v.menu {
		x.bid(b.node, -b.cost)
		v.menu[i].cost += v.way(s, t, b.node)
	}
	for _, o := range c.outs {
		if o.group >= 0 || int(o.node) >= len(x.candidates) {
			continue
		}
		if x.candidates[o.node].checked != v.round {
			v.look(s, row, x, o.node, true)
		}
		candidate := &x.candidates[o.node]
		v.menu = append(v.menu, bid{candidate.price + v.straight(s, c, o), o.node, candidate.violations})
	}
	v.menu = slices.DeleteFunc(v.menu, func(b bid) bool { return b.cost >= t.wait() })
	slices.SortFunc(v.menu, func(a, b bid) int {
		return cmp.Or(cmp.Compare(a.violations, b.violations), cmp.Compare(a.cost, b.cost), cmp.Compare(a.node, b.node))
	})
	v.effort.looks += int64(len(v.menu))
}

// straight is what the way of a task group straight to a node costs, but for what it is to make room there.
func (v *preempt) straight(s *cluster.View, c *taskGroup, o out) Cost {
	return o.cost + v.net.answers.unmet(s, c.id.request.shape, o.node)
}

// way is what the cheapest way of the task to a node costs by way of aggregators, but
// for what the place itself costs.
func (v *preempt) way(s *cluster.View, t head, n cluster.NodeID) Cost {
	w, least := v.net, Cost(unreached)
	c := w.group(t.taskGroup)
	a, _ := w.answers.into(s, c.id.request.shape, n)
	w.answers.descend(s, a, func(a Aggregator, down Cost) {
		for _, o := range c.outs {
			if o.group >= 0 && w.ranking.groups[o.group].of == a {
				least = min(least, o.cost+down)
			}
		}
	})
	return least
}
