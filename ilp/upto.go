package ilp

import "errors"

// ErrGivenUp says that a solver is not asked any more.
var ErrGivenUp = errors.New("the solver was given up")

// UpTo is a solver that is asked as long as More says so, and then fails with ErrGivenUp: how a replay gives up a
// solver where it was given up for a reason that no replay has, as that it was too slow.
type UpTo struct {
	Solver Solver
	More   func() bool
}

// Solve asks the solver, if it may.
func (u UpTo) Solve(m *Model, start []float64, l Limits) (Solution, error) {
	if !u.More() {
		return Solution{}, ErrGivenUp
	}
	return u.Solver.Solve(m, start, l)
}
