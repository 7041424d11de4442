package mcmf

import (
	"math"
	"slices"
)

// This file is the primal network simplex algorithm: Ahuja, Magnanti, Orlin,
// Network Flows, chapter 11, with the data structures that Király and Kovács
// found best (Efficient implementations of minimum-cost flow algorithms, 2012).
//
// A basis is a spanning tree. On arcs outside of it flow is at a bound, and the
// tree's flow and prices follow: each of its arcs has the reduced cost zero. A
// pivot takes in an arc on which flow is a gain, sends along the cycle that it
// closes as much as fits, and drops an arc that became full. It ends when no arc
// is a gain. A root that artificial arcs join with all nodes makes the first
// tree; the way through them costs more than any other, so that flow stays there
// only where a graph is infeasible.
//
// The invariant: trees are strongly feasible, from each node some more units
// could go up to the root. The first tree is, and so is the next if of all arcs
// that become full the last one of the cycle leaves, seen from its top. Then no
// sequence of trees repeats itself, though nine pivots of ten move no flow.
//
// What differs from the literature:
//
//   - An arc outside the tree that is at its upper bound is kept the other way
//     round, its cost negative. Then an arc is a gain if and only if its reduced
//     cost is negative, whatever its state, and the search reads nothing but the
//     arcs, in order, and prices.
//   - The search for an arc goes by blocks, as usual, but also looks again at
//     the last few that were the best so far when they were seen. They cost next
//     to nothing to keep, and save up to a seventh of the pivots.
//   - A node has what more could go up to its parent and come down, so that the
//     way round a cycle reads no arc. Capacities are needed only to add a node.
//   - Prices change in the subtree that moves or in all the rest, whichever is
//     smaller. A loop follows the preorder from both ends at once: it waits for
//     memory, and so waits half as often.
//   - Of a node that thousands of arcs leave, only some dozens of the cheapest are
//     searched. When these are no gain any more, all are looked at, and those that
//     are take part: prices prove that none is forgotten.
//   - Where all numbers are small, all are int32: a sixth less time where arcs do
//     not fit the cache, else no difference that could be measured.
//
// A pivot costs about as many looks as the square root of the arcs, plus the
// length of the cycle and the nodes with a new price; how many pivots there are
// is known from experience only, about one to four for each node.
//
// Tried and dropped, in CPU milliseconds (the least of some runs on a machine in
// use: trust no tenth) on NETGEN-8 with 16,384 nodes, on a scheduling graph with
// 15,750 tasks and 1,250 machines, and on ecsched 300x5000, where all of this
// file takes 84, 211, and 51, and LEMON's network simplex 132, 253, and 47, which
// does not count the time to take over the graph:
//
//	without candidates             107  221   59
//	int64 for all numbers           88  190   61
//	prices from one end only       110  267   50
//	prices of the subtree only      94  237   55
//	arcs as they come, not mixed    84  434  740
//	blocks of a third the size     160  204   46
//	blocks of thrice the size       70  338   62
//	the first arc that is a gain  2390  640   64
//	first tree of shortest paths   107  239   63
//
// The blocks' rows were measured on another draw of NETGEN-8, where this file
// takes 72. The tree of shortest paths to the nodes with a demand saves a tenth to
// a third of the pivots, but its cycles are longer from the start.
//
// Capacities are cut as in residual.go, see there why that is right.

// number is what costs, prices and flow are counted in. Prices may wrap around:
// a difference of two is right, as long as it fits.
type number interface{ int32 | int64 }

