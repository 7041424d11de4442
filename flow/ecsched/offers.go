package ecsched

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
)

// offers are the nodes that have room for a demand, the cheapest first. Few are
// ever asked for: they stand in a heap, from which the best are taken one after
// the other.
type offers struct {
	demand  []int64
	weights []uint64
	best    []offer // taken so far, in order
	rest    heap.Heap[offer]
}

// offer is a node at its price.
type offer struct {
	price int64
	node  cluster.NodeID
}

// Before orders offers by price, then by node.
func (a offer) Before(b offer) bool {
	if a.price != b.price {
		return a.price < b.price
	}
	return a.node < b.node
}

// collect looks for nodes that have room for all of the tasks; with a pin, at
// that node alone.
func (o *offers) collect(r *round, tasks []cluster.TaskID, pin cluster.NodeID) {
	o.best, o.rest = o.best[:0], o.rest[:0]
	o.demand = append(o.demand[:0], make([]int64, r.prices.kinds)...)
	for _, t := range tasks {
		for k, q := range r.state.Demand(t) {
			o.demand[k] += q
		}
	}
	var possible bool
	if o.weights, possible = r.prices.weigh(o.demand, o.weights); !possible {
		return
	}
	r.ticks += int64(len(r.prices.nodes))
	for _, n := range r.prices.nodes {
		if (pin == cluster.NoNode || pin == n) && r.prices.fits(o.demand, n) && r.may(tasks, n) {
			o.rest = append(o.rest, offer{r.prices.of(o.weights, n), n})
		}
	}
	o.rest.Init()
}

// may reports whether the node is open to each of the tasks, leaving aside room
// and other tasks of their jobs.
func (r *round) may(tasks []cluster.TaskID, n cluster.NodeID) bool {
	for _, t := range tasks {
		id := r.state.Task(t).Shape
		if !r.state.Eligible(r.state.Shape(id).Eligible, n) {
			return false
		}
		if r.state.RefuseDevices(id, n, cluster.Device.Left).Refused() {
			return false
		}
	}
	return true
}

// next returns the index of the first offer from index i on that the request
// may take, and false when there is none.
func (o *offers) next(r *round, q *request, i int) (int, bool) {
	for ; ; i++ {
		if i == len(o.best) {
			if len(o.rest) == 0 {
				return i, false
			}
			o.best = append(o.best, o.rest.Pop())
		}
		r.ticks++
		if r.admits(q, o.best[i].node) {
			return i, true
		}
	}
}
