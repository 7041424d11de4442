package mcmf

import "math/bits"

// This file makes the contracted network of a graph, in bulk.

// isLeaf reports whether a node of the graph is a leaf.
func (g *Graph) isLeaf(v Node) bool {
	row := &g.nodes[v]
	if !row.alive || row.supply != 1 || row.first[entering] != None {
		return false
	}
	if g.totals.plain() {
		return true
	}
	for a := row.first[leaving]; a != None; a = g.beside[a].next[leaving] {
		arc := &g.arcs[a]
		if arc.Lower != 0 || magnitude(arc.Cost) > mostSlotCost {
			return false
		}
		if g.curves.has(a) {
			return false
		}
	}
	return true
}

// compile makes the contracted network of a graph as it is now, with no flow but
// lower bounds and no prices.
func compile(g *Graph, volume int64) *contracted {
	c := &contracted{graph: g, scale: 1, bound: boundOf(volume), lower: map[Arc]int64{}, loops: map[Arc]sum{}, root: -1, role: make([]int32, len(g.nodes)), place: make([]int32, len(g.arcs))}
	leaves, nodes := int32(0), int32(0)
	for v := range g.nodes {
		switch {
		case !g.nodes[v].alive:
			c.role[v] = absent
		case g.isLeaf(Node(v)):
			c.role[v] = ^leaves
			leaves++
		default:
			c.role[v] = nodes
			nodes++
		}
	}
	// Lists get their length at once: memory that is new to a process costs more
	// time than all that is done with it here.
	c.leaves, c.leafName, c.loose = make([]leaf, leaves), make([]Node, leaves), make([]int32, leaves)
	c.nodes, c.name = make([]coreNode, nodes), make([]Node, nodes)
	c.excess, c.supply, c.price = make([]int64, nodes), make([]int64, nodes), make([]int64, nodes)
	for v, role := range c.role {
		switch {
		case role == absent:
		case role < 0:
			c.leaves[^role], c.leafName[^role], c.loose[^role] = leaf{seat: -1}, Node(v), ^role
		default:
			c.nodes[role], c.name[role] = coreNode{direct: absent}, Node(v)
		}
	}
	c.chooseRoot()
	c.compileArcs()
	return c
}

// boundOf is a power of two, so that it seldom has to grow with the volume.
func boundOf(volume int64) int64 { return 1 << bits.Len64(uint64(2*volume+1)) }

// chooseRoot takes the core node that gives or takes the most, the first of
// several. In a scheduling network that is the sink.
func (c *contracted) chooseRoot() {
	most := int64(-1)
	for u, v := range c.name {
		supply := c.graph.nodes[v].supply
		c.supply[u] = supply
		if supply != 0 {
			c.unbalance(int32(u), supply)
		}
		if magnitude(supply) > most {
			c.root, most = int32(u), magnitude(supply)
		}
	}
}

// compileArcs makes room by the degrees of nodes, and fills it in one pass.
func (c *contracted) compileArcs() {
	g := c.graph
	arcs := make([]int32, len(c.nodes))
	for u, v := range c.name {
		row := &g.nodes[v]
		arcs[u] += row.degree[leaving]
		for a := row.first[leaving]; a != None; a = g.beside[a].next[leaving] {
			arcs[c.role[g.arcs[a].To]]++
		}
	}
	c.arcs.reserve(len(c.nodes), func(u int32) int32 { return andMore(arcs[u]) }, len(g.arcs)/16)
	c.seats.reserve(len(c.nodes), func(u int32) int32 { return min(g.nodes[c.name[u]].degree[entering], fewSeats) }, len(c.leaves))
	c.slots.reserve(len(c.leaves), func(l int32) int32 { return g.nodes[c.leafName[l]].degree[leaving] }, len(g.arcs)/16)
	c.slotArc = make([]Arc, len(c.slots.data))
	for a := range g.arcs {
		row := &g.arcs[a]
		if row.From == None {
			c.place[a] = absent
			continue
		}
		from := c.role[row.From]
		switch {
		case from >= 0:
			c.place[a] = absent
			c.addCoreArc(Arc(a))
		case row.Capacity <= 0:
			c.place[a] = absent
		default:
			p := &c.slots.spans[^from]
			c.slots.data[p.start+p.length] = slot{to: c.role[row.To], cost: int32(row.Cost)}
			c.slotArc[p.start+p.length] = Arc(a)
			p.length++
		}
	}
}

// fewSeats is for how many leaves a node has room at first.
const fewSeats = 16