type simplex[N number] struct {
	// arcs between the nodes, the artificial ones left out. The flow on one
	// outside of the tree is zero as seen from its direction here, and its room
	// is all there is.
	arcs []pivotArc[N]
	room []N
	name []Arc // as seen from the other direction: ^name

	// Of each node, and of the root, which is the last:
	price        []N
	tree         []treeNode[N]
	pred         []int32 // the arc to the parent, or supplied, or demanded
	thread, back []int32 // the next and the previous node in preorder, in a ring
	last         []int32 // the last node of the subtree

	// active is how many arcs, from the first, are searched; the rest wait.
	active      int
	block, next int // how many arcs to look at, and from where
	// candidates are arcs that were the best so far when they were looked at,
	// the last of them at the place found, counted round.
	candidates [candidateCount]int32
	found      int
	ticks      int64 // not yet spent
}

type pivotArc[N number] struct {
	from, to int32
	cost     N
}

// treeNode has what the way round a cycle needs, in as little memory as can be.
type treeNode[N number] struct {
	parent, size int32 // nodes in the subtree
	up, down     N     // room on the arc to the parent, and back
}

const (
	// supplied is the artificial arc to the root, of cost zero, and demanded the
	// one from the root.
	supplied = -1
	demanded = -2

	candidateCount = 8 // a power of two
)

// outline is what has to be known of a graph before a simplex is made.
type outline struct {
	volume int64
	flow   []int64 // by Arc: lower bounds, and loops that pay
	supply []int64 // by Node, beyond that flow
	arcs   int     // that the simplex will have
	most   int64   // what a path may cost at most
	plain  bool    // each arc is one of the simplex
}

// small numbers are those with which an int32 will do.
const small = 1<<29 - 1

func networkSimplex(g *Graph, volume int64, m *meter) solution {
	o := survey(g, volume)
	// A reduced cost is at most three times the cost of a path, the room of an
	// artificial arc twice the volume and more.
	if max(o.most, volume) < small {
		return solveSimplex(g, &o, int32(1<<30), m)
	}
	return solveSimplex(g, &o, int64(1<<62), m)
}

func survey(g *Graph, volume int64) outline {
	o := outline{volume: volume, plain: true, flow: make([]int64, len(g.arcs)), supply: make([]int64, len(g.nodes))}
	for v := range g.nodes {
		o.supply[v] = g.nodes[v].supply
	}
	o.most = g.totals.costliest * int64(len(g.nodes)-len(g.freeNodes))
	if o.most >= small {
		o.most = g.dearestPath()
	}
	for a := range g.arcs {
		row := &g.arcs[a]
		if row.From == None || row.From == row.To || row.Capacity == row.Lower || g.curves.any() {
			o.plain = false
		}
		if row.From == None {
			continue
		}
		if row.Lower != 0 {
			o.flow[a] = row.Lower
			o.supply[row.From] -= row.Lower
			o.supply[row.To] += row.Lower
		}
		loop := row.From == row.To
		switch steps := g.curves.of(Arc(a)); {
		case steps != nil:
			for stepCost, room := range pieces(row.Lower, steps, volume) {
				o.arcs++
				if loop && stepCost < 0 {
					o.flow[a] += room
				}
			}
		case loop && row.Cost < 0:
			o.flow[a] = row.Capacity
		default:
			o.arcs++
		}
	}
	if o.arcs > math.MaxInt32 {
		panic("mcmf: more steps of curves than an int32 can number")
	}
	return o
}

// dearestPath is what a path costs at most: it enters or leaves a node once, over
// an arc that costs no more than the node's dearest.
func (g *Graph) dearestPath() (most int64) {
	dearest := make([]int64, len(g.nodes))
	for a := range g.arcs {
		row := &g.arcs[a]
		if row.From == None {
			continue
		}
		cost := magnitude(row.Cost)
		if steps := g.curves.of(Arc(a)); steps != nil {
			cost = max(cost, magnitude(steps[len(steps)-1].Cost))
		}
		dearest[row.From] = max(dearest[row.From], cost)
		dearest[row.To] = max(dearest[row.To], cost)
	}
	for _, cost := range dearest {
		most += cost
	}
	return most
}

