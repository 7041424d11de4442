package mcmf

// This file finds a flow and prices that are nearly optimal, from nothing or after
// more changes than searches can do with, for the searches of search.go to finish. It is the epsilon-relaxation method
// (Bertsekas's auction; the push-relabel form is Goldberg 1990) on the contracted
// network: a leaf takes the slot that is cheapest at the prices of the moment; a
// node that is too full sends units on, or leaves elsewhere, where that gains;
// where nothing gains any more, it raises its price by as much as it must and
// epsilon, until something does.
//
// Invariant (epsilon-optimality): no residual arc has a reduced cost below
// -epsilon, no leaf sits more than epsilon dearer than it could.
//
// What differs from the books:
//   - There is one phase, at a sixteenth of a unit of cost, from the prices there
//     are, at first zero.
//     Scaling epsilon down from the greatest cost, which bounds the worst case,
//     costs ten times as much on networks where most tasks find a place: each
//     phase overshoots, and the next begins with all those prices too high. Only
//     where a phase stalls, as prices have far to rise, are coarse ones tried.
//   - Seats are a heap by a lower bound of what leaving costs; as prices only
//     rise here, bounds stay valid, and only the top is ever worked out anew.
//   - Prices are updated as a whole now and then (Goldberg 1997).
//
// It does not prove anything: whole units of prices are what is kept, and the few
// leaves and arcs that these show to be wrong are routed again by searches. With
// a sixteenth there are none on the networks of docs/bench/mcmf.md, with a
// quarter 1 to 3 % of leaves, with a whole unit 10 %.
type auction struct {
	*contracted
	epsilon  int64
	cursor   []int32 // by core row: the arc to look at next, within its list
	queued   []bool
	ring     []int32 // core rows with an excess, first in, first out
	head     int
	waiting  int
	relabels int   // since prices were last updated as a whole
	units    int64 // in excess at that update
	slow     bool  // so few units less than at the one before that coarser steps are better
	limit    int64 // of ticks
	failed   bool
}

const (
	// auctionScale is the number of price steps in a unit of cost.
	auctionScale     = 1 << auctionScaleBits
	auctionScaleBits = 4
	// updateEvery is how many relabels a node there are between two updates.
	updateEvery = 2
	// auctionLimit is the most looks an arc before the auction gives up.
	auctionLimit = 400
)

// auction seats all loose leaves and balances the core, as far as it gets. What
// is left, and what it got wrong by less than a unit of cost, is loose or
// unbalanced then.
func (c *contracted) auction() {
	c.rescale(auctionScale)
	for u := range c.price {
		c.price[u] *= auctionScale
	}
	c.unbalanced = c.unbalanced[:0]
	a := &auction{
		contracted: c, cursor: make([]int32, len(c.nodes)), queued: make([]bool, len(c.nodes)), ring: make([]int32, len(c.nodes)),
		limit: c.meter.ticks + auctionLimit*int64(len(c.slots.data)+len(c.arcs.data)+1),
	}
	for i, epsilon := range [...]int64{1, 256, 32, 4, 1} {
		a.epsilon, a.units, a.slow = epsilon, unreachable, false
		if a.phase(i == 0); a.failed || !c.meter.spend(0) || i == 0 && !a.slow {
			break
		}
	}
	c.round()
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
		a.cursor[u] = 0
		c.saturate(u)
	}
	for u := range int32(len(c.nodes)) {
		if c.excess[u] > 0 {
			a.enqueue(u)
		}
	}
	for !a.failed && (!tentative || !a.slow) && c.meter.spend(0) && a.seatLoose() && a.waiting > 0 {
		a.failed = c.meter.ticks > a.limit
		if a.relabels > updateEvery*len(c.nodes) {
			a.relabels = 0
			a.updatePrices()
			continue
		}
		u := a.ring[a.head]
		a.head = (a.head + 1) % len(a.ring)
		a.waiting--
		a.queued[u] = false
		a.discharge(u)
	}
}

// seatLoose gives every loose leaf the slot that is cheapest now; it is false
// where one has none.
func (a *auction) seatLoose() bool {
	c := a.contracted
	for n := len(c.loose); n > 0 && c.meter.spend(0); n = len(c.loose) {
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
	}
	return true
}

