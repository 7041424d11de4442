package ecsched

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestConformance puts both scores with both solvers into a hostile world, also
// with a window that is far too small for what waits.
func TestConformance(t *testing.T) {
	for _, o := range []Options{
		{Score: DotProduct},
		{Score: MostLoaded},
		{Score: DotProduct, Solver: Literal},
		{Score: MostLoaded, Solver: Literal},
		{Window: 2, Solves: 1},
		{Window: 3, Solves: 2, Solver: Literal},
	} {
		if testing.Short() && o.Window == 0 && o.Score == MostLoaded {
			continue // the same code with other prices
		}
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			schedtest.Conformance(t, func(uint64) sched.Policy { return newPolicy(t, o) })
		})
	}
}

func newPolicy(tb testing.TB, o Options) sched.Policy {
	tb.Helper()
	p, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
