package ecsched

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// ties chooses among the flows of least cost the one that an order of queue and nodes
// singles out, so that it is the same whichever algorithm found one of them. First it
// is settled who is placed: as the queue goes, each who can be, beside those before
// him. Then where: from the end of the queue, each on the node with the lowest row that
// those behind him leave him. (The other way round is as good, and further from the
// authors' results; see docs/bench/ecsched.md.) With Options.Keep it is from the end of
// the queue, too, that it is settled who is placed.
//
// The prices say what the flows of least cost have in common: nothing is on an arc of
// reduced cost above zero, every arc below zero is full. So each of them comes of any
// other by turns around cycles of tight arcs, those of reduced cost zero. Whoever is to
// go elsewhere asks in one search against the arcs which of his nodes lead back to him;
// the cycle by way of the lowest one is turned, and he stays there.
type ties struct {
	at      []int32   // by request: its slot, or out
	holder  []int32   // by slot: the request, or out
	mayStay []bool    // by request: its arc to staying unscheduled is tight
	mayRest []bool    // by slot: its arc to the sink is tight
	tight   [][]int32 // by request: the slots to which its arcs are tight
	wants   [][]int32 // by slot: the requests whose arcs to it are tight
	settled []bool    // by request: it is where it is to be
	fixed   []bool    // by request: it is settled whether it is placed
	next    []int32   // by vertex: the way back, and none where there is none
	queue   []int32
	prices  []int64 // by vertex, of requests and slots
	looks   int64
}

const (
	out  = -1 // unscheduled; held by nobody
	none = -1
)

// choose makes the flow of a solve that one. Vertices are the requests, then the slots,
// then the sink.
func (x *ties) choose(m *matcher, r *round) {
	x.gather(m, r)
	for at := range r.requests {
		i := at
		if r.late {
			i = len(r.requests) - 1 - at
		}
		if x.at[i] == out && x.mayStay[i] {
			x.turn(int32(i), m.slotNodes)
		}
		x.fixed[i] = true
	}
	for i := range slices.Backward(r.requests) {
		if x.at[i] != out {
			x.turn(int32(i), m.slotNodes)
		}
		x.settled[i] = true
	}
	for i, slot := range x.at {
		if r.requests[i].node = cluster.NoNode; slot != out {
			r.requests[i].node = m.slotNodes[slot]
		}
	}
	r.ticks += x.looks
}

// gather notes who is where, and which arcs are tight.
func (x *ties) gather(m *matcher, r *round) {
	requests, slots := len(r.requests), len(m.slotNodes)
	x.at, x.mayStay, x.tight = resized(x.at, requests), resized(x.mayStay, requests), emptied(x.tight, requests)
	x.holder, x.mayRest, x.wants = resized(x.holder, slots), resized(x.mayRest, slots), emptied(x.wants, slots)
	x.settled, x.fixed = resized(x.settled, requests), resized(x.fixed, requests)
	clear(x.settled)
	clear(x.fixed)
	x.next, x.queue = resized(x.next, requests+slots+1), x.queue[:0]
	for v := range x.next {
		x.next[v] = none
	}
	x.looks = int64(len(m.arcs))
	sink := m.solver.Price(m.sink)
	x.prices = resized(x.prices, requests+slots)
	for i := range r.requests {
		x.at[i] = out
		x.prices[i] = m.solver.Price(m.requests[i].node)
		x.mayStay[i] = r.requests[i].fits && m.graph.Arc(m.requests[i].out).Cost-x.prices[i]+sink == 0
	}
	for j := range m.slotNodes {
		x.holder[j] = out
		x.prices[requests+j] = m.solver.Price(m.slots[j].node)
		x.mayRest[j] = x.prices[requests+j] == sink // the arc costs nothing
	}
	for _, a := range m.arcs {
		slot := m.slot[a.node] - 1
		if m.solver.Flow(a.id) > 0 {
			x.at[a.request], x.holder[slot] = slot, int32(a.request)
		}
		if a.cost-x.prices[a.request]+x.prices[requests+int(slot)] == 0 {
			x.tight[a.request] = append(x.tight[a.request], slot)
			x.wants[slot] = append(x.wants[slot], int32(a.request))
		}
	}
}

// turn takes a request to the lowest of the nodes from which a cycle leads back to it.
func (x *ties) turn(i int32, nodes []cluster.NodeID) {
	best, first := x.at[i], int32(len(x.at))
	lower := func(slot int32) bool { return best == out || nodes[slot] < nodes[best] }
	if !slices.ContainsFunc(x.tight[i], lower) {
		return
	}
	x.search(i)
	for _, slot := range x.tight[i] {
		if x.next[first+slot] != none && lower(slot) {
			best = slot
		}
	}
	if best == x.at[i] {
		return
	}
	for from, to := i, first+best; ; from, to = to, x.next[to] {
		switch sink := first + int32(len(x.holder)); {
		case to < first && from == sink, to == sink && from >= first:
		case to == sink:
			x.at[from] = out
		case to >= first && from == sink:
			x.holder[to-first] = out
		case to >= first:
			x.at[from], x.holder[to-first] = to-first, from
		}
		if to == i {
			return
		}
	}
}

// search finds from which vertices units could go on until one leaves where the
// request is.
func (x *ties) search(i int32) {
	for _, v := range x.queue {
		x.next[v] = none
	}
	first := int32(len(x.at))
	sink := first + int32(len(x.holder))
	x.queue = append(x.queue[:0], i)
	for at := 0; at < len(x.queue); at++ {
		switch v := x.queue[at]; {
		case v < first:
			if slot := x.at[v]; slot == out && x.mayStay[v] && !x.fixed[v] {
				x.reach(sink, v)
			} else if slot != out && slices.Contains(x.tight[v], slot) {
				x.reach(first+slot, v)
			}
		case v < sink:
			x.beforeSlot(v-first, v, sink)
		default:
			x.beforeSink(first, sink)
		}
	}
}

// reach notes that units can go on from v to another vertex.
func (x *ties) reach(v, by int32) {
	x.looks++
	if x.next[v] == none && v != x.queue[0] {
		x.next[v] = by
		x.queue = append(x.queue, v)
	}
}

// beforeSlot reaches who could come to a slot, and the sink if the slot could be free.
func (x *ties) beforeSlot(slot, v, sink int32) {
	for _, k := range x.wants[slot] {
		if x.at[k] != slot && !x.settled[k] && (x.at[k] != out || !x.fixed[k]) {
			x.reach(k, v)
		}
	}
	if x.holder[slot] != out && x.mayRest[slot] {
		x.reach(sink, v)
	}
}

// beforeSink reaches who could stay unscheduled, and the slots that are free.
func (x *ties) beforeSink(first, sink int32) {
	for k, slot := range x.at {
		if slot != out && x.mayStay[k] && !x.fixed[k] && !x.settled[k] {
			x.reach(int32(k), sink)
		}
	}
	for slot, k := range x.holder {
		if k == out && x.mayRest[slot] {
			x.reach(first+int32(slot), sink)
		}
	}
}

// resized is a list of that length, with whatever is in it.
func resized[T any](list []T, length int) []T { return slices.Grow(list[:0], length)[:length] }

// emptied is so many lists with nothing in them.
func emptied(lists [][]int32, length int) [][]int32 {
	for len(lists) < length {
		lists = append(lists, nil)
	}
	lists = lists[:length]
	for i := range lists {
		lists[i] = lists[i][:0]
	}
	return lists
}
