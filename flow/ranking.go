package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
)

// This file keeps, for each request, what each node would cost, and only the
// cheapest nodes in the network.
//
// Below an aggregator may stand ten thousand nodes of which a round uses a
// hundred. So an aggregator has arcs to some nodes, and the others stand in a heap
// by what they would cost. After a solve, prices say whether one of those could
// improve it: a unit at the aggregator is worth so much, a node left out costs at
// least the first price on its curve, and what is behind its port never has a
// negative price. If the cheapest of the heap costs less than the unit is worth,
// nodes go into the network and it is solved again; else what was left out could
// not have mattered, and the solution is the best with all arcs. (Column
// generation, with the dual prices that the solver has anyway.)

// request is what tasks ask of a node, with what the nodes would cost.
type request struct {
	id         requestID
	live       bool
	wanted     int64 // places, by the task groups whose turn it is
	running    int64 // those that may move
	taskGroups int
	seen       uint64  // position in the journal up to which offers are true
	offers     []offer // by node
	groups     []int32 // rows, in order of making
	groupOf    map[Aggregator]int32
	searches   []*search // one a tier (victims.go)
}

// offer is a node as a request sees it.
type offer struct {
	group int32 // row of the group below which the node stands, or -1
	was   int32 // the same while it has no room, if the price is still true; or -1
	at    int32 // position in the group's rest, or ^position in its chosen
	arc   mcmf.Arc
	price Cost // of the first unit, with the load of the node
	stop  Cost // and what it costs at least to stop who is in the way
}

// cost is what the first unit costs at least.
func (o *offer) cost() Cost { return o.price + o.stop }

// group is an aggregator of one request.
type group struct {
	request int32
	of      Aggregator
	node    mcmf.Node
	above   int32
	chosen  []cluster.NodeID // with an arc
	rest    []cluster.NodeID // without: a heap by price
	below   []below
	quiet   int // solves since it was widened, while it was wide
}

// below is a group under another one.
type below struct {
	group int32
	arc   mcmf.Arc
}

// fewNodes are as many as an aggregator among many begins a solve with at most.
const fewNodes = 40

// enough is how many nodes below an aggregator a solve begins with: some choice for
// each task that waits.
func (w *network) enough(row int32) int {
	g := &w.groups[row]
	if w.tree != nil { // each rack has some, beside all the others
		return int(min(2+w.requests[g.request].wanted, fewNodes))
	}
	return int(8 + 2*w.requests[g.request].wanted)
}

// requestOf finds a request, or makes one, which looks at every node.
func (w *network) requestOf(id requestID) int32 {
	if row, ok := w.requestRow[id]; ok {
		if q := &w.requests[row]; q.taskGroups == 0 {
			w.cached = slices.DeleteFunc(w.cached, func(c int32) bool { return c == row })
		}
		return row
	}
	row := w.freeRequest.take(len(w.requests))
	if int(row) == len(w.requests) {
		w.requests = append(w.requests, request{})
	}
	q := &w.requests[row]
	*q = request{id: id, live: true, seen: never, offers: q.offers[:0], groups: q.groups[:0], groupOf: map[Aggregator]int32{}}
	w.requestRow[id] = row
	return row
}

// never is a position before all others: nothing was looked at.
const never = 1<<64 - 1

// mostOffers bounds the memory of requests that nobody waits with, at 32 bytes each.
const mostOffers = 1 << 21

// forgetRequests drops requests that nobody waited with for longest, beyond what
// is worth keeping for when they are asked for again.
func (w *network) forgetRequests() {
	keep := max(4, mostOffers/max(1, len(w.machines)))
	for len(w.cached) > keep {
		w.dropRequest(w.cached[0])
		w.cached = slices.Delete(w.cached, 0, 1)
	}
}

func (w *network) dropRequest(row int32) {
	q := &w.requests[row]
	w.clearGroups(row, 0)
	for _, g := range q.groups {
		w.graph.RemoveNode(w.groups[g].node)
		w.freeGroup.give(g)
	}
	delete(w.requestRow, q.id)
	q.live, q.searches = false, nil
	w.freeRequest.give(row)
	w.asked = w.asked[:0] // by its row another request may be meant
}

// forgetShape drops what is kept of a shape whose row was given anew.
func (w *network) forgetShape(shape cluster.ShapeID) {
	kept := w.cached[:0]
	for _, row := range w.cached {
		if w.requests[row].id.shape == shape {
			w.dropRequest(row)
		} else {
			kept = append(kept, row)
		}
	}
	w.cached = kept
}