// solveSimplex solves with numbers of one size, of which half of all is huge.
func solveSimplex[N number](g *Graph, o *outline, huge N, m *meter) solution {
	s := newSimplex[N](g, o)
	s.plant(o, huge)
	status := s.run(m)
	result := solution{status: status, arc: None, flow: o.flow}
	stuck := s.addFlow(&result)
	switch {
	case status != Optimal:
	case stuck == None:
		result.price = s.prices(g)
	default:
		result.status, result.cut = Infeasible, reachable(g, result.flow, stuck)
	}
	return result
}

// newSimplex takes the arcs over, mixed: a block should have a few arcs each of
// nodes all over the graph, or all its gains would be much the same.
func newSimplex[N number](g *Graph, o *outline) *simplex[N] {
	n := len(g.nodes) + 1
	s := &simplex[N]{
		arcs: make([]pivotArc[N], 0, o.arcs), room: make([]N, 0, o.arcs), name: make([]Arc, 0, o.arcs),
		price: make([]N, n), tree: make([]treeNode[N], n), pred: make([]int32, n),
		thread: make([]int32, n), back: make([]int32, n), last: make([]int32, n),
	}
	stride := 1 + int(4*math.Sqrt(float64(o.arcs)))
	if o.plain {
		s.addPlain(g, o.volume, stride)
	}
	for i := 0; i < stride && !o.plain; i++ {
		for a := i; a < len(g.arcs); a += stride {
			row := &g.arcs[a]
			if row.From == row.To {
				continue
			}
			if steps := g.curves.of(Arc(a)); steps != nil {
				for cost, room := range pieces(row.Lower, steps, o.volume) {
					s.add(Arc(a), row, cost, room)
				}
			} else if room := roomOf(row.Lower, row.Capacity, o.volume); room > 0 {
				s.add(Arc(a), row, row.Cost, room)
			}
		}
	}
	s.active = len(s.arcs)
	s.putOff(g)
	s.block = max(16, int(0.75*math.Sqrt(float64(s.active))))
	return s
}

const (
	// manyArcs is the most arcs of a node that are all active at first.
	manyArcs = 512
	// sampleSize is how many of its arcs tell what cheap is, and cheapOfSample
	// which of these in order is the bound.
	sampleSize, cheapOfSample = 128, 4
)

// putOff leaves only the cheapest arcs active, some dozens, of those that leave a
// node of which very many do.
func (s *simplex[N]) putOff(g *Graph) {
	samples, open := make([]sample[N], 0), 0
	sampleOf := make([]int32, len(g.nodes))
	for v := range g.nodes {
		if sampleOf[v] = None; g.nodes[v].degree[leaving] > manyArcs {
			sampleOf[v] = int32(len(samples))
			samples = append(samples, sample[N]{})
			open++
		}
	}
	for i := 0; i < len(s.arcs) && open > 0; i++ {
		if b := sampleOf[s.arcs[i].from]; b != None && samples[b].size < sampleSize {
			if samples[b].add(s.arcs[i].cost); samples[b].size == sampleSize {
				open--
			}
		}
	}
	if len(samples) == 0 {
		return
	}
	for e := 0; e < s.active; {
		a := &s.arcs[e]
		if b := sampleOf[a.from]; b == None || a.cost <= samples[b].least[min(cheapOfSample, samples[b].size)-1] {
			e++
			continue
		}
		s.active--
		s.swap(e, s.active)
	}
}

// sample has the least of some costs, in order.
type sample[N number] struct {
	size  int
	least [cheapOfSample]N
}

func (s *sample[N]) add(cost N) {
	known := s.least[:min(s.size, cheapOfSample)]
	s.size++
	i := len(known)
	if i == cheapOfSample {
		if i--; cost >= known[i] {
			return
		}
	}
	for ; i > 0 && s.least[i-1] > cost; i-- {
		s.least[i] = s.least[i-1]
	}
	s.least[i] = cost
}

