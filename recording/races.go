package recording

import "fairlead.dev/fairlead/mcmf"

// Races is who won the races of a lane's policy, in their order. Where two solvers
// race, the faster machine may decide who wins, and with it which of equally cheap
// flows is found: what no replay could know if nobody had written it down.
//
// It has one owner at a time: whoever runs the lane's round, then whoever finishes it.
type Races struct {
	won    []mcmf.Algorithm
	beyond int // how many were asked for that are not there
}

// Won notes the winner of a race.
func (r *Races) Won(by mcmf.Algorithm) { r.won = append(r.won, by) }

// Next is who won the next race; false when there is none.
func (r *Races) Next() (mcmf.Algorithm, bool) {
	if len(r.won) == 0 {
		r.beyond++
		return mcmf.Automatic, false
	}
	by := r.won[0]
	r.won = r.won[1:]
	return by, true
}

// Take appends all to a list, and leaves none.
func (r *Races) Take(to []mcmf.Algorithm) []mcmf.Algorithm {
	to = append(to, r.won...)
	r.won = r.won[:0]
	return to
}
