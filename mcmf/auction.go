package mcmf

import (
	"math"
	"slices"
)

// This file finds a flow and prices from nothing, or after more changes than
// searches can do with. It is the epsilon-relaxation method (Bertsekas's auction;
// the push-relabel form is Goldberg 1990) on the contracted network: a leaf takes
// the slot that is cheapest at the prices of the moment; a node that is too full
// sends units on, or leaves elsewhere, where that gains; where nothing gains any
// more, it raises its price by as much as it must and epsilon, until something does.
//
// Invariant (epsilon-optimality): no residual arc has a reduced cost below
// -epsilon, no leaf sits more than epsilon dearer than it could.
//
// At the end prices are rounded to whole units, and refined: they are lowered where
// that proves the flow optimal (price refine, Goldberg 1997). What is not proven
// then, searches route again (search.go).
//
// What differs from the books:
//   - There is one phase, at an eighth of a unit of cost where prices are zero, at
//     a sixteenth where there are prices to begin with, and a finer one after it
//     where the flow is not proven optimal.
//     Scaling epsilon down from the greatest cost, which bounds the worst case,
//     costs ten times as much on networks where most tasks find a place: each
//     phase overshoots, and the next begins with all those prices too high. Only
//     where a phase stalls, as prices have far to rise, are coarse ones tried.
//     With a quarter the flow is not optimal in the end under contention.
//   - Leaves bid one by one, and each full node gets rid of one before the next
//     bids, which then sees the price: all at once is a quarter slower. But what
//     has room on its way to the root waits there until nobody bids any more.
//   - Seats are a heap by a lower bound of what leaving costs; as prices only
//     rise, bounds stay valid, and only the top is ever worked out anew. Refining
//     lowers prices, and bounds with them.
//   - Prices are updated as a whole now and then (Goldberg 1997).
type auction struct {
	*contracted
	epsilon  int64
	cursor   []int32 // by core row: the arc to look at next, within its list
	full     ring    // core rows with an excess
	hold     []int32 // by core row: an excess that may wait, as it has a way to the root
	relabels int     // since prices were last updated as a whole
	units    int64   // that had no place at that update
	slow     bool    // so few units less than at the one before that coarser steps are better
	limit    int64   // of ticks
	failed   bool
}

const (
	// auctionScale is the number of price steps in a unit of cost.
	auctionScale     = 1 << auctionScaleBits
	auctionScaleBits = 6
	// stepsAnew and stepsOn are an epsilon that is good enough in most cases, from
	// nothing and from earlier prices.
	stepsAnew = auctionScale / 8
	stepsOn   = auctionScale / 16
	// finer is how much smaller epsilon is after a flow that is not proven optimal.
	finer = 2
	// updateEvery is how many relabels a node there are between two updates.
	updateEvery = 4
	// auctionLimit is the most looks an arc before the auction gives up.
	auctionLimit = 400
	// refineLimit is the most looks an arc before prices are taken as they are:
	// those that can be refined take one at most.
	refineLimit = 2
)

// auction seats all loose leaves and balances the core, as far as it gets. What
// is left, and what could be cheaper yet, is loose or unbalanced then. It begins
// with so many small steps for epsilon.
func (c *contracted) auction(steps int64) {
	c.followed.on = false // who was given a seat is not noted
	c.auctioned = true
	c.scaleUp()
	a := &auction{
		contracted: c, cursor: make([]int32, len(c.nodes)), hold: make([]int32, len(c.nodes)), full: newRing(len(c.nodes)),
		limit: c.meter.ticks + auctionLimit*int64(len(c.slots.data)+len(c.arcs.data)+1),
	}
	for i, epsilon := range [...]int64{steps, 16 * auctionScale, 2 * auctionScale, auctionScale / 4, steps} {
		a.epsilon, a.units, a.slow = epsilon, unreachable, false
		if a.phase(i == 0); a.failed || !c.meter.spend(0) || i == 0 && !a.slow {
			break
		}
	}
	for {
		prices := slices.Clone(c.price)
		c.round()
		if c.refine() || a.epsilon < finer || a.failed || !c.meter.spend(0) {
			break
		}
		c.scaleUp()
		copy(c.price, prices)
		a.epsilon /= finer
		a.phase(false)
	}
	c.loosenAll()
}

