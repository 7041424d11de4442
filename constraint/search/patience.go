package search

// This file keeps a search from standing still: where nothing better was found for a while, plans
// that are worse than the best by up to so many violations are kept, too, then by fewer, then
// by none; and then the search returns to the best and begins again (record-to-record
// travel, Dueck 1993, with a deviation that comes and goes).
//
// Of what was tried, on planted problems of 500 nodes and 40 applications: deviations that
// rise within a round were worse, as were turns half and twice as long, and simulated
// annealing much so; and where all rounds are alike some plans are never left.

const (
	turnTicks = 500 // of a turn, for each container that may be moved
	turns     = 4   // until it returns
	heights   = 4   // how much higher it goes each time, until that begins anew
)

// deviation is by how many violations worse than the best a plan may be in the turn.
func deviation(turn int64) int64 {
	height := 1 + turn/turns%heights
	switch turn % turns {
	case 1:
		return 3 * height
	case 2:
		return height
	}
	return 0
}

type patience struct {
	turn int64 // turns since the best was found
}

// wait lets a turn pass if it is time.
func (s *Search) wait() {
	turn := (s.ticks - s.recorded) / (turnTicks * int64(len(s.movable)))
	if turn == s.turn {
		return
	}
	s.turn = turn
	o := &s.problem.Objective
	s.slack = deviation(turn) * (o.Violation + o.Extent)
	if turn%turns == 0 {
		s.recall()
	}
}
