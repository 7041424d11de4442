package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/book"
)

// This file keeps requests as long as somebody waits with them, and a while longer.

// request finds a request, or makes one, which looks at every node.
func (k *ranking) request(id requestID) int32 {
	if row, ok := k.rowOf[id]; ok {
		if q := &k.requests[row]; len(q.taskGroups) == 0 {
			k.cached = slices.DeleteFunc(k.cached, func(c int32) bool { return c == row })
		}
		return row
	}
	row := take(&k.free, &k.requests)
	q := &k.requests[row]
	*q = request{id: id, live: true, seen: book.Never, taskGroups: q.taskGroups[:0], offers: q.offers[:0], groups: q.groups[:0], groupOf: map[Aggregator]int32{}}
	k.rowOf[id] = row
	k.byShape = book.Grown(k.byShape, id.shape, nil)
	k.byShape[id.shape] = append(k.byShape[id.shape], row)
	return row
}

// mostOffers bounds the memory of requests that nobody waits with, at 32 bytes each.
const mostOffers = 1 << 21

// forget drops requests that nobody waited with for longest, beyond what is worth
// keeping for when they are asked for again.
func (k *ranking) forget() {
	keep := max(4, mostOffers/max(1, len(k.ports.nodes)))
	for len(k.cached) > keep {
		k.drop(k.cached[0])
		k.cached = slices.Delete(k.cached, 0, 1)
	}
}

func (k *ranking) drop(row int32) {
	q := &k.requests[row]
	k.clearGroups(row, 0)
	for _, g := range q.groups {
		k.graph.RemoveNode(k.groups[g].node)
		k.freeGroup.Give(uint32(g))
	}
	delete(k.rowOf, q.id)
	k.byShape[q.id.shape] = slices.DeleteFunc(k.byShape[q.id.shape], func(r int32) bool { return r == row })
	q.live, q.searches = false, nil
	k.free.Give(uint32(row))
	k.dropped++
}

// forgetShape drops what is kept of a shape whose row was given anew.
func (k *ranking) forgetShape(shape cluster.ShapeID) {
	kept := k.cached[:0]
	for _, row := range k.cached {
		if k.requests[row].id.shape == shape {
			k.drop(row)
		} else {
			kept = append(kept, row)
		}
	}
	k.cached = kept
}

// of are the requests of a shape.
func (k *ranking) of(shape cluster.ShapeID) []int32 {
	if int(shape) >= len(k.byShape) {
		return nil
	}
	return k.byShape[shape]
}

// reconsider has all nodes looked at again for a shape, as constraints may let it go
// elsewhere now.
func (k *ranking) reconsider(shape cluster.ShapeID) {
	for _, row := range k.of(shape) {
		q := &k.requests[row]
		q.seen = book.Never
		for _, x := range q.searches {
			x.seen = book.Never
		}
	}
}

// countMoving counts one task more of a request that may move, or one less.
func (k *ranking) countMoving(row int32, by int64) {
	q := &k.requests[row]
	before := q.running
	q.running += by
	switch {
	case before == 0:
		k.moving = append(k.moving, row)
	case q.running == 0:
		k.moving = slices.DeleteFunc(k.moving, func(r int32) bool { return r == row })
	}
}

// mostIdle is how many requests that nobody waits with keep nodes in the network, and
// mostIdleArcs bounds how many arcs these have: mostly somebody comes soon who asks for
// the same, and to put ten thousand nodes in takes longer than to solve.
const (
	mostIdle     = 64
	mostIdleArcs = 1 << 20
)

// retire takes up a request that nobody waits with any more. Aggregators that have more
// than a few nodes in the network lose them, and those of the request that was retired
// so many before lose all.
func (k *ranking) retire(row int32) {
	k.cached = append(k.cached, row)
	k.clearGroups(row, fewNodes)
	keep := min(mostIdle, max(4, mostIdleArcs/max(1, len(k.ports.nodes))))
	if at := len(k.cached) - 1 - keep; at >= 0 {
		k.clearGroups(k.cached[at], 0)
	}
}

// clearGroups takes the nodes of a request out of the network, but for aggregators with
// so few.
func (k *ranking) clearGroups(row int32, few int) {
	for _, g := range k.requests[row].groups {
		if len(k.groups[g].chosen) > few {
			k.clearGroup(g, func(cluster.NodeID) bool { return true })
		}
	}
}
