package ecsched

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
)

// matcher solves with package mcmf. Of m requests, each needs arcs to its m
// cheapest nodes only: the others take m-1 nodes at most, so that one of the m
// is free, and going there costs no more. The network has m² arcs, however many
// nodes there are, and its least cost is that of the whole.
//
// Staying unscheduled costs, for each task of the request, more than all that
// prices could save. Where several flows cost the same, those who came first choose
// (ties.go).
//
// The graph is kept, for its memory, and solved from nothing: hardly an arc of it
// is there in the next solve. Of the algorithms for that, network simplex is the
// fastest here.
type matcher struct {
	algorithm mcmf.Algorithm
	stop      func() bool
	graph     *mcmf.Graph
	solver    *mcmf.Solver
	sink      mcmf.Node
	requests  []vertex
	slots     []vertex // one a node of the cluster, that takes one request
	arcs      []arc
	slot      []int32          // per node row, 1 + its index in slots in this solve
	slotNodes []cluster.NodeID // by slot
	ties      ties
	// Of this solve:
	least   int64 // price; what counts is how much more others are
	largest int64 // size that counts
}

// vertex is a node of the graph with its arc to the sink: of a request, that of
// staying unscheduled.
type vertex struct {
	node mcmf.Node
	out  mcmf.Arc
}

// arc is one from a request to a node.
type arc struct {
	id      mcmf.Arc
	request int
	node    cluster.NodeID
	cost    int64
}

func newMatcher(algorithm mcmf.Algorithm, stop func() bool) *matcher {
	if algorithm == mcmf.Automatic {
		algorithm = mcmf.NetworkSimplex
	}
	m := &matcher{algorithm: algorithm, stop: stop, graph: mcmf.NewGraph(0, 0)}
	m.solver = mcmf.NewSolver(m.graph)
	m.sink = m.graph.AddNode(0)
	return m
}

// solve says of each request where it goes.
func (m *matcher) solve(r *round) {
	m.build(r)
	result := m.solver.Solve(mcmf.Options{Algorithm: m.algorithm, Stop: m.stop})
	r.ticks += result.Ticks
	if result.Status == mcmf.Cancelled {
		return // everybody stays unscheduled
	}
	if result.Status != mcmf.Optimal {
		panic("ecsched: a network where everybody may stay unscheduled has no flow: " + result.Status.String())
	}
	m.ties.choose(m, r)
}

// build makes the graph that of the window.
func (m *matcher) build(r *round) {
	for _, a := range m.arcs {
		m.graph.RemoveArc(a.id)
	}
	m.arcs = m.arcs[:0]
	for _, n := range m.slotNodes {
		m.slot[n] = 0
	}
	m.slotNodes = m.slotNodes[:0]
	m.slot = append(m.slot, make([]int32, max(r.state.NodeRows()-len(m.slot), 0))...)

	fitting, dear := m.measure(r)
	for i := range max(len(m.requests), len(r.requests)) {
		if i == len(m.requests) {
			v := m.graph.AddNode(0)
			m.requests = append(m.requests, vertex{v, m.graph.AddArc(v, m.sink, 0, 1, 0)})
		}
		v := m.requests[i]
		if i >= len(r.requests) || !r.requests[i].fits {
			m.graph.SetSupply(v.node, 0)
			continue
		}
		size := min(int64(r.requests[i].last-r.requests[i].first), m.largest)
		m.graph.SetSupply(v.node, 1)
		m.graph.SetArc(v.out, 0, 1, dear*size-m.least)
		m.connect(r, i, fitting)
	}
	m.graph.SetSupply(m.sink, -fitting)
}

// measure returns how many requests take part, and what a task left out costs.
// Where numbers would become too large for the solver, larger gangs count no more
// than large ones.
func (m *matcher) measure(r *round) (fitting, dear int64) {
	most := int64(0)
	m.least, m.largest, dear = 0, 1, 1
	for i := range r.requests {
		if q := &r.requests[i]; q.fits {
			fitting++
			dearest := r.offers[q.offers].most
			dear += dearest - min(q.best, 0)
			m.least, most = min(m.least, q.best), max(most, dearest)
			m.largest = max(m.largest, int64(q.last-q.first))
		}
	}
	nodes := int64(len(r.prices.nodes))
	slots := max(int64(len(m.slots)), min(fitting*fitting, nodes))
	total := mostTotal / (2 + int64(max(len(m.requests), len(r.requests))) + slots)
	placed := min(fitting, nodes) // at most
	dear = min(dear, 1+placed*(most-m.least))
	m.largest = max(min(m.largest, total/dear-1), 1)
	return fitting, dear
}

// mostTotal is what the costliest arc may cost, times the number of vertices, so
// that package mcmf finds no overflow.
const mostTotal = 1 << 60

// connect gives a request arcs to so many nodes, the cheapest.
func (m *matcher) connect(r *round, request int, most int64) {
	q := &r.requests[request]
	o := &r.offers[q.offers]
	for at, count := 0, int64(0); count < most; count++ {
		found, ok := o.next(r, q, at)
		if !ok {
			return
		}
		best := &o.best[found]
		cost := best.price - m.least
		m.arcs = append(m.arcs, arc{
			m.graph.AddArc(m.requests[request].node, m.slotOf(best.node), 0, 1, cost), request, best.node, cost,
		})
		at = found + 1
	}
}

// slotOf is the graph's node for a node of the cluster.
func (m *matcher) slotOf(n cluster.NodeID) mcmf.Node {
	if m.slot[n] == 0 {
		if len(m.slotNodes) == len(m.slots) {
			v := m.graph.AddNode(0)
			m.slots = append(m.slots, vertex{v, m.graph.AddArc(v, m.sink, 0, 1, 0)})
		}
		m.slotNodes = append(m.slotNodes, n)
		m.slot[n] = int32(len(m.slotNodes))
	}
	return m.slots[m.slot[n]-1].node
}
