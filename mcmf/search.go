package mcmf

// This file finds the cheapest way for one unit: forward from where there is one
// too many, or backward from where one is missing. Both are Dijkstra's algorithm
// by reduced costs, which are never negative, over the core and the moves of
// leaves, and stop at the first place that ends the way. Prices then follow for
// the nodes that were settled, and for no other, so that work is in proportion
// to what was looked at (Edmonds and Karp 1972; Ahuja, Magnanti, Orlin, §9.7).
//
// What differs from the book:
//   - The root takes up what is too much and gives what is missing, wherever it
//     stands; as supplies sum to zero, it is in balance when all others are.
//   - Within a distance the search is depth-first, and looks ahead one arc for
//     the root: among many equally good places it goes straight to a free one.
//   - The seats of a node are looked at in the order of a lower bound of what
//     leaving costs, and no further than the distance reached, so that a node
//     with 100,000 leaves is no dearer than one with ten.
//   - Deficits that leaves have just left end a forward search too: arrivals fill
//     the holes of departures before holes are filled from afar.
type search struct {
	queue   queue
	epoch   uint32
	settled []int32
	stale   []int32 // leaves whose key turned out too low
	keys    []int64 // their keys
	looks   int64   // at arcs, slots and bids
	end     int32   // where the way ends, or -1
	// nearest is the nearest node yet reached that may end the way, or -1, and
	// horizon its distance: what is as far is of no use any more.
	nearest  int32
	horizon  int64
	backward bool
}

// fromSource is the parent of a node where a way begins.
const fromSource = absent

func (c *contracted) beginSearch(backward bool) {
	s := &c.search
	if s.epoch == 1<<31-1 {
		for u := range c.nodes {
			c.nodes[u].visit = 0
		}
		s.epoch = 0
	}
	s.epoch++
	s.queue.reset()
	s.settled, s.stale, s.keys = s.settled[:0], s.stale[:0], s.keys[:0]
	s.looks, s.end, s.backward = 0, -1, backward
	s.nearest, s.horizon = -1, unreachable
}

// ends reports whether a way may end at a node.
func (c *contracted) ends(u int32) bool {
	if u == c.root {
		return true
	}
	if c.search.backward {
		return c.excess[u] > 0
	}
	return c.excess[u] < 0
}

// reach notes a way to node u, unless one as short is known. It reports whether
// the search is over: u ends it, or does so by its arc to the root.
func (c *contracted) reach(u int32, distance int64, parent, parentLeaf int32) bool {
	s, n := &c.search, &c.nodes[u]
	if distance >= s.horizon || n.visit>>1 == s.epoch && n.distance <= distance {
		return false
	}
	n.visit, n.distance = s.epoch<<1, distance
	n.parent, n.parentLeaf = parent, parentLeaf
	if c.ends(u) {
		s.nearest, s.horizon = u, distance
		return distance == s.queue.now
	}
	if distance == s.queue.now && (c.near(u, n) || !s.backward && c.lit(u)) {
		return true
	}
	s.queue.push(item{distance: distance, node: u, seat: -1})
	return false
}

// near reports whether a way that just reached node u at the current distance
// ends one arc further, at the root.
func (c *contracted) near(u int32, n *coreNode) bool {
	s := &c.search
	if n.direct == absent {
		return false
	}
	parent, slope := n.direct, c.price[c.root]-c.price[u]
	if s.backward {
		parent, slope = c.arcs.data[parent].mate, -slope
	}
	if way := &c.arcs.data[parent]; way.room == 0 || way.cost+slope != 0 {
		return false
	}
	n.visit |= 1
	s.settled = append(s.settled, u)
	root := &c.nodes[c.root]
	root.visit, root.distance, root.parent, root.parentLeaf = s.epoch<<1, s.queue.now, parent, -1
	s.nearest, s.horizon = c.root, s.queue.now
	return true
}

// next is what to look at next, in order of distance. It is not found where the
// way is: at the horizon, or nowhere.
func (c *contracted) next() (x item, found bool) {
	s := &c.search
	for {
		x, found = s.queue.pop()
		if !found || x.distance >= s.horizon {
			if s.nearest >= 0 {
				s.queue.now = s.horizon
			}
			return x, false
		}
		if x.seat >= 0 {
			return x, true
		}
		if n := &c.nodes[x.node]; n.visit&1 == 0 && n.distance >= x.distance {
			if !s.backward && c.lit(x.node) {
				return x, false
			}
			n.visit |= 1
			s.settled = append(s.settled, x.node)
			return x, true
		}
	}
}