// makeBids makes the bids of all slots, and the places of their arcs, when they
// are first asked for. Who solves once, and an easy network, does without.
func (c *contracted) makeBids() {
	if c.bids.spans != nil {
		return
	}
	c.slotBid = make([]int32, len(c.slots.data))
	counts := make([]int32, len(c.nodes))
	for l := range int32(len(c.leaves)) {
		for _, s := range c.slots.list(l) {
			counts[s.to]++
		}
	}
	c.bids.reserve(len(c.nodes), func(u int32) int32 { return andMore(counts[u]) }, len(c.slots.data)/16)
	for l := range int32(len(c.leaves)) {
		start := c.slots.spans[l].start
		for i, s := range c.slots.list(l) {
			p := &c.bids.spans[s.to]
			c.slotBid[start+int32(i)] = p.length
			c.place[c.slotArc[start+int32(i)]] = ^int32(i)
			c.bids.data[p.start+p.length] = bid{leaf: l, slot: int32(i), cost: s.cost}
			p.length++
		}
	}
}

// addSlot gives a leaf a slot for one of its arcs.
func (c *contracted) addSlot(l int32, a Arc) {
	row := &c.graph.arcs[a]
	s := slot{to: c.role[row.To], cost: int32(row.Cost)}
	before := c.slots.spans[l]
	position := before.length
	moved := c.slots.add(l, s)
	if more := len(c.slots.data) - len(c.slotArc); more > 0 {
		c.slotArc = append(c.slotArc, make([]Arc, more)...)
		c.slotBid = append(c.slotBid, make([]int32, more)...)
	}
	start := c.slots.spans[l].start
	if moved {
		copy(c.slotArc[start:], c.slotArc[before.start:before.start+position])
		copy(c.slotBid[start:], c.slotBid[before.start:before.start+position])
	}
	c.slotArc[start+position], c.slotBid[start+position] = a, c.bids.spans[s.to].length
	c.place[a] = ^position
	c.bids.add(s.to, bid{leaf: l, slot: position, cost: s.cost})
}

// slotOf is where a slot is, by a leaf's position.
func (c *contracted) slotOf(l, position int32) int32 { return c.slots.spans[l].start + position }

// addCoreArc gives the core an arc and its mate, with no flow but the lower
// bound. What that bound takes along is left to be balanced.
func (c *contracted) addCoreArc(a Arc) {
	g := c.graph
	row := &g.arcs[a]
	if row.From == row.To {
		c.payLoop(a)
		return
	}
	from, to := c.role[row.From], c.role[row.To]
	arc := coreArc{to: to, cost: row.Cost * c.scale, room: min(row.Capacity-row.Lower, c.bound), owner: a}
	mate := coreArc{to: from, cost: -row.Cost * c.scale, owner: ^a}
	if steps := g.curves.of(a); steps != nil {
		arc.curve = c.newCurve(curve{steps: steps, lower: row.Lower})
		mate.curve = arc.curve
		c.bend(&arc, &mate, &c.curves[arc.curve-1])
	}
	i := c.appendArc(from, arc)
	j := c.appendArc(to, mate)
	c.arcs.data[i].mate, c.arcs.data[j].mate = j, i
	c.place[a] = i
	if to == c.root {
		c.nodes[from].direct = i
	}
	if row.Lower != 0 {
		c.cost.addFlow(row, g.curves.of(a), row.Lower)
		c.lower[a] = row.Lower
		c.unbalance(from, -row.Lower)
		c.unbalance(to, row.Lower)
	}
}

// newCurve keeps the state of a curve, and is its row plus one.
func (c *contracted) newCurve(k curve) int32 {
	if n := len(c.freeCurves); n > 0 {
		row := c.freeCurves[n-1]
		c.freeCurves = c.freeCurves[:n-1]
		c.curves[row] = k
		return row + 1
	}
	c.curves = append(c.curves, k)
	return int32(len(c.curves))
}

// appendArc appends a residual arc to those of a node, and is its place.
func (c *contracted) appendArc(u int32, arc coreArc) int32 {
	if c.arcs.add(u, arc) {
		c.moved(u)
	}
	p := c.arcs.spans[u]
	return p.start + p.length - 1
}

// moved tells the mates and the arcs of the graph where the residual arcs of a
// node are now, but for the last, which is new.
func (c *contracted) moved(u int32) {
	p := c.arcs.spans[u]
	for i := p.start; i < p.start+p.length-1; i++ {
		c.relocated(u, i)
	}
}

// relocated tells of one residual arc of node u where it is now.
func (c *contracted) relocated(u, i int32) {
	arc := &c.arcs.data[i]
	c.arcs.data[arc.mate].mate = i
	if arc.owner >= 0 {
		c.place[arc.owner] = i
		if arc.to == c.root {
			c.nodes[u].direct = i
		}
	}
}

// unbalance adds to what a core node has to get rid of.
func (c *contracted) unbalance(u int32, units int64) {
	c.excess[u] += units
	c.overflow = c.overflow || magnitude(c.excess[u]) > 2*mostVolume
	c.unbalanced = append(c.unbalanced, u)
}
