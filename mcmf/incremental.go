package mcmf

import "slices"

// This file solves again after changes, from the last flow and prices: sync.go
// takes the changes over, search.go finds a way for each unit that is loose.
//
// Invariant: after sync no residual arc has a negative reduced cost, and every
// leaf that has a seat has the best; searches keep it so. What is not yet right
// is only that leaves are loose and core nodes out of balance (a pseudoflow).
// Each search mends one of them, so that in the end all is right, and optimal.
//
// Cost: as many searches as units were set free, each in proportion to what it
// looks at. Firmament's "efficient task removal" (its section 5.3) is the half of
// it that detach does: a task takes its own unit with it, and leaves a hole.
//
// Order matters: arrivals first, as they fill the holes of departures near by;
// then holes, from afar. The other way round each hole would first be filled
// from a cheap place, and then be made again. (12,500 nodes, 80 % used, 1,000
// changes: 507,000 looks against 1,300,000.)
//
// Where a great deal changed at once, searches cost more than an auction. Now and
// then it is asked how far they are, and from that how much is left.
//
// A budget may end a solve after any search, and the next one goes on from there, so
// that as many solves as it takes come to an end. An auction undoes what searches have
// come to; so one that a budget cut is not begun again before there is twice as much.

const (
	// askEvery is how many looks an arc there are between two such questions.
	askEvery = 4
	// auctionLooks is how many an auction takes from the prices there are, and
	// auctionAnew from nothing, where many want the same. Of a rack that failed in
	// a cluster with 95 % of its slots used searches take 90 looks an arc, and of
	// 1,000 changes in one with 105 % they take 5.
	auctionLooks = 8
	auctionAnew  = 40
)

// settleAll routes all that is loose or out of balance. The cut is there where
// it is Infeasible. What an auction from nothing just left, another would leave.
func (c *contracted) settleAll(auctioned bool) (status Status, cut []Node) {
	looks := int64(len(c.slots.data) + len(c.arcs.data))
	begin := c.meter.ticks
	c.routed = 0
	for c.limit = begin + askEvery*looks; ; c.limit = c.meter.ticks + askEvery*looks {
		if status, cut = c.settle(); status != undecided {
			return status, cut
		}
		missing := c.missing()
		waiting := c.unrouted() - max(0, c.excess[c.root])
		left := float64(c.meter.ticks-begin) * float64(missing+waiting) / float64(c.routed+1)
		// An auction only raises prices. Where they have to fall it begins from nothing.
		falling := missing > waiting
		switch {
		case falling && (auctioned || !c.mayAuctionAnew()):
		case falling && left >= auctionAnew*float64(looks):
			meter := c.meter
			*c = *compile(c.graph, c.bound/4)
			c.meter = meter
			c.auction(stepsAnew)
			c.limit = unreachable
			return c.settle()
		case !falling && left >= auctionLooks*float64(looks) && c.mayAuction():
			c.auction(stepsOn)
			c.limit = unreachable
			return c.settle()
		}
	}
}

// undecided says that searches took too long.
const undecided Status = 255

func (c *contracted) settle() (status Status, cut []Node) {
	c.darken()
	if status, cut = c.routeLoose(); status != Optimal {
		return status, cut
	}
	slices.Sort(c.unbalanced)
	c.unbalanced = slices.Compact(c.unbalanced)
	if status, cut = c.routeExcesses(); status != Optimal {
		return status, cut
	}
	if status, cut = c.fillDeficits(); status == Optimal {
		c.unbalanced = c.unbalanced[:0]
	}
	return status, cut
}

// routeLoose finds a seat for every loose leaf, in the order of their rows.
func (c *contracted) routeLoose() (status Status, cut []Node) {
	slices.Sort(c.loose)
	c.loose = slices.Compact(c.loose)
	for i, l := range c.loose {
		if c.leafName[l] == None || c.leaves[l].seat >= 0 {
			continue
		}
		if status = c.going(); status == Optimal && !c.forward(l, -1) {
			status, cut = Infeasible, c.cutAround(l)
		}
		if status != Optimal {
			c.loose = append(c.loose[:0], c.loose[i:]...)
			return status, cut
		}
		c.routed++
	}
	c.loose = c.loose[:0]
	return Optimal, nil
}

