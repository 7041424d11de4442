package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/sched/book"
)

// places finds the cheapest places of a task group.
type places struct {
	net        *network
	turn       uint32
	cheap      []cheapest // by group
	queue      heap.Heap[choice]
	curves     []Step // of opened choices
	list       []Step // what was found
	into, load []Step // scratch
}

// cheapest is the first price below a group.
type cheapest struct {
	turn uint32
	none bool
	cost Cost
}

// choice is a unit more that a task group could place: on a node, or on the cheapest
// below a group.
type choice struct {
	cost     Cost
	route    Cost           // part of the cost: that of the way to the group, or of the arc
	group    int32          // -1 for an arc straight to a node
	node     cluster.NodeID // NoNode: the group has yet to be looked into
	rest     int32          // position in the group's rest, or -1
	opened   bool
	from, to int32 // once it is opened: what is left of it in curves
}

// Before orders choices by cost.
func (c choice) Before(o choice) bool {
	return cmp.Or(cmp.Compare(c.cost, o.cost), cmp.Compare(c.group, o.group), cmp.Compare(c.node, o.node)) < 0
}

// any reports whether there is any place for a task group.
func (b *places) any(s *cluster.View, c *taskGroup) bool {
	return slices.ContainsFunc(c.outs, func(o out) bool {
		return o.group >= 0 && !b.firstBelow(o.group).none || o.group < 0 && b.net.room(s, c.request, o.node) > 0
	})
}

// find lists what the cheapest places of a task group cost, as many as it has
// tasks that wait, up to a price.
func (b *places) find(s *cluster.View, c *taskGroup, most Cost) {
	w := b.net
	b.queue, b.list, b.curves = b.queue[:0], b.list[:0], b.curves[:0]
	for _, o := range c.outs {
		switch {
		case o.group >= 0:
			b.pushGroup(o.group, o.cost)
		case w.room(s, c.request, o.node) > 0:
			cost := o.cost + w.answers.unmet(s, c.id.request.shape, o.node)
			first := choice{cost: cost, route: cost, group: -1, node: o.node, rest: -1}
			first.cost += w.ports.toStop(s, c.id.request.shape, o.node)
			if loaded := w.answers.loaded; loaded != nil {
				first.cost += loaded.Load(s, o.node).first()
			}
			b.queue.Push(first)
		}
	}
	for need := int64(c.waiting); need > 0 && len(b.queue) > 0 && b.queue[0].cost < most; {
		at := b.queue.Pop()
		switch {
		case at.node == cluster.NoNode && need > 1:
			b.lookInto(at)
			continue
		case at.node != cluster.NoNode && !at.opened:
			b.pushBelow(at)
			if need > 1 && !b.open(s, c.request, &at, need) {
				continue
			}
		}
		units := int64(1)
		if at.opened {
			units = min(need, b.curves[at.from].Capacity)
			if next := at; next.from+1 < next.to {
				next.from++
				next.cost = b.curves[next.from].Cost
				b.queue.Push(next)
			}
		}
		b.list = append(b.list, Step{Capacity: units, Cost: at.cost})
		need -= units
	}
}

// pushGroup queues the cheapest node below a group.
func (b *places) pushGroup(g int32, route Cost) {
	if first := b.firstBelow(g); !first.none {
		b.queue.Push(choice{cost: route + first.cost, route: route, group: g, node: cluster.NoNode, rest: -1})
	}
}

// firstBelow is the cheapest price below a group, looked for once a turn.
func (b *places) firstBelow(g int32) cheapest {
	b.cheap = book.Grown(b.cheap, g, cheapest{})
	if b.cheap[g].turn == b.turn {
		return b.cheap[g]
	}
	gr := &b.net.ranking.groups[g]
	offers, first := b.net.request(gr.request).offers, cheapest{turn: b.turn, none: true}
	offer := func(cost Cost) {
		if first.none || cost < first.cost {
			first.none, first.cost = false, cost
		}
	}
	for _, n := range gr.chosen {
		offer(offers[n].cost())
	}
	if len(gr.rest) > 0 {
		offer(offers[gr.rest[0]].cost())
	}
	for _, under := range gr.below {
		if f := b.firstBelow(under.group); !f.none {
			offer(f.cost + b.net.graph.Arc(under.arc).Cost)
		}
	}
	b.cheap[g] = first
	return first
}

// lookInto queues the nodes below a group, of those in a heap the first.
func (b *places) lookInto(at choice) {
	gr := &b.net.ranking.groups[at.group]
	offers := b.net.request(gr.request).offers
	for _, n := range gr.chosen {
		b.queue.Push(choice{cost: at.route + offers[n].cost(), route: at.route, group: at.group, node: n, rest: -1})
	}
	b.pushRest(at.group, 0, at.route)
	for _, under := range gr.below {
		b.pushGroup(under.group, at.route+b.net.graph.Arc(under.arc).Cost)
	}
}

func (b *places) pushRest(g, at int32, route Cost) {
	gr := &b.net.ranking.groups[g]
	if int(at) < len(gr.rest) {
		n := gr.rest[at]
		b.queue.Push(choice{cost: route + b.net.request(gr.request).offers[n].cost(), route: route, group: g, node: n, rest: at})
	}
}

// pushBelow queues what stands below a node in the heap of its group.
func (b *places) pushBelow(at choice) {
	if at.rest >= 0 {
		b.pushRest(at.group, 2*at.rest+1, at.route)
		b.pushRest(at.group, 2*at.rest+2, at.route)
	}
}

// open looks at what one unit after the other costs on a node, and reports whether
// there is room for any.
func (b *places) open(s *cluster.View, request int32, at *choice, need int64) bool {
	w, id := b.net, b.net.request(request).id
	units := min(need, w.room(s, request, at.node))
	if units <= 0 {
		return false
	}
	at.opened, at.from = true, int32(len(b.curves))
	b.into = append(b.into[:0], Step{Capacity: units})
	if at.group >= 0 {
		_, curve := w.answers.model.Into(s, id.shape, at.node)
		b.into = w.answers.withUnmet(s, id.shape, at.node, curve).upTo(units, b.into[:0])
	}
	room := int64(0)
	if s.RoomNow(id.shape, at.node) {
		room = fits(s, id.shape, at.node)
	}
	var load Curve
	if w.answers.loaded != nil {
		load = w.answers.loaded.Load(s, at.node)
	}
	b.load, _ = w.ports.passing(at.node, load, room, units, b.load[:0])
	for i, j := 0, 0; i < len(b.into) && j < len(b.load); {
		step := Step{Capacity: min(b.into[i].Capacity, b.load[j].Capacity), Cost: at.route + b.into[i].Cost + b.load[j].Cost}
		b.curves = append(b.curves, step)
		if b.into[i].Capacity -= step.Capacity; b.into[i].Capacity == 0 {
			i++
		}
		if b.load[j].Capacity -= step.Capacity; b.load[j].Capacity == 0 {
			j++
		}
	}
	at.to = int32(len(b.curves))
	return true
}
