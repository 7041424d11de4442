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
func eject(s *Search) bool {
	c, into := s.offender()
	if c == constraint.Nowhere {
		return false
	}
	from := s.board.At(c)
	s.take(c)
	s.chain = append(s.chain[:0], link{c, from})
	for i := 0; i < len(s.chain); i++ {
		if i == mostLinks {
			return false
		}
		s.aroundOr(s.chain[i].container, s.chain[i].from, into)
		into.set = constraint.Nowhere
		if !s.settle(s.chain[i], i) {
			return false
		}
	}
	return true
}

// link is a container that needs a place, and where it was.
type link struct{ container, from int32 }

// settle puts the container where it adds nothing, if there is room; else where it adds the least,
// and others make room if they must.
func (s *Search) settle(l link, depth int) bool {
	n, least := s.home(l.container)
	if n != constraint.Nowhere && least <= 0 && n != l.from {
		s.put(l.container, n)
		return true
	}
	full := constraint.Nowhere
	if depth < mostLinks-1 {
		full = s.crowded(l, least)
	}
	switch {
	case full != constraint.Nowhere:
		return s.makeRoom(l.container, full)
	case n == constraint.Nowhere:
		return false
	}
	s.put(l.container, n)
	return true
}

// crowded is a node of the ground on which the container does not fit, and would add less.
func (s *Search) crowded(l link, than int64) int32 {
	node, least := constraint.Nowhere, than
	for _, n := range s.nodes {
		if n == l.from || s.board.On(n) == constraint.Nowhere || s.board.Fits(l.container, n) {
			continue
		}
		if e := s.board.Estimate(l.container, n); e < least || e == least && least == math.MaxInt64 {
			node, least = n, e
		}
	}
	s.ticks += int64(len(s.nodes))
	return node
}

// anyOn is a container on the node that may be moved and was not taken, by chance; Nowhere if there is none.
func (s *Search) anyOn(node int32) int32 {
	chosen, count := constraint.Nowhere, 0
	for c := s.board.On(node); c != constraint.Nowhere; c = s.board.Next(c) {
		if !s.problem.Containers[c].Fixed && !s.taken(c) {
			count++
			if s.rand.IntN(count) == 0 {
				chosen = c
			}
		}
	}
	return chosen
}

// makeRoom takes containers off the node, by chance, until the container fits there, and puts
// it.
func (s *Search) makeRoom(c, node int32) bool {
	for range mostEjected {
		victim := s.anyOn(node)
		if victim == constraint.Nowhere {
			return false
		}
		s.take(victim)
		s.chain = append(s.chain, link{victim, node})
		if s.board.Fits(c, node) {
			s.put(c, node)
			return true
		}
	}
	return false
}
