//go:build !nohighs

package exact_test

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/constraint/search"
)

// TestTruth holds search and repair together to enumeration: they reach the optimum in at least 99 of
// 100 small problems, and never claim wrongly that they have. The bound of each repair holds, and
// so does what search says of itself.
func TestTruth(t *testing.T) {
	count := cases(30, 60, 1000)
	searched, repaired, proven, costly := 0, 0, 0, 0
	for seed := range count {
		p := draw(rand.New(rand.NewPCG(uint64(seed), 8)), tiny())
		want := optimum(p)
		s := search.Solve(p, search.Options{Seed: uint64(seed), Ticks: 2000})
		r, err := exact.Repair(p, s.Assignment, solver(t), exact.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		if err := constraint.Check(p, r.Assignment); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if r.Score < want || constraint.Evaluate(p, r.Assignment).Score != r.Score || r.Score > s.Score {
			t.Fatalf("seed %d: search %d, repaired %d, optimum %d", seed, s.Score, r.Score, want)
		}
		if r.Bound > want || r.Optimal && r.Score > want || s.Optimal && s.Score > want {
			t.Fatalf("seed %d: claimed wrongly: search %d (optimal: %t), repaired %d (optimal: %t, bound %d), optimum %d",
				seed, s.Score, s.Optimal, r.Score, r.Optimal, r.Bound, want)
		}
		for is, number := range map[*int]bool{&searched: s.Score == want, &repaired: r.Score == want, &proven: r.Optimal, &costly: want > 0} {
			if number {
				*is++
			}
		}
	}
	t.Logf("of %d: search reaches the optimum in %d, with repair %d, proven %d; %d optima cost something", count, searched, repaired, proven, costly)
	if repaired < count-count/100 || proven < count-count/100 {
		t.Errorf("search and repair reach %d of %d optima, and prove %d, want 99 of 100", repaired, count, proven)
	}
	if costly < count/4 {
		t.Errorf("%d of %d optima cost something: they show too little", costly, count)
	}
}
