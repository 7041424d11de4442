package ecsched

import (
	"math"
)

// literal solves as the authors' published code does, for their exact numbers:
// which of several equally cheap flows comes out depends on the order of
// everything. It sends one unit after the other along a cheapest path, as long
// as there is one, so that as many requests as can be are placed, at the least
// cost for that many. Paths are found by Bellman and Ford's method with a queue
// (SPFA): a node goes to the end of the queue when the way to it has become
// cheaper, unless it is there already.
//
// The order: vertices are the source, the requests in the order of the queue,
// the nodes by row, the sink. A vertex looks at its arcs in the order in which
// they were made: source to requests, nodes to sink, then those from requests
// to nodes, request by request; backward arcs stand where their arc does.
//
// Different from there: costs are whole numbers, where theirs are floats that
// count as equal within 10⁻⁸.
//
// Cost: a path may look at all arcs several times. It is for small clusters.
type literal struct {
	stop  func() bool  // may be nil
	arcs  []literalArc // 2i and, backward, 2i+1
	first []int32      // per vertex, where its arcs begin in order
	order []int32
	free  []int32 // scratch of index

	dist   []int64
	by     []int32 // the arc by which the vertex is reached
	queued []bool
	queue  []int32

	price []int64 // scratch of connect, per node row
	open  []bool
}

type literalArc struct {
	from, to int32
	room     bool
	cost     int64
}

// unreached is the distance of a vertex to which no way is known.
const unreached = math.MaxInt64

// solve says of each request where it goes.
func (l *literal) solve(r *round) {
	requests, nodes := int32(len(r.requests)), int32(len(r.prices.nodes))
	source, sink := int32(0), requests+nodes+1
	l.arcs = l.arcs[:0]
	for i := range requests {
		l.add(source, 1+i, 0)
	}
	for i := range nodes {
		l.add(1+requests+i, sink, 0)
	}
	matches := len(l.arcs)
	for i := range requests {
		l.connect(r, i)
	}
	l.index(sink + 1)
	for l.search(source, sink, r) {
		if l.stop != nil && l.stop() {
			return // everybody stays unscheduled
		}
		for v := sink; v != source; v = l.arcs[l.by[v]].from {
			a := l.by[v]
			l.arcs[a].room, l.arcs[a^1].room = false, true
		}
	}
	for i := matches; i < len(l.arcs); i += 2 {
		if a := &l.arcs[i]; !a.room {
			r.requests[a.from-1].node = r.prices.nodes[a.to-requests-1]
		}
	}
}

// add makes an arc for one unit, and its backward arc.
func (l *literal) add(from, to int32, cost int64) {
	l.arcs = append(l.arcs, literalArc{from, to, true, cost}, literalArc{to, from, false, -cost})
}

// connect gives the request arcs to all nodes that it may take, by row.
func (l *literal) connect(r *round, request int32) {
	q := &r.requests[request]
	if !q.fits {
		return
	}
	if rows := r.state.NodeRows(); rows > len(l.open) {
		l.open, l.price = make([]bool, rows), make([]int64, rows)
	}
	o := &r.offers[q.offers]
	for _, list := range [2][]offer{o.best, o.rest} {
		for _, x := range list {
			l.open[x.node], l.price[x.node] = r.admits(q, x.node), x.price
		}
	}
	for i, n := range r.prices.nodes {
		if l.open[n] {
			l.add(1+request, int32(1+len(r.requests)+i), l.price[n])
			l.open[n] = false
		}
	}
	r.ticks += int64(len(r.prices.nodes))
}

// index sorts the arcs by vertex, those of a vertex in the order of making.
func (l *literal) index(vertices int32) {
	l.first = append(l.first[:0], make([]int32, vertices+1)...)
	for i := range l.arcs {
		l.first[l.arcs[i].from+1]++
	}
	for v := range vertices {
		l.first[v+1] += l.first[v]
	}
	l.free = append(l.free[:0], l.first...)
	l.order = append(l.order[:0], make([]int32, len(l.arcs))...)
	for i := range l.arcs {
		v := l.arcs[i].from
		l.order[l.free[v]] = int32(i)
		l.free[v]++
	}
}

// search finds the cheapest path from the source to every vertex, and reports
// whether there is one to the sink.
func (l *literal) search(source, sink int32, r *round) bool {
	vertices := int(sink) + 1
	l.dist, l.by, l.queued = l.dist[:0], l.by[:0], l.queued[:0]
	for range vertices {
		l.dist, l.by, l.queued = append(l.dist, unreached), append(l.by, -1), append(l.queued, false)
	}
	l.dist[source] = 0
	l.queue = append(l.queue[:0], source)
	for at := 0; at < len(l.queue); at++ {
		v := l.queue[at]
		l.queued[v] = false
		arcs := l.order[l.first[v]:l.first[v+1]]
		r.ticks += int64(len(arcs))
		for _, i := range arcs {
			a := &l.arcs[i]
			if !a.room || l.dist[v]+a.cost >= l.dist[a.to] {
				continue
			}
			l.dist[a.to], l.by[a.to] = l.dist[v]+a.cost, i
			if !l.queued[a.to] {
				l.queued[a.to] = true
				l.queue = append(l.queue, a.to)
			}
		}
	}
	return l.dist[sink] < unreached
}
