package mcmf

import (
	"math"
	"slices"
)

// This file turns a Graph into the residual network that the algorithms from
// scratch work on, and their outcome back into flow by Arc and prices by Node.
//
// The residual network of a flow has, for each arc, a link forward with the room
// that is left and a link back with the flow that can be taken away again
// (Ahuja, Magnanti, Orlin, Network Flows, section 2.4). Sending units over a
// link takes from its room and adds to its mate's. What a Graph may have beyond
// that is folded in here, once, so that no algorithm has to know of it:
//
//   - A lower bound is sent ahead: the link has the room above it, the ends of
//     the arc have that much less and more to give. The same for a negative one.
//   - A curve is parallel links, one a step. Costs rise along it, so a cheapest
//     flow fills them in order without being told.
//   - A self-loop moves nothing; it is filled where its cost is negative, and has
//     no link. Nor has an arc without room.
//   - A capacity above the volume (see examine) is cut to one more than it. One
//     more, so that some cheapest flow leaves such a link room: then no prices
//     that are optimal for the cut network make it a gain, and they are optimal
//     for the whole. And so that a set of nodes that such an arc leaves is never
//     taken for a cut.
//   - Removed ids are left out, nodes are numbered anew.
//
// The links of a node stand side by side, ordered by arc: algorithms go through
// them all the time, and jump to a mate only when they send. Prices have the
// sign of Solver.Price: the reduced cost of a link from u to v is cost -
// price[u] + price[v].

// link is an arc of the residual network; its mate is the way back.
type link struct {
	head, mate int32
	cost, room int64
}

type residual struct {
	first  []int32 // links first[v] to first[v+1]-1 leave node v
	links  []link
	excess []int64 // what a node has still to give; negative: to get

	names   []Node  // of the nodes
	forward []int32 // links that are arcs, in the order of origin
	origin  []Arc
	base    []int64 // flow by Arc that no link shows: lower bounds, self-loops
}

// newResidual is the residual network of the flow at all lower bounds.
func newResidual(g *Graph, volume int64) *residual {
	r := &residual{base: make([]int64, g.ArcBound())}
	index := make([]int32, g.NodeBound())
	for v := range g.nodes {
		index[v] = int32(len(r.names))
		if g.nodes[v].alive {
			r.names = append(r.names, Node(v))
			r.excess = append(r.excess, g.nodes[v].supply)
		}
	}
	n := len(r.names)
	// Links are counted at their tail plus one, then summed, so that filling
	// moves each sum from a node's first link to the next node's.
	r.first = make([]int32, n+2)
	pairs := 0
	for a := range g.arcs {
		row := &g.arcs[a]
		if row.From == None {
			continue
		}
		u, v := index[row.From], index[row.To]
		if k := r.begin(g, Arc(a), volume); k > 0 && u != v {
			pairs += int(k)
			r.first[u+2] += k
			r.first[v+2] += k
		}
		r.excess[u] -= r.base[a]
		r.excess[v] += r.base[a]
	}
	if pairs > math.MaxInt32/2 {
		panic("mcmf: more residual arcs than an int32 can number")
	}
	for v := range n {
		r.first[v+2] += r.first[v+1]
	}
	r.links = make([]link, 2*pairs)
	r.forward = make([]int32, 0, pairs)
	r.origin = make([]Arc, 0, pairs)
	for a := range g.arcs {
		row := &g.arcs[a]
		if row.From == None || row.From == row.To {
			continue
		}
		if steps := g.curves.of(Arc(a)); steps != nil {
			for cost, room := range pieces(row.Lower, steps, volume) {
				r.join(index[row.From], index[row.To], link{cost: cost, room: room})
				r.origin = append(r.origin, Arc(a))
			}
		} else if room := roomOf(row.Lower, row.Capacity, volume); room > 0 {
			r.join(index[row.From], index[row.To], link{cost: row.Cost, room: room})
			r.origin = append(r.origin, Arc(a))
		}
	}
	r.first = r.first[:n+1]
	return r
}

// begin sets the flow of an arc that no link shows, and counts its links.
func (r *residual) begin(g *Graph, a Arc, volume int64) (links int32) {
	row := &g.arcs[a]
	steps, loop := g.curves.of(a), row.From == row.To
	r.base[a] = row.Lower
	switch {
	case steps != nil:
		for cost, room := range pieces(row.Lower, steps, volume) {
			links++
			if loop && cost < 0 {
				r.base[a] += room
			}
		}
	case loop && row.Cost < 0:
		r.base[a] = row.Capacity
	case row.Capacity > row.Lower:
		links = 1
	}
	return links
}

// join adds a link forward and the way back.
func (r *residual) join(u, v int32, l link) {
	i, j := r.first[u+1], r.first[v+1]
	r.first[u+1]++
	r.first[v+1]++
	l.head, l.mate = v, j
	r.links[i] = l
	r.links[j] = link{head: u, mate: i, cost: -l.cost}
	r.forward = append(r.forward, i)
}

// pieces are the cost and room of each step of a curve, as far as it is above
// the lower bound. Below zero, units cost what those of the first step do.
func pieces(lower int64, steps []Step, volume int64) func(yield func(cost, room int64) bool) {
	return func(yield func(cost, room int64) bool) {
		end := int64(0)
		for i, step := range steps {
			begin := max(lower, end)
			if i == 0 {
				begin = lower
			}
			end += step.Capacity
			// A self-loop of negative cost is filled; its capacity is within volume.
			if room := roomOf(begin, end, volume); end > begin && !yield(step.Cost, room) {
				return
			}
		}
	}
}

// roomOf is the room between two bounds, cut to one more than the volume.
func roomOf(lower, capacity, volume int64) int64 {
	if capacity <= lower {
		return 0
	}
	// The difference of two int64 in order always fits uint64.
	return int64(min(uint64(capacity)-uint64(lower), uint64(volume)+1))
}

