// Package cpumem is the policy cpu-mem: tasks go where least is requested and where
// kinds are in balance, as in the model of that name which Poseidon ran on Kubernetes
// with Firmament, but safely: that one let two requests share the same room.
package cpumem

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
)

// Model prices a node by how full it would be, and how unevenly.
type Model struct {
	curve flow.Curve // scratch of Into
}

// everywhere is the one aggregator.
const everywhere flow.Aggregator = 0

const (
	// unplaced is the price of waiting: more than any node costs.
	unplaced flow.Cost = 1 << 29
	// A node that is full in all kinds costs 2^wholeBits; one that is full in one kind
	// and empty in another costs as much again.
	wholeBits = 20
	// longest is for how many tasks more prices are told one by one.
	longest = 16
)

// Terms are the same for all tasks, but for their turn: the highest priority comes
// first.
func (*Model) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	return flow.Terms{Tier: s.Task(t).Priority, Wait: unplaced, Next: cluster.Never}
}

// Out lets tasks go anywhere.
func (*Model) Out(_ *cluster.View, _ cluster.TaskID, arcs *flow.Arcs) {
	arcs.Aggregator(everywhere, 0)
}

// Into is what the node costs with one task of the shape more, with two, and so on. A
// task that would bring kinds into balance is not paid for that: prices never fall.
func (m *Model) Into(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (flow.Aggregator, flow.Curve) {
	m.curve = m.curve[:0]
	last := flow.Cost(0)
	for i := range int64(longest) {
		full, uneven := price(s, shape, n, i+1)
		last = max(last, full+uneven)
		m.curve = append(m.curve, flow.Step{Capacity: 1, Cost: last})
	}
	return everywhere, m.curve
}

// price is how full the node would be with so many tasks of the shape more, on average
// over the kinds, and by how much the fullest kind would exceed the emptiest.
func price(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID, tasks int64) (full, uneven flow.Cost) {
	limit, used, demand := s.Limit(n), s.Used(n), s.Shape(shape).Demand
	most, least, sum, kinds := int64(0), int64(1)<<cluster.FractionBits, int64(0), int64(0)
	for k, q := range demand {
		if limit[k] == 0 {
			continue
		}
		part := min(cluster.Fraction(used[k]+q*tasks, limit[k]), 2<<cluster.FractionBits)
		most, least = max(most, part), min(least, part)
		sum += part
		kinds++
	}
	if kinds == 0 {
		return 0, 0
	}
	const shift = cluster.FractionBits - wholeBits
	return sum / kinds >> shift, max(0, most-least) >> shift
}

// Preference is more than nodes with room differ by, so that tasks go where they would rather be as long as there is room; half of it,
// for one of half the weight, is what a full node costs more than an empty one.
func (*Model) Preference() flow.Cost { return 2 << wholeBits }

// Explain names both parts of the price.
func (*Model) Explain(s *cluster.View, t cluster.TaskID, n cluster.NodeID) []flow.Term {
	full, uneven := price(s, s.Task(t).Shape, n, 1)
	return []flow.Term{{Name: "requested", Cost: full}, {Name: "imbalance", Cost: uneven}}
}
