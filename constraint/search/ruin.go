package search

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/constraint"
)

// This file takes whole applications off and places them anew, on the nodes of a few sets: that of
// one of their containers, those of their neighbours, some by chance. Who is counted goes
// before who counts it. Half the time no more than a quota may go to each set, since where a
// set has its most nothing tells the last container that it will stand alone. Now and then
// part of the nodes is not seen (blinks: Christiaens and Vanden Berghe 2020), since some plans
// begin with a place that is not the best.

const (
	mostRuined = 3 // applications
	blink      = 4 // of so many nodes one is not seen
)

// ruin takes off up to three applications that have to do with one another.
func ruin(m *moves) bool {
	m.choose()
	if len(m.ruined) == 0 {
		return false
	}
	lead := m.problem.Containers[pick(m.rand, m.ruined)].Shape
	group := m.groundOf(lead)
	m.clear()
	for range 1 + m.rand.IntN(mostSets) {
		switch m.rand.IntN(3) {
		case 0:
			m.addSet(group, m.setOf(group, m.board.At(pick(m.rand, m.ruined))))
		case 1:
			m.addNear(m.problem.Containers[pick(m.rand, m.ruined)].Shape, group)
		default:
			if sets := len(m.members[group]); sets > 0 {
				m.addSet(group, int32(m.rand.IntN(sets)))
			}
		}
	}
	m.addAnywhere()
	m.takeOff()
	m.shuffle()
	m.order()
	quota := int32(len(m.ruined))
	if m.rand.IntN(2) == 0 {
		quota = 1 + int32(m.rand.IntN(len(m.ruined)))
	}
	m.blinks = m.rand.IntN(8) == 0
	m.lean(true)
	done := m.recreate(group, quota)
	m.lean(false)
	return done
}

// takeOff takes off what is to be placed anew, and counts what was off before.
func (m *moves) takeOff() {
	m.spare, m.failed = 0, m.failed[:0]
	for _, app := range m.chosen {
		if !m.problem.Applications[app].Deployed && !m.board.Placed(app) {
			m.spare++
		}
	}
	for _, c := range m.ruined {
		if m.board.At(c) == constraint.Nowhere && m.problem.Applications[m.app(c)].Deployed {
			m.spare++
		}
		m.take(c)
	}
}

// lean lets each constraint of several alternatives that concerns what was taken off go by one of
// them, by chance, or by the least again.
func (m *moves) lean(one bool) {
	last := constraint.Nowhere
	for _, c := range m.ruined {
		shape := m.problem.Containers[c].Shape
		if shape == last {
			continue
		}
		last = shape
		for _, in := range m.choices[shape] {
			if one {
				m.board.Lean(in, int32(m.rand.IntN(len(m.problem.Constraints[in].Any))))
			} else {
				m.board.Lean(in, constraint.Nowhere)
			}
		}
	}
}

// choose chooses the containers to take off: of an application that has to do with something
// violated or is not placed, or of any, and of some that share a bound with it.
func (m *moves) choose() {
	m.ruined = m.ruined[:0]
	app := m.first()
	if app == constraint.Nowhere {
		return
	}
	m.chosen = append(m.chosen[:0], app)
	for range m.rand.IntN(mostRuined) {
		if m.rand.IntN(4) == 0 { // who has nothing to do with it may stand in its way
			m.besides(m.app(pick(m.rand, m.movable)))
			continue
		}
		from := &m.problem.Applications[pick(m.rand, m.chosen)]
		shape := m.problem.Containers[from.First+int32(m.rand.IntN(int(from.End-from.First)))].Shape
		roles := m.roles.Of[shape]
		if len(roles) == 0 {
			continue
		}
		bound := roles[m.rand.IntN(len(roles))].Bound
		list := m.target[bound]
		if m.rand.IntN(2) == 0 {
			list = m.subject[bound]
		}
		if len(list) == 0 {
			continue
		}
		m.besides(m.app(pick(m.rand, list)))
	}
	for _, app := range m.chosen {
		of := &m.problem.Applications[app]
		for c := of.First; c < of.End; c++ {
			if !m.problem.Containers[c].Fixed {
				m.ruined = append(m.ruined, c)
			}
		}
	}
}