// phase makes flow and prices epsilon-optimal. One that is tentative ends early
// where it is slow.
func (a *auction) phase(tentative bool) {
	c := a.contracted
	for l := range int32(len(c.leaves)) {
		c.unseat(l, a.epsilon)
	}
	c.reseat()
	a.relabels = 0
	for u := range int32(len(c.nodes)) {
		a.cursor[u], a.hold[u] = 0, 0
		c.saturate(u)
	}
	for u := range int32(len(c.nodes)) {
		switch {
		case c.excess[u] > 0:
			a.full.push(u)
		case c.excess[u] == 0 && c.nodes[u].direct != absent:
			a.ready(u)
		}
	}
	for !a.failed && (!tentative || !a.slow) && c.meter.spend(0) {
		// A leaf bids; when none is left and nobody is full, what waits is sent on.
		bid := a.seatNext()
		if !bid && a.full.waiting == 0 && !a.release() {
			return
		}
		switch {
		case a.failed || a.full.waiting == 0:
		case a.relabels > updateEvery*len(c.nodes):
			a.relabels = 0
			a.updatePrices()
		default:
			a.discharge(a.full.pop())
			a.failed = a.failed || c.meter.ticks > a.limit
		}
	}
}

// seatNext gives the next loose leaf the slot that is cheapest now; it is false
// where there is no such leaf.
func (a *auction) seatNext() bool {
	c := a.contracted
	for n := len(c.loose); n > 0; n = len(c.loose) {
		l := c.loose[n-1]
		if c.leafName[l] == None || c.leaves[l].seat >= 0 {
			c.loose = c.loose[:n-1]
			continue
		}
		c.leaves[l].to = -1 // nowhere
		best, _, next := c.twoOthers(l)
		if best < 0 {
			a.failed = true
			return false
		}
		c.loose = c.loose[:n-1]
		c.take(l, best, next)
		a.receive(c.leaves[l].to, 1)
		c.meter.ticks += int64(c.slots.spans[l].length)
		return true
	}
	return false
}

// discharge gets rid of the excess of a node, unless prices are to be updated
// before it is done.
func (a *auction) discharge(u int32) {
	a.hold[u] = 0
	for a.excess[u] > 0 && !a.pushArcs(u) {
		key, done := a.evict(u)
		if done {
			return
		}
		if a.relabel(u, key); a.failed || a.relabels > updateEvery*len(a.nodes) {
			a.full.push(u)
			return
		}
	}
}

// unseat makes a leaf loose that could do better than its seat by more than the
// slack. Seats are to be made anew after that.
func (c *contracted) unseat(l int32, slack int64) {
	x := &c.leaves[l]
	if x.seat < 0 {
		return
	}
	if first := c.least(l); c.seatCost(x) > first+slack {
		x.seat = -1
		c.excess[x.to]--
		c.loose = append(c.loose, l)
	}
}

// mostAuctionPrice is a price that nobody pays: a node that would have to ask for
// more has no way out. Sums of a few of them fit an int64.
const mostAuctionPrice = 1 << 58

// mayAuction reports whether prices, in small steps, stay well below that as long
// as there is a way out.
func (c *contracted) mayAuction() bool { return c.steepest <= mostStart && c.mayAuctionAnew() }

// mayAuctionAnew is the same with prices that begin at zero. Where an auction was cut, one
// with no more ticks would be so again, and undo what searches have come to meanwhile.
func (c *contracted) mayAuctionAnew() bool {
	return c.meter.limit >= c.enough && int64(len(c.nodes)) <= mostStart/16/max(1, c.graph.totals.costliest)
}

