package mcmf

import "slices"

// This file brings the contracted network up to date with what changed in the
// graph since, in time proportional to that. Flow that the changes leave
// possible stays; what they break becomes loose leaves and excesses, which the
// searches route again.
//
// A node or arc that changes its kind (a task gets a second unit, and so is no
// leaf any more) is taken out and put in again.

// outdated reports whether it is to be compiled anew: it was not told of changes,
// prices are near what is safe, the root is gone, or so much more may flow that
// bounds have to grow.
func (c *contracted) outdated(volume int64) bool {
	if c.graph.watcher != c || c.root < 0 || c.steepest > mostPrice {
		return true
	}
	root := c.name[c.root]
	return !c.graph.nodes[root].alive || c.graph.isLeaf(root) || boundOf(volume) > c.bound
}

// sync applies what changed.
func (c *contracted) sync() {
	g := c.graph
	c.makeBids()
	c.findChangedKinds()
	c.changed = append(c.changed[:0], g.touchedArcs...)
	for _, v := range c.again {
		if !g.nodes[v].alive {
			continue
		}
		for side, first := range g.nodes[v].first {
			for a := first; a != None; a = g.beside[a].next[side] {
				c.changed = append(c.changed, touch{a, g.arcs[a].From})
			}
		}
	}
	for _, t := range c.changed {
		c.forgetLoop(t.arc)
		if c.holds(t) && !c.update(t) {
			c.detach(t)
		}
	}
	c.supplyNodes()
	c.attachAll(c.changed)
}

// findChangedKinds lists the nodes that are to be core nodes, leaves or absent,
// and are something else, in order.
func (c *contracted) findChangedKinds() {
	g := c.graph
	c.again = c.again[:0]
	for len(c.role) < len(g.nodes) {
		c.role = append(c.role, absent)
	}
	for len(c.place) < len(g.arcs) {
		c.place = append(c.place, absent)
	}
	for _, v := range g.touchedNodes {
		c.compareKind(v)
	}
	for _, t := range g.touchedArcs {
		c.compareKind(t.from)
		if row := &g.arcs[t.arc]; row.From != None {
			c.compareKind(row.From)
			c.compareKind(row.To)
		}
	}
	slices.Sort(c.again)
	c.again = slices.Compact(c.again)
}

func (c *contracted) compareKind(v Node) {
	if c.kind(v) != c.graph.kind(v) {
		c.again = append(c.again, v)
	}
}

type kind uint8

const (
	isAbsent kind = iota
	isLeaf
	isCore
)

// kind is what a node of the graph is to be, and what it is.
func (g *Graph) kind(v Node) kind {
	switch {
	case !g.nodes[v].alive:
		return isAbsent
	case g.isLeaf(v):
		return isLeaf
	}
	return isCore
}

func (c *contracted) kind(v Node) kind {
	switch role := c.role[v]; {
	case role == absent:
		return isAbsent
	case role < 0:
		return isLeaf
	}
	return isCore
}

// holds reports whether the arc of a touch is here, and is the one that was
// touched: of a leaf's arc that was removed, and whose id went to another leaf and
// came back, only the first touch is.
func (c *contracted) holds(t touch) bool {
	place := c.place[t.arc]
	if place >= 0 || place == absent {
		return place >= 0
	}
	role := c.role[t.from]
	if role >= 0 || role == absent {
		return false
	}
	return ^place < c.slots.spans[^role].length && c.slotArc[c.slotOf(^role, ^place)] == t.arc
}

