// Package bandwidth is the policy network-aware: tasks go where the network has most
// left, as in Firmament's policy of that name (Gog et al., OSDI 2016) and its code's
// model of network bandwidth. What a node has left is less what its tasks asked for or
// what was measured there, whichever is more: others use the network, too.
//
// The i-th task that comes to a node costs i times what it asks for, less what the node
// has left. So tasks spread within a batch, and a node on which strangers use the network
// is the dearer for it. Firmament leaves nodes out where measured use is above what tasks
// asked for; here they are the last to be used, as their room was promised.
package bandwidth

import (
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
)

// Model prices a node by the bandwidth that it would have left.
type Model struct {
	curve flow.Curve // scratch of Into
}

// everywhere is the one aggregator.
const everywhere flow.Aggregator = 0

const (
	// most is the dearest that a node may be, and its negative the cheapest.
	most flow.Cost = 1 << 38
	// preference is more than nodes differ by that have less than 17 million units, and with all that count still below unplaced.
	preference flow.Cost = 1 << 34
	// unplaced is the price of waiting: more than any node costs.
	unplaced flow.Cost = 1 << 39
	// longest is for how many tasks more prices are told one by one.
	longest = 32
)

// Kind is the index of the kind that is bandwidth: the first that is named "bandwidth",
// or whose name begins with "network"; -1 where there is none. Then all nodes cost the
// same.
func Kind(kinds []cluster.Kind) int {
	for i, k := range kinds {
		if name := strings.ToLower(k.Name); name == "bandwidth" || strings.HasPrefix(name, "network") {
			return i
		}
	}
	return -1
}

// Terms are the same for all tasks, but for their turn: the highest priority comes
// first.
func (*Model) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	return flow.Terms{Tier: s.Task(t).Priority, Wait: unplaced, Next: cluster.Never}
}

// Out lets tasks go anywhere.
func (*Model) Out(_ *cluster.View, _ cluster.TaskID, arcs *flow.Arcs) {
	arcs.Aggregator(everywhere, 0)
}

// Into is what one task of the shape more would ask for, less what the node has left;
// then two tasks, and so on.
func (m *Model) Into(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (flow.Aggregator, flow.Curve) {
	kind := Kind(s.Kinds())
	if kind < 0 {
		return everywhere, nil
	}
	request, left := s.Shape(shape).Demand[kind], available(s, kind, n)
	m.curve = m.curve[:0]
	if request == 0 {
		return everywhere, append(m.curve, flow.Step{Capacity: 1, Cost: price(s, kind, -left)})
	}
	for i := range int64(longest) {
		m.curve = append(m.curve, flow.Step{Capacity: 1, Cost: price(s, kind, (i+1)*request-left)})
	}
	return everywhere, m.curve
}

// available is what the node has left: less than nothing where more is used than it has.
func available(s *cluster.View, kind int, n cluster.NodeID) int64 {
	taken := s.Used(n)[kind]
	if usage := s.Usage(n); usage != nil {
		taken = max(taken, usage[kind])
	}
	return s.Capacity(n)[kind] - taken
}

// price is that of so much bandwidth: a thousandth of the kind's unit costs 1, or the
// least quantity where that is more.
func price(s *cluster.View, kind int, quantity int64) flow.Cost {
	return min(max(quantity/max(1, s.Kinds()[kind].PerUnit/1000), -most), most)
}

// Preference comes before bandwidth, of which no amount is worth as much on clusters of every size: it decides among nodes
// that meet as much of what tasks prefer.
func (*Model) Preference() flow.Cost { return preference }

// Explain names both parts of the price.
func (*Model) Explain(s *cluster.View, t cluster.TaskID, n cluster.NodeID) []flow.Term {
	kind := Kind(s.Kinds())
	if kind < 0 {
		return nil
	}
	return []flow.Term{
		{Name: "requested bandwidth", Cost: price(s, kind, s.Shape(s.Task(t).Shape).Demand[kind])},
		{Name: "bandwidth left there", Cost: price(s, kind, -available(s, kind, n))},
	}
}