// reconsider has all nodes looked at again for a shape, as constraints may let it go
// elsewhere now.
func (w *network) reconsider(shape cluster.ShapeID) {
	for row := range w.requests {
		if q := &w.requests[row]; q.id.shape == shape {
			q.seen = never
			for _, x := range q.searches {
				x.seen = never
			}
		}
	}
	for row := range w.taskGroups {
		c := &w.taskGroups[row]
		if !c.live || w.requests[c.request].id.shape != shape {
			continue
		}
		for _, o := range c.outs {
			if o.group < 0 {
				w.refresh(o.node)
			}
		}
	}
}

// groupOf finds the group of an aggregator, or makes it with those above it.
func (w *network) groupOf(s *cluster.View, q int32, a Aggregator) int32 {
	if row, ok := w.requests[q].groupOf[a]; ok {
		return row
	}
	row := w.freeGroup.take(len(w.groups))
	if int(row) == len(w.groups) {
		w.groups = append(w.groups, group{})
	}
	g := &w.groups[row]
	*g = group{request: q, of: a, node: w.node(), above: -1, chosen: g.chosen[:0], rest: g.rest[:0], below: g.below[:0]}
	w.requests[q].groupOf[a] = row
	w.requests[q].groups = append(w.requests[q].groups, row)
	if w.tree == nil {
		return row
	}
	w.asks++
	above, cost := w.tree.Above(s, a)
	if above == Nowhere {
		return row
	}
	if err := checkCost(cost); err != nil {
		w.refuse("arc from aggregator %d to %d: %w", above, a, err)
		return row
	}
	if above == a {
		w.refuse("aggregator %d is above itself", a)
		return row
	}
	parent := w.groupOf(s, q, above)
	for up := parent; up >= 0; up = w.groups[up].above {
		if up == row {
			w.refuse("aggregator %d is above itself, by way of %d", a, above)
			return row
		}
	}
	w.groups[row].above = parent
	arc := w.graph.AddArc(w.groups[parent].node, w.groups[row].node, 0, unlimited, cost)
	w.groups[parent].below = append(w.groups[parent].below, below{row, arc})
	return row
}

// catchUp brings the offers of a request up to date with the nodes that changed.
func (w *network) catchUp(s *cluster.View, row int32) {
	seen, end := w.requests[row].seen, w.start+uint64(len(w.journal))
	if seen == never || seen < w.start {
		for n := range s.NodeRows() {
			w.offer(s, row, cluster.NodeID(n), true)
		}
	} else {
		for p := seen; p < end; p++ {
			if n := w.journal[p-w.start]; w.latest[n] == p+1 {
				w.offer(s, row, n, w.priced[n] > seen)
			}
		}
	}
	w.requests[row].seen = end
}

// offer looks at a node for a request: whether it fits, and what it costs. Of a node
// that was not priced anew only the room has changed since.
func (w *network) offer(s *cluster.View, row int32, n cluster.NodeID, priced bool) {
	w.machine(n)
	q := &w.requests[row]
	for int(n) >= len(q.offers) {
		q.offers = append(q.offers, offer{group: -1, was: -1, arc: mcmf.None})
	}
	w.looks++
	units, o := w.room(s, row, n), &q.offers[n]
	was := max(o.group, o.was)
	switch {
	case units == 0:
		w.withdraw(row, n)
		if !priced {
			o.was = was
		}
		return
	case priced:
	case o.group >= 0 && o.at >= 0:
		if stop := w.toStop(s, row, n); stop != o.stop {
			o.stop = stop
			w.moveRest(o.group, o.at)
		}
		return
	case o.group >= 0 && o.stop == 0 && w.toStop(s, row, n) == 0 && w.graph.Arc(o.arc).Capacity == units:
		return
	case o.was >= 0:
		o.group, o.was, o.stop = was, -1, w.toStop(s, row, n)
		w.pushRest(was, n)
		return
	}
	a, curve, price := w.ask(s, q.id.shape, n)
	if a == Nowhere {
		w.withdraw(row, n)
		return
	}
	g := w.groupOf(s, row, a)
	o = &w.requests[row].offers[n]
	if o.group != g {
		w.withdraw(row, n)
		o.group, o.price, o.stop = g, price, w.toStop(s, row, n)
		w.pushRest(g, n)
		return
	}
	o.price, o.stop = price, w.toStop(s, row, n)
	if o.at >= 0 {
		w.moveRest(g, o.at)
		return
	}
	w.setOffer(s, row, n, units, curve)
}