// update gives an arc its new numbers where it is, if its ends and their kinds
// are what they were; else it is false.
func (c *contracted) update(t touch) bool {
	g := c.graph
	row := &g.arcs[t.arc]
	place := c.place[t.arc]
	if row.From != t.from || c.kind(row.From) != g.kind(row.From) || c.kind(row.To) != g.kind(row.To) {
		return false
	}
	from, to := c.role[row.From], c.role[row.To]
	if place >= 0 {
		arc := &c.arcs.data[place]
		if arc.to != to || (arc.curve != 0) != g.curves.has(t.arc) {
			return false
		}
		c.updateCoreArc(t.arc, place, from)
		return true
	}
	l, position := ^from, ^place
	s := &c.slots.list(l)[position]
	if s.to != to || row.Capacity <= 0 {
		return false
	}
	if c.leaves[l].seat == position {
		c.cost.add(1, row.Cost-int64(s.cost))
	}
	s.cost = int32(row.Cost)
	b := &c.bids.list(to)[c.slotBid[c.slotOf(l, position)]]
	b.cost = s.cost
	c.reconsider(l, position)
	return true
}

// updateCoreArc keeps the flow on an arc within its new bounds.
func (c *contracted) updateCoreArc(a Arc, place, from int32) {
	row, steps := &c.graph.arcs[a], c.graph.curves.of(a)
	arc := &c.arcs.data[place]
	mate := &c.arcs.data[arc.mate]
	flow := c.takeFlow(a, arc, mate)
	kept := min(max(flow, row.Lower), row.Capacity)
	c.cost.addFlow(row, steps, kept)
	if row.Lower != 0 {
		c.lower[a] = row.Lower
	}
	if steps != nil {
		k := &c.curves[arc.curve-1]
		*k = curve{steps: steps, lower: row.Lower, flow: kept - row.Lower}
		c.bend(arc, mate, k)
	} else {
		arc.cost, mate.cost = row.Cost, -row.Cost
		arc.room, mate.room = min(row.Capacity-kept, c.bound), kept-row.Lower
	}
	if kept != flow {
		c.unbalance(from, flow-kept)
		c.unbalance(arc.to, kept-flow)
	}
	c.mend(place, from)
}

// takeFlow takes what flows on an arc out of the cost, and forgets its lower
// bound.
func (c *contracted) takeFlow(a Arc, arc, mate *coreArc) (flow int64) {
	if arc.curve != 0 {
		k := &c.curves[arc.curve-1]
		flow = k.lower + k.flow
		c.cost.addCurve(k.steps, flow, -1)
	} else {
		flow = c.lower[a] + mate.room
		c.cost.add(-flow, arc.cost)
	}
	delete(c.lower, a)
	return flow
}

// mend fills a residual arc with a negative reduced cost, or its mate.
func (c *contracted) mend(place, from int32) {
	c.fill(place, from)
	arc := &c.arcs.data[place]
	c.fill(arc.mate, arc.to)
}

func (c *contracted) fill(i, from int32) {
	for {
		arc := &c.arcs.data[i]
		to, units := arc.to, arc.room
		if units == 0 || arc.cost-c.price[from]+c.price[to] >= 0 {
			return
		}
		c.push(i, units)
		c.unbalance(from, -units)
		c.unbalance(to, units)
	}
}

// reconsider looks at one slot of a leaf that has a seat: the leaf becomes loose
// where it could do better now.
func (c *contracted) reconsider(l, position int32) {
	x := &c.leaves[l]
	if x.seat < 0 {
		return
	}
	s := c.slots.list(l)[position]
	if x.seat == position {
		x.cost = s.cost
		if first := c.least(l); first < c.seatCost(x) {
			c.loosen(l)
		} else {
			other := c.otherwise(l)
			c.rekey(c.seats.list(x.to), x.at, c.keyFor(other, x.cost))
		}
		return
	}
	cost := c.slotCost(s)
	h := c.seats.list(x.to)
	switch {
	case cost < c.seatCost(x):
		c.loosen(l)
	case s.to != x.to && cost-int64(x.cost) < h[x.at].key:
		c.rekey(h, x.at, cost-int64(x.cost))
	}
}

// loosen takes a leaf from its seat.
func (c *contracted) loosen(l int32) {
	c.unbalance(c.rise(l), -1)
	c.loose = append(c.loose, l)
}