// routeExcesses sends away what core nodes have too much.
func (c *contracted) routeExcesses() (status Status, cut []Node) {
	for _, u := range c.unbalanced {
		for u != c.root && c.excess[u] > 0 {
			if status = c.going(); status != Optimal {
				return status, nil
			}
			if !c.forward(-1, u) {
				return Infeasible, c.cutAround(-1)
			}
			c.routed++
		}
	}
	return Optimal, nil
}

// fillDeficits fetches what core nodes have too little.
func (c *contracted) fillDeficits() (status Status, cut []Node) {
	for _, u := range c.unbalanced {
		for u != c.root && c.excess[u] < 0 {
			if status = c.going(); status != Optimal {
				return status, nil
			}
			if !c.backward(u) {
				return Infeasible, c.cutAgainst()
			}
			c.routed++
		}
	}
	return Optimal, nil
}

// going is Optimal while there is effort left.
func (c *contracted) going() Status {
	if !c.meter.spend(0) {
		return c.meter.ended
	}
	if c.meter.ticks > c.limit {
		return undecided
	}
	return Optimal
}

// unrouted is how many units have no way. The root counts, as all do.
func (c *contracted) unrouted() (units int64) {
	for _, l := range c.loose {
		if c.leafName[l] != None && c.leaves[l].seat < 0 {
			units++
		}
	}
	for u := range c.excess {
		if c.excess[u] > 0 {
			units += c.excess[u]
		}
	}
	return units
}

// answer is the flow, and the prices unless they have grown too steep to go on
// with.
func (c *contracted) answer() solution {
	s := solution{flow: make([]int64, len(c.place))}
	for u := range int32(len(c.nodes)) {
		for _, arc := range c.arcs.list(u) {
			switch {
			case arc.owner < 0:
			case arc.curve != 0:
				s.flow[arc.owner] = c.curves[arc.curve-1].lower + c.curves[arc.curve-1].flow
			default:
				s.flow[arc.owner] = c.lower[arc.owner] + c.arcs.data[arc.mate].room
			}
		}
	}
	for l := range int32(len(c.leaves)) {
		if seat := c.leaves[l].seat; seat >= 0 {
			s.flow[c.slotArc[c.slotOf(l, seat)]] = 1
		}
	}
	if c.steepest > mostPrice {
		return s
	}
	s.price = make([]int64, len(c.role))
	for u, v := range c.name {
		if v != None {
			s.price[v] = c.price[u]
		}
	}
	return s
}

// missing is how many units core nodes have too little, the root aside.
func (c *contracted) missing() (units int64) {
	for u := range c.excess {
		if int32(u) != c.root && c.excess[u] < 0 {
			units -= c.excess[u]
		}
	}
	return units
}

// adopt takes the flow and prices of an earlier answer over, as far as they fit
// the graph as it is now.
func (c *contracted) adopt(from solution) {
	c.makeBids()
	for u, v := range c.name {
		if int(v) < len(from.price) {
			c.price[u] = from.price[v]
			c.steepest = max(c.steepest, magnitude(c.price[u]))
		}
	}
	for a := range c.graph.ArcBound() {
		if int(a) >= len(from.flow) || !c.graph.HasArc(a) || from.flow[a] == 0 {
			continue
		}
		row := &c.graph.arcs[a]
		switch place := c.place[a]; {
		case place >= 0:
			c.send(place, min(from.flow[a], row.Capacity)-row.Lower)
		case place != absent:
			c.adoptSeat(^c.role[row.From], ^place)
		}
	}
	c.loose = c.loose[:0]
	for l := range int32(len(c.leaves)) {
		if c.leaves[l].seat < 0 {
			c.loose = append(c.loose, l)
		}
	}
	c.mendAll()
}

// mendAll fills every residual arc with a negative reduced cost, makes leaves
// loose that could do better, and takes all of that for unbalanced.
func (c *contracted) mendAll() {
	for u := range int32(len(c.nodes)) {
		c.saturate(u)
		c.unbalanced = append(c.unbalanced, u)
	}
	for l := range int32(len(c.leaves)) {
		c.unseat(l, 0)
	}
	c.reseat()
	c.countCost()
}

