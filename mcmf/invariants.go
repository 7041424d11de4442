package mcmf

import "fmt"

// check compares all that the contracted network keeps with what it is kept for,
// by looking at everything. Built with the tag invariants, each solve ends with it.
func (c *contracted) check() error {
	if err := c.checkPlaces(); err != nil {
		return err
	}
	if err := c.checkLeaves(); err != nil {
		return err
	}
	for u := range int32(len(c.nodes)) {
		p := c.arcs.spans[u]
		for i := p.start; i < p.start+p.length; i++ {
			arc := c.arcs.data[i]
			mate := c.arcs.data[arc.mate]
			switch {
			case mate.to != u || mate.mate != i || mate.owner != ^arc.owner:
				return fmt.Errorf("residual arc %d of core node %d: its mate %d knows it not", i, u, arc.mate)
			case arc.room < 0:
				return fmt.Errorf("residual arc %d of core node %d: room %d", i, u, arc.room)
			case arc.room > 0 && arc.cost-c.price[u]+c.price[arc.to] < 0:
				return fmt.Errorf("residual arc %d from core node %d to %d: reduced cost %d", i, u, arc.to, arc.cost-c.price[u]+c.price[arc.to])
			}
		}
		if d := c.nodes[u].direct; d != absent {
			if d < p.start || d >= p.start+p.length || c.arcs.data[d].to != c.root || c.arcs.data[d].owner < 0 {
				return fmt.Errorf("core node %d: %d is no arc of its own to the root", u, d)
			}
		}
	}
	var cost sum
	for a := range c.graph.ArcBound() {
		if c.graph.HasArc(a) {
			cost.addFlow(&c.graph.arcs[a], c.graph.curves.of(a), c.flowOn(a))
		}
	}
	if c.cost != cost {
		return fmt.Errorf("cost %v, should be %v", c.cost, cost)
	}
	return c.checkBalance()
}

// checkPlaces looks at where arcs of the graph are.
func (c *contracted) checkPlaces() error {
	g := c.graph
	for a := range g.ArcBound() {
		place := c.place[a]
		if !g.HasArc(a) {
			if place != absent {
				return fmt.Errorf("arc %d is removed, and at place %d", a, place)
			}
			continue
		}
		row := &g.arcs[a]
		from, to := c.role[row.From], c.role[row.To]
		switch {
		case row.From == row.To || from < 0 && row.Capacity <= 0:
			if place != absent {
				return fmt.Errorf("arc %d carries nothing, and is at place %d", a, place)
			}
		case from < 0:
			if err := c.checkSlot(a, ^from, to); err != nil {
				return err
			}
		case place < 0 || c.arcs.data[place].owner != a || c.arcs.data[place].to != to:
			return fmt.Errorf("arc %d of the core is not at place %d", a, place)
		}
	}
	return nil
}

// checkSlot looks at the slot of a leaf's arc to node u, and at its bid.
func (c *contracted) checkSlot(a Arc, l, u int32) error {
	if c.bids.spans == nil {
		return nil // places are not known yet
	}
	position := ^c.place[a]
	if position < 0 || position >= c.slots.spans[l].length {
		return fmt.Errorf("arc %d of leaf %d is not at position %d", a, l, position)
	}
	at := c.slotOf(l, position)
	s := c.slots.data[at]
	if c.slotArc[at] != a || s != (slot{u, int32(c.graph.arcs[a].Cost)}) {
		return fmt.Errorf("arc %d of leaf %d: slot %v of arc %d", a, l, s, c.slotArc[at])
	}
	if b := c.bids.list(u)[c.slotBid[at]]; b != (bid{l, position, s.cost}) {
		return fmt.Errorf("arc %d of leaf %d: bid %v", a, l, b)
	}
	return nil
}

// checkLeaves looks at seats.
func (c *contracted) checkLeaves() error {
	seated := 0
	for l := range int32(len(c.leaves)) {
		x := &c.leaves[l]
		if c.leafName[l] == None || x.seat < 0 {
			continue
		}
		seated++
		s := c.slots.list(l)[x.seat]
		here := c.seats.list(x.to)[x.at]
		other := c.otherwise(l)
		first := c.least(l)
		switch {
		case s != (slot{x.to, x.cost}) || here.leaf != l:
			return fmt.Errorf("leaf %d sits nowhere", l)
		case first < c.seatCost(x):
			return fmt.Errorf("leaf %d pays %d where %d would do", l, c.seatCost(x), first)
		case here.key > c.keyFor(other, x.cost):
			return fmt.Errorf("leaf %d has the key %d, above %d", l, here.key, c.keyFor(other, x.cost))
		}
	}
	for u := range int32(len(c.nodes)) {
		h := c.seats.list(u)
		seated -= len(h)
		for i := range h {
			if i > 0 && h[(i-1)/2].key > h[i].key {
				return fmt.Errorf("core node %d: seat %d is out of order", u, i)
			}
		}
	}
	if seated != 0 {
		return fmt.Errorf("%d more leaves have a seat than seats a leaf", seated)
	}
	return nil
}

// checkBalance works every excess out anew.
func (c *contracted) checkBalance() error {
	g := c.graph
	excess := make([]int64, len(c.nodes))
	for u, v := range c.name {
		if v != None {
			excess[u] = g.Supply(v)
			if c.supply[u] != excess[u] {
				return fmt.Errorf("core node %d: supply %d, should be %d", u, c.supply[u], excess[u])
			}
		}
	}
	for a := range g.ArcBound() {
		if !g.HasArc(a) || c.place[a] == absent {
			continue
		}
		flow := c.flowOn(a)
		excess[c.role[g.arcs[a].To]] += flow
		if from := c.role[g.arcs[a].From]; from >= 0 {
			excess[from] -= flow
		}
	}
	for u := range excess {
		if excess[u] != c.excess[u] {
			return fmt.Errorf("core node %d: excess %d, should be %d", u, c.excess[u], excess[u])
		}
	}
	return nil
}
