package mcmf_test

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/mcmftest"
)

// TestBudgetsGoOn solves again and again with a budget that is too small, until it was
// enough: each solve goes on with what the last one left, also where many searches are so
// slow that an auction is tried, and cut.
func TestBudgetsGoOn(t *testing.T) {
	for _, tc := range []struct {
		name  string
		graph func() *mcmf.Graph
	}{
		{"large", func() *mcmf.Graph { return mcmftest.Large(rand.New(rand.NewPCG(1, 2)), 300, 2000) }},
		{"ecsched", func() *mcmf.Graph { return mcmftest.ECSched{Machines: 60, Containers: 100}.New(1).Graph }},
	} {
		want := mcmf.NewSolver(tc.graph()).Solve(mcmf.Options{})
		for _, perArc := range []int64{1, 10, 50} { // looks an arc
			g := tc.graph()
			s, budget := mcmf.NewSolver(g), perArc*int64(g.ArcBound())
			ticks, result := int64(0), mcmf.Result{Status: mcmf.Exhausted}
			for result.Status == mcmf.Exhausted && ticks <= 4*want.Ticks {
				result = s.Solve(mcmf.Options{Budget: budget})
				ticks += result.Ticks
			}
			if result.Status != mcmf.Optimal || result.Cost != want.Cost {
				t.Errorf("%s with %d ticks a solve: %v with the cost %d after %d ticks, want %v with %d; without a budget it takes %d",
					tc.name, budget, result.Status, result.Cost, ticks, want.Status, want.Cost, want.Ticks)
			}
		}
	}
}
