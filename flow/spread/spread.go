// Package spread is the policy load-spreading: each task goes to a node with as few
// tasks as possible, as Firmament's policy of that name and Docker Swarm's do. It
// spreads within a batch, too: the tasks that come to a node in one round count for
// each other.
package spread

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow"
)

// Model prices a node by how many tasks it has.
type Model struct {
	curve flow.Curve // scratch of Load
}

// everywhere is the one aggregator.
const everywhere flow.Aggregator = 0

// unplaced is the price of waiting: more than any load, so that everything is
// placed that can be.
const unplaced flow.Cost = 1 << 29

// Terms are the same for all tasks, but for their turn: the highest priority comes
// first.
func (*Model) Terms(s *cluster.View, t cluster.TaskID) flow.Terms {
	return flow.Terms{Tier: s.Task(t).Priority, Wait: unplaced, Next: cluster.Never}
}

// Out lets tasks go anywhere.
func (*Model) Out(_ *cluster.View, _ cluster.TaskID, arcs *flow.Arcs) {
	arcs.Aggregator(everywhere, 0)
}

// Into costs nothing: the load of the node is the price.
func (*Model) Into(*cluster.View, cluster.ShapeID, cluster.NodeID) (flow.Aggregator, flow.Curve) {
	return everywhere, nil
}

// longest is for how many tasks more the load is told one by one.
const longest = 64

// Load is the number of tasks that the node has already.
func (m *Model) Load(s *cluster.View, n cluster.NodeID) flow.Curve {
	m.curve = m.curve[:0]
	tasks := flow.Cost(len(s.TasksOn(n)))
	for i := range flow.Cost(longest) {
		m.curve = append(m.curve, flow.Step{Capacity: 1, Cost: min(tasks+i, unplaced/2)})
	}
	return m.curve
}

// Preference is that of so many tasks: for each point of its weight a node that does not meet it counts one task more.
func (*Model) Preference() flow.Cost { return cluster.MostPreference }

// Explain is the load of the node.
func (*Model) Explain(s *cluster.View, _ cluster.TaskID, n cluster.NodeID) []flow.Term {
	return []flow.Term{{Name: "tasks there", Cost: flow.Cost(len(s.TasksOn(n)))}}
}
