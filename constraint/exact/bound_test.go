//go:build !nohighs

package exact_test

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
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

// TestLargestWeights proves nothing, and nothing wrong, where costs are too large to be counted in
// a model.
func TestLargestWeights(t *testing.T) {
	for _, tc := range []struct {
		name  string
		weigh func(*constraint.Problem)
		proof exact.Proof
	}{
		{"the largest weight of constraints", func(p *constraint.Problem) {
			p.Constraints[0].Weight = cluster.MaxWeight
			p.Objective.Unplaced = 1 << 40 // within what the solver tells from the rest
		}, exact.Whole},
		{"applications so dear that the solver does not tell the rest", func(p *constraint.Problem) {
			p.Constraints[0].Weight = cluster.MaxWeight
		}, exact.Trivial},
		{"violations a million times as dear, too", func(p *constraint.Problem) {
			p.Constraints[0].Weight = cluster.MaxWeight
			p.Objective.Violation = 1_000_000_000
		}, exact.Trivial},
		{"the fullest node", func(p *constraint.Problem) { p.Objective.Peak = 1_000_000_000_000 }, exact.Trivial},
	} {
		apart := cluster.Bound{Subject: []string{"a"}, Target: []string{"a"}, Group: cluster.EachNode}
		p := &constraint.Problem{
			Kinds:        []cluster.Kind{{Name: "memory", PerUnit: 1}},
			Nodes:        []constraint.Node{{Capacity: cluster.Vector{8_000_000_000}, Free: cluster.Vector{8_000_000_000}}},
			Groups:       []constraint.Group{{Name: cluster.EachNode, Sets: []string{"n"}, SetOf: []int32{0}}},
			Applications: []constraint.Application{{Name: "a", End: 3}},
			Shapes: []constraint.Shape{
				{Demand: cluster.Vector{1_000_000_000}, Tags: []string{"a"}}, {Demand: cluster.Vector{2_000_000_000}, Tags: []string{"a"}},
			},
			Constraints: []cluster.Constraint{{Name: "apart", Weight: 1000, Any: [][]cluster.Bound{{apart}}}},
			Objective:   constraint.Standard(),
		}
		p.Objective.Unplaced = 1 << 58
		for i := range int32(3) {
			p.Containers = append(p.Containers, constraint.Container{Shape: i % 2, At: constraint.Nowhere})
		}
		tc.weigh(p)
		together := constraint.Evaluate(p, constraint.Assignment{0, 0, 0}).Score
		r, err := exact.Repair(p, p.Start(), solver(t), exact.Options{Columns: 10_000})
		if err != nil || r.Proof != tc.proof || r.Bound > together || tc.proof == exact.Whole && r.Score != together {
			t.Errorf("%s: the score is %d, the bound %d by %v (%v), and together they cost %d", tc.name, r.Score, r.Bound, r.Proof, err, together)
		}
	}
}