// discharge gets rid of the excess of a node, unless prices are to be updated
// before it is done.
func (a *auction) discharge(u int32) {
	for a.excess[u] > 0 && !a.pushArcs(u) {
		key, done := a.evict(u)
		if done {
			return
		}
		if a.relabel(u, key); a.failed || a.relabels > updateEvery*len(a.nodes) {
			a.enqueue(u)
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
func (c *contracted) mayAuction() bool {
	const most = mostAuctionPrice / auctionScale / 4
	return c.steepest <= most && int64(len(c.nodes)) <= most/16/max(1, c.graph.totals.costliest)
}

// rescale changes the unit of prices and costs.
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

func (a *auction) enqueue(u int32) {
	if a.queued[u] {
		return
	}
	a.queued[u] = true
	a.ring[(a.head+a.waiting)%len(a.ring)] = u
	a.waiting++
}

func (a *auction) receive(u int32, units int64) {
	a.excess[u] += units
	if a.excess[u] > 0 {
		a.enqueue(u)
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

// relabel raises the price of a node until the cheapest way out gains.
func (a *auction) relabel(u int32, key int64) {
	c := a.contracted
	low := key
	p := c.arcs.spans[u]
	for i := range p.length {
		arc := &c.arcs.data[p.start+i]
		if arc.room == 0 {
			continue
		}
		if x := arc.cost + c.price[arc.to]; x < low {
			low, a.cursor[u] = x, i
		}
	}
	c.meter.ticks += int64(p.length)
	a.relabels++
	if low >= mostAuctionPrice {
		a.failed = true
		return
	}
	c.price[u] = low + a.epsilon
	if a.cursor[u] == p.length {
		a.cursor[u] = 0
	}
}

// updatePrices raises all prices by how far it is to where units are missing
// (Goldberg 1997): what relabels would find out in many small steps.
func (a *auction) updatePrices() {
	c := a.contracted
	c.makeBids()
	c.beginSearch(true)
	s := &c.search
	excesses, units, far := 0, int64(0), int64(0)
	for u := range int32(len(c.nodes)) {
		if c.excess[u] < 0 {
			c.arrive(u, 0)
		} else if c.excess[u] > 0 {
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
		if c.excess[x.node] > 0 {
			excesses--
		}
		base := far + c.price[x.node] + a.epsilon
		for _, arc := range c.arcs.list(x.node) {
			if in := &c.arcs.data[arc.mate]; in.room > 0 {
				c.arrive(arc.to, base+in.cost-c.price[arc.to])
			}
		}
		for _, b := range c.bids.list(x.node) {
			if here := &c.leaves[b.leaf]; here.to != x.node {
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

// round makes prices whole again and mends what that broke: arcs of the core by
// prices where it can be done, else by filling them; leaves by taking their seat.
// Keys rounded down are still lower bounds, and in the same order.
func (c *contracted) round() {
	c.unbalanced = c.unbalanced[:0]
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
	c.relax()
	for u := range int32(len(c.nodes)) {
		c.saturate(u)
		c.loosenWrong(u)
	}
	for u := range int32(len(c.nodes)) {
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

// relax lowers prices until no arc of the core has a negative reduced cost,
// or gives up on a negative cycle.
func (c *contracted) relax() {
	waiting := make([]int32, len(c.nodes))
	queued := make([]bool, len(c.nodes))
	for u := range waiting {
		waiting[u], queued[u] = int32(u), true
	}
	for steps := 0; len(waiting) > 0 && steps < 8*len(c.nodes); steps++ {
		u := waiting[0]
		waiting, queued[u] = waiting[1:], false
		low := c.price[u]
		arcs := c.arcs.list(u)
		for i := range arcs {
			if arcs[i].room > 0 {
				low = min(low, arcs[i].cost+c.price[arcs[i].to])
			}
		}
		if low == c.price[u] {
			continue
		}
		c.price[u] = low
		c.makeBids()
		for _, b := range c.bids.list(u) {
			c.outbid(b, u)
		}
		for i := range arcs {
			if v := arcs[i].to; !queued[v] && c.arcs.data[arcs[i].mate].room > 0 {
				waiting, queued[v] = append(waiting, v), true
			}
		}
	}
}
