package mcmf

import "math"

// This file is the network as the incremental solver keeps it. Most nodes of a
// scheduling network are tasks: they give one unit, nothing enters them, and
// the unit leaves whole, by one of a few arcs. Such a node is a *leaf* here. It
// is no node of the network that is searched, the *core*; it is a unit that sits
// at the head of the arc it took, and may move to the head of another of its
// arcs. So of 174,500 nodes of a cluster with 12,500 machines and 150,000 tasks
// a search sees 24,500, and leaves have no residual arcs to keep up to date.
//
//	leaf     a unit with slots, the arcs it may take, and a seat, that it took
//	seat     a leaf at a core node: flow on the leaf's arc to that node
//	bid      a slot, seen from the core node it leads to
//	arc      a residual arc of the core; its mate is the way back
//
// Invariant, once solved (complementary slackness): no residual arc of the core
// has a negative reduced cost Cost - price[from] + price[to], and each leaf sits
// where Cost + price is the least.
//
// A curve stands on one arc: the record has the cost and room of the step that
// comes next, its mate those of the step that came last.
type contracted struct {
	graph *Graph
	root  int32 // the core node that takes up and gives what has no other place

	// By Node and Arc of the graph.
	role []int32 // core row, or ^leaf row, or absent
	// place is an index into arcs.data, or ^(position among its leaf's slots), or
	// absent. That of leaves' arcs is known once bids are made; before that it is 0,
	// and the role of the tail is to be asked first.
	place []int32

	// By core row. Prices stand alone, as most looks are at them.
	price      []int64
	nodes      []coreNode
	excess     []int64 // units that entered or are given, and have not left
	supply     []int64 // that the excess accounts for
	name       []Node
	freeNodes  []int32
	arcs       slab[coreArc]
	seats      slab[seat]
	bids       slab[bid]
	curves     []curve
	freeCurves []int32
	// lower has those lower bounds of core arcs that are not zero.
	lower map[Arc]int64

	// By leaf row.
	leaves     []leaf
	leafName   []Node
	freeLeaves []int32
	slots      slab[slot]
	// In step with slots.data: the arc that a slot stands for, and where its bid is
	// among those of its head.
	slotArc []Arc
	slotBid []int32

	// What has to be routed: leaves without a seat, core rows that may be out of
	// balance.
	loose, unbalanced []int32

	// Of the changes that are being taken over: nodes whose kind changed, arcs.
	again   []Node
	changed []touch

	// Prices and costs are in units of 1/scale while an auction runs; else 1.
	scale int64
	// bound is a capacity as good as none: twice the volume of the graph or more.
	bound    int64
	overflow bool // an excess grew beyond what is safe
	// steepest is no less than any price or its negative. Where a part of the
	// graph does not reach the root, its prices rise with every solve.
	steepest int64

	// cost of all flow. An auction does not keep it; it is counted anew after.
	cost  sum
	loops map[Arc]sum // of that, what flows round loops costs

	followed followed

	search   search
	shortcut shortcut
	meter    *meter
	limit    int64 // of ticks, after which it is asked whether an auction is better
	routed   int64 // searches since a solve began
	// auctioned says that the solve began an auction, and enough is how many ticks the
	// next one that does is to have at least: twice what one had that was cut, or 0.
	auctioned bool
	enough    int64
}

const absent = math.MinInt32

// coreNode is what a search notes of a node.
type coreNode struct {
	distance   int64
	visit      uint32 // the search that last reached it, doubled; odd once settled
	parent     int32  // place of the arc by which it was reached, or a leaf: see search.go
	parentLeaf int32
	direct     int32 // place of an arc to the root, or absent
}

type coreArc struct {
	to, mate   int32
	cost, room int64
	curve      int32 // row of curves plus one, or 0
	owner      Arc   // or ^Arc, on the mate
}

type leaf struct {
	seat     int32 // position among its slots, or -1
	at       int32 // position among the seats of the node where it sits
	to, cost int32 // the slot at that position
}