// send pushes units along an arc of the core, over the steps of its curve.
func (c *contracted) send(place int32, units int64) {
	for units > 0 {
		arc := &c.arcs.data[place]
		part := min(units, arc.room)
		if part == 0 {
			return
		}
		from, to := c.arcs.data[arc.mate].to, arc.to
		c.push(place, part)
		c.excess[from] -= part
		c.excess[to] += part
		units -= part
	}
}

// adoptSeat gives a leaf without a seat one, which is entered among the seats of
// its node later.
func (c *contracted) adoptSeat(l, position int32) {
	if x := &c.leaves[l]; x.seat < 0 {
		s := c.slots.list(l)[position]
		x.seat, x.to, x.cost = position, s.to, s.cost
		c.excess[s.to]++
	}
}

// cutAround is the nodes that a forward search from a leaf, or from a core node,
// reached without an end: nothing has room to leave them.
func (c *contracted) cutAround(source int32) (cut []Node) {
	if source >= 0 {
		cut = append(cut, c.leafName[source])
	}
	for u := range int32(len(c.nodes)) {
		if c.nodes[u].visit>>1 == c.search.epoch {
			cut = c.appendWithSeats(cut, u)
		}
	}
	slices.Sort(cut)
	return cut
}

// cutAgainst is the nodes that a backward search did not reach: nothing has room
// to come from them to where something is missing.
func (c *contracted) cutAgainst() (cut []Node) {
	for u := range int32(len(c.nodes)) {
		if c.name[u] != None && c.nodes[u].visit>>1 != c.search.epoch {
			cut = c.appendWithSeats(cut, u)
		}
	}
	slices.Sort(cut)
	return cut
}

func (c *contracted) appendWithSeats(cut []Node, u int32) []Node {
	cut = append(cut, c.name[u])
	for _, s := range c.seats.list(u) {
		cut = append(cut, c.leafName[s.leaf])
	}
	return cut
}

// flowOn is what flows on an arc of the graph.
func (c *contracted) flowOn(a Arc) int64 {
	row := &c.graph.arcs[a]
	switch {
	case row.From == row.To:
		return c.graph.loopFlow(a)
	case row.From < 0 || int(row.From) >= len(c.role) || c.role[row.From] == absent:
		return 0
	}
	if from := c.role[row.From]; from < 0 {
		if seat := c.leaves[^from].seat; seat >= 0 && c.slotArc[c.slotOf(^from, seat)] == a {
			return 1
		}
		return 0
	}
	if place := c.place[a]; place >= 0 {
		arc := &c.arcs.data[place]
		if arc.curve != 0 {
			k := &c.curves[arc.curve-1]
			return k.lower + k.flow
		}
		return c.lower[a] + c.arcs.data[arc.mate].room
	}
	return 0
}

// priceAt is that of a node of the graph; that of a leaf follows from its slots.
func (c *contracted) priceAt(v Node) int64 {
	switch role := c.role[v]; {
	case role == absent:
		return 0
	case role >= 0:
		return c.price[role]
	default:
		first := c.least(^role)
		if first == unreachable {
			return 0 // no arc leaves it
		}
		return first
	}
}

// countCost works out the cost of all flow from nothing.
func (c *contracted) countCost() {
	c.cost = sum{}
	for l := range c.leaves {
		if x := &c.leaves[l]; x.seat >= 0 {
			c.cost.add(1, int64(x.cost))
		}
	}
	for u := range int32(len(c.nodes)) {
		for _, arc := range c.arcs.list(u) {
			switch {
			case arc.owner < 0:
			case arc.curve != 0:
				k := &c.curves[arc.curve-1]
				c.cost.addCurve(k.steps, k.lower+k.flow, 1)
			default:
				c.cost.add(c.lower[arc.owner]+c.arcs.data[arc.mate].room, arc.cost)
			}
		}
	}
	for _, cost := range c.loops {
		c.cost.addSum(cost, 1)
	}
}
