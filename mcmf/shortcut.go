package mcmf

// This file meets forward searches half-way. Where many nodes are full at equal
// prices (a plateau), a search wanders over all of them to find one of a few
// holes: with j holes among n nodes it looks at n/j. Searching from both ends
// looks at about the square root of that from each.
//
// So a forward search that takes long has nodes lit: those from which a hole, or
// the root if there is none, can be reached at no cost, breadth-first from there, each with the
// next hop of its way. A search that comes to a lit node has found its end.
// Light stays for the searches that follow: they raise prices of nodes that
// cannot reach a lit one for nothing, so never of a lit one. Only flow may break
// a way; each hop is looked at again before it is taken, and what is broken goes
// dark.
//
// It pays where there is contention (12,500 nodes, 150,000 tasks, 1,000 changes:
// see docs/bench/mcmf.md). The idea is that of Boykov and Kolmogorov's maximum
// flow (2004), who keep a tree at each end; here the one at the sink alone is
// kept, and mended by forgetting.
type shortcut struct {
	epoch    uint32
	beacons  []beacon // by core row
	frontier []int32  // lit, in order
	looked   int      // at so many of them
	begun    bool
	nextAt   int64 // looks of the search at which to light more
}

// beacon is the next step from a lit node: a residual arc, or the slot (^position)
// to which a leaf can move.
type beacon struct {
	epoch uint32
	way   int32
	leaf  int32
}

// chunk is how many looks a search takes before some are spent on light, and how
// many then.
const chunk = 1000

// darken begins anew, as prices have fallen or the graph has changed.
func (c *contracted) darken() {
	k := &c.shortcut
	if k.epoch++; k.epoch == 0 {
		clear(k.beacons)
		k.epoch = 1
	}
	for len(k.beacons) < len(c.nodes) {
		k.beacons = append(k.beacons, beacon{})
	}
	k.frontier, k.looked, k.begun = k.frontier[:0], 0, false
}

// lighten spends about a chunk of looks on lighting nodes; it is true when that
// shows the search its end.
func (c *contracted) lighten() (over bool) {
	k, s := &c.shortcut, &c.search
	if !k.begun {
		k.begun = true
		c.makeBids()
		for _, u := range c.unbalanced {
			if u != c.root && c.excess[u] < 0 {
				c.light(u, beacon{})
			}
		}
		// Where there are holes the root stays dark: who takes up its room leaves
		// one, which then is to be filled from afar.
		if len(k.frontier) == 0 {
			k.beacons[c.root].epoch = k.epoch
			k.frontier = append(k.frontier, c.root)
		}
	}
	stop := s.looks + chunk
	for s.looks < stop && k.looked < len(k.frontier) {
		u := k.frontier[k.looked]
		k.looked++
		if c.lightInto(u) {
			return true
		}
	}
	k.nextAt = s.looks + chunk
	return false
}

// lightInto lights what can come to a lit node at no cost, if that still has a
// way itself. So following lights never leads in a circle.
func (c *contracted) lightInto(u int32) (over bool) {
	if c.farEnd(u) < 0 {
		return false
	}
	arcs, bids := c.arcs.list(u), c.bids.list(u)
	c.search.looks += int64(len(arcs) + len(bids))
	for i := range arcs {
		from, way := arcs[i].to, arcs[i].mate
		in := &c.arcs.data[way]
		if in.room > 0 && in.cost-c.price[from]+c.price[u] == 0 && c.light(from, beacon{way: way, leaf: -1}) {
			return true
		}
	}
	for _, b := range bids {
		here := &c.leaves[b.leaf]
		if here.seat >= 0 && here.to != u && int64(b.cost)+c.price[u] == c.seatCost(here) && c.light(here.to, beacon{way: ^b.slot, leaf: b.leaf}) {
			return true
		}
	}
	return false
}

// light lights a node; it is true where the search has been there at its present
// distance, and so has found its end.
func (c *contracted) light(u int32, h beacon) bool {
	k, s := &c.shortcut, &c.search
	if k.beacons[u].epoch == k.epoch || u == c.root {
		return false
	}
	h.epoch = k.epoch
	k.beacons[u] = h
	k.frontier = append(k.frontier, u)
	n := &c.nodes[u]
	return n.visit>>1 == s.epoch && n.distance == s.queue.now && c.follow(u)
}

// follow takes the way from a lit node, if it is still there, and ends the search
// with it.
func (c *contracted) follow(u int32) bool {
	k, s := &c.shortcut, &c.search
	end := c.farEnd(u)
	if end < 0 {
		return false
	}
	for u != end {
		h := k.beacons[u]
		u = c.headOf(h)
		c.nodes[u].parent, c.nodes[u].parentLeaf = h.way, h.leaf
	}
	s.nearest, s.horizon = end, s.queue.now
	return true
}

// farEnd is the hole to which the way from a lit node leads, or -1 where it is
// broken; what has lost its way goes dark then.
func (c *contracted) farEnd(u int32) (end int32) {
	end = u
	for end != c.root && c.excess[end] >= 0 {
		next := c.nextHop(end)
		if next < 0 {
			for u != end {
				h := &c.shortcut.beacons[u]
				u = c.headOf(*h)
				h.epoch = 0
			}
			c.shortcut.beacons[end].epoch = 0
			return -1
		}
		end = next
	}
	return end
}

// nextHop is where the hop of a node leads, or -1 where it is not possible any
// more, or not for nothing.
func (c *contracted) nextHop(u int32) int32 {
	h := c.shortcut.beacons[u]
	if h.epoch != c.shortcut.epoch || h == (beacon{epoch: h.epoch}) {
		return -1
	}
	to := c.headOf(h)
	if h.leaf < 0 {
		if arc := &c.arcs.data[h.way]; arc.room > 0 && arc.cost-c.price[u]+c.price[to] == 0 {
			return to
		}
		return -1
	}
	x := &c.leaves[h.leaf]
	if x.seat >= 0 && x.to == u && c.slotCost(c.slots.list(h.leaf)[^h.way]) == c.seatCost(x) {
		return to
	}
	return -1
}

func (c *contracted) headOf(h beacon) int32 {
	if h.leaf < 0 {
		return c.arcs.data[h.way].to
	}
	return c.slots.list(h.leaf)[^h.way].to
}

// lit reports whether the search may end at a node that was lit.
func (c *contracted) lit(u int32) bool {
	return c.shortcut.beacons[u].epoch == c.shortcut.epoch && c.follow(u)
}
