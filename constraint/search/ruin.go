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
func ruin(s *Search) bool {
	s.choose()
	if len(s.ruined) == 0 {
		return false
	}
	lead := s.problem.Containers[pick(s.rand, s.ruined)].Shape
	group := s.groundOf(lead)
	s.clear()
	for range 1 + s.rand.IntN(mostSets) {
		switch s.rand.IntN(3) {
		case 0:
			s.addSet(group, s.setOf(group, s.board.At(pick(s.rand, s.ruined))))
		case 1:
			s.addNear(s.problem.Containers[pick(s.rand, s.ruined)].Shape, group)
		default:
			if sets := len(s.members[group]); sets > 0 {
				s.addSet(group, int32(s.rand.IntN(sets)))
			}
		}
	}
	s.addAnywhere()
	s.takeOff()
	s.shuffle()
	s.order()
	quota := int32(len(s.ruined))
	if s.rand.IntN(2) == 0 {
		quota = 1 + int32(s.rand.IntN(len(s.ruined)))
	}
	s.blinks = s.rand.IntN(8) == 0
	s.lean(true)
	done := s.recreate(group, quota)
	s.lean(false)
	return done
}

// takeOff takes off what is to be placed anew, and counts what was off before.
func (s *Search) takeOff() {
	s.spare, s.failed = 0, s.failed[:0]
	for _, app := range s.chosen {
		if !s.problem.Applications[app].Deployed && !s.board.Placed(app) {
			s.spare++
		}
	}
	for _, c := range s.ruined {
		if s.board.At(c) == constraint.Nowhere && s.problem.Applications[s.app(c)].Deployed {
			s.spare++
		}
		s.take(c)
	}
}

// lean lets each constraint of several alternatives that concerns what was taken off go by one of
// them, by chance, or by the least again.
func (s *Search) lean(one bool) {
	last := constraint.Nowhere
	for _, c := range s.ruined {
		shape := s.problem.Containers[c].Shape
		if shape == last {
			continue
		}
		last = shape
		for _, in := range s.choices[shape] {
			if one {
				s.board.Lean(in, int32(s.rand.IntN(len(s.problem.Constraints[in].Any))))
			} else {
				s.board.Lean(in, constraint.Nowhere)
			}
		}
	}
}

// choose chooses the containers to take off: of an application that has to do with something
// violated or is not placed, or of any, and of some that share a bound with it.
func (s *Search) choose() {
	s.ruined = s.ruined[:0]
	app := s.first()
	if app == constraint.Nowhere {
		return
	}
	s.chosen = append(s.chosen[:0], app)
	for range s.rand.IntN(mostRuined) {
		if s.rand.IntN(4) == 0 { // who has nothing to do with it may stand in its way
			s.besides(s.app(pick(s.rand, s.movable)))
			continue
		}
		from := &s.problem.Applications[pick(s.rand, s.chosen)]
		shape := s.problem.Containers[from.First+int32(s.rand.IntN(int(from.End-from.First)))].Shape
		roles := s.roles.Of[shape]
		if len(roles) == 0 {
			continue
		}
		bound := roles[s.rand.IntN(len(roles))].Bound
		list := s.target[bound]
		if s.rand.IntN(2) == 0 {
			list = s.subject[bound]
		}
		if len(list) == 0 {
			continue
		}
		s.besides(s.app(pick(s.rand, list)))
	}
	for _, app := range s.chosen {
		of := &s.problem.Applications[app]
		for c := of.First; c < of.End; c++ {
			if !s.problem.Containers[c].Fixed {
				s.ruined = append(s.ruined, c)
			}
		}
	}
}

// besides chooses the application, too.
func (s *Search) besides(app int32) {
	if !slices.Contains(s.chosen, app) {
		s.chosen = append(s.chosen, app)
	}
}

func (s *Search) app(c int32) int32 {
	return s.problem.Shapes[s.problem.Containers[c].Shape].Application
}

// first is the application to begin with.
func (s *Search) first() int32 {
	if parts := s.board.Parts(); parts.Unplaced > 0 || parts.Loose > 0 {
		if c := pick(s.rand, s.movable); s.board.At(c) == constraint.Nowhere {
			return s.app(c)
		}
	}
	if v, found := s.violation(); found {
		list := s.subject[v.Bound]
		if len(list) == 0 || s.rand.IntN(4) == 0 {
			list = s.target[v.Bound]
		}
		if len(list) > 0 {
			return s.app(pick(s.rand, list))
		}
		return constraint.Nowhere
	}
	return s.app(pick(s.rand, s.movable))
}

// order orders what was taken off: shapes that others count first, or by chance.
func (s *Search) order() {
	whim := s.rand.IntN(3) == 0
	for _, c := range s.ruined {
		shape := s.problem.Containers[c].Shape
		s.rank[shape] = s.rand.Uint32() >> 1
		if !whim {
			s.rank[shape] >>= min(s.wantedBy[shape], 8) * 2
		}
	}
	slices.SortFunc(s.ruined, func(a, b int32) int {
		x, y := s.problem.Containers[a].Shape, s.problem.Containers[b].Shape
		return cmp.Or(cmp.Compare(s.rank[x], s.rank[y]), cmp.Compare(x, y), cmp.Compare(a, b))
	})
}

// recreate places what was taken off, up to the quota of a shape in each set of the group. An
// application that does not fit any more may stay off where another was off before.
func (s *Search) recreate(group, quota int32) bool {
	shape, spare := constraint.Nowhere, s.spare
	for _, c := range s.ruined {
		if slices.Contains(s.failed, s.app(c)) {
			continue
		}
		if of := s.problem.Containers[c].Shape; of != shape {
			shape = of
			clear(s.inSet[group])
		}
		if n := s.bestWithin(c, group, quota); n != constraint.Nowhere {
			s.put(c, n)
			if set := s.setOf(group, n); set != constraint.Nowhere {
				s.inSet[group][set]++
			}
			continue
		}
		if spare--; spare < 0 || s.problem.Containers[c].At != constraint.Nowhere {
			return false
		}
		if app := s.app(c); !s.problem.Applications[app].Deployed {
			s.failed = append(s.failed, app)
			s.drop(app)
		}
	}
	return true
}

// drop takes off again what of the application is placed.
func (s *Search) drop(app int32) {
	of := &s.problem.Applications[app]
	for c := of.First; c < of.End; c++ {
		if s.board.At(c) != constraint.Nowhere && !s.problem.Containers[c].Fixed {
			s.board.Take(c)
			s.ticks += changeTicks
		}
	}
}

// bestWithin looks for the node among those whose set is below the quota.
func (s *Search) bestWithin(c, group, quota int32) int32 {
	nodes := s.nodes
	if int(quota) < len(s.ruined) || s.blinks {
		s.open = s.open[:0]
		for _, n := range nodes {
			if s.blinks && s.rand.IntN(blink) == 0 {
				continue
			}
			if set := s.setOf(group, n); set == constraint.Nowhere || s.inSet[group][set] < quota {
				s.open = append(s.open, n)
			}
		}
		nodes = s.open
	}
	s.ticks += int64(len(s.nodes))
	node, _ := s.board.Best(c, nodes)
	return node
}
