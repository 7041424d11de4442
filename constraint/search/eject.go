package search

import (
	"math"

	"fairlead.dev/fairlead/constraint"
)

// This file moves a container to where there is no room for it: others make room, and find
// theirs in the same way, in a chain (Glover 1996).

const (
	mostLinks   = 8 // containers that a chain finds a place for
	mostEjected = 3 // containers that make room for one
)

// eject moves one container that has to do with a violation, and all those for which there is
// no room then.
func eject(m *moves) bool {
	c, into := m.offender()
	if c == constraint.Nowhere {
		return false
	}
	from := m.board.At(c)
	m.take(c)
	m.chain = append(m.chain[:0], link{c, from})
	for i := 0; i < len(m.chain); i++ {
		if i == mostLinks {
			return false
		}
		m.aroundOr(m.chain[i].container, m.chain[i].from, into)
		into.set = constraint.Nowhere
		if !m.settle(m.chain[i], i) {
			return false
		}
	}
	return true
}

// link is a container that needs a place, and where it was.
type link struct{ container, from int32 }

// settle puts the container where it adds nothing, if there is room; else where it adds the least,
// and others make room if they must.
func (m *moves) settle(l link, depth int) bool {
	n, least := m.home(l.container)
	if n != constraint.Nowhere && least <= 0 && n != l.from {
		m.put(l.container, n)
		return true
	}
	full := constraint.Nowhere
	if depth < mostLinks-1 {
		full = m.crowded(l, least)
	}
	switch {
	case full != constraint.Nowhere:
		return m.makeRoom(l.container, full)
	case n == constraint.Nowhere:
		return false
	}
	m.put(l.container, n)
	return true
}

// crowded is a node of the ground on which the container does not fit, and would add less.
func (m *moves) crowded(l link, than int64) int32 {
	node, least := constraint.Nowhere, than
	for _, n := range m.nodes {
		if n == l.from || m.board.On(n) == constraint.Nowhere || m.board.Fits(l.container, n) {
			continue
		}
		if e := m.board.Estimate(l.container, n); e < least || e == least && least == math.MaxInt64 {
			node, least = n, e
		}
	}
	m.ticks += int64(len(m.nodes))
	return node
}

// anyOn is a container on the node that may be moved and was not taken, by chance; Nowhere if there is none.
func (m *moves) anyOn(node int32) int32 {
	chosen, count := constraint.Nowhere, 0
	for c := m.board.On(node); c != constraint.Nowhere; c = m.board.Next(c) {
		if !m.problem.Containers[c].Fixed && !m.taken(c) {
			count++
			if m.rand.IntN(count) == 0 {
				chosen = c
			}
		}
	}
	return chosen
}

// makeRoom takes containers off the node, by chance, until the container fits there, and puts
// it.
func (m *moves) makeRoom(c, node int32) bool {
	for range mostEjected {
		victim := m.anyOn(node)
		if victim == constraint.Nowhere {
			return false
		}
		m.take(victim)
		m.chain = append(m.chain, link{victim, node})
		if m.board.Fits(c, node) {
			m.put(c, node)
			return true
		}
	}
	return false
}
