package app

import (
	"fairlead.dev/fairlead/ilp/highs"
	"fairlead.dev/fairlead/kube/scheduler"
)

// programsMemory is the most that solving an integer program may take. What is solved takes a tenth of it, as a rule.
const programsMemory = 256 << 20

// Solver begins the solver of integer programs. It gives way to all else, since a scheduler must not wait for it.
func Solver() scheduler.Programs {
	return highs.Start(highs.Options{Preemptible: true, Instances: 1, Memory: programsMemory})
}