// nodes is how many there are.
func (r *residual) nodes() int { return len(r.names) }

// send moves units over a link.
func (r *residual) send(u, i int32, units int64) {
	l := &r.links[i]
	l.room -= units
	r.links[l.mate].room += units
	r.excess[u] -= units
	r.excess[l.head] += units
}

// summable reports whether no sum of rooms can overflow, as excess would where
// links are filled because of their prices.
func (r *residual) summable() bool {
	total := int64(0)
	for i := range r.links {
		if total += r.links[i].room; total > 1<<62 {
			return false
		}
	}
	return true
}

// unrouted is how much supply has no way yet.
func (r *residual) unrouted() int64 {
	total := int64(0)
	for _, e := range r.excess {
		total += max(e, 0)
	}
	return total
}

// stuck are the nodes that one with excess can still reach, of which none has a
// deficit: no link that leaves them has room, none that enters has flow, and they
// have supply left. They are a cut that proves a graph infeasible. It is nil
// where a deficit can be reached.
func (r *residual) stuck(from int32) []Node {
	reached := r.reached([]int32{from})
	for _, v := range reached {
		if r.excess[v] < 0 {
			return nil
		}
	}
	return r.cut(reached)
}

// overfull are all nodes that can be reached from one with excess, if together
// they have more than their deficits take: they are such a cut, too. Else it is nil.
func (r *residual) overfull() []Node {
	var full []int32
	for v, units := range r.excess {
		if units > 0 {
			full = append(full, int32(v))
		}
	}
	reached, excess := r.reached(full), int64(0)
	for _, v := range reached {
		excess += r.excess[v]
	}
	if excess <= 0 {
		return nil
	}
	return r.cut(reached)
}

// reached are some nodes and all that links with room lead to from there.
func (r *residual) reached(from []int32) []int32 {
	seen := make([]bool, r.nodes())
	for _, v := range from {
		seen[v] = true
	}
	for k := 0; k < len(from); k++ {
		v := from[k]
		for _, l := range r.links[r.first[v]:r.first[v+1]] {
			if l.room > 0 && !seen[l.head] {
				seen[l.head] = true
				from = append(from, l.head)
			}
		}
	}
	return from
}

// cut names some nodes, in order.
func (r *residual) cut(nodes []int32) []Node {
	cut := make([]Node, 0, len(nodes))
	for _, v := range nodes {
		cut = append(cut, r.names[v])
	}
	slices.Sort(cut)
	return cut
}

// solution is the flow and the prices (nil: none) by the ids of the graph.
func (r *residual) solution(g *Graph, status Status, price []int64) solution {
	s := solution{status: status, arc: None, flow: r.base, unrouted: r.unrouted()}
	for k, i := range r.forward {
		s.flow[r.origin[k]] += r.links[r.links[i].mate].room
	}
	if price != nil {
		s.price = make([]int64, g.NodeBound())
		for v, name := range r.names {
			s.price[name] = price[v]
		}
	}
	return s
}

// infeasible is the solution that a node with excess proves that cannot reach a
// deficit.
func (r *residual) infeasible(from int32) solution {
	return solution{status: Infeasible, arc: None, cut: r.stuck(from), unrouted: r.unrouted()}
}

// load puts the flow of an earlier solution on the links, as far as their room
// goes, so that excess shows what is now too much or too little. Links of a
// curve are filled in order.
func (r *residual) load(flow []int64) {
	left, last := int64(0), Arc(None)
	for k, i := range r.forward {
		a := r.origin[k]
		if int(a) >= len(flow) {
			break
		}
		if a != last {
			last, left = a, max(flow[a], r.base[a])-r.base[a]
		}
		if units := min(left, r.links[i].room); units > 0 {
			r.send(r.links[r.links[i].mate].head, i, units)
			left -= units
		}
	}
}

// settle takes back the flow of a node that nothing enters where its price does
// not fit any more, as that of a new task does not, and gives it the highest
// price that fits. What it then has to give is its supply; without, its old flow
// and price would make excess and deficits far away.
func (r *residual) settle(price []int64) {
	entered := make([]bool, r.nodes())
	for _, i := range r.forward {
		entered[r.links[i].head] = true
	}
	for v := range int32(len(price)) {
		best, fits := int64(math.MaxInt64), !entered[v]
		for i := r.first[v]; i < r.first[v+1] && !entered[v]; i++ {
			l := &r.links[i]
			c := l.cost + price[l.head]
			best = min(best, c)
			fits = fits && (c >= price[v] || l.room == 0) && (c <= price[v] || r.links[l.mate].room == 0)
		}
		if entered[v] || fits || best == math.MaxInt64 {
			continue
		}
		price[v] = best
		for i := r.first[v]; i < r.first[v+1]; i++ {
			l := &r.links[i]
			r.send(l.head, l.mate, r.links[l.mate].room)
		}
	}
}

// earlierPrices are the prices of an earlier solution by node, or nil where one
// is out of bounds. New nodes have zero.
func (r *residual) earlierPrices(price []int64, most int64) []int64 {
	earlier := make([]int64, r.nodes())
	for v, name := range r.names {
		if int(name) < len(price) {
			if earlier[v] = price[name]; magnitude(earlier[v]) > most {
				return nil
			}
		}
	}
	return earlier
}

// resume puts the flow and prices of an earlier solution on the network, as far
// as they still fit. Prices are nil where they are out of bounds.
func (r *residual) resume(start solution, most int64) (price []int64) {
	r.load(start.flow)
	if price = r.earlierPrices(start.price, most); price != nil {
		r.settle(price)
	}
	return price
}
