package moves

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Drain moves all that may move off the nodes, and nobody to them. Of a node that cannot be emptied, those leave
// that can.
func Drain(p *Problem, nodes []cluster.NodeID) Plan {
	leaves := make([]bool, p.View.NodeRows())
	for _, n := range nodes {
		leaves[n] = true
	}
	m := newMover(p, nil, func(m *mover) []cluster.NodeID {
		return slices.DeleteFunc(byKeeping(m), func(n cluster.NodeID) bool { return leaves[n] })
	})
	plan := Plan{Bound: undrained(m, nodes)}
	for _, n := range nodes {
		why, left := Left{}, false
		for _, t := range m.holds(n) {
			w := Left{Node: n, Task: t, Why: Stays}
			if m.may[t] == Move {
				if m.single(t) {
					continue
				}
				w.Why, w.Refusal = NoPlace, m.refusal
			}
			if !left {
				why, left = w, true
			}
		}
		if left {
			plan.Left = append(plan.Left, why)
		} else {
			plan.Done = append(plan.Done, n)
		}
	}
	plan.Moves = m.moves
	return plan
}

// single moves one task, if some node takes it. What the targets have left only shrinks by that, so that of tasks
// which differ in nothing one is asked for all, once it is refused.
func (m *mover) single(t cluster.TaskID) bool {
	id := m.view.Task(t).Shape
	if r, known := m.refused[id]; known {
		m.refusal = r
		return false
	}
	if !m.try(t) {
		m.undo()
		if m.view.Shape(id).PerNode == 0 && !m.view.Constrained(id) {
			m.refused[id] = m.refusal
		}
		return false
	}
	m.keep()
	return true
}

// undrained is how many of the nodes cannot be emptied by any moves: those with a task that stays, or
// that no other node would take even if it were empty; and, by what is left of each kind on all others
// together, those for which there is no room.
func undrained(m *mover, nodes []cluster.NodeID) int {
	fits := map[cluster.ShapeID]bool{}
	anywhere := func(t cluster.TaskID) bool {
		id := m.view.Task(t).Shape
		known, asked := fits[id]
		if !asked {
			known = slices.ContainsFunc(m.order, func(n cluster.NodeID) bool { return m.view.FitsEmpty(id, n) })
			fits[id] = known
		}
		return known
	}
	stuck := 0
	room := make(cluster.Vector, len(m.view.Kinds()))
	for _, n := range m.order {
		limit, used := m.view.Limit(n), m.view.Used(n)
		for k := range room {
			room[k] += max(limit[k]-used[k], 0)
		}
	}
	needs := make([][]int64, len(room)) // by kind, of the nodes that are not stuck
	for _, n := range nodes {
		sum, blocked := make(cluster.Vector, len(room)), false
		for _, t := range m.holds(n) {
			blocked = blocked || m.may[t] == Stay || !anywhere(t)
			for k, q := range m.view.Demand(t) {
				sum[k] += q
			}
		}
		if blocked {
			stuck++
			continue
		}
		for k, q := range sum {
			needs[k] = append(needs[k], q)
		}
	}
	most := 0
	for k, list := range needs {
		slices.Sort(list)
		left, emptied := room[k], 0
		for _, q := range list {
			if left -= q; left < 0 {
				break
			}
			emptied++
		}
		most = max(most, len(list)-emptied)
	}
	return stuck + most
}