// detach takes an arc out, with what flows on it.
func (c *contracted) detach(t touch) {
	place := c.place[t.arc]
	c.place[t.arc] = absent
	if place >= 0 {
		c.detachCoreArc(t.arc, place)
		return
	}
	l, position := ^c.role[t.from], ^place
	if c.leaves[l].seat == position {
		c.loosen(l)
	}
	at := c.slotOf(l, position)
	s, bidAt := c.slots.data[at], c.slotBid[at]
	bids := c.bids.list(s.to)
	last := int32(len(bids) - 1)
	if bidAt != last {
		moved := bids[last]
		bids[bidAt] = moved
		c.slotBid[c.slotOf(moved.leaf, moved.slot)] = bidAt
	}
	c.bids.spans[s.to].length--
	last = c.slots.spans[l].length - 1
	if position != last {
		from := c.slotOf(l, last)
		c.slots.data[at], c.slotArc[at], c.slotBid[at] = c.slots.data[from], c.slotArc[from], c.slotBid[from]
		c.place[c.slotArc[at]] = ^position
		c.bids.list(c.slots.data[at].to)[c.slotBid[at]].slot = position
		if c.leaves[l].seat == last {
			c.leaves[l].seat = position
		}
	}
	c.slots.spans[l].length--
}

func (c *contracted) detachCoreArc(a Arc, place int32) {
	arc := c.arcs.data[place]
	mate := c.arcs.data[arc.mate]
	flow := c.takeFlow(a, &arc, &mate)
	if arc.curve != 0 {
		c.freeCurves = append(c.freeCurves, arc.curve-1)
	}
	from, to := mate.to, arc.to
	if flow != 0 {
		c.unbalance(from, flow)
		c.unbalance(to, -flow)
	}
	c.removeArc(to, arc.mate)
	c.removeArc(from, place)
	if c.nodes[from].direct != absent && to == c.root {
		c.findDirect(from)
	}
}

// removeArc takes a residual arc out of a node's list; the last takes its place.
func (c *contracted) removeArc(u, i int32) {
	p := &c.arcs.spans[u]
	p.length--
	if last := p.start + p.length; i != last {
		c.arcs.data[i] = c.arcs.data[last]
		c.relocated(u, i)
	}
}

// findDirect looks for another arc of a node to the root.
func (c *contracted) findDirect(u int32) {
	c.nodes[u].direct = absent
	p := c.arcs.spans[u]
	for i := p.start; i < p.start+p.length; i++ {
		if arc := &c.arcs.data[i]; arc.to == c.root && arc.owner >= 0 {
			c.nodes[u].direct = i
			return
		}
	}
}

// supplyNodes makes and drops rows for the nodes that changed their kind, and
// gives all changed nodes their supplies.
func (c *contracted) supplyNodes() {
	g := c.graph
	for _, v := range c.again {
		switch role := c.role[v]; {
		case role == absent:
		case role >= 0:
			c.dropCore(role)
		default:
			c.dropLeaf(^role)
		}
		c.role[v] = absent
	}
	for _, v := range c.again {
		switch g.kind(v) {
		case isCore:
			c.role[v] = c.newCore(v)
		case isLeaf:
			c.role[v] = ^c.newLeaf(v)
		case isAbsent:
		}
	}
	for _, v := range c.again {
		if u := c.role[v]; u >= 0 {
			c.setPrice(u, v)
			c.giveSupply(u, v)
		}
	}
	for _, v := range g.touchedNodes {
		if u := c.role[v]; u >= 0 {
			c.giveSupply(u, v)
		}
	}
}

func (c *contracted) giveSupply(u int32, v Node) {
	supply := c.graph.nodes[v].supply
	if c.supply[u] != supply {
		c.unbalance(u, supply-c.supply[u])
		c.supply[u] = supply
		c.followed.give(v, supply)
	}
}