// recall makes those waiting arcs active on which flow is a gain, and reports
// whether there are any.
func (s *simplex[N]) recall() bool {
	before := s.active
	for e := s.active; e < len(s.arcs); e++ {
		if a := &s.arcs[e]; a.cost-s.price[a.from]+s.price[a.to] < 0 {
			s.swap(e, s.active)
			s.active++
		}
	}
	s.ticks += int64(len(s.arcs) - before)
	return s.active > before
}

// swap exchanges two arcs that are not in the tree.
func (s *simplex[N]) swap(e, f int) {
	s.arcs[e], s.arcs[f] = s.arcs[f], s.arcs[e]
	s.room[e], s.room[f] = s.room[f], s.room[e]
	s.name[e], s.name[f] = s.name[f], s.name[e]
}

// addPlain adds all arcs in the same order, but reads them as they come, which is
// what takes the time.
func (s *simplex[N]) addPlain(g *Graph, volume int64, stride int) {
	count := len(g.arcs)
	s.arcs, s.room, s.name = s.arcs[:count], s.room[:count], s.name[:count]
	full, more := count/stride, count%stride
	column, line := 0, 0
	for a := range g.arcs {
		row := &g.arcs[a]
		e := column*full + min(column, more) + line
		s.arcs[e] = pivotArc[N]{from: int32(row.From), to: int32(row.To), cost: N(row.Cost)}
		s.room[e] = N(roomOf(row.Lower, row.Capacity, volume))
		s.name[e] = Arc(a)
		if column++; column == stride {
			column, line = 0, line+1
		}
	}
}

func (s *simplex[N]) add(a Arc, row *Ends, cost, room int64) {
	s.arcs = append(s.arcs, pivotArc[N]{from: int32(row.From), to: int32(row.To), cost: N(cost)})
	s.room = append(s.room, N(room))
	s.name = append(s.name, a)
}

// plant makes the first tree, of artificial arcs. Those from the root cost more
// than any path, so that no unit takes one that has another way.
func (s *simplex[N]) plant(o *outline, huge N) {
	root := int32(len(o.supply))
	for v, supply := range o.supply {
		t, units := &s.tree[v], N(supply)
		if supply >= 0 {
			*t, s.pred[v] = treeNode[N]{parent: root, size: 1, up: huge, down: units}, supplied
		} else {
			*t, s.pred[v] = treeNode[N]{parent: root, size: 1, up: -units, down: huge}, demanded
			s.price[v] = -N(o.most) - 1
		}
		s.last[v] = int32(v)
		s.thread[v], s.back[v+1] = int32(v)+1, int32(v)
	}
	s.tree[root] = treeNode[N]{parent: None, size: root + 1}
	s.pred[root] = supplied
	s.thread[root], s.back[0] = 0, root
	s.last[root] = s.back[root]
}

func (s *simplex[N]) run(m *meter) Status {
	for {
		e := s.entering()
		ticks := s.ticks
		s.ticks = 0
		if !m.spend(ticks) {
			return m.ended
		}
		switch {
		case e != None:
			s.pivot(e)
		case !s.recall():
			return Optimal
		}
	}
}

// entering is the arc with the least reduced cost among the candidates and the
// next block of arcs, or the first block that has any below zero.
func (s *simplex[N]) entering() int32 {
	if s.active == 0 {
		return None
	}
	price := s.price
	best, least := None, N(0)
	for _, e := range s.candidates {
		a := &s.arcs[e]
		if c := a.cost - price[a.from] + price[a.to]; c < least {
			least, best = c, int(e)
		}
	}
	begin, found, left := s.next, s.found, s.active
	for {
		end := min(begin+min(left, s.block), s.active)
		part := s.arcs[begin:end]
		for i := range part {
			a := &part[i]
			if c := a.cost - price[a.from] + price[a.to]; c < least {
				least, best = c, begin+i
				found++
				s.candidates[found%candidateCount] = int32(best)
			}
		}
		left -= end - begin
		if begin = end; begin == s.active {
			begin = 0
		}
		if best != None || left == 0 {
			break
		}
	}
	s.next, s.found = begin, found
	s.ticks += int64(s.active - left + candidateCount)
	return int32(best)
}

