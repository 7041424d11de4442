package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/sched"
)

// This file says how much better a round's plan might have been: what it costs, and
// what any plan would have cost at least, both by the prices of the moment when the
// round began. (The plan itself goes by newer ones, made again after every solve.)
//
// Where one request asks, its slots are exactly what fits, and the cheapest flow of the
// first solve is the optimum. Otherwise each task group is given its cheapest places as
// if it were alone. That is a lower bound, although task groups share the curves of
// nodes: a convex curve that begins at 0 costs less cut into parts that each begin anew.
// Where tasks wait that could have had a place, the room of the nodes is counted as well
// (boundroom.go).
//
// A turn of a tier is bounded for itself: what higher tiers took is gone. The work is in
// proportion to the tasks that wait and to what the network holds for them, and no ticks
// are counted for it: nothing is decided by it.

// bounds is what is known of the current turn, and the gap of the round so far.
type bounds struct {
	gap     sched.Gap
	unknown bool // some turn of the round has no bound

	alone       []alone
	gains       []gain
	waits       Cost // what it costs if all tasks of alone wait
	placeable   int  // task groups that could have a place
	unplaceable Cost // what the others of the tier pay for waiting, who have nowhere to go

	packed bool // the round was planned again by packing
	single bool // one request asks, and its first solve is the optimum
	solves int
	first  Cost // of the first solve

	cheap        []cheapest // by group
	turn         uint32
	queue        heap.Heap[choice]
	curves       []Step // of opened choices
	places, line []Step // scratch
	into, load   []Step // scratch
	actions      []sched.Action
	arcs         Arcs

	knapsack knapsack
}

// alone is a task group that could have a place when the turn began.
type alone struct {
	request  int32
	straight bool // it has arcs of its own to nodes
	from, to int  // in gains
}

