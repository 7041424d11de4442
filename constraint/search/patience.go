package search

// This file keeps a search from standing still: where nothing better was found for a while, plans
// that are a little worse than the best are kept, too, by and by more of them; and then it
// returns to the best and begins again (record-to-record travel, Dueck 1993, with a
// deviation that comes and goes).

const (
	turnTicks = 250 // of a turn, for each container that may be moved
	turns     = 4   // until it returns
)

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
	s.slack = turn % turns * (o.Violation + o.Extent)
	if s.slack == 0 {
		s.recall()
	}
}
