package policies

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/internal/nearest"
)

// Automatic is the solver of flow policies unless another is asked for: it goes
// on from the last round's solution, and changes its algorithm where counted
// work says that this one is slow.
const Automatic = "automatic"

// Race is two solvers at once, as in Firmament: the first to be done wins. Literal
// is successive shortest paths in the order of rows, as ECSched's code does it.
const (
	Race    = "race"
	Literal = "ssp-literal"
)

// Solvers lists the names of the solvers that a flow policy may be told to use.
func Solvers() []string {
	return []string{
		Automatic,
		"incremental",                                                                           // the last solution, repaired; from nothing where there is none
		"auction", "cost-scaling", "network-simplex", "relaxation", "successive-shortest-paths", // from nothing, each round
		Race, Literal,
	}
}

// Solver is the option of that name, by which all are the same to flow policies but how long they take.
func Solver() Option {
	return Option{
		Name: "solver", Values: Solvers(),
		Help:    "`NAME` of what solves the flow, for policies of that family: " + strings.Join(Solvers(), ", ") + " (default: " + Automatic + ")",
		Useless: "is of the flow family; 'fairlead policies' says which are",
		get:     func(o *Options) string { return o.Solver },
		set: func(o *Options, text string) {
			if o.Solver = text; text == Automatic {
				o.Solver = ""
			}
		},
	}
}

// CheckSolver returns an error that suggests the nearest name unless there is a
// Solver of that name. The empty name is Automatic.
func CheckSolver(name string) error {
	if name == "" || slices.Contains(Solvers(), name) {
		return nil
	}
	return nearest.Unknown("solver", name, Solvers())
}
