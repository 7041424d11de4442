package search

import "fairlead.dev/fairlead/constraint"

// This file moves single containers that have to do with a violation: a subject goes where its
// bounds hold, a target too many goes away, or one that is missing comes.

// relocate moves one container.
func relocate(s *Search) bool {
	c, into := s.offender()
	if c == constraint.Nowhere {
		return false
	}
	from := s.board.At(c)
	s.take(c)
	s.aroundOr(c, from, into)
	n := s.home(c)
	if n == constraint.Nowhere {
		return false
	}
	s.put(c, n)
	return n != from
}

// eject moves one container to a node where there is no room for it, and others from there
// elsewhere.
func eject(s *Search) bool {
	c, into := s.offender()
	if c == constraint.Nowhere {
		return false
	}
	from := s.board.At(c)
	s.take(c)
	s.aroundOr(c, from, into)
	node, least := constraint.Nowhere, int64(0)
	for _, n := range s.nodes {
		if n == from || s.board.Fits(c, n) || s.board.On(n) == constraint.Nowhere {
			continue
		}
		if e := s.board.Estimate(c, n); node == constraint.Nowhere || e < least {
			node, least = n, e
		}
	}
	s.ticks += int64(len(s.nodes))
	if node == constraint.Nowhere {
		return false
	}
	return s.makeRoom(c, node) && s.rehome(node)
}

// mostEjected is how many containers make room for one.
const mostEjected = 3

// makeRoom takes containers off the node, by chance, until the container fits there, and puts it.
func (s *Search) makeRoom(c, node int32) bool {
	s.ejected = s.ejected[:0]
	for len(s.ejected) < mostEjected && !s.board.Fits(c, node) {
		victim, count := constraint.Nowhere, 0
		for other := s.board.On(node); other != constraint.Nowhere; other = s.board.Next(other) {
			if !s.problem.Containers[other].Fixed {
				count++
				if s.rand.IntN(count) == 0 {
					victim = other
				}
			}
		}
		if victim == constraint.Nowhere {
			return false
		}
		s.take(victim)
		s.ejected = append(s.ejected, victim)
	}
	if !s.board.Fits(c, node) {
		return false
	}
	s.put(c, node)
	return true
}

// rehome finds a place for what was ejected from the node.
func (s *Search) rehome(node int32) bool {
	for _, c := range s.ejected {
		s.around(c, node)
		n := s.home(c)
		if n == constraint.Nowhere {
			return false
		}
		s.put(c, n)
	}
	return true
}

// wanted is where a container shall go.
type wanted struct{ group, set int32 }

// aroundOr makes the ground of the set that is wanted, or else around the container.
func (s *Search) aroundOr(c, from int32, into wanted) {
	if into.set == constraint.Nowhere {
		s.around(c, from)
		return
	}
	s.clear()
	s.addSet(into.group, into.set)
	s.shuffle()
}

// offender chooses a bound that is violated, and a container whose move may help: one that is
// to leave the set, or one that is to come into the set that is wanted. If nothing is violated it is
// any.
func (s *Search) offender() (int32, wanted) {
	nowhere := wanted{set: constraint.Nowhere}
	violated := s.board.Violated()
	if len(violated) == 0 {
		return s.settled(pick(s.rand, s.movable)), nowhere
	}
	v := violated[s.rand.IntN(len(violated))]
	if !s.board.Chosen(v.Bound) {
		return constraint.Nowhere, nowhere
	}
	bound := &s.roles.Bounds[v.Bound]
	if bound.Min > 0 && bound.Group != constraint.Nowhere && int(v.Set) < len(s.members[bound.Group]) &&
		len(s.target[v.Bound]) > 0 && s.rand.IntN(3) == 0 {
		c := s.settled(pick(s.rand, s.target[v.Bound]))
		if c != constraint.Nowhere && s.setOf(bound.Group, s.board.At(c)) != v.Set {
			return c, wanted{bound.Group, v.Set}
		}
	}
	list := s.subject[v.Bound]
	if bound.Max < 1<<30 && (len(list) == 0 || s.rand.IntN(2) == 0) {
		list = s.target[v.Bound]
	}
	return s.within(list, bound.Group, v.Set), nowhere
}

// settled is the container if it is on a node.
func (s *Search) settled(c int32) int32 {
	if s.board.At(c) == constraint.Nowhere {
		return constraint.Nowhere
	}
	return c
}

// within is one of the list, by chance, that is in the set, or outside all of them if that is
// behind the last.
func (s *Search) within(list []int32, group, set int32) int32 {
	if len(list) == 0 {
		return constraint.Nowhere
	}
	s.ticks += int64(len(list)) / changeTicks
	from := s.rand.IntN(len(list))
	for i := range list {
		c := list[(from+i)%len(list)]
		if s.board.At(c) == constraint.Nowhere {
			continue
		}
		is := s.setOf(group, s.board.At(c))
		if is == set || is == constraint.Nowhere && (group == constraint.Nowhere || int(set) == len(s.members[group])) {
			return c
		}
	}
	return constraint.Nowhere
}