// forward moves units from a loose leaf, or else from a core node that has too
// many, to where they are missing or to the root. It is false where there is no
// way; the nodes that were reached are then settled, and nothing has changed.
func (c *contracted) forward(l, source int32) bool {
	c.beginSearch(false)
	s := &c.search
	over := false
	if l >= 0 {
		first := c.least(l)
		for j, x := range c.slots.list(l) {
			s.looks++
			if over = c.reach(x.to, c.slotCost(x)-first, ^int32(j), l); over {
				break
			}
		}
	} else {
		over = c.reach(source, 0, fromSource, -1)
	}
	c.shortcut.nextAt = chunk
	for !over {
		if s.looks >= c.shortcut.nextAt && c.lighten() {
			break
		}
		x, found := c.next()
		switch {
		case !found:
			over = true
		case x.seat >= 0:
			over = c.expandSeat(x)
		default:
			over = c.expandForward(x.node)
		}
	}
	s.end = s.nearest
	c.freshenKeys()
	c.meter.ticks += s.looks
	if s.end < 0 {
		return false
	}
	for _, u := range s.settled {
		c.price[u] += s.queue.now - c.nodes[u].distance
		c.steepest = max(c.steepest, c.price[u])
	}
	c.augmentForward(l)
	return true
}

// expandForward looks at what leaves a node: its arcs, and its seats after them.
func (c *contracted) expandForward(u int32) bool {
	s := &c.search
	if c.seats.spans[u].length > 0 {
		c.enqueueSeat(u, 0)
	}
	arcs := c.arcs.list(u)
	price := c.price[u]
	s.looks += int64(len(arcs))
	for i := range arcs {
		arc := &arcs[i]
		if arc.room == 0 {
			continue
		}
		reduced := arc.cost - price + c.price[arc.to]
		if c.reach(arc.to, s.queue.now+reduced, c.arcs.spans[u].start+int32(i), -1) {
			return true
		}
	}
	return false
}

// enqueueSeat has a seat looked at once its leaf may reach something new.
func (c *contracted) enqueueSeat(u, at int32) {
	key := c.seats.list(u)[at].key
	if key == unreachable {
		return // it has nowhere else to go, nor have those below it in the heap
	}
	distance := c.nodes[u].distance + max(0, key-c.price[u])
	if distance < c.search.horizon {
		c.search.queue.push(item{distance: distance, node: u, seat: at})
	}
}

// expandSeat looks at where the leaf of a seat could go instead.
func (c *contracted) expandSeat(x item) bool {
	s := &c.search
	h := c.seats.list(x.node)
	for child := 2*x.seat + 1; child <= 2*x.seat+2 && child < int32(len(h)); child++ {
		c.enqueueSeat(x.node, child)
	}
	l := h[x.seat].leaf
	here := int64(c.leaves[l].cost)
	slots := c.slots.list(l)
	s.looks += int64(len(slots))
	base := c.nodes[x.node].distance - c.price[x.node] - here
	other := int64(unreachable)
	for j, to := range slots {
		if to.to == x.node {
			continue
		}
		cost := c.slotCost(to)
		other = min(other, cost)
		if c.reach(to.to, max(s.queue.now, base+cost), ^int32(j), l) {
			return true
		}
	}
	if key := c.keyFor(other, c.leaves[l].cost); key > h[x.seat].key {
		s.stale, s.keys = append(s.stale, l), append(s.keys, key)
	}
	return false
}

// freshenKeys writes down the keys that the search found too low; not before its
// end, as the heap must keep still while it is looked at.
func (c *contracted) freshenKeys() {
	for i, l := range c.search.stale {
		c.rekey(c.seats.list(c.leaves[l].to), c.leaves[l].at, c.search.keys[i])
	}
}