// mostStart is from how high prices may begin.
const mostStart = mostAuctionPrice / auctionScale / 4

// scaleUp makes small steps the unit of prices and costs. Keys are made anew.
func (c *contracted) scaleUp() {
	c.rescale(auctionScale)
	for u := range c.price {
		c.price[u] <<= auctionScaleBits
	}
}

// round makes whole units of cost the unit again. Keys rounded down are still
// lower bounds, and in the same order.
func (c *contracted) round() {
	for u := range int32(len(c.nodes)) {
		c.price[u] >>= auctionScaleBits
		h := c.seats.list(u)
		for i := range h {
			if h[i].key != unreachable {
				h[i].key >>= auctionScaleBits
			}
		}
	}
	c.rescale(1)
}

// rescale changes the unit of costs.
func (c *contracted) rescale(scale int64) {
	for i := range c.arcs.data {
		c.arcs.data[i].cost = c.arcs.data[i].cost / c.scale * scale
	}
	c.scale = scale
}

// saturate fills every residual arc of a node with a negative reduced cost.
func (c *contracted) saturate(u int32) {
	p := c.arcs.spans[u]
	for i := p.start; i < p.start+p.length; i++ {
		for {
			arc := &c.arcs.data[i]
			if arc.room == 0 || arc.cost-c.price[u]+c.price[arc.to] >= 0 {
				break
			}
			units := arc.room
			c.push(i, units)
			c.unbalance(u, -units)
			c.unbalance(c.arcs.data[i].to, units)
		}
	}
}

func (a *auction) receive(u int32, units int64) {
	a.excess[u] += units
	if a.excess[u] > int64(a.hold[u]) {
		a.full.push(u)
	}
}

// pushArcs sends the excess of a node along arcs that gain by it; it is true
// when all of it is gone.
func (a *auction) pushArcs(u int32) bool {
	c := a.contracted
	p := c.arcs.spans[u]
	price := c.price[u]
	from := a.cursor[u]
	for i := from; i < p.length; i++ {
		arc := &c.arcs.data[p.start+i]
		if arc.room == 0 || arc.cost-price+c.price[arc.to] >= 0 {
			continue
		}
		units := min(arc.room, c.excess[u])
		to := arc.to
		c.push(p.start+i, units)
		c.excess[u] -= units
		a.receive(to, units)
		if c.excess[u] == 0 {
			a.cursor[u] = i
			c.meter.ticks += int64(i-from) + 1
			return true
		}
		if arc.curve != 0 {
			i-- // the next step may gain, too
		}
	}
	a.cursor[u] = p.length
	c.meter.ticks += int64(p.length - from)
	return false
}

// evict moves leaves away that gain by it, and is true when that took the excess
// of the node; else key is at which price the next would go.
func (a *auction) evict(u int32) (key int64, done bool) {
	c := a.contracted
	for c.seats.spans[u].length > 0 {
		h := c.seats.list(u)
		l := h[0].leaf
		other, cost, next := c.twoOthers(l)
		c.meter.ticks += int64(c.slots.spans[l].length)
		here := int64(c.leaves[l].cost) * c.scale
		key = c.keyFor(cost, c.leaves[l].cost)
		if key > h[0].key {
			h[0].key = key
			c.siftDown(h, 0)
			if h[0].leaf != l {
				continue
			}
		}
		if key >= c.price[u] {
			return key, false
		}
		c.rise(l)
		c.excess[u]--
		c.take(l, other, min(next, here+c.price[u]))
		a.receive(c.leaves[l].to, 1)
		if c.excess[u] == 0 {
			return 0, true
		}
	}
	return unreachable, false
}

