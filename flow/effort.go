package flow

// effort counts the work of a round, which its ticks are.
type effort struct {
	asks  int64 // questions to the model
	looks int64 // at rows, beside those
	arcs  int64 // that solvers looked at
}

// looksPerTick is how many arcs the solver looks at while one node is priced: a
// plan's ticks are all of one size.
const looksPerTick = 8

func (e *effort) ticks() int64 { return e.arcs/looksPerTick + e.asks + e.looks }

// spent reports whether nothing is left of a budget.
func (e *effort) spent(budget int64) bool { return budget > 0 && e.ticks() >= budget }

// left is how many arcs a solver may look at within a budget, one at least; 0, which is no
// limit, where there is none.
func (e *effort) left(budget int64) int64 {
	if budget == 0 {
		return 0
	}
	return max(1, (budget-e.asks-e.looks)*looksPerTick-e.arcs)
}
