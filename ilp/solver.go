package ilp

import "math"

// Solver solves models. The same model, start and limits give the same solution
// and the same ticks, on any machine, as long as no clock is involved: a caller's
// deadline, or a cap on memory that was hit.
type Solver interface {
	// Solve minimises the model. The start may be nil; else it has a value for
	// each column, and the solution is never worse than it where it holds. The
	// error says that the model is not valid, or that the solver failed; values
	// are returned without one only.
	Solve(m *Model, start []float64, l Limits) (Solution, error)
}

// Limits says when a solver may stop before it is done. The zero value is no limit.
type Limits struct {
	// Gap is enough when what was found costs at most this share more than the
	// bound, of the absolute value of what it costs.
	Gap float64
	// Ticks is the most effort to spend, in units that the solver counts, the
	// same on any machine. It looks at it now and then, and may spend more.
	Ticks int64
}

// Status says what a solution is.
type Status uint8

const (
	// Unknown says that the solver stopped and has no values.
	Unknown Status = iota
	// Optimal says that no values cost less, by more than Tolerance.
	Optimal
	// Feasible says that the values hold, and that the solver stopped before it
	// knew whether others cost less.
	Feasible
	// Infeasible says that no values hold.
	Infeasible
	// Unbounded says that values hold, and that others cost less than any number.
	Unbounded
)

func (s Status) String() string {
	return [...]string{"unknown", "optimal", "feasible", "infeasible", "unbounded"}[s]
}

// Limit says what a solver stopped for.
type Limit uint8

const (
	// None says that the solver was done.
	None Limit = iota
	// Gap says that Limits.Gap was reached.
	Gap
	// Ticks says that Limits.Ticks were spent.
	Ticks
	// Time says that the caller's context ended, by its deadline or otherwise.
	Time
	// Memory says that the solver may have no more memory.
	Memory
)

func (l Limit) String() string {
	return [...]string{"none", "gap", "ticks", "time", "memory"}[l]
}

// Solution is what a solver found.
type Solution struct {
	Status Status
	Limit  Limit
	// Values has a number for each column where Optimal or Feasible, else it is
	// nil. Those of integer columns are whole.
	Values []float64
	// Objective is what the values cost: +Inf where there are none, -Inf where Unbounded.
	Objective float64
	// Bound is what any values cost at least, as the solver proved up to
	// Tolerance: -Inf where it proved nothing, +Inf where Infeasible.
	Bound float64
	// Ticks is the effort that was spent.
	Ticks int64
}

// Gap returns by which share of what the values cost the bound lies below: 0
// where they are optimal, +Inf where nothing is known.
func (s *Solution) Gap() float64 {
	switch {
	case s.Status == Optimal || s.Status == Feasible && s.Bound >= s.Objective:
		return 0
	case s.Objective == 0 || math.IsInf(s.Objective, 0):
		return math.Inf(1)
	default:
		return (s.Objective - s.Bound) / math.Abs(s.Objective)
	}
}
