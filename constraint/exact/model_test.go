package exact_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/constrainttest"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/ilp"
)

// cases is how many random problems a test draws.
func cases(short, usual, long int) int {
	switch {
	case os.Getenv("FAIRLEAD_LONG") != "":
		return long
	case testing.Short():
		return short
	}
	return usual
}

// draw draws a problem in which some nodes are too full for what runs there.
func draw(chance *rand.Rand, size constrainttest.Size) *constraint.Problem {
	p := constrainttest.Draw(chance, size)
	if len(p.Containers)%3 == 0 {
		constrainttest.AddCards(rand.New(rand.NewPCG(uint64(p.Nodes[0].Capacity[0]), uint64(len(p.Containers)))), p)
	}
	for n := range p.Nodes {
		if chance.IntN(4) == 0 {
			p.Nodes[n].Free[0] -= int64(chance.IntN(5))
		}
	}
	return p
}

func medium() constrainttest.Size {
	return constrainttest.Size{Nodes: 6, Applications: 4, Containers: 4, Constraints: 6}
}

// TestModelIsTheJudge holds both models to the judge: of every placement they say that it may be
// carried out where constraint.Check does, and that it costs what constraint.Evaluate says.
func TestModelIsTheJudge(t *testing.T) {
	for name, build := range models() {
		t.Run(name, func(t *testing.T) {
			feasible, infeasible, violated := 0, 0, 0
			count := cases(500, 3000, 20_000)
			for seed := range count {
				chance := rand.New(rand.NewPCG(uint64(seed), 2))
				p := draw(chance, medium())
				scope, a := drawScope(chance, p)
				m := build(p, scope)
				if err := m.Validate(); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				values, err := m.Encode(a)
				if err != nil {
					infeasible++
					if constraint.Check(p, a) == nil && within(scope, a) {
						t.Fatalf("seed %d: %v, and the assignment may be carried out: %v", seed, err, a)
					}
					continue
				}
				// Containers that nothing distinguishes may have changed places.
				a = m.Decode(values)
				objective, err := ilp.Check(&m.Model, values)
				wrong := constraint.Check(p, a)
				if (err == nil) != (wrong == nil) {
					t.Fatalf("seed %d: the model says %v, the judge %v of %v", seed, err, wrong, a)
				}
				if err != nil {
					infeasible++
					continue
				}
				feasible++
				report := constraint.Evaluate(p, a)
				if bound, err := exact.Bound(p, nil, exact.Options{}); err != nil || bound.Score > report.Score {
					t.Fatalf("seed %d: the bound is %d, and %v costs %d", seed, bound.Score, a, report.Score)
				}
				if report.Parts.Violations > 0 {
					violated++
				}
				if got := float64(m.Constant) + objective; got != float64(report.Score) {
					t.Fatalf("seed %d: the model says %g, the judge %d of %v: %+v", seed, got, report.Score, a, report)
				}
			}
			t.Logf("%d may be carried out, %d of them violate something; %d may not", feasible, violated, infeasible)
			if min(feasible, infeasible, violated) < count/10 {
				t.Errorf("%d feasible, %d infeasible, %d violated of %d: they show too little", feasible, infeasible, violated, count)
			}
		})
	}
}

// within reports whether only nodes of the scope are used.
func within(scope exact.Scope, a constraint.Assignment) bool {
	for i, node := range a {
		if node != scope.Base[i] && scope.Nodes != nil && !slices.Contains(scope.Nodes, node) {
			return false
		}
	}
	return true
}

func models() map[string]func(*constraint.Problem, exact.Scope) *exact.Model {
	return map[string]func(*constraint.Problem, exact.Scope) *exact.Model{"aggregated": exact.Aggregated, "literal": exact.Literal}
}

// drawScope draws what is free, where it may stand, and an assignment that is of the scope, half the
// time one that may be carried out.
func drawScope(chance *rand.Rand, p *constraint.Problem) (exact.Scope, constraint.Assignment) {
	scope := exact.Scope{Base: wander(chance, p, p.Start(), nil)}
	if chance.IntN(3) > 0 {
		scope.Free = make([]bool, len(p.Containers))
		for a := range p.Applications {
			some, free := chance.IntN(4), chance.IntN(3) > 0
			for i := p.Applications[a].First; i < p.Applications[a].End; i++ {
				scope.Free[i] = free && (some > 0 || chance.IntN(2) == 0)
			}
		}
	}
	free := func(i int) bool { return !p.Containers[i].Fixed && (scope.Free == nil || scope.Free[i]) }
	if chance.IntN(3) > 0 {
		needed := map[int32]bool{}
		for i, node := range scope.Base {
			if free(i) && node != constraint.Nowhere {
				needed[node] = true
			}
		}
		scope.Nodes = []int32{}
		for n := range p.Nodes {
			if needed[int32(n)] || chance.IntN(3) > 0 {
				scope.Nodes = append(scope.Nodes, int32(n))
			}
		}
	}
	if chance.IntN(2) == 0 {
		return scope, wander(chance, p, scope.Base, free)
	}
	a := constrainttest.Scatter(chance, p)
	for i := range a {
		if !free(i) {
			a[i] = scope.Base[i]
		}
	}
	return scope, a
}

