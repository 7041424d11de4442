package search

import (
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
)

// This file moves single containers that have to do with a violation: a subject goes where its
// bounds hold, a target too many goes away, or one that is missing comes.

// relocate moves one container.
func relocate(m *moves) bool {
	c, into := m.offender()
	if c == constraint.Nowhere {
		return false
	}
	from := m.board.At(c)
	m.take(c)
	m.aroundOr(c, from, into)
	n, _ := m.home(c)
	if n == constraint.Nowhere {
		return false
	}
	m.put(c, n)
	return n != from
}

// wanted is where a container shall go.
type wanted struct{ group, set int32 }

// aroundOr makes the ground of the set that is wanted, or else around the container.
func (m *moves) aroundOr(c, from int32, into wanted) {
	if into.set == constraint.Nowhere {
		m.around(c, from)
		return
	}
	m.clear()
	m.addSet(into.group, into.set)
	m.shuffle()
}

// offender chooses a bound that is violated, and a container whose move may help: one that is
// to leave the set, or one that is to come into the set that is wanted. If nothing is violated, and now and
// then for the sake of the rest of the objective, it is any.
func (m *moves) offender() (int32, wanted) {
	nowhere := wanted{set: constraint.Nowhere}
	if len(m.board.Violated()) == 0 || m.rand.IntN(16) == 0 {
		if n := m.board.Fullest(); n != constraint.Nowhere && m.rand.IntN(2) == 0 {
			return m.anyOn(n), nowhere
		}
		return m.settled(pick(m.rand, m.movable)), nowhere
	}
	v, found := m.violation()
	if !found {
		return constraint.Nowhere, nowhere
	}
	bound := &m.roles.Bounds[v.Bound]
	if bound.Min > 0 && bound.Group != constraint.Nowhere && int(v.Set) < len(m.members[bound.Group]) &&
		len(m.target[v.Bound]) > 0 && m.rand.IntN(3) == 0 {
		c := m.settled(pick(m.rand, m.target[v.Bound]))
		if c != constraint.Nowhere && m.setOf(bound.Group, m.board.At(c)) != v.Set {
			return c, wanted{bound.Group, v.Set}
		}
	}
	if bound.Min > 0 && m.rand.IntN(2) == 0 {
		return m.within(m.subject[v.Bound], bound.Group, v.Set), wanted{bound.Group, m.counted(v)}
	}
	list := m.subject[v.Bound]
	if bound.Max < 1<<30 && (len(list) == 0 || m.rand.IntN(2) == 0) {
		list = m.target[v.Bound]
	}
	return m.within(list, bound.Group, v.Set), nowhere
}

// violation is a bound of a chosen alternative with a set in which it does not hold.
func (m *moves) violation() (board.Violated, bool) {
	violated := m.board.Violated()
	for range min(len(violated), mostDraws) {
		m.ticks++
		if v := violated[m.rand.IntN(len(violated))]; m.board.Chosen(v.Bound) {
			return v, true
		}
	}
	return board.Violated{}, false
}

// mostDraws is how often it is drawn.
const mostDraws = 32

// counted is another set in which somebody is whom the bound counts; Nowhere if there is none.
func (m *moves) counted(v board.Violated) int32 {
	list := m.target[v.Bound]
	if fixed := m.fixed[v.Bound]; len(fixed) > 0 && m.rand.IntN(len(list)+len(fixed)) >= len(list) {
		list = fixed
	}
	if len(list) == 0 {
		return constraint.Nowhere
	}
	set := m.setOf(m.roles.Bounds[v.Bound].Group, m.board.At(pick(m.rand, list)))
	if set == v.Set {
		return constraint.Nowhere
	}
	return set
}

// settled is the container if it is on a node.
func (m *moves) settled(c int32) int32 {
	if m.board.At(c) == constraint.Nowhere {
		return constraint.Nowhere
	}
	return c
}

// within is one of the list, by chance, that is in the set, or outside all of them if that is
// behind the last.
func (m *moves) within(list []int32, group, set int32) int32 {
	if len(list) == 0 {
		return constraint.Nowhere
	}
	m.ticks += int64(len(list)) / changeTicks
	from := m.rand.IntN(len(list))
	for i := range list {
		c := list[(from+i)%len(list)]
		if m.board.At(c) == constraint.Nowhere {
			continue
		}
		is := m.setOf(group, m.board.At(c))
		if is == set || is == constraint.Nowhere && (group == constraint.Nowhere || int(set) == len(m.members[group])) {
			return c
		}
	}
	return constraint.Nowhere
}
