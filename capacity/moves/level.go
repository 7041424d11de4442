package moves

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Level moves tasks off the nodes that are fuller than so many thousandths of their limit in some kind, until they
// are not, and makes no other node so. A share of 0 is no limit for the kind.
func Level(p *Problem, share cluster.Vector) Plan {
	bounds := make(cluster.Vector, len(share))
	for k, q := range share {
		bounds[k] = q
		if q == 0 {
			bounds[k] = whole
		}
	}
	m := newMover(p, bounds, coolest)
	type hot struct {
		node cluster.NodeID
		over int64
	}
	var all []hot
	each(m.view, func(n cluster.NodeID) {
		if _, over := m.hottest(n, share); over > 0 {
			all = append(all, hot{n, over})
			m.close(n)
		}
	})
	slices.SortFunc(all, func(a, b hot) int { return cmp.Or(cmp.Compare(b.over, a.over), cmp.Compare(a.node, b.node)) })
	plan := Plan{Bound: stillHot(m, share)}
	for _, h := range all {
		if left, cool := m.cool(h.node, share); cool {
			plan.Done = append(plan.Done, h.node)
		} else {
			plan.Left = append(plan.Left, left)
		}
	}
	plan.Moves = m.moves
	return plan
}

// coolest orders nodes by how full they are, the emptiest first.
func coolest(m *mover) []cluster.NodeID {
	type full struct {
		node cluster.NodeID
		part int64
	}
	var all []full
	each(m.view, func(n cluster.NodeID) {
		all = append(all, full{n, m.weight(m.view.Used(n), n)})
	})
	slices.SortFunc(all, func(a, b full) int { return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.node, b.node)) })
	order := make([]cluster.NodeID, len(all))
	for i := range all {
		order[i] = all[i].node
	}
	return order
}

// hottest is the kind of which the node is fullest beyond its share, and by how much as a part of the limit; 0 if
// there is none.
func (m *mover) hottest(n cluster.NodeID, share cluster.Vector) (kind int, over int64) {
	limit, used := m.view.Limit(n), m.view.Used(n)
	for k := range used {
		if share[k] == 0 {
			continue
		}
		if beyond := used[k] - m.upTo(limit[k], k); beyond > 0 {
			if part := max(cluster.Fraction(beyond, limit[k]), 1); part > over {
				kind, over = k, part
			}
		}
	}
	return kind, over
}

// cool moves tasks off the node until it is not hot: of the kind that it is fullest of, the smallest that
// suffices, or else the largest.
func (m *mover) cool(n cluster.NodeID, share cluster.Vector) (Left, bool) {
	left := Left{Node: n, Why: Stays}
	refused := map[cluster.TaskID]bool{}
	for {
		kind, over := m.hottest(n, share)
		if over == 0 {
			return Left{}, true
		}
		beyond := m.view.Used(n)[kind] - m.upTo(m.view.Limit(n)[kind], kind)
		t, found := m.choose(n, kind, beyond, refused)
		if !found {
			if tasks := m.holds(n); left.Why == Stays && len(tasks) > 0 {
				left.Task = tasks[0]
			}
			return left, false
		}
		if !m.single(t) {
			refused[t] = true
			if left.Why == Stays {
				left.Task, left.Why, left.Refusal = t, NoPlace, m.refusal
			}
		}
	}
}

// choose is the next task to move off the node, so that it has so much less of the kind.
func (m *mover) choose(n cluster.NodeID, kind int, beyond int64, refused map[cluster.TaskID]bool) (best cluster.TaskID, found bool) {
	for _, t := range m.view.TasksOn(n) {
		q := m.view.Demand(t)[kind]
		if m.may[t] != Move || q == 0 || refused[t] {
			continue
		}
		if !found {
			best, found = t, true
			continue
		}
		has := m.view.Demand(best)[kind]
		if has < beyond && q > has || q >= beyond && q < has {
			best = t
		}
	}
	return best, found
}

// stillHot is how many nodes will be hot after any moves: those that are so by tasks that stay; or so many as there must be
// for the tasks of all to have room, where those that are hot hold as much as they can; or so many as hold the tasks that make
// every node hot.
func stillHot(m *mover, share cluster.Vector) int {
	stuck, kinds := 0, len(share)
	room, cool, largest := make(cluster.Vector, kinds), make(cluster.Vector, kinds), make(cluster.Vector, kinds)
	beyond := make([][]int64, kinds) // how much more than its share a hot node may hold
	each(m.view, func(n cluster.NodeID) {
		limit, used, fixed, hot := m.view.Limit(n), m.view.Used(n), m.fixed(n), false
		for k := range share {
			if share[k] == 0 {
				continue
			}
			up, most := m.upTo(limit[k], k), max(limit[k], used[k])
			hot = hot || fixed[k] > up
			room[k] += up - used[k]
			beyond[k] = append(beyond[k], most-up)
			cool[k], largest[k] = max(cool[k], up), max(largest[k], most)
		}
		if hot {
			stuck++
		}
	})
	most := stuck
	for k, list := range beyond {
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		hot := 0
		for left := room[k]; left < 0 && hot < len(list); hot++ {
			left += list[len(list)-1-hot]
		}
		most = max(most, hot, m.heating(k, cool[k], largest[k]))
	}
	return most
}

// fixed is what those tasks of the node take that do not move.
func (m *mover) fixed(n cluster.NodeID) cluster.Vector {
	fixed := make(cluster.Vector, len(m.view.Kinds()))
	for _, t := range m.view.TasksOn(n) {
		if m.may[t] != Move {
			for k, q := range m.view.Demand(t) {
				fixed[k] += q
			}
		}
	}
	return fixed
}

// heating is how many nodes it takes to hold the tasks of which one alone takes more of the kind than any node that is not
// hot has.
func (m *mover) heating(k int, cool, largest int64) int {
	sum := int64(0)
	each(m.view, func(n cluster.NodeID) {
		for _, t := range m.view.TasksOn(n) {
			if q := m.view.Demand(t)[k]; q > cool {
				sum += q
			}
		}
	})
	if sum == 0 {
		return 0
	}
	return int((sum + largest - 1) / largest)
}
