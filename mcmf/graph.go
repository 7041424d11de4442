package mcmf

import (
	"fmt"
	"math"
)

// Node names a node of a Graph. Nodes are small numbers, given out in ascending
// order, and stay valid until removed; then they are given out again, the last
// removed first.
type Node int32

// Arc names an arc of a Graph, as Node does a node.
type Arc int32

// mostArcs leaves room to number what an arc has on both its ends, and more, with
// an int32.
const mostArcs = 1 << 29

// None is no node and no arc.
const None = -1

// Step is a part of a Curve: Capacity units at Cost each.
type Step struct{ Capacity, Cost int64 }

// Ends is an arc with its numbers, as they were set. Cost is that of the first
// unit where the arc has a curve, and Capacity that of all steps.
type Ends struct {
	From, To              Node
	Lower, Capacity, Cost int64
}

// Graph is a network that may be changed at any time: nodes with a supply
// (negative: a demand), arcs with a lower bound, a capacity and a cost per
// unit. Parallel arcs, self-loops and negative costs are welcome. Numbers are
// taken as they come; those that cannot be met make Solve say Infeasible, those
// that are too big for exact arithmetic Overflow.
//
// A Graph is not safe for use by several goroutines.
type Graph struct {
	nodes  []nodeRow
	arcs   []Ends       // From is None where there is none
	beside []neighbours // of each arc
	curves curves

	freeNodes []Node
	freeArcs  []Arc

	// watcher is what is told of changes, or nil. These are those since it looked,
	// in order; a row may be there often.
	watcher      *contracted
	touchedNodes []Node
	touchedArcs  []touch

	totals totals
}

// touch is a change of an arc, and where it began then.
type touch struct {
	arc  Arc
	from Node
}

type nodeRow struct {
	supply int64
	first  [2]Arc // head of the list of arcs that leave, that enter
	degree [2]int32
	alive  bool
}

// neighbours are the arcs after and before one in the lists by tail and by head.
// Solvers that read all arcs in a row do without these.
type neighbours struct{ next, previous [2]Arc }

const (
	leaving  = 0
	entering = 1
)

// NewGraph is an empty network with room for so many nodes and arcs; it grows
// beyond when needed.
func NewGraph(nodes, arcs int) *Graph {
	return &Graph{nodes: make([]nodeRow, 0, nodes), arcs: make([]Ends, 0, arcs), beside: make([]neighbours, 0, arcs), curves: curves{steps: make([][]Step, 1)}}
}

// AddNode adds a node with a supply; negative is a demand.
func (g *Graph) AddNode(supply int64) Node {
	row := nodeRow{supply: supply, first: [2]Arc{None, None}, alive: true}
	var v Node
	if n := len(g.freeNodes); n > 0 {
		v, g.freeNodes = g.freeNodes[n-1], g.freeNodes[:n-1]
		g.nodes[v] = row
	} else {
		if len(g.nodes) == math.MaxInt32 {
			panic("mcmf: more nodes than an int32 can number")
		}
		v = Node(len(g.nodes))
		g.nodes = append(g.nodes, row)
	}
	g.touch(v)
	g.totals.addSupply(supply, 1)
	return v
}

// SetSupply changes what a node gives (positive) or takes (negative).
func (g *Graph) SetSupply(v Node, supply int64) {
	row := g.node(v)
	if row.supply == supply {
		return
	}
	g.totals.addSupply(row.supply, -1)
	g.totals.addSupply(supply, 1)
	row.supply = supply
	g.touch(v)
}

// RemoveNode removes a node, and every arc that leaves or enters it.
func (g *Graph) RemoveNode(v Node) {
	row := g.node(v)
	for _, side := range [2]int{leaving, entering} {
		for row.first[side] != None {
			g.RemoveArc(row.first[side])
		}
	}
	g.totals.addSupply(row.supply, -1)
	row.alive, row.supply = false, 0
	g.freeNodes = append(g.freeNodes, v)
	g.touch(v)
}

// AddArc adds an arc on which at least lower and at most capacity units flow at
// cost each.
func (g *Graph) AddArc(from, to Node, lower, capacity, cost int64) Arc {
	g.node(from)
	g.node(to)
	var a Arc
	if n := len(g.freeArcs); n > 0 {
		a, g.freeArcs = g.freeArcs[n-1], g.freeArcs[:n-1]
	} else {
		if len(g.arcs) == mostArcs {
			panic("mcmf: more than 2^29 arcs")
		}
		a = Arc(len(g.arcs))
		g.arcs, g.beside = append(g.arcs, Ends{}), append(g.beside, neighbours{})
	}
	g.arcs[a] = Ends{From: from, To: to, Lower: lower, Capacity: capacity, Cost: cost}
	g.link(a, leaving, from)
	g.link(a, entering, to)
	g.changed(a)
	return a
}

// AddCurve adds an arc whose units cost more and more: first those of the first
// step, then those of the next. It panics where costs fall, which no flow could
// follow, or where a step has a negative capacity.
func (g *Graph) AddCurve(from, to Node, lower int64, curve []Step) Arc {
	capacity, cost := checkCurve(curve)
	a := g.AddArc(from, to, lower, capacity, cost)
	row := g.arc(a)
	g.totals.addArc(row, nil, -1)
	g.curves.set(a, curve)
	g.totals.addArc(row, g.curves.of(a), 1)
	return a
}