// gain is so many units that cost so much less placed, alone, than waiting.
type gain struct {
	units int64
	cost  Cost
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

// reset begins a round.
func (b *bounds) reset() { b.gap, b.unknown = sched.Gap{}, false }

// begin looks at what each task group of the tier would cost alone.
func (b *bounds) begin(p *Policy, s *cluster.View) {
	w := p.net
	b.alone, b.gains, b.waits, b.unplaceable, b.solves = b.alone[:0], b.gains[:0], 0, 0, 0
	b.turn++
	b.placeable, b.single = 0, w.exact(s)
	if len(p.rivals) == 0 {
		return
	}
	for _, row := range w.active {
		if w.taskGroups[row].id.tier == w.tier {
			b.addTaskGroup(w, s, row)
		}
	}
}

// exact reports whether one request asks, all of whose plans are flows.
func (w *network) exact(s *cluster.View) bool {
	if !w.pinned || len(w.asking) != 1 {
		return false
	}
	id := w.requests[w.asking[0]].id
	if s.DeviceKind() >= 0 && s.DeviceNeed(id.shape).Count > 0 {
		return false
	}
	return !slices.ContainsFunc(w.active, func(row int32) bool {
		c := &w.taskGroups[row]
		// How many may stand together on a node, each way there says for itself.
		byTwoWays := id.job != noJob && slices.ContainsFunc(c.outs, func(o out) bool { return o.group < 0 })
		return c.id.tier != w.tier || byTwoWays
	})
}

// solved notes what the cheapest flow costs.
func (b *bounds) solved(cost Cost, fresh bool) {
	if b.solves == 0 {
		b.first = cost
		b.single = b.single && fresh
	}
	b.solves++
}

// addTaskGroup notes what the units of a task group would gain if it were alone.
func (b *bounds) addTaskGroup(w *network, s *cluster.View, row int32) {
	c := &w.taskGroups[row]
	b.line = b.line[:0]
	sum := Cost(0)
	for _, sh := range c.shares {
		b.line = append(b.line, w.shares[sh].levels...)
	}
	for _, l := range b.line {
		sum += min(max(l.Capacity*l.Cost, -unreached), unreached)
	}
	if len(b.line) == 0 {
		return
	}
	if !b.hasPlace(w, s, row) {
		b.unplaceable += sum
		return
	}
	if b.placeable++; b.single {
		return
	}
	slices.SortFunc(b.line, func(a, b Step) int { return cmp.Compare(b.Cost, a.Cost) })
	b.cheapestPlaces(w, s, row, b.line[0].Cost)
	b.waits = min(max(b.waits+sum, -unreached), unreached)
	a := alone{request: c.request, from: len(b.gains)}
	for _, o := range c.outs {
		a.straight = a.straight || o.group < 0
	}
	line := b.line
	for _, place := range b.places {
		for place.Capacity > 0 && len(line) > 0 && line[0].Cost > place.Cost {
			units := min(place.Capacity, line[0].Capacity)
			b.gains = append(b.gains, gain{units, line[0].Cost - place.Cost})
			place.Capacity -= units
			if line[0].Capacity -= units; line[0].Capacity == 0 {
				line = line[1:]
			}
		}
	}
	a.to = len(b.gains)
	b.alone = append(b.alone, a)
}

// hasPlace reports whether there is any place for a task group.
func (b *bounds) hasPlace(w *network, s *cluster.View, row int32) bool {
	c := &w.taskGroups[row]
	return slices.ContainsFunc(c.outs, func(o out) bool {
		return o.group >= 0 && !b.firstBelow(w, o.group).none || o.group < 0 && w.room(s, c.request, o.node) > 0
	})
}

// cheapestPlaces lists what the cheapest places of a task group cost, as many as it has
// tasks that wait, up to a price.
func (b *bounds) cheapestPlaces(w *network, s *cluster.View, row int32, most Cost) {
	c := &w.taskGroups[row]
	b.queue, b.places, b.curves = b.queue[:0], b.places[:0], b.curves[:0]
	for _, o := range c.outs {
		switch {
		case o.group >= 0:
			b.pushGroup(w, o.group, o.cost)
		case w.room(s, c.request, o.node) > 0:
			first := choice{cost: o.cost, route: o.cost, group: -1, node: o.node, rest: -1}
			first.cost += w.toStop(s, c.request, o.node)
			if w.loaded != nil {
				first.cost += w.loaded.Load(s, o.node).first()
			}
			b.queue.Push(first)
		}
	}
	for need := int64(c.waiting); need > 0 && len(b.queue) > 0 && b.queue[0].cost < most; {
		at := b.queue.Pop()
		switch {
		case at.node == cluster.NoNode && need > 1:
			b.lookInto(w, at)
			continue
		case at.node != cluster.NoNode && !at.opened:
			b.pushBelow(w, at)
			if need > 1 && !b.open(w, s, c.request, &at, need) {
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
		b.places = append(b.places, Step{Capacity: units, Cost: at.cost})
		need -= units
	}
}

// pushGroup queues the cheapest node below a group.
func (b *bounds) pushGroup(w *network, g int32, route Cost) {
	if first := b.firstBelow(w, g); !first.none {
		b.queue.Push(choice{cost: route + first.cost, route: route, group: g, node: cluster.NoNode, rest: -1})
	}
}

// firstBelow is the cheapest price below a group, looked for once a turn.
func (b *bounds) firstBelow(w *network, g int32) cheapest {
	for len(b.cheap) < len(w.groups) {
		b.cheap = append(b.cheap, cheapest{})
	}
	if b.cheap[g].turn == b.turn {
		return b.cheap[g]
	}
	gr := &w.groups[g]
	offers, first := w.requests[gr.request].offers, cheapest{turn: b.turn, none: true}
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
		if f := b.firstBelow(w, under.group); !f.none {
			offer(f.cost + w.graph.Arc(under.arc).Cost)
		}
	}
	b.cheap[g] = first
	return first
}

// lookInto queues the nodes below a group, of those in a heap the first.
func (b *bounds) lookInto(w *network, at choice) {
	gr := &w.groups[at.group]
	offers := w.requests[gr.request].offers
	for _, n := range gr.chosen {
		b.queue.Push(choice{cost: at.route + offers[n].cost(), route: at.route, group: at.group, node: n, rest: -1})
	}
	b.pushRest(w, at.group, 0, at.route)
	for _, under := range gr.below {
		b.pushGroup(w, under.group, at.route+w.graph.Arc(under.arc).Cost)
	}
}

func (b *bounds) pushRest(w *network, g, at int32, route Cost) {
	gr := &w.groups[g]
	if int(at) < len(gr.rest) {
		n := gr.rest[at]
		b.queue.Push(choice{cost: route + w.requests[gr.request].offers[n].cost(), route: route, group: g, node: n, rest: at})
	}
}

// pushBelow queues what stands below a node in the heap of its group.
func (b *bounds) pushBelow(w *network, at choice) {
	if at.rest >= 0 {
		b.pushRest(w, at.group, 2*at.rest+1, at.route)
		b.pushRest(w, at.group, 2*at.rest+2, at.route)
	}
}

// open looks at what one unit after the other costs on a node, and reports whether
// there is room for any.
func (b *bounds) open(w *network, s *cluster.View, request int32, at *choice, need int64) bool {
	units := min(need, w.room(s, request, at.node))
	if units <= 0 {
		return false
	}
	at.opened, at.from = true, int32(len(b.curves))
	b.into = append(b.into[:0], Step{Capacity: units})
	if at.group >= 0 {
		_, curve := w.model.Into(s, w.requests[request].id.shape, at.node)
		b.into = curve.upTo(units, b.into[:0])
	}
	room := int64(0)
	if id := w.requests[request].id; s.RoomNow(id.shape, at.node) {
		room = fits(s, id.shape, at.node)
	}
	var load Curve
	if w.loaded != nil {
		load = w.loaded.Load(s, at.node)
	}
	b.load, _ = w.passing(at.node, load, room, units, b.load[:0])
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

// end compares what was planned from a bundle on with what it costs at least.
func (b *bounds) end(p *Policy, t *sched.Trial, mark, from int, out *sched.Plan) {
	if b.placeable == 0 || b.unknown {
		return
	}
	turn := sched.Gap{Bound: b.first - b.unplaceable, Omits: sched.OmitsNothing}
	known := b.solves > 0
	if b.single && b.solves == 1 {
		turn.Value = turn.Bound
	} else {
		var ok bool
		turn.Value, ok = p.planned(t, mark, from, out)
		known = known && ok
	}
	if !b.single {
		known = known && b.waits < unreached && b.waits > -unreached
		most, omits := b.mostGain(p, b.packed)
		turn.Bound, turn.Omits = b.waits-most, omits
	}
	if known = known && turn.Value < unreached; !known {
		b.gap, b.unknown = sched.Gap{}, true
		return
	}
	b.gap.Value += turn.Value
	b.gap.Bound += turn.Bound
	b.gap.Omits = max(b.gap.Omits, turn.Omits)
}

// mostGain is what placing tasks could gain at most, and what that passes over.
func (b *bounds) mostGain(p *Policy, packed bool) (Cost, sched.Omission) {
	most := Cost(0)
	for _, g := range b.gains {
		most += min(g.units*g.cost, unreached-most)
	}
	if !p.net.pinned {
		return most, sched.OmitsEvictions
	}
	if packed {
		if gain, ok := b.knapsack.most(b, &p.contention); ok && gain < most {
			return gain, sched.OmitsPieces
		}
	}
	return most, sched.OmitsSharing
}