// ask asks the model below which aggregator a node stands and what it costs; of the
// first unit with the load of the node.
func (w *network) ask(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (Aggregator, Curve, Cost) {
	w.asks++
	a, curve := w.model.Into(s, shape, n)
	if err := curve.check(); err != nil {
		w.refuse("curve to node %s: %w", s.NodeSpec(n).Name, err)
		return Nowhere, nil, 0
	}
	if a == Nowhere || w.loaded == nil {
		return a, curve, curve.first()
	}
	load, ok := w.load(s, n)
	if !ok {
		return Nowhere, nil, 0
	}
	return a, curve, curve.first() + load.first()
}

// setOffer puts down the numbers of the arc to a chosen node.
func (w *network) setOffer(s *cluster.View, row int32, n cluster.NodeID, units int64, curve Curve) {
	o, more := &w.requests[row].offers[n], w.surcharge(s, row, n)
	if len(curve) <= 1 || units == 1 {
		w.graph.SetArc(o.arc, 0, units, curve.first()+more)
		return
	}
	w.steps = curve.upTo(units, w.steps[:0])
	for i := range w.steps {
		w.steps[i].Cost += more
	}
	if len(w.steps) == 1 {
		w.graph.SetArc(o.arc, 0, units, w.steps[0].Cost)
	} else {
		w.graph.SetCurve(o.arc, 0, w.steps)
	}
}

// withdraw takes a node from the group below which it stands.
func (w *network) withdraw(row int32, n cluster.NodeID) {
	o := &w.requests[row].offers[n]
	o.was = -1
	if o.group < 0 {
		return
	}
	if o.at >= 0 {
		w.removeRest(o.group, o.at)
	} else {
		w.unchoose(o.group, n)
	}
	o.group = -1
}

// choose puts a node into the network, and unchoose takes it out.
func (w *network) choose(s *cluster.View, g int32, n cluster.NodeID) {
	row := w.groups[g].request
	if w.putPort(n) {
		w.updatePort(s, n)
	}
	o := &w.requests[row].offers[n]
	o.at = ^int32(len(w.groups[g].chosen))
	w.groups[g].chosen = append(w.groups[g].chosen, n)
	o.arc = w.graph.AddArc(w.groups[g].node, w.machines[n].port, 0, 0, 0)
	w.asks++
	_, curve := w.model.Into(s, w.requests[row].id.shape, n)
	w.setOffer(s, row, n, w.room(s, row, n), curve)
}

func (w *network) unchoose(g int32, n cluster.NodeID) {
	o := &w.requests[w.groups[g].request].offers[n]
	w.graph.RemoveArc(o.arc)
	o.arc = mcmf.None
	w.leavePort(n)
	list := w.groups[g].chosen
	last := list[len(list)-1]
	list[^o.at] = last
	w.requests[w.groups[g].request].offers[last].at = o.at
	w.groups[g].chosen = list[:len(list)-1]
}

// fill sees to it that each aggregator of a request that asks has some nodes.
func (w *network) fill(s *cluster.View) {
	for _, q := range w.asking {
		for _, g := range w.requests[q].groups {
			for enough := w.enough(g); len(w.groups[g].chosen) < enough && len(w.groups[g].rest) > 0; {
				w.choose(s, g, w.popRest(g))
			}
		}
	}
}

// widen puts nodes into the network that could improve the solution, and reports
// whether there are any.
func (w *network) widen(s *cluster.View, price func(mcmf.Node) int64) bool {
	widened := false
	for _, row := range w.asking {
		for _, g := range w.requests[row].groups {
			w.tempting = w.tempting[:0]
			w.tempt(g, 0, price(w.groups[g].node), price)
			slices.SortFunc(w.tempting, func(a, b bargain) int {
				return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.node, b.node))
			})
			// As many again as there are, so that few solves are enough.
			for _, b := range w.tempting[:min(len(w.tempting), max(8, len(w.groups[g].chosen)))] {
				w.removeRest(g, w.requests[row].offers[b.node].at)
				w.choose(s, g, b.node)
				widened = true
			}
			if len(w.tempting) > 0 {
				w.groups[g].quiet = 0
			}
		}
	}
	return widened
}

// bargain is a node left out whose arc would improve the solution by so much.
type bargain struct {
	node cluster.NodeID
	cost Cost // below 0
}

