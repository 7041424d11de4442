//go:build !nohighs

package exact_test

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/ilp"
)

// TestBound holds every kind of bound to enumeration: from nothing, from the model without whole
// numbers, from a solver that is stopped, and from the whole model, each at least as high as what
// is known without a solver, and never too high. A repair proves the same.
func TestBound(t *testing.T) {
	higher, count := 0, cases(10, 20, 500)
	proofs := map[string]exact.Proof{"relaxed": exact.Relaxation, "stopped": exact.Whole, "whole": exact.Whole}
	for seed := range count {
		p := draw(rand.New(rand.NewPCG(uint64(seed), 11)), tiny())
		want := optimum(p)
		nothing, err := exact.Bound(p, nil, exact.Options{})
		if err != nil || nothing.Score > want {
			t.Fatalf("seed %d: without a solver the bound is %d (%v), and the optimum %d", seed, nothing.Score, err, want)
		}
		for name, o := range map[string]exact.Options{
			"relaxed": {Relaxed: 10_000},
			"stopped": {Columns: 10_000, Each: ilp.Limits{Ticks: 1}},
			"whole":   {Columns: 10_000},
		} {
			bound, err := exact.Bound(p, solver(t), o)
			if err != nil || bound.Score > want || bound.Score < nothing.Score || name == "whole" && bound.Score != want {
				t.Fatalf("seed %d, %s: the bound is %d (%v), without a solver %d, and the optimum %d", seed, name, bound.Score, err, nothing.Score, want)
			}
			if is := proofs[name]; bound.Score > nothing.Score && bound.Proof != is || bound.Score == nothing.Score && bound.Proof != exact.Trivial {
				t.Fatalf("seed %d: the bound of %d, %d without a solver, is by %v, want %v", seed, bound.Score, nothing.Score, bound.Proof, is)
			}
			if r, err := exact.Repair(p, p.Start(), solver(t), o); err != nil || name != "stopped" && (r.Bound != bound.Score || r.Proof != bound.Proof) {
				t.Fatalf("seed %d, %s: the bound is %d by %v, and that of a repair %d by %v (%v)", seed, name, bound.Score, bound.Proof, r.Bound, r.Proof, err)
			}
			if name == "relaxed" && bound.Score > nothing.Score {
				higher++
			}
		}
	}
	t.Logf("of %d bounds without whole numbers %d say more than nothing", count, higher)
	if !testing.Short() && higher < count/10 {
		t.Errorf("of %d bounds without whole numbers %d say more than nothing: they show too little", count, higher)
	}
}
