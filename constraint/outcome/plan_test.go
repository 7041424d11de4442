package outcome

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/constrainttest"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/constraint/request"
)

// This file holds what is printed of a plan's worth to the judge.

// TestPlanAddsUp says that the parts of the objective are the score, and that every application
// that is not placed, or lacks a container, is named, in plans of any kind.
func TestPlanAddsUp(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(200) {
		chance := rand.New(rand.NewPCG(seed, 3))
		p := constrainttest.Draw(chance, constrainttest.Small())
		parts := make([]string, len(p.Shapes))
		for i := range parts {
			parts[i] = fmt.Sprintf("part%d", i)
		}
		a := constrainttest.Scatter(chance, p)
		answer := Of(request.New(*p, parts), a, exact.Bounded{}, Asking{Place: func(p *constraint.Problem) constraint.Assignment { return p.Start() }})
		sum := new(big.Rat)
		for _, part := range answer.Objective {
			cost, _ := new(big.Rat).SetString(string(part.Cost))
			sum.Add(sum, cost)
			if cost.Sign() > 0 {
				seen[part.Name]++
			}
		}
		if score, _ := new(big.Rat).SetString(string(answer.Score)); score.Cmp(sum) != 0 {
			t.Fatalf("seed %d: the score is %s, and %+v sum up to %v", seed, answer.Score, answer.Objective, sum)
		}
		lacking := map[string]bool{}
		for c, node := range a {
			if node == constraint.Nowhere {
				lacking[p.Applications[p.Shapes[p.Containers[c].Shape].Application].Name] = true
			}
		}
		for _, u := range answer.Unplaced {
			if !lacking[u.Application] {
				t.Fatalf("seed %d: %s is said to lack somebody: %s", seed, u.Application, u.Reason)
			}
			delete(lacking, u.Application)
		}
		if len(lacking) > 0 {
			t.Fatalf("seed %d: nothing is said of %v", seed, lacking)
		}
	}
	for _, name := range []string{"unplaced", "loose", "moved", "violation", "extent", "peak"} {
		if seen[name] < 10 {
			t.Errorf("%s costs something in %d plans, want 10 at least", name, seen[name])
		}
	}
}