// tempt lists the bargains of a heap from a position down. What is behind a port in
// the network has its own price, else none.
func (w *network) tempt(g int32, at int, worth int64, price func(mcmf.Node) int64) {
	rest, q := w.groups[g].rest, &w.requests[w.groups[g].request]
	if at >= len(rest) || q.offers[rest[at]].cost()+price(w.sink) >= worth {
		return
	}
	w.looks++
	n := rest[at]
	o := &q.offers[n]
	cost := o.cost() + price(w.sink) - worth
	if port := w.machines[n].port; port != mcmf.None && w.loaded == nil {
		cost += max(0, price(port)-price(w.sink)-o.stop)
	}
	if cost < 0 {
		w.tempting = append(w.tempting, bargain{n, cost})
	}
	w.tempt(g, 2*at+1, worth, price)
	w.tempt(g, 2*at+2, worth, price)
}

// narrow takes nodes without flow out of the network where there have been many more
// than are needed for a while.
func (w *network) narrow(flow func(mcmf.Arc) int64) {
	const while = 16
	for _, row := range w.asking {
		q := &w.requests[row]
		for _, g := range q.groups {
			if len(w.groups[g].chosen) <= 4*w.enough(g) {
				continue
			}
			if w.groups[g].quiet++; w.groups[g].quiet > while {
				w.groups[g].quiet = 0
				w.clearGroup(g, func(n cluster.NodeID) bool { return flow(q.offers[n].arc) == 0 })
			}
		}
	}
}

// clearGroup takes nodes out of the network, of those below a group.
func (w *network) clearGroup(g int32, which func(cluster.NodeID) bool) {
	for _, n := range slices.Backward(w.groups[g].chosen) {
		if which(n) {
			w.unchoose(g, n)
			w.pushRest(g, n)
		}
	}
}

// mostIdle is how many requests that nobody waits with keep nodes in the network, and
// mostIdleArcs bounds how many arcs these have: mostly somebody comes soon who asks for
// the same, and to put ten thousand nodes in takes longer than to solve.
const (
	mostIdle     = 64
	mostIdleArcs = 1 << 20
)

// retire takes up a request that nobody waits with any more. Aggregators that have more
// than a few nodes in the network lose them, and those of the request that was retired
// so many before lose all.
func (w *network) retire(row int32) {
	w.cached = append(w.cached, row)
	w.clearGroups(row, fewNodes)
	keep := min(mostIdle, max(4, mostIdleArcs/max(1, len(w.machines))))
	if at := len(w.cached) - 1 - keep; at >= 0 {
		w.clearGroups(w.cached[at], 0)
	}
}

// clearGroups takes the nodes of a request out of the network, but for aggregators with
// so few.
func (w *network) clearGroups(row int32, few int) {
	for _, g := range w.requests[row].groups {
		if len(w.groups[g].chosen) > few {
			w.clearGroup(g, func(cluster.NodeID) bool { return true })
		}
	}
}

// less orders nodes of a heap.
func (w *network) less(q *request, a, b cluster.NodeID) bool {
	if pa, pb := q.offers[a].cost(), q.offers[b].cost(); pa != pb {
		return pa < pb
	}
	return a < b
}

func (w *network) pushRest(g int32, n cluster.NodeID) {
	gr := &w.groups[g]
	gr.rest = append(gr.rest, n)
	w.requests[gr.request].offers[n].at = int32(len(gr.rest) - 1)
	w.moveRest(g, int32(len(gr.rest)-1))
}

func (w *network) popRest(g int32) cluster.NodeID {
	n := w.groups[g].rest[0]
	w.removeRest(g, 0)
	return n
}

func (w *network) removeRest(g, at int32) {
	gr := &w.groups[g]
	last := len(gr.rest) - 1
	moved := gr.rest[last]
	gr.rest = gr.rest[:last]
	if int(at) < last {
		gr.rest[at] = moved
		w.requests[gr.request].offers[moved].at = at
		w.moveRest(g, at)
	}
}

// moveRest puts a node of the heap where its price belongs.
func (w *network) moveRest(g, at int32) {
	gr := &w.groups[g]
	q := &w.requests[gr.request]
	n := gr.rest[at]
	for at > 0 && w.less(q, n, gr.rest[(at-1)/2]) {
		gr.rest[at] = gr.rest[(at-1)/2]
		q.offers[gr.rest[at]].at = at
		at = (at - 1) / 2
	}
	for {
		child := 2*at + 1
		if int(child) >= len(gr.rest) {
			break
		}
		if int(child)+1 < len(gr.rest) && w.less(q, gr.rest[child+1], gr.rest[child]) {
			child++
		}
		if !w.less(q, gr.rest[child], n) {
			break
		}
		gr.rest[at] = gr.rest[child]
		q.offers[gr.rest[at]].at = at
		at = child
	}
	gr.rest[at] = n
	q.offers[n].at = at
}
