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

// TestBudgetEndsAtAHugeCost: between two solves an arc with room for 2³² units becomes a gain of 2³⁵ each, of which so many
// units can come back as there are ways. A solve that is cut while all of it flows has found no answer, and is none that is too large.
func TestBudgetEndsAtAHugeCost(t *testing.T) {
	const ways, gain = 200, 1 << 35
	g := mcmf.NewGraph(2+ways, 1+2*ways)
	u, v := g.AddNode(0), g.AddNode(0)
	out := g.AddArc(u, v, 0, 1<<32, 0)
	for i := range int64(ways) {
		back := g.AddNode(0)
		g.AddArc(v, back, 0, 1, i)
		g.AddArc(back, u, 0, 1, i)
	}
	s := mcmf.NewSolver(g)
	if r := s.Solve(mcmf.Options{Algorithm: mcmf.Incremental}); r.Status != mcmf.Optimal || r.Cost != 0 {
		t.Fatalf("at first: %+v", r)
	}
	g.SetArc(out, 0, 1<<32, -gain)
	solves, r := 0, mcmf.Result{Status: mcmf.Exhausted}
	for ; r.Status == mcmf.Exhausted && solves < 10_000; solves++ {
		r = s.Solve(mcmf.Options{Algorithm: mcmf.Incremental, Budget: 1})
	}
	if want := int64(ways*(ways-1) - ways*gain); r.Status != mcmf.Optimal || r.Cost != want || s.Flow(out) != ways || solves < 2 {
		t.Errorf("after %d solves: %+v with a flow of %d; want the cost %d, a flow of %d and more than one solve", solves, r, s.Flow(out), want, ways)
	}
}
