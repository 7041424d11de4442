package search

// This file keeps a search from standing still. Where nothing better was found for a while, plans
// that are worse than the best by up to so many violations are kept, too, then by fewer, then
// by none; and then the search returns to the best and begins again (record-to-record
// travel, Dueck 1993, with a deviation that comes and goes). Where that does not help either,
// another leg begins: in turn from the plan that the first began with and from the best of
// all. How long it takes to come to a plan without violations has a long tail, which
// beginning again cuts off (Gomes, Selman and Kautz 1998).
//
// Of what was tried, on planted problems of 500 nodes and 40 applications: turns half as long were worse,
// and those twice as long were so where what runs may be moved. Before there were surcharges,
// deviations that rise within a round were worse, too, and simulated annealing much so; where
// all rounds are alike some plans were never left; and legs of half as many turns were much worse, of
// twice as many somewhat, and so was always to begin with the first plan.

const (
	turnTicks = 1000 // of a turn, for each container that may be moved
	turns     = 4    // until it returns
	heights   = 2    // how much higher it goes each time, until another leg begins
)

// deviation is by how many violations worse than the best a plan may be in the turn.
func (s *Search) deviation(turn int64) int64 {
	height := 1 + turn/turns
	if s.fromBest() { // which is harder to better than the first plan
		height += heights
	}
	switch turn % turns {
	case 1:
		return 3 * height
	case 2:
		return height
	}
	return 0
}

type patience struct {
	turn         int64 // turns since the best of the leg was found
	legs         int   // that are over
	origin, past plan  // what the search began with, and the best of the legs that are over
}

// wait lets a turn pass if it is time.
func (s *Search) wait() {
	turn := (s.ticks - s.recorded) / (turnTicks * int64(len(s.movable)))
	if turn == s.turn {
		return
	}
	s.turn = turn
	if turn >= turns*heights {
		s.leave()
		return
	}
	o := &s.problem.Objective
	s.slack = s.deviation(turn) * (o.Violation + o.Extent)
	if turn%turns == 0 {
		s.recall()
	}
}

// leave begins another leg.
func (s *Search) leave() {
	if s.legs == 0 || s.best.score < s.past.score {
		s.past.copy(&s.best)
	}
	s.legs++
	from := &s.origin
	if s.fromBest() {
		from = &s.past
	}
	s.best.copy(from)
	s.board.Relieve()
	s.recall()
	s.recorded, s.turn, s.slack = s.ticks, 0, 0
}

// fromBest reports whether the leg began with the best of all.
func (s *Search) fromBest() bool { return s.legs > 0 && s.legs%2 == 0 }

// bestOfAll is the best plan of all legs.
func (s *Search) bestOfAll() *plan {
	if s.legs > 0 && s.past.score < s.best.score {
		return &s.past
	}
	return &s.best
}
