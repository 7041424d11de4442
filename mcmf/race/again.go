package race

import (
	"slices"

	"fairlead.dev/fairlead/mcmf"
)

// This file writes down who won, and runs races again by what was written.

// Noted is a racing solver that tells the winner of each race.
type Noted struct {
	*Solver

	Won func(by mcmf.Algorithm)
}

// Solve is Solver.Solve.
func (s Noted) Solve(o mcmf.Options) mcmf.Result {
	r := s.Solver.Solve(o)
	if o.Algorithm == mcmf.Automatic {
		s.Won(r.Algorithm)
	}
	return r
}

// Again is a racing solver whose races were run before: Next says who won each of
// them. Where it does not know, nobody races, so that the answer is at least the
// same on each machine.
type Again struct {
	*Solver

	Next func() (mcmf.Algorithm, bool)
}

// Solve is Solver.Solve, as far as the flow and the ticks go.
func (s Again) Solve(o mcmf.Options) mcmf.Result {
	if o.Algorithm == mcmf.Automatic {
		by, known := s.Next()
		if !known || !slices.Contains(mcmf.Algorithms(), by) {
			by = s.Choice()
		}
		o.Algorithm = by
	}
	return s.Solver.Solve(o)
}
