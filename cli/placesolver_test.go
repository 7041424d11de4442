//go:build !nohighs

package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/ilp/highs"
)

// withHighs says that the command was built with HiGHS.
const withHighs = true

// small is a problem of which serial's plan violates constraints; another one violates none.
func small(t *testing.T) *constraint.Problem {
	t.Helper()
	for seed := range uint64(20) {
		d, err := planted.Draw(planted.Options{Nodes: 30, Applications: 4, Utilisation: 600, InterApp: 4, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if a, _ := greedy.Serial().Solve(&d.Problem); len(constraint.Evaluate(&d.Problem, a).Violations) > 0 {
			return &d.Problem
		}
	}
	t.Fatal("serial violates nothing")
	return nil
}

// TestPlaceMends holds the solver to what it is there for: where the search has no ticks to
// speak of, its plan is mended, the same way twice.
func TestPlaceMends(t *testing.T) {
	p := small(t)
	s := placing{policy: searching, solver: solverHighs, ticks: 1}
	alone := s.solve(t.Context(), p, &mender{})
	mended := s.solve(t.Context(), p, s.start(highs.Options{}))
	if mended.solver == nil || mended.solver.Better == 0 || mended.score >= alone.score || constraint.Check(p, mended.plan) != nil {
		t.Errorf("mended from %d to %d, by %+v (%v)", alone.score, mended.score, mended.solver, constraint.Check(p, mended.plan))
	}
	if got := constraint.Evaluate(p, mended.plan).Score; got != mended.score || mended.bound.Score > got {
		t.Errorf("the plan scores %d, is said to score %d, and the bound is %d", got, mended.score, mended.bound.Score)
	}
	again := s.solve(t.Context(), p, s.start(highs.Options{}))
	if !slices.Equal(again.plan, mended.plan) || *again.solver != *mended.solver || again.bound != mended.bound {
		t.Errorf("the second time %+v, %+v, the first time %+v, %+v", *again.solver, again.bound, *mended.solver, mended.bound)
	}
}

// TestPlaceFallsBack says that a solver that runs out of memory, and one that is not ready in
// time, are reported, and that the plan is then the search's.
func TestPlaceFallsBack(t *testing.T) {
	tight := (&placing{policy: searching, solver: solverHighs, ticks: 1}).start(highs.Options{Memory: 1})
	large := &ilp.Model{}
	for range 400_000 {
		large.AddColumn(0, 1, -1, ilp.Integer)
	}
	_, err := tight.within(t.Context()).Solve(large, nil, ilp.Limits{})
	if err != nil || !strings.Contains(tight.said(), "more memory than it may have") {
		t.Errorf("said %q (%v)", tight.said(), err)
	}
	p := small(t)
	hasty := placing{policy: searching, solver: solverHighs, limit: time.Nanosecond}
	slow := &mender{engine: &highs.Engine{}} // never ready, as nobody started it
	f := hasty.solve(t.Context(), p, slow)
	if f.solver != nil || f.bound.Proof != exact.Trivial || !strings.Contains(slow.said(), "being compiled at the deadline") {
		t.Errorf("asked %+v, bound by %v; said %q", f.solver, f.bound.Proof, slow.said())
	}
}
