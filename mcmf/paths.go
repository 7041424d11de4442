package mcmf

import "iter"

// This file takes a flow apart into paths, which is how a scheduler reads off
// where its tasks go. It walks forward: from each source, in ascending order, at
// each node along the arc with the least id that has flow left, until a node has
// demand left. What is walked is taken from a copy of the flow, so no unit is
// counted twice, and what is left stays a flow for what is left of the supplies:
// a walk that follows it cannot get lost.
//
// Both published ways go backward from the machines and hand lists of them from
// node to node. One passes a node's list on once, and loses machines that reach
// it later, by a longer way; the other passes it on again, with the whole flow
// of each arc every time, and so places one task twice and another never. Where
// all paths have the same length both are right (TestPublished has the smallest
// case where they are not).
//
// Cost: one look at each node and arc, and the length of all paths, as each node
// knows the arc that it took last, and never looks back before it.

// Path is some units of a flow on their way from a node that gives them to one
// that takes them.
type Path struct {
	Source, Sink Node
	// Arcs in the order they are taken. One with a flow below zero is taken from
	// its To to its From. The slice is valid until the next path is asked for.
	Arcs  []Arc
	Units int64
}

// Paths takes the last flow apart; see Decompose.
func (s *Solver) Paths() iter.Seq[Path] { return Decompose(s.graph, s.Flow) }

// Decompose takes a flow apart into paths: sources in ascending order, and at
// each node first the arc with the least id. Each path carries as many units as
// all of it can; together they carry what the sources give. They are no more
// than sources, sinks and arcs with flow, and no path visits a node twice.
//
// A flow may go in circles, where that costs nothing or is a gain. Circles carry
// nothing from a source to a sink, and are left out. So are the units that do
// not arrive, if the flow is not feasible, as after Cancelled.
//
// Flow and graph are copied when the loop begins: its body may change the graph.
func Decompose(g *Graph, flow func(Arc) int64) iter.Seq[Path] {
	return func(yield func(Path) bool) {
		w := newWalk(g, flow)
		for v := range w.left {
			source := int32(v)
			for w.left[source] > 0 && w.advance(source) {
				if !yield(w.deliver(source)) {
					return
				}
			}
		}
	}
}

// walk is what a flow has left, and the path that is being walked.
type walk struct {
	left  []int64 // by node: of its supply; below zero, of its demand
	first []int32 // hops first[v] to first[v+1]-1 leave node v, by ascending arc
	next  []int32 // by node: the first hop that may have units
	hops  []hop

	path []int32 // hops
	arcs []Arc   // of the path, for the reader
	// at is where the path leaves a node, plus one, or 0 where it does not.
	at []int32
}

// hop is flow on an arc, in the direction in which it flows.
type hop struct {
	arc      Arc
	from, to int32
	units    int64
}

func newWalk(g *Graph, flow func(Arc) int64) *walk {
	n := len(g.nodes)
	w := &walk{left: make([]int64, n), first: make([]int32, n+1), at: make([]int32, n)}
	for v := range g.nodes {
		w.left[v] = g.nodes[v].supply
	}
	var found []hop
	for a := range g.ArcBound() {
		if !g.HasArc(a) {
			continue
		}
		row, units := &g.arcs[a], flow(a)
		if units == 0 || row.From == row.To {
			continue
		}
		p := hop{arc: a, from: int32(row.From), to: int32(row.To), units: magnitude(units)}
		if units < 0 {
			p.from, p.to = p.to, p.from
		}
		found = append(found, p)
		w.first[p.from+1]++
	}
	for v := range n {
		w.first[v+1] += w.first[v]
	}
	// Sorted by counting, which keeps the order of arcs at each node.
	w.next = append(w.next, w.first[:n]...)
	w.hops = make([]hop, len(found))
	for _, p := range found {
		w.hops[w.next[p.from]] = p
		w.next[p.from]++
	}
	copy(w.next, w.first)
	return w
}

// advance walks from a source to a node with demand left. It is false where
// nothing more that the source gives arrives anywhere.
func (w *walk) advance(source int32) bool {
	u := source
	for w.left[u] >= 0 {
		i := w.following(u)
		switch {
		case i >= 0:
			w.path = append(w.path, i)
			w.at[u] = int32(len(w.path))
			if u = w.hops[i].to; w.at[u] > 0 {
				w.cancel(u)
			}
		case u == source:
			return false
		default:
			// A dead end, which only a flow that is not feasible has. All units on
			// the arc that led here would end here.
			last := w.path[len(w.path)-1]
			w.hops[last].units = 0
			w.cut(len(w.path) - 1)
			u = w.hops[last].from
		}
	}
	return true
}

// following is the first hop of a node that has units left, or -1.
func (w *walk) following(u int32) int32 {
	for w.next[u] < w.first[u+1] {
		if w.hops[w.next[u]].units > 0 {
			return w.next[u]
		}
		w.next[u]++
	}
	return -1
}

// cancel takes the circle away with which the path came back to node u.
func (w *walk) cancel(u int32) {
	begin := int(w.at[u]) - 1
	w.take(begin, w.narrowest(begin))
	w.cut(begin)
}

// deliver ends the path: it takes as many units along as all of it can carry.
func (w *walk) deliver(source int32) Path {
	sink := w.hops[w.path[len(w.path)-1]].to
	units := min(w.narrowest(0), w.left[source], magnitude(w.left[sink]))
	w.take(0, units)
	w.left[source] -= units
	w.left[sink] += units
	w.arcs = w.arcs[:0]
	for _, i := range w.path {
		w.arcs = append(w.arcs, w.hops[i].arc)
	}
	w.cut(0)
	return Path{Source: Node(source), Sink: Node(sink), Arcs: w.arcs, Units: units}
}

// narrowest is the fewest units that any hop of the path has left, from one on.
func (w *walk) narrowest(begin int) int64 {
	units := w.hops[w.path[begin]].units
	for _, i := range w.path[begin+1:] {
		units = min(units, w.hops[i].units)
	}
	return units
}

// take takes units from all hops of the path, from one on.
func (w *walk) take(begin int, units int64) {
	for _, i := range w.path[begin:] {
		w.hops[i].units -= units
	}
}

// cut shortens the path.
func (w *walk) cut(length int) {
	for _, i := range w.path[length:] {
		w.at[w.hops[i].from] = 0
	}
	w.path = w.path[:length]
}