// besides chooses the application, too.
func (m *moves) besides(app int32) {
	if !slices.Contains(m.chosen, app) {
		m.chosen = append(m.chosen, app)
	}
}

func (m *moves) app(c int32) int32 {
	return m.problem.Shapes[m.problem.Containers[c].Shape].Application
}

// first is the application to begin with.
func (m *moves) first() int32 {
	if parts := m.board.Parts(); parts.Unplaced > 0 || parts.Loose > 0 {
		if c := pick(m.rand, m.movable); m.board.At(c) == constraint.Nowhere {
			return m.app(c)
		}
	}
	if v, found := m.violation(); found {
		list := m.subject[v.Bound]
		if len(list) == 0 || m.rand.IntN(4) == 0 {
			list = m.target[v.Bound]
		}
		if len(list) > 0 {
			return m.app(pick(m.rand, list))
		}
		return constraint.Nowhere
	}
	return m.app(pick(m.rand, m.movable))
}

// order orders what was taken off: shapes that others count first, or by chance.
func (m *moves) order() {
	whim := m.rand.IntN(3) == 0
	for _, c := range m.ruined {
		shape := m.problem.Containers[c].Shape
		m.rank[shape] = m.rand.Uint32() >> 1
		if !whim {
			m.rank[shape] >>= min(m.wantedBy[shape], 8) * 2
		}
	}
	slices.SortFunc(m.ruined, func(a, b int32) int {
		x, y := m.problem.Containers[a].Shape, m.problem.Containers[b].Shape
		return cmp.Or(cmp.Compare(m.rank[x], m.rank[y]), cmp.Compare(x, y), cmp.Compare(a, b))
	})
}

// recreate places what was taken off, up to the quota of a shape in each set of the group. An
// application that does not fit any more may stay off where another was off before.
func (m *moves) recreate(group, quota int32) bool {
	shape, spare := constraint.Nowhere, m.spare
	for _, c := range m.ruined {
		if slices.Contains(m.failed, m.app(c)) {
			continue
		}
		if of := m.problem.Containers[c].Shape; of != shape {
			shape = of
			clear(m.inSet[group])
		}
		if n := m.bestWithin(c, group, quota); n != constraint.Nowhere {
			m.put(c, n)
			if set := m.setOf(group, n); set != constraint.Nowhere {
				m.inSet[group][set]++
			}
			continue
		}
		if spare--; spare < 0 || m.problem.Containers[c].At != constraint.Nowhere {
			return false
		}
		if app := m.app(c); !m.problem.Applications[app].Deployed {
			m.failed = append(m.failed, app)
			m.drop(app)
		}
	}
	return true
}

// drop takes off again what of the application is placed.
func (m *moves) drop(app int32) {
	of := &m.problem.Applications[app]
	for c := of.First; c < of.End; c++ {
		if m.board.At(c) != constraint.Nowhere && !m.problem.Containers[c].Fixed {
			m.board.Take(c)
			m.ticks += changeTicks
		}
	}
}

// bestWithin looks for the node among those whose set is below the quota.
func (m *moves) bestWithin(c, group, quota int32) int32 {
	nodes := m.nodes
	if int(quota) < len(m.ruined) || m.blinks {
		m.open = m.open[:0]
		for _, n := range nodes {
			if m.blinks && m.rand.IntN(blink) == 0 {
				continue
			}
			if set := m.setOf(group, n); set == constraint.Nowhere || m.inSet[group][set] < quota {
				m.open = append(m.open, n)
			}
		}
		nodes = m.open
	}
	m.ticks += int64(len(m.nodes))
	node, _ := m.board.Best(c, nodes)
	return node
}
