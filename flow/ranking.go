package flow

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched/book"
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
	taskGroups []int32
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

// ranking is the table of requests, and of the groups of each.
type ranking struct {
	graph     *graph
	answers   *answers
	journal   *journal
	ports     *ports
	requests  []request
	rowOf     map[requestID]int32
	byShape   [][]int32 // rows of requests
	moving    []int32   // requests with tasks that may move
	free      cluster.Rows
	cached    []int32 // requests without units, the one that was used least lately first
	dropped   uint64  // how many requests were: by its row another one may be meant
	groups    []group
	freeGroup cluster.Rows
	steps     []Step // scratch
}

// catchUp brings the offers of a request up to date with the nodes that changed.
func (k *ranking) catchUp(s *cluster.View, row int32) {
	seen, end := k.requests[row].seen, k.journal.End()
	if k.journal.Reaches(seen) {
		for n := range k.journal.Since(seen) {
			k.offer(s, row, n, k.journal.repriced(n, seen))
		}
	} else {
		for n := range s.NodeRows() {
			k.offer(s, row, cluster.NodeID(n), true)
		}
	}
	k.requests[row].seen = end
}

// offer looks at a node for a request: whether it fits, and what it costs. Of a node
// that was not priced anew only the room has changed since.
func (k *ranking) offer(s *cluster.View, row int32, n cluster.NodeID, priced bool) {
	k.ports.node(n)
	q := &k.requests[row]
	q.offers = book.Grown(q.offers, n, offer{group: -1, was: -1, arc: mcmf.None})
	k.answers.effort.looks++
	units, o := k.ports.room(s, q.id, n), &q.offers[n]
	was := max(o.group, o.was)
	switch {
	case units == 0:
		k.withdraw(q, n)
		if !priced {
			o.was = was
		}
		return
	case priced:
	case o.group >= 0 && o.at >= 0:
		if stop := k.ports.toStop(s, q.id.shape, n); stop != o.stop {
			o.stop = stop
			k.groups[o.group].move(q.offers, o.at)
		}
		return
	case o.group >= 0 && o.stop == 0 && k.ports.toStop(s, q.id.shape, n) == 0 && k.graph.Arc(o.arc).Capacity == units:
		return
	case o.was >= 0:
		o.group, o.was, o.stop = was, -1, k.ports.toStop(s, q.id.shape, n)
		k.groups[was].push(q.offers, n)
		return
	}
	a, curve, price := k.ask(s, q.id.shape, n)
	if a == Nowhere {
		k.withdraw(q, n)
		return
	}
	g := k.group(s, row, a)
	if o.group != g {
		k.withdraw(q, n)
		o.group, o.price, o.stop = g, price, k.ports.toStop(s, q.id.shape, n)
		k.groups[g].push(q.offers, n)
		return
	}
	o.price, o.stop = price, k.ports.toStop(s, q.id.shape, n)
	if o.at >= 0 {
		k.groups[g].move(q.offers, o.at)
		return
	}
	k.setOffer(s, q, n, units, curve)
}

// ask asks the model below which aggregator a node stands and what it costs; of the
// first unit with the load of the node.
func (k *ranking) ask(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (Aggregator, Curve, Cost) {
	a, curve := k.answers.into(s, shape, n)
	if a == Nowhere {
		return Nowhere, nil, 0
	}
	load, ok := k.answers.load(s, n)
	if !ok {
		return Nowhere, nil, 0
	}
	return a, curve, curve.first() + load.first()
}

// setOffer puts down the numbers of the arc to a chosen node.
func (k *ranking) setOffer(s *cluster.View, q *request, n cluster.NodeID, units int64, curve Curve) {
	arc, more := q.offers[n].arc, k.ports.surcharge(s, q.id.shape, n)
	if len(curve) <= 1 || units == 1 {
		k.graph.SetArc(arc, 0, units, curve.first()+more)
		return
	}
	k.steps = curve.upTo(units, k.steps[:0])
	for i := range k.steps {
		k.steps[i].Cost += more
	}
	k.graph.setSteps(arc, k.steps)
}

// withdraw takes a node from the group below which it stands.
func (k *ranking) withdraw(q *request, n cluster.NodeID) {
	o := &q.offers[n]
	o.was = -1
	if o.group < 0 {
		return
	}
	if o.at >= 0 {
		k.groups[o.group].remove(q.offers, o.at)
	} else {
		k.unchoose(o.group, n)
	}
	o.group = -1
}

// choose puts a node into the network, which has a port, and unchoose takes it out.
func (k *ranking) choose(s *cluster.View, g int32, n cluster.NodeID) {
	gr := &k.groups[g]
	q := &k.requests[gr.request]
	o := &q.offers[n]
	o.at = ^int32(len(gr.chosen))
	gr.chosen = append(gr.chosen, n)
	o.arc = k.graph.AddArc(gr.node, k.ports.nodes[n].port, 0, 0, 0)
	_, curve := k.answers.into(s, q.id.shape, n)
	k.setOffer(s, q, n, k.ports.room(s, q.id, n), curve)
}

func (k *ranking) unchoose(g int32, n cluster.NodeID) {
	gr := &k.groups[g]
	offers := k.requests[gr.request].offers
	o := &offers[n]
	k.graph.RemoveArc(o.arc)
	o.arc = mcmf.None
	k.ports.leave(n)
	last := gr.chosen[len(gr.chosen)-1]
	gr.chosen[^o.at] = last
	offers[last].at = o.at
	gr.chosen = gr.chosen[:len(gr.chosen)-1]
}