// relabel raises the price of a node until the cheapest way out gains: an arc, or
// the leaf that goes at a key.
func (a *auction) relabel(u int32, key int64) {
	a.relabels++
	low, at := a.cheapest(u, key)
	if low >= mostAuctionPrice {
		a.failed = true
		return
	}
	a.price[u], a.cursor[u] = low+a.epsilon, at
}

// ready raises the price of a node that is not full so that units that come go on
// at once. To do so beforehand, for all machines, is quicker than a relabel each.
func (a *auction) ready(u int32) {
	key := int64(unreachable)
	if h := a.seats.list(u); len(h) > 0 {
		key = h[0].key
	}
	if low, at := a.cheapest(u, key); low < mostAuctionPrice && low+a.epsilon > a.price[u] {
		a.price[u], a.cursor[u] = low+a.epsilon, at
	}
	if way := &a.arcs.data[a.nodes[u].direct]; way.cost-a.price[u]+a.price[a.root] < 0 {
		a.hold[u] = int32(min(way.room, math.MaxInt32))
	}
}

// release takes up the nodes that hold an excess, and reports whether there are
// any. Sent all at once it costs less, and while there is room prices stay.
func (a *auction) release() bool {
	for u, units := range a.excess {
		if a.hold[u] = 0; units > 0 {
			a.full.push(int32(u))
		}
	}
	return a.full.waiting > 0
}

// cheapest is what the cheapest way out of a node costs, no more than a key, and
// which of its arcs that is, or 0.
func (a *auction) cheapest(u int32, key int64) (low int64, at int32) {
	c := a.contracted
	low = key
	for i, arc := range c.arcs.list(u) {
		if arc.room == 0 {
			continue
		}
		if x := arc.cost + c.price[arc.to]; x < low {
			low, at = x, int32(i)
		}
	}
	c.meter.ticks += int64(c.arcs.spans[u].length)
	return low, at
}

// updatePrices raises all prices by how far it is to where units are missing
// (Goldberg 1997): what relabels would find out in many small steps.
func (a *auction) updatePrices() {
	c := a.contracted
	c.makeBids()
	c.beginSearch(true)
	s := &c.search
	excesses, units, far := 0, int64(len(c.loose)), int64(0)
	for u := range int32(len(c.nodes)) {
		if c.excess[u] < 0 {
			c.arrive(u, 0)
		} else if c.excess[u] > int64(a.hold[u]) {
			excesses++
			units += c.excess[u]
		}
	}
	for excesses > 0 {
		x, found := s.queue.pop()
		if !found {
			a.failed = true
			return
		}
		n := &c.nodes[x.node]
		if n.visit&1 != 0 || n.distance < x.distance {
			continue
		}
		n.visit |= 1
		far = x.distance
		if c.excess[x.node] > int64(a.hold[x.node]) {
			excesses--
		}
		base := far + c.price[x.node] + a.epsilon
		for _, arc := range c.arcs.list(x.node) {
			if in := &c.arcs.data[arc.mate]; in.room > 0 {
				c.arrive(arc.to, base+in.cost-c.price[arc.to])
			}
		}
		for _, b := range c.bids.list(x.node) {
			if here := &c.leaves[b.leaf]; here.seat >= 0 && here.to != x.node {
				c.arrive(here.to, base+int64(b.cost)*c.scale-c.seatCost(here))
			}
		}
		c.meter.ticks += int64(c.arcs.spans[x.node].length + c.bids.spans[x.node].length)
	}
	a.slow = units > a.units-a.units/8
	a.units = units
	a.raise(far)
}

// raise lifts all prices by the distances of an update; what it did not reach is
// at least as far as the farthest it did.
func (a *auction) raise(far int64) {
	c := a.contracted
	for u := range c.nodes {
		n := &c.nodes[u]
		if n.visit == c.search.epoch<<1|1 {
			c.price[u] += n.distance
		} else {
			c.price[u] += far
		}
		a.cursor[u] = 0
	}
}

