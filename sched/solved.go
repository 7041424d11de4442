package sched

// Solved says by what the applications of a plan were placed, all of them together, and how good that is.
type Solved struct {
	By Method
	// Cost is what the plan costs, in thousandths of one violation of a constraint of weight 1, and Bound what none costs less
	// than, proven, for those that were to be placed or could be moved. Both are 0 unless Bounded.
	Cost, Bound int64
	Bounded     bool
}

// Method is by what a plan was found.
type Method uint8

// The methods.
const (
	// NoMethod is of plans that place no applications, or do not say how.
	NoMethod Method = iota
	// Search is a heuristic, or a search that begins with one.
	Search
	// Programs are integer programs, by which what a search had found was made better.
	Programs
)

// String names the method as in "placed by search".
func (m Method) String() string {
	return [...]string{"nothing that it says", "search", "integer programs"}[m]
}

// Gap is by how much the plan costs more than the bound; 0 where it is proven that none is better.
func (s Solved) Gap() int64 { return s.Cost - s.Bound }

// Optimal reports whether it is proven that no plan is better.
func (s Solved) Optimal() bool { return s.Bounded && s.Cost <= s.Bound }

// Solved says by what the applications were placed.
func (r *Round) Solved() Solved { return r.plan.Solved }
