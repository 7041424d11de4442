package worth

import (
	"math/bits"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Value is what room is worth, whoever takes it. Prices are that over what so much room is worth in the mean, so that those of
// one shape can be added up, and those of several shapes only as values.
type Value = int64

// Of is what the room is worth that the node has left.
func (w *Worth) Of(s *cluster.View, n cluster.NodeID) Value { return Value(w.worthNow(s, n)) }

// OfEmpty is what all room of the node is worth.
func (w *Worth) OfEmpty(s *cluster.View, n cluster.NodeID) Value {
	w.empty(s, n, &w.then)
	return Value(w.worth(n, &w.then))
}

// empty fills in what is left on a node with no task on it.
func (w *Worth) empty(s *cluster.View, n cluster.NodeID, r *room) {
	r.left, r.free = r.left[:0], r.free[:0]
	for _, q := range s.Limit(n) {
		r.left = append(r.left, max(q, 0))
	}
	for _, d := range s.Devices(n) {
		r.free = append(r.free, max(d.Limit, 0))
	}
}

// But is what the room would be worth that the node had left if these tasks of it were not there.
func (w *Worth) But(s *cluster.View, n cluster.NodeID, gone ...cluster.TaskID) Value {
	w.look(s, n, nil, &w.then)
	limit, used := s.Limit(n), s.Used(n)
	for k := range w.then.left {
		w.then.left[k] = limit[k] - used[k]
	}
	for _, t := range gone {
		for k, q := range s.Demand(t) {
			w.then.left[k] += q
		}
		task := s.Task(t)
		s.DeviceNeeds(task.Shape).Give(w.then.free, task.Devices, 1)
	}
	for k, q := range w.then.left {
		w.then.left[k] = max(q, 0)
	}
	return Value(w.worth(n, &w.then))
}

// InNodes is the value, which may be below 0, in millionths (sched.OneNode) of what all room of a node is worth in the mean.
func (w *Worth) InNodes(v Value) int64 {
	const most = 1 << 53 // of which many can be added up
	all := w.mean.worth
	if v == 0 || all[0] >= w.mean.nodes {
		return 0
	}
	one, _ := bits.Div64(all[0], all[1], w.mean.nodes)
	high, low := bits.Mul64(uint64(max(v, -v)), sched.OneNode)
	nodes := uint64(most)
	if high < one {
		nodes, _ = bits.Div64(high, low, one)
	}
	if v < 0 {
		return -int64(min(nodes, most))
	}
	return int64(min(nodes, most))
}

// PriceOf is the price of a value for a task of the shape.
func (w *Worth) PriceOf(s *cluster.View, id cluster.ShapeID, v Value) Price {
	return w.priceOf(s, id, uint64(max(v, 0)))
}

// ValueOf is the value of a price for a task of the shape; the largest there is where it is more.
func (w *Worth) ValueOf(s *cluster.View, id cluster.ShapeID, price Price) Value {
	const most = 1 << 60
	high, low := bits.Mul64(uint64(max(price, 0)), w.unit(s, id))
	if high >= uint64(One) {
		return most
	}
	value, _ := bits.Div64(high, low, uint64(One))
	return Value(min(value, most))
}