type slot struct{ to, cost int32 }

// seat has a lower bound of what the leaf's best other slot costs more than this
// one, prices left aside: the leaf moves away no earlier than the price here
// exceeds it. Seats of a node are a heap by that key.
type seat struct {
	leaf int32
	key  int64
}

type bid struct{ leaf, slot, cost int32 }

// curve is the state of an arc with steps.
type curve struct {
	steps []Step
	lower int64
	flow  int64 // beyond lower
}

// mostSlotCost is the greatest cost that fits a slot; nodes with greater ones
// are no leaves.
const mostSlotCost = 1 << 30

// slotCost is what the slot of a leaf costs with the price at its head.
func (c *contracted) slotCost(s slot) int64 {
	return int64(s.cost)*c.scale + c.price[s.to]
}

// seatCost is what the seat of a leaf costs with the price there.
func (c *contracted) seatCost(l *leaf) int64 {
	return int64(l.cost)*c.scale + c.price[l.to]
}

// least is what the cheapest slot of a leaf costs: unreachable where there is
// none.
func (c *contracted) least(l int32) int64 {
	cost := int64(unreachable)
	for _, s := range c.slots.list(l) {
		cost = min(cost, c.slotCost(s))
	}
	return cost
}

// otherwise is what the cheapest slot of a leaf to another node costs than where
// it sits.
func (c *contracted) otherwise(l int32) int64 {
	cost := int64(unreachable)
	here, price, scale := c.leaves[l].to, c.price, c.scale
	for _, s := range c.slots.list(l) {
		if s.to != here {
			cost = min(cost, int64(s.cost)*scale+price[s.to])
		}
	}
	return cost
}

// twoOthers is the cheapest slot of a leaf to another node than where it sits,
// what that costs, and what the next cheapest does, to a third node.
func (c *contracted) twoOthers(l int32) (best int32, cost, next int64) {
	best, cost, next = -1, unreachable, unreachable
	here, there := c.leaves[l].to, int32(-1)
	price, scale := c.price, c.scale
	for i, s := range c.slots.list(l) {
		if s.to == here {
			continue
		}
		switch x := int64(s.cost)*scale + price[s.to]; {
		case x < cost:
			if s.to != there {
				next = cost
			}
			best, cost, there = int32(i), x, s.to
		case x < next && s.to != there:
			next = x
		}
	}
	return best, cost, next
}

// unreachable is above every price and distance.
const unreachable = 1 << 62

// push sends units along a residual arc.
func (c *contracted) push(i int32, units int64) {
	arc := &c.arcs.data[i]
	mate := &c.arcs.data[arc.mate]
	arc.room -= units
	mate.room += units
	if c.scale == 1 {
		c.cost.add(units, arc.cost)
	}
	if arc.curve != 0 {
		if arc.owner < 0 {
			arc, mate, units = mate, arc, -units
		}
		k := &c.curves[arc.curve-1]
		k.flow += units
		c.bend(arc, mate, k)
	}
}

// bend gives an arc with a curve, and its mate, the cost and room of the steps
// around its flow. The first step is also that of flow below zero. There is no room
// beyond the bound, which more than all units do not need: whoever fills the arc
// would not come to an end otherwise.
func (c *contracted) bend(arc, mate *coreArc, k *curve) {
	flow := k.lower + k.flow
	arc.cost, arc.room = k.steps[len(k.steps)-1].Cost*c.scale, 0
	begin, end, back := k.lower, int64(0), false
	for _, step := range k.steps {
		end += step.Capacity
		if !back && flow <= end {
			mate.cost, mate.room, back = -step.Cost*c.scale, flow-max(begin, k.lower), true
		}
		if flow < end {
			arc.cost, arc.room = step.Cost*c.scale, max(0, min(end, c.bound)-flow)
			return
		}
		begin = end
	}
}