// augmentForward sends what the way can carry along it, back from its end.
func (c *contracted) augmentForward(l int32) {
	units := c.capacityOfWay()
	u := c.search.end
	c.excess[u] += units
	for {
		n := &c.nodes[u]
		switch {
		case n.parent == fromSource:
			c.excess[u] -= units
			return
		case n.parent >= 0:
			u = c.arcs.data[c.arcs.data[n.parent].mate].to
			c.push(n.parent, units)
		case n.parentLeaf == l:
			c.sit(l, ^n.parent)
			return
		default:
			mover, position := n.parentLeaf, ^n.parent
			u = c.rise(mover)
			c.sit(mover, position)
		}
	}
}

// capacityOfWay is how many units can go the way that was found: one, where a
// leaf moves.
func (c *contracted) capacityOfWay() int64 {
	u := c.search.end
	units := int64(unreachable)
	if u != c.root {
		units = magnitude(c.excess[u])
	}
	for {
		n := &c.nodes[u]
		if n.parent == fromSource {
			if u != c.root {
				units = min(units, magnitude(c.excess[u]))
			}
			return units
		}
		if n.parent < 0 {
			return 1
		}
		arc := &c.arcs.data[n.parent]
		units = min(units, arc.room)
		if c.search.backward {
			u = arc.to
		} else {
			u = c.arcs.data[arc.mate].to
		}
	}
}

// backward brings units that are missing at a core node, from where there are
// too many or from the root. It is false where there is no way.
func (c *contracted) backward(hole int32) bool {
	c.makeBids()
	c.beginSearch(true)
	s := &c.search
	over := c.reach(hole, 0, fromSource, -1)
	for !over {
		x, found := c.next()
		over = !found || c.expandBackward(x.node)
	}
	s.end = s.nearest
	if s.end >= 0 {
		c.lowerPrices()
		c.augmentBackward()
	}
	c.meter.ticks += s.looks
	return s.end >= 0
}

// expandBackward looks at what can come to a node: by its arcs, and leaves that
// bid for it.
func (c *contracted) expandBackward(u int32) bool {
	s := &c.search
	price := c.price[u]
	arcs, bids := c.arcs.list(u), c.bids.list(u)
	s.looks += int64(len(arcs) + len(bids))
	for i := range arcs {
		way := arcs[i].mate
		in, from := &c.arcs.data[way], arcs[i].to
		if in.room == 0 {
			continue
		}
		reduced := in.cost - c.price[from] + price
		if c.reach(from, s.queue.now+reduced, way, -1) {
			return true
		}
	}
	leaves, prices, base, horizon := c.leaves, c.price, s.queue.now+price, s.horizon
	for _, b := range bids {
		here := &leaves[b.leaf]
		if here.seat < 0 || here.to == u {
			continue
		}
		distance := base + int64(b.cost) - int64(here.cost) - prices[here.to]
		if distance >= horizon {
			continue
		}
		if c.reach(here.to, distance, ^b.slot, b.leaf) {
			return true
		}
		horizon = s.horizon
	}
	return false
}

// lowerPrices follows a backward search. What becomes cheaper may now be the
// best other slot of leaves that bid for it.
func (c *contracted) lowerPrices() {
	s := &c.search
	for _, u := range s.settled {
		fall := s.queue.now - c.nodes[u].distance
		if fall == 0 {
			continue
		}
		c.price[u] -= fall
		c.steepest = max(c.steepest, -c.price[u])
		bids := c.bids.list(u)
		s.looks += int64(len(bids))
		for _, b := range bids {
			c.outbid(b, u)
		}
	}
}

// outbid lowers the key of the leaf of a bid for node u where that is now its best.
func (c *contracted) outbid(b bid, u int32) {
	here := &c.leaves[b.leaf]
	if here.seat < 0 || here.to == u {
		return
	}
	key := int64(b.cost) - int64(here.cost) + c.price[u]
	h, at := c.seats.list(here.to), here.at
	if key < h[at].key {
		c.rekey(h, at, key)
	}
}

// augmentBackward sends what the way can carry along it, on from its far end.
func (c *contracted) augmentBackward() {
	units := c.capacityOfWay()
	u := c.search.end
	c.excess[u] -= units
	for {
		n := &c.nodes[u]
		switch {
		case n.parent == fromSource:
			c.excess[u] += units
			return
		case n.parent >= 0:
			c.push(n.parent, units)
			u = c.arcs.data[n.parent].to
		default:
			mover, position := n.parentLeaf, ^n.parent
			c.rise(mover)
			c.sit(mover, position)
			u = c.leaves[mover].to
		}
	}
}
