package mcmf

// item is something to look at in a search: a node, or a seat of a node.
type item struct {
	distance   int64
	node, seat int32 // seat -1: the node itself
}

// queue hands out items by distance; among those of the distance that is being
// handed out, the last to come first. That makes the search depth-first within a
// distance, and finds a place among many equals without looking at all of them.
type queue struct {
	now   int64
	stack []item // of distance now
	later []item // a heap with four children a node
}

func (q *queue) reset() {
	q.now, q.stack, q.later = 0, q.stack[:0], q.later[:0]
}

func (q *queue) push(x item) {
	if x.distance <= q.now {
		x.distance = q.now
		q.stack = append(q.stack, x)
		return
	}
	h := append(q.later, x)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if h[parent].distance <= x.distance {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = x
	q.later = h
}

func (q *queue) pop() (x item, found bool) {
	if n := len(q.stack); n > 0 {
		x, q.stack = q.stack[n-1], q.stack[:n-1]
		return x, true
	}
	h := q.later
	if len(h) == 0 {
		return item{}, false
	}
	x = h[0]
	last := h[len(h)-1]
	h = h[:len(h)-1]
	q.later = h
	q.now = x.distance
	i := 0
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least := first
		for k := first + 1; k < min(first+4, len(h)); k++ {
			if h[k].distance < h[least].distance {
				least = k
			}
		}
		if h[least].distance >= last.distance {
			break
		}
		h[i] = h[least]
		i = least
	}
	if len(h) > 0 {
		h[i] = last
	}
	return x, true
}

// ring is a queue of nodes, each at most once.
type ring struct {
	nodes          []int32
	first, waiting int
	queued         []bool
}

func newRing(n int) ring { return ring{nodes: make([]int32, n), queued: make([]bool, n)} }

func (q *ring) push(v int32) {
	if q.queued[v] {
		return
	}
	q.queued[v] = true
	at := q.first + q.waiting
	if at >= len(q.nodes) {
		at -= len(q.nodes)
	}
	q.nodes[at] = v
	q.waiting++
}

func (q *ring) pop() int32 {
	v := q.nodes[q.first]
	if q.first++; q.first == len(q.nodes) {
		q.first = 0
	}
	q.waiting--
	q.queued[v] = false
	return v
}
