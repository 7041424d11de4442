package search

import (
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
)

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
	n, _ := s.home(c)
	if n == constraint.Nowhere {
		return false
	}
	s.put(c, n)
	return n != from
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
// to leave the set, or one that is to come into the set that is wanted. If nothing is violated, and now and
// then for the sake of the rest of the objective, it is any.
func (s *Search) offender() (int32, wanted) {
	nowhere := wanted{set: constraint.Nowhere}
	if len(s.board.Violated()) == 0 || s.rand.IntN(16) == 0 {
		if n := s.board.Fullest(); n != constraint.Nowhere && s.rand.IntN(2) == 0 {
			return s.anyOn(n), nowhere
		}
		return s.settled(pick(s.rand, s.movable)), nowhere
	}
	v, found := s.violation()
	if !found {
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
	if bound.Min > 0 && s.rand.IntN(2) == 0 {
		return s.within(s.subject[v.Bound], bound.Group, v.Set), wanted{bound.Group, s.counted(v)}
	}
	list := s.subject[v.Bound]
	if bound.Max < 1<<30 && (len(list) == 0 || s.rand.IntN(2) == 0) {
		list = s.target[v.Bound]
	}
	return s.within(list, bound.Group, v.Set), nowhere
}

// violation is a bound of a chosen alternative with a set in which it does not hold.
func (s *Search) violation() (board.Violated, bool) {
	violated := s.board.Violated()
	for range min(len(violated), mostDraws) {
		s.ticks++
		if v := violated[s.rand.IntN(len(violated))]; s.board.Chosen(v.Bound) {
			return v, true
		}
	}
	return board.Violated{}, false
}

// mostDraws is how often it is drawn.
const mostDraws = 32

// counted is another set in which somebody is whom the bound counts; Nowhere if there is none.
func (s *Search) counted(v board.Violated) int32 {
	list := s.target[v.Bound]
	if fixed := s.fixed[v.Bound]; len(fixed) > 0 && s.rand.IntN(len(list)+len(fixed)) >= len(list) {
		list = fixed
	}
	if len(list) == 0 {
		return constraint.Nowhere
	}
	set := s.setOf(s.roles.Bounds[v.Bound].Group, s.board.At(pick(s.rand, list)))
	if set == v.Set {
		return constraint.Nowhere
	}
	return set
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
