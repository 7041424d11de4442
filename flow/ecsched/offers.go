package ecsched

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
)

// offers are the nodes that have room for a demand, the cheapest first. Few are
// ever asked for: they stand in a heap, from which the best are taken one after
// the other.
type offers struct {
	demand  []int64
	weights []uint64
	most    int64   // that a price may be: 0, or what is preferred may add
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
	o.best, o.rest, o.most = o.best[:0], o.rest[:0], 0
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
	preference := int64(0)
	if r.prefer(tasks) {
		preference = r.prices.preference(o.weights)
		o.most = mostUnmet * preference
	}
	r.ticks += int64(len(r.prices.nodes))
	for _, n := range r.prices.nodes {
		if (pin == cluster.NoNode || pin == n) && r.prices.fits(o.demand, n) && r.may(tasks, n) {
			o.rest = append(o.rest, offer{r.prices.of(o.weights, n) + r.unmet(tasks, n, preference), n})
		}
	}
	o.rest.Init()
}

// mostUnmet is how many preferences of the largest weight count that a node does not meet.
const mostUnmet = 10

// prefer reports whether any of the tasks prefers nodes.
func (r *round) prefer(tasks []cluster.TaskID) bool {
	return slices.ContainsFunc(tasks, func(t cluster.TaskID) bool { return len(r.state.Shape(r.state.Task(t).Shape).Prefers) > 0 })
}

// unmet is what it costs that the node does not meet what the tasks prefer, at the price of a preference of the largest weight: as
// much as for the one of them that it suits the least.
func (r *round) unmet(tasks []cluster.TaskID, n cluster.NodeID, preference int64) int64 {
	if preference == 0 {
		return 0
	}
	most := int64(0)
	for _, t := range tasks {
		most = max(most, cluster.Unmet(r.state, r.state.Task(t).Shape, n))
	}
	return min(most, mostUnmet*cluster.MostPreference) * preference / cluster.MostPreference
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