// pivot takes an arc into the tree, from u to v. The cycle leads from its top,
// where the ways up from u and v meet, down to u, to v, and up again. Of the arcs
// that become full the last has to leave, so among equals one on v's side comes
// before the arc itself, and that before one on u's side; on u's side the lowest
// is the last, on v's the highest.
func (s *simplex[N]) pivot(e int32) {
	u, v, room, tree := s.arcs[e].from, s.arcs[e].to, s.room[e], s.tree
	reduced := s.arcs[e].cost - s.price[u] + s.price[v]
	leaveU, leaveV := int32(None), int32(None)
	roomU, roomV := room, room
	a, b := u, v
	for a != b {
		// Of two nodes the one with the smaller subtree is not above the other.
		if x, y := &tree[a], &tree[b]; x.size < y.size {
			if x.down < roomU {
				roomU, leaveU = x.down, a
			}
			a = x.parent
		} else {
			if y.up <= roomV {
				roomV, leaveV = y.up, b
			}
			b = y.parent
		}
	}
	top, units := a, min(roomU, roomV)
	if units > 0 {
		for a := u; a != top; a = tree[a].parent {
			tree[a].down -= units
			tree[a].up += units
		}
		for b := v; b != top; b = tree[b].parent {
			tree[b].up -= units
			tree[b].down += units
		}
	}
	switch {
	case leaveV != None && roomV <= roomU:
		s.leave(leaveV)
		s.move(&move[N]{node: v, under: u, root: leaveV, top: top, pred: e, up: units, down: room - units, shift: -reduced})
	case leaveU != None:
		s.leave(leaveU)
		s.move(&move[N]{node: u, under: v, root: leaveU, top: top, pred: e, up: room - units, down: units, shift: reduced})
	default:
		s.turn(e)
	}
}

// turn changes the direction from which an arc is seen.
func (s *simplex[N]) turn(e int32) {
	a := &s.arcs[e]
	a.from, a.to, a.cost = a.to, a.from, -a.cost
	s.name[e] = ^s.name[e]
}

// leave has the arc from a node to its parent seen from where it has room.
func (s *simplex[N]) leave(v int32) {
	if e := s.pred[v]; e >= 0 && (s.arcs[e].from == v) == (s.tree[v].up == 0) {
		s.turn(e)
	}
}

// move is of a subtree to another place: the one below root, which leaves its
// parent, and gets another root, node, whose parent will be under. Nodes that are
// above both places begin at top.
type move[N number] struct {
	node, under, root, top, pred int32
	up, down                     N // room to the new parent and back
	shift                        N // of the prices in the subtree
}

func (s *simplex[N]) move(m *move[N]) {
	tree, thread, back, last := s.tree, s.thread, s.back, s.last
	size, end := tree[m.root].size, last[m.root]
	before, after := back[m.root], thread[end]
	thread[before], back[after] = after, before
	parent := tree[m.root].parent
	for a := parent; a != None && last[a] == end; a = tree[a].parent {
		last[a] = before
	}
	for a := parent; a != m.top; a = tree[a].parent {
		tree[a].size -= size
	}

	end = s.turnStem(m)
	for a := m.root; a != m.under; a = tree[a].parent {
		last[a] = end
	}

	after = thread[m.under]
	thread[m.under], back[m.node] = m.node, m.under
	thread[end], back[after] = after, end
	for a := m.under; a != None && last[a] == m.under; a = tree[a].parent {
		last[a] = end
	}
	for a := m.under; a != m.top; a = tree[a].parent {
		tree[a].size += size
	}

	if rest := int32(len(tree)) - size; size <= rest {
		s.shift(m.node, end, size, m.shift)
	} else {
		s.shift(after, m.under, rest, -m.shift)
	}
}

