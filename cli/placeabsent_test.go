//go:build nohighs

package cli

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/ilp/highs"
)

const withHighs = false

// TestPlaceWithoutHighs says that a command that was built without HiGHS has the search's plan, and
// says so.
func TestPlaceWithoutHighs(t *testing.T) {
	d, err := planted.Draw(planted.Options{Nodes: 100, Applications: 10, Utilisation: 700, InterApp: 10, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := placing{policy: searching, solver: solverHighs, ticks: 1}
	solver := s.start(highs.Options{})
	f := s.solve(t.Context(), &d.Problem, solver)
	if f.solver != nil || constraint.Check(&d.Problem, f.plan) != nil || !strings.Contains(solver.said(), "built without HiGHS") {
		t.Errorf("asked %+v; said %q", f.solver, solver.said())
	}
}
