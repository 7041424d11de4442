package moves

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Free empties as many nodes as can be, those first that have the least to move. Done begins with those that have
// nothing to do already. A node with a task that stays is left.
func Free(p *Problem) Plan {
	m := newMover(p, nil, byKeeping)
	var plan Plan
	for i, n := range slices.Backward(m.order) {
		tasks := m.holds(n)
		m.close(n)
		switch {
		case len(tasks) == 0:
			plan.Done = append(plan.Done, n)
			continue
		case m.may[tasks[0]] == Stay:
			plan.Left = append(plan.Left, Left{Node: n, Task: tasks[0], Why: Stays})
		default:
			t, all := m.empty(tasks)
			if all {
				plan.Done = append(plan.Done, n)
				continue
			}
			plan.Left = append(plan.Left, Left{n, t, NoPlace, m.refusal})
		}
		m.refreshAt(i)
	}
	plan.Moves = m.moves
	plan.Bound = fewest(m)
	return plan
}

// empty moves all of the tasks, or none: then it says which one has no place.
func (m *mover) empty(tasks []cluster.TaskID) (cluster.TaskID, bool) {
	for _, t := range tasks {
		if !m.try(t) {
			m.undo()
			return t, false
		}
	}
	m.keep()
	return 0, true
}

// refreshAt opens the node at the place in the order again.
func (m *mover) refreshAt(i int) { m.refresh(m.order[i]) }

// byKeeping orders nodes by how they are kept: those first that stay on, then those that can hold the most, by the prices
// that prove the bound, in steps of a part in worthSteps of the largest, and of equal ones those with the most to
// move.
func byKeeping(m *mover) []cluster.NodeID {
	type kept struct {
		node        cluster.NodeID
		on          bool
		worth, load float64
	}
	var all []kept
	own := fleet{kinds: len(m.view.Kinds())}
	most := 0.0
	each(m.view, func(n cluster.NodeID) {
		for _, t := range m.view.TasksOn(n) {
			if m.may[t] != Go {
				own.need(m.view.Demand(t))
			}
		}
	})
	each(m.view, func(n cluster.NodeID) {
		limit, on := m.holdable(n)
		own.offer(limit, on)
		all = append(all, kept{node: n, on: on})
	})
	_, prices := own.ascend()
	for i := range all {
		k := &all[i]
		limit, _ := m.holdable(k.node)
		k.worth = dot(prices, limit)
		most = max(most, k.worth)
		for _, t := range m.view.TasksOn(k.node) {
			if m.may[t] == Move {
				k.load += dot(prices, m.view.Demand(t))
			}
		}
	}
	for i := range all {
		if most > 0 {
			all[i].worth = math.Round(all[i].worth / most * worthSteps)
		}
	}
	slices.SortFunc(all, func(a, b kept) int {
		if a.on != b.on {
			if a.on {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(b.load, a.load), cmp.Compare(a.node, b.node))
	})
	order := make([]cluster.NodeID, len(all))
	for i := range all {
		order[i] = all[i].node
	}
	return order
}

// worthSteps is how finely nodes are told apart by what they can hold: nodes of one kind that differ by a DaemonSet's pod
// are the same.
const worthSteps = 20

func dot(prices []float64, v cluster.Vector) float64 {
	sum := 0.0
	for k, q := range v {
		sum += float64(prices[k] * float64(q))
	}
	return sum
}

// each goes through the live nodes.
func each(s *cluster.View, do func(cluster.NodeID)) {
	for n := range cluster.NodeID(s.NodeRows()) {
		if s.NodeLive(n) {
			do(n)
		}
	}
}