// arrive notes a way back to node u.
func (c *contracted) arrive(u int32, distance int64) {
	s, n := &c.search, &c.nodes[u]
	if n.visit>>1 == s.epoch && n.distance <= distance {
		return
	}
	n.visit, n.distance = s.epoch<<1, distance
	s.queue.push(item{distance: distance, node: u, seat: -1})
}

// refine lowers prices until no arc of the core has a negative reduced cost and
// every leaf has the best seat, by the method of Bellman and Ford: then it is true.
// Rounding breaks that by one unit at a time, and mostly the flow is optimal all
// the same, so that there are prices that prove it. Where it is not, there are
// none, and so this gives up after some looks at everything.
func (c *contracted) refine() bool {
	limit := c.meter.ticks + refineLimit*int64(len(c.slots.data)+len(c.arcs.data)+1)
	waiting := newRing(len(c.nodes))
	for u := range int32(len(c.nodes)) {
		waiting.push(u)
	}
	for waiting.waiting > 0 {
		if c.meter.ticks > limit || !c.meter.spend(0) {
			return false
		}
		u := waiting.pop()
		if low := c.proven(u); low < c.price[u] {
			c.price[u] = low
			c.makeBids()
			c.pushWronged(&waiting, u)
		}
	}
	return true
}

// proven is the highest price of a node, up to what it has, at which its arcs and
// leaves are right.
func (c *contracted) proven(u int32) int64 {
	low := c.price[u]
	for _, arc := range c.arcs.list(u) {
		if arc.room > 0 {
			low = min(low, arc.cost+c.price[arc.to])
		}
	}
	c.meter.ticks += int64(c.arcs.spans[u].length)
	for c.seats.spans[u].length > 0 {
		top := c.seats.list(u)[0]
		if top.key >= low {
			break
		}
		key := c.keyFor(c.otherwise(top.leaf), c.leaves[top.leaf].cost)
		c.meter.ticks += int64(c.slots.spans[top.leaf].length)
		if key == top.key {
			return key
		}
		c.rekey(c.seats.list(u), 0, key)
	}
	return low
}

// pushWronged takes up those nodes of which an arc or a leaf would gain now that
// the price of node u is lower.
func (c *contracted) pushWronged(waiting *ring, u int32) {
	arcs, bids, price := c.arcs.list(u), c.bids.list(u), c.price[u]
	for i := range arcs {
		back := &c.arcs.data[arcs[i].mate]
		if v := arcs[i].to; back.room > 0 && back.cost-c.price[v]+price < 0 {
			waiting.push(v)
		}
	}
	for _, b := range bids {
		c.outbid(b, u)
		if x := &c.leaves[b.leaf]; x.seat >= 0 && int64(b.cost)+price < c.seatCost(x) {
			waiting.push(x.to)
		}
	}
	c.meter.ticks += int64(len(arcs) + len(bids))
}

// loosenAll makes loose and unbalanced what is not yet right.
func (c *contracted) loosenAll() {
	for u := range int32(len(c.nodes)) {
		c.saturate(u)
		c.loosenWrong(u)
	}
	c.unbalanced = c.unbalanced[:0]
	for u := range int32(len(c.nodes)) {
		c.steepest = max(c.steepest, magnitude(c.price[u]))
		if c.excess[u] != 0 {
			c.unbalanced = append(c.unbalanced, u)
		}
	}
	c.countCost()
}

// loosenWrong makes those leaves of a node loose that could do better elsewhere.
func (c *contracted) loosenWrong(u int32) {
	for c.seats.spans[u].length > 0 {
		top := c.seats.list(u)[0]
		if top.key >= c.price[u] {
			return
		}
		other := c.otherwise(top.leaf)
		if key := c.keyFor(other, c.leaves[top.leaf].cost); key >= c.price[u] {
			c.rekey(c.seats.list(u), 0, key)
		} else {
			c.loosen(top.leaf)
		}
	}
}