func (c *contracted) newCore(v Node) int32 {
	if n := len(c.freeNodes); n > 0 {
		u := c.freeNodes[n-1]
		c.freeNodes = c.freeNodes[:n-1]
		c.nodes[u] = coreNode{direct: absent}
		c.name[u] = v
		return u
	}
	u := int32(len(c.nodes))
	c.nodes = append(c.nodes, coreNode{direct: absent})
	c.price, c.excess, c.supply = append(c.price, 0), append(c.excess, 0), append(c.supply, 0)
	c.name = append(c.name, v)
	c.arcs.resize(len(c.nodes))
	c.seats.resize(len(c.nodes))
	c.bids.resize(len(c.nodes))
	return u
}

func (c *contracted) dropCore(u int32) {
	c.arcs.drop(u)
	c.seats.drop(u)
	c.bids.drop(u)
	c.price[u], c.excess[u], c.supply[u] = 0, 0, 0
	c.nodes[u] = coreNode{direct: absent}
	c.name[u] = None
	c.freeNodes = append(c.freeNodes, u)
}

func (c *contracted) newLeaf(v Node) (l int32) {
	if n := len(c.freeLeaves); n > 0 {
		l = c.freeLeaves[n-1]
		c.freeLeaves = c.freeLeaves[:n-1]
		c.leaves[l], c.leafName[l] = leaf{seat: -1}, v
	} else {
		l = int32(len(c.leaves))
		c.leaves = append(c.leaves, leaf{seat: -1})
		c.leafName = append(c.leafName, v)
		c.slots.resize(len(c.leaves))
	}
	c.loose = append(c.loose, l)
	return l
}

// dropLeaf frees the row of a leaf, whose arcs are gone. Its span of slots stays
// for the next.
func (c *contracted) dropLeaf(l int32) {
	c.leafName[l] = None
	c.freeLeaves = append(c.freeLeaves, l)
}

// setPrice gives a new core node the highest price that somebody would pay for
// it, so that nobody rushes to it; its own room is then what is out of balance,
// and backward searches fill it as far as it pays. Without anybody, it is as
// dear as the cheapest way on.
func (c *contracted) setPrice(u int32, v Node) {
	g := c.graph
	price, found := int64(0), false
	for a := g.nodes[v].first[entering]; a != None; a = g.beside[a].next[entering] {
		if offer, made := c.offer(u, &g.arcs[a]); made && (!found || offer > price) {
			price, found = offer, true
		}
	}
	if !found {
		price = c.cheapestOnward(u, v)
	}
	c.price[u] = price
	c.steepest = max(c.steepest, magnitude(price))
}

// offer is what the node or leaf where an arc to the new core node u begins would
// pay there, if there is one that pays anywhere.
func (c *contracted) offer(u int32, row *Ends) (price int64, made bool) {
	from := c.role[row.From]
	switch {
	case row.Capacity <= 0 || from == u || from == absent:
		return 0, false
	case from >= 0:
		return c.price[from] - row.Cost, true
	case c.leaves[^from].seat < 0:
		return 0, false
	}
	return c.seatCost(&c.leaves[^from]) - row.Cost, true
}

// cheapestOnward is the least that a unit costs that goes on from node u, or 0
// where none can.
func (c *contracted) cheapestOnward(u int32, v Node) (price int64) {
	g, found := c.graph, false
	for a := g.nodes[v].first[leaving]; a != None; a = g.beside[a].next[leaving] {
		row := &g.arcs[a]
		to := c.role[row.To]
		if to < 0 || to == u || row.Capacity <= 0 {
			continue
		}
		if onward := row.Cost + c.price[to]; !found || onward < price {
			price, found = onward, true
		}
	}
	return price
}

// attachAll puts in those arcs of a list that are in the graph and not here.
func (c *contracted) attachAll(arcs []touch) {
	g := c.graph
	for _, t := range arcs {
		row := &g.arcs[t.arc]
		if row.From == None || c.place[t.arc] != absent {
			continue
		}
		from := c.role[row.From]
		if from < 0 {
			if row.Capacity > 0 {
				c.addSlot(^from, t.arc)
				c.reconsider(^from, ^c.place[t.arc])
			}
			continue
		}
		c.addCoreArc(t.arc)
		if place := c.place[t.arc]; place != absent {
			c.mend(place, from)
		}
	}
}