// turnStem makes the parents of a subtree's new root, up to the old root, its
// descendants. In preorder, each of them comes after the subtree it was above,
// with what it had beside that: first what was before, then what was after. It
// returns the node that is now the last.
func (s *simplex[N]) turnStem(m *move[N]) (end int32) {
	tree, thread, back, last, pred := s.tree, s.thread, s.back, s.last, s.pred
	// Of the subtree below v, as it was: the nodes around it and its last. What
	// comes after is not to be read from a list once it has changed.
	v := m.node
	before, final := back[v], last[v]
	after := thread[final]
	end = final
	size := tree[m.root].size
	link, arc := treeNode[N]{parent: m.under, up: m.up, down: m.down}, m.pred
	for {
		old := tree[v]
		// Here link.size is that of the subtree below the new parent of v, as it
		// was, which is what v does not get.
		link.size = size - link.size
		tree[v] = link
		arc, pred[v] = pred[v], arc
		if v == m.root {
			return end
		}
		link = treeNode[N]{parent: v, size: old.size, up: old.down, down: old.up}
		p := old.parent
		beforeP, finalP, afterP := back[p], last[p], after
		if finalP != final {
			afterP = thread[finalP]
		}
		thread[end], back[p] = p, end
		end = before
		if finalP != final {
			thread[end], back[after] = after, end
			end = finalP
		}
		v, before, final, after = p, beforeP, finalP, afterP
	}
}

// shift adds to the prices of so many nodes, from first to last.
func (s *simplex[N]) shift(first, last, count int32, by N) {
	price, thread, back := s.price, s.thread, s.back
	s.ticks += int64(count)
	for range count / 2 {
		price[first] += by
		price[last] += by
		first, last = thread[first], back[last]
	}
	if count%2 != 0 {
		price[first] += by
	}
}

// addFlow adds the flow to a solution, and finds a node whose supply has no way,
// or None.
func (s *simplex[N]) addFlow(result *solution) (stuck Node) {
	for e, name := range s.name {
		if name < 0 {
			result.flow[^name] += int64(s.room[e])
		}
	}
	stuck = None
	for v := range s.tree[:len(s.tree)-1] {
		t := &s.tree[v]
		switch e := s.pred[v]; {
		case e == demanded:
		case e == supplied && t.down == 0:
		case e == supplied:
			stuck = Node(v)
			result.unrouted += int64(t.down)
		default:
			// What could be taken back is the flow as seen from one direction.
			flow := t.up
			if s.arcs[e].from == int32(v) {
				flow = t.down
			}
			if name := s.name[e]; name >= 0 {
				result.flow[name] += int64(flow)
			} else {
				result.flow[^name] -= int64(flow)
			}
		}
	}
	return stuck
}

// prices are those of an optimal flow, seen from the root. All nodes are below an
// arc to the root by then, as one from the root leaves with its last unit, so no
// price is more than what a path costs.
func (s *simplex[N]) prices(g *Graph) []int64 {
	root := len(g.nodes)
	prices := make([]int64, root)
	for v := range prices {
		if g.nodes[v].alive {
			prices[v] = int64(s.price[v] - s.price[root])
		}
	}
	return prices
}

// reachable are the nodes to which one could send more, by the flow there is.
func reachable(g *Graph, flow []int64, from Node) []Node {
	seen := make([]bool, len(g.nodes))
	seen[from] = true
	nodes := []Node{from}
	for i := 0; i < len(nodes); i++ {
		for a := range g.Leaving(nodes[i]) {
			if row := &g.arcs[a]; flow[a] < row.Capacity && !seen[row.To] {
				seen[row.To] = true
				nodes = append(nodes, row.To)
			}
		}
		for a := range g.Entering(nodes[i]) {
			if row := &g.arcs[a]; flow[a] > row.Lower && !seen[row.From] {
				seen[row.From] = true
				nodes = append(nodes, row.From)
			}
		}
	}
	slices.Sort(nodes)
	return nodes
}