// SetArc changes the numbers of an arc, and takes away its curve.
func (g *Graph) SetArc(a Arc, lower, capacity, cost int64) {
	row := g.arc(a)
	if !g.curves.has(a) && row.Lower == lower && row.Capacity == capacity && row.Cost == cost {
		return
	}
	g.totals.addArc(row, g.curves.of(a), -1)
	g.curves.set(a, nil)
	row.Lower, row.Capacity, row.Cost = lower, capacity, cost
	g.changed(a)
}

// SetCurve changes the curve of an arc; see AddCurve.
func (g *Graph) SetCurve(a Arc, lower int64, curve []Step) {
	row := g.arc(a)
	capacity, cost := checkCurve(curve)
	g.totals.addArc(row, g.curves.of(a), -1)
	row.Lower, row.Capacity, row.Cost = lower, capacity, cost
	g.curves.set(a, curve)
	g.changed(a)
}

// RemoveArc removes an arc.
func (g *Graph) RemoveArc(a Arc) {
	row := g.arc(a)
	g.unlink(a, leaving, row.From)
	g.unlink(a, entering, row.To)
	g.totals.addArc(row, g.curves.of(a), -1)
	g.curves.set(a, nil)
	g.touchArc(a, row.From)
	row.From, row.To = None, None
	g.freeArcs = append(g.freeArcs, a)
}

// NodeBound is above every node that was ever given out, ArcBound above every
// arc.
func (g *Graph) NodeBound() Node { return Node(len(g.nodes)) }

// ArcBound is above every arc that was ever given out.
func (g *Graph) ArcBound() Arc { return Arc(len(g.arcs)) }

// HasNode reports whether the node is there, and not removed.
func (g *Graph) HasNode(v Node) bool { return v >= 0 && int(v) < len(g.nodes) && g.nodes[v].alive }

// HasArc reports whether the arc is there, and not removed.
func (g *Graph) HasArc(a Arc) bool { return a >= 0 && int(a) < len(g.arcs) && g.arcs[a].From != None }

// Supply is what a node gives.
func (g *Graph) Supply(v Node) int64 { return g.node(v).supply }

// Arc is an arc with its numbers.
func (g *Graph) Arc(a Arc) Ends { return *g.arc(a) }

// Curve is the curve of an arc, or nil where all units cost the same. It is the
// graph's own: look, do not change.
func (g *Graph) Curve(a Arc) []Step {
	g.arc(a)
	return g.curves.of(a)
}

// Leaving yields the arcs that leave a node, the last added first.
func (g *Graph) Leaving(v Node) func(yield func(Arc) bool) { return g.list(v, leaving) }

// Entering yields the arcs that enter a node, the last added first.
func (g *Graph) Entering(v Node) func(yield func(Arc) bool) { return g.list(v, entering) }

func (g *Graph) list(v Node, side int) func(yield func(Arc) bool) {
	first := g.node(v).first[side]
	return func(yield func(Arc) bool) {
		for a := first; a != None; a = g.beside[a].next[side] {
			if !yield(a) {
				return
			}
		}
	}
}

func (g *Graph) node(v Node) *nodeRow {
	if !g.HasNode(v) {
		panic(fmt.Sprintf("mcmf: there is no node %d", v))
	}
	return &g.nodes[v]
}

func (g *Graph) arc(a Arc) *Ends {
	if !g.HasArc(a) {
		panic(fmt.Sprintf("mcmf: there is no arc %d", a))
	}
	return &g.arcs[a]
}

func (g *Graph) touch(v Node) {
	if g.watcher != nil {
		g.touchedNodes = append(g.touchedNodes, v)
	}
}

func (g *Graph) touchArc(a Arc, from Node) {
	if g.watcher != nil {
		g.touchedArcs = append(g.touchedArcs, touch{a, from})
	}
}

// watch has changes noted for somebody, or for nobody; those so far are forgotten.
func (g *Graph) watch(watcher *contracted) {
	g.watcher = watcher
	g.touchedNodes, g.touchedArcs = g.touchedNodes[:0], g.touchedArcs[:0]
}

// changed counts an arc with its new numbers and notes the change.
func (g *Graph) changed(a Arc) {
	row := &g.arcs[a]
	g.totals.addArc(row, g.curves.of(a), 1)
	g.touchArc(a, row.From)
}

func (g *Graph) link(a Arc, side int, v Node) {
	g.nodes[v].degree[side]++
	first := &g.nodes[v].first[side]
	g.beside[a].next[side], g.beside[a].previous[side] = *first, None
	if *first != None {
		g.beside[*first].previous[side] = a
	}
	*first = a
}

func (g *Graph) unlink(a Arc, side int, v Node) {
	g.nodes[v].degree[side]--
	next, previous := g.beside[a].next[side], g.beside[a].previous[side]
	if previous == None {
		g.nodes[v].first[side] = next
	} else {
		g.beside[previous].next[side] = next
	}
	if next != None {
		g.beside[next].previous[side] = previous
	}
}

// checkCurve is the capacity of a whole curve and the cost of its first unit.
func checkCurve(curve []Step) (capacity, cost int64) {
	for i, step := range curve {
		if step.Capacity < 0 {
			panic(fmt.Sprintf("mcmf: step %d of a curve has the capacity %d", i, step.Capacity))
		}
		if i > 0 && step.Cost < curve[i-1].Cost {
			panic(fmt.Sprintf("mcmf: the cost of a curve falls from %d to %d at step %d", curve[i-1].Cost, step.Cost, i))
		}
		if capacity += step.Capacity; capacity < 0 {
			panic("mcmf: the capacity of a curve does not fit int64")
		}
	}
	if len(curve) > 0 {
		cost = curve[0].Cost
	}
	return capacity, cost
}