// wander changes applications at random for as long as the assignment may be carried out.
func wander(chance *rand.Rand, p *constraint.Problem, from constraint.Assignment, free func(int) bool) constraint.Assignment {
	a := append(constraint.Assignment(nil), from...)
	for range 12 {
		app := p.Applications[chance.IntN(len(p.Applications))]
		next := append(constraint.Assignment(nil), a...)
		for i := app.First; i < app.End; i++ {
			if !p.Containers[i].Fixed && (free == nil || free(int(i))) {
				next[i] = int32(chance.IntN(len(p.Nodes)))
			}
		}
		if constraint.Check(p, next) == nil {
			a = next
		}
	}
	return a
}

// TestLevelsRelax says that a model with too few steps never asks more than the judge.
func TestLevelsRelax(t *testing.T) {
	below := 0
	for seed := range cases(300, 1000, 5000) {
		chance := rand.New(rand.NewPCG(uint64(seed), 3))
		p := constrainttest.Draw(chance, medium())
		scope, a := drawScope(chance, p)
		scope.Levels = 1
		m := exact.Aggregated(p, scope)
		values, err := m.Encode(a)
		if err != nil {
			continue
		}
		objective, err := ilp.Check(&m.Model, values)
		if err != nil {
			continue
		}
		says, score := int64(math.Round(objective))+m.Constant, constraint.Evaluate(p, m.Decode(values)).Score
		if says > score || says < score && !m.Cut {
			t.Fatalf("seed %d: the model says %d, the judge %d (steps left out: %t)", seed, says, score, m.Cut)
		}
		if says < score {
			below++
		}
	}
	if below == 0 {
		t.Error("no extent was left out: they show too little")
	}
}

// TestDevicesGivenBack is the devices of one who ran on a node and is elsewhere now: whoever comes may
// have them, whether the model decides where that one is, or not.
func TestDevicesGivenBack(t *testing.T) {
	gpu := cluster.Kind{Name: "gpu", PerUnit: 4, Devices: true}
	kinds := cluster.DeviceKinds([]cluster.Kind{gpu})
	p := &constraint.Problem{
		Kinds:  []cluster.Kind{gpu},
		Groups: []constraint.Group{{Name: cluster.EachNode, Sets: []string{"a", "b"}, SetOf: []int32{0, 1}}},
		Nodes: []constraint.Node{
			{Name: "a", Capacity: cluster.Vector{4}, Free: cluster.Vector{1}, Devices: []int64{1}},
			{Name: "b", Capacity: cluster.Vector{4}, Free: cluster.Vector{4}, Devices: []int64{4}},
		},
		Applications: []constraint.Application{{Name: "old", First: 0, End: 1, Deployed: true}, {Name: "new", First: 1, End: 2}},
		Shapes: []constraint.Shape{
			{Application: 0, Demand: cluster.Vector{3}, Needs: cluster.NeedsOf(kinds, cluster.Vector{3})},
			{Application: 1, Demand: cluster.Vector{2}, Needs: cluster.NeedsOf(kinds, cluster.Vector{2})},
		},
		Containers: []constraint.Container{{Shape: 0, At: 0, Devices: 1}, {Shape: 1, At: constraint.Nowhere}},
		Objective:  constraint.Standard(),
	}
	for _, free := range [][]bool{{true, true}, {false, true}} {
		for a, fits := range map[[2]int32]bool{{0, 0}: false, {0, 1}: true, {1, 0}: true, {1, 1}: false} {
			m := exact.Aggregated(p, exact.Scope{Base: constraint.Assignment{a[0], constraint.Nowhere}, Free: free})
			values, err := m.Encode(a[:])
			if err == nil {
				_, err = ilp.Check(&m.Model, values)
			}
			if (err == nil) != fits || fits != (constraint.Check(p, a[:]) == nil) {
				t.Errorf("free %v, on nodes %v: %v, want it to fit: %t", free, a, err, fits)
			}
		}
	}
}
