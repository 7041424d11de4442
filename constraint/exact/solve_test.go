//go:build !nohighs

package exact_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/constrainttest"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/ilp/highs"
)

// engine is compiled once for all tests.
var engine = sync.OnceValue(func() *highs.Engine { return highs.Start(highs.Options{}) })

func solver(tb testing.TB) ilp.Solver {
	tb.Helper()
	if err := engine().Wait(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return engine()
}

func solve(tb testing.TB, m *exact.Model) ilp.Solution {
	tb.Helper()
	s, err := solver(tb).Solve(&m.Model, nil, ilp.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// tiny is a size whose placements are enumerated in no time.
func tiny() constrainttest.Size {
	return constrainttest.Size{Nodes: 3, Applications: 3, Containers: 2, Constraints: 5}
}

// each calls yield with every assignment that may be carried out.
func each(p *constraint.Problem, yield func(constraint.Assignment)) {
	a := p.Start()
	var from func(i int)
	from = func(i int) {
		if i == len(a) {
			if constraint.Check(p, a) == nil {
				yield(a)
			}
			return
		}
		c := &p.Containers[i]
		if c.Fixed {
			from(i + 1)
			return
		}
		for n := range p.Nodes {
			a[i] = int32(n)
			from(i + 1)
		}
		if a[i] = constraint.Nowhere; c.At == constraint.Nowhere {
			from(i + 1)
		}
		a[i] = c.At
	}
	from(0)
}

// optimum is the least score, by enumeration.
func optimum(p *constraint.Problem) int64 {
	least := int64(math.MaxInt64)
	each(p, func(a constraint.Assignment) { least = min(least, constraint.Evaluate(p, a).Score) })
	return least
}

// TestOptimum holds both models, the bound and the repair to enumeration.
func TestOptimum(t *testing.T) {
	costly, count := 0, cases(10, 25, 1000)
	for seed := range count {
		p := draw(rand.New(rand.NewPCG(uint64(seed), 4)), tiny())
		want := optimum(p)
		for name, build := range models() {
			m := build(p, exact.Scope{Base: p.Start()})
			s := solve(t, m)
			if s.Status != ilp.Optimal || m.Constant+int64(math.Round(s.Objective)) != want {
				t.Fatalf("seed %d: the %s model says %v, %g and %d, enumeration %d", seed, name, s.Status, s.Objective, m.Constant, want)
			}
			if a := m.Decode(s.Values); constraint.Check(p, a) != nil || constraint.Evaluate(p, a).Score != want {
				t.Fatalf("seed %d: the %s model's placement %v costs %d, want %d (%v)", seed, name, a, constraint.Evaluate(p, a).Score, want, constraint.Check(p, a))
			}
		}
		bound, err := exact.Bound(p, solver(t), exact.Defaults())
		if err != nil || bound.Score != want {
			t.Fatalf("seed %d: the bound is %d (%v), want %d", seed, bound.Score, err, want)
		}
		r, err := exact.Repair(p, p.Start(), solver(t), exact.Defaults())
		if err != nil || !r.Optimal || r.Score != want || constraint.Evaluate(p, r.Assignment).Score != want {
			t.Fatalf("seed %d: repaired to %+v (%v), want %d", seed, r, err, want)
		}
		if want > 0 {
			costly++
		}
	}
	if costly < count/4 {
		t.Errorf("%d of %d optima cost something: they show too little", costly, count)
	}
}

// TestPlacementFixed solves models in which the placement is given: the solver finds no way to
// count for less than the judge.
func TestPlacementFixed(t *testing.T) {
	found, count := 0, cases(20, 40, 10_000)
	for seed := 0; found < count; seed++ {
		chance := rand.New(rand.NewPCG(uint64(seed), 5))
		p := draw(chance, medium())
		scope, a := drawScope(chance, p)
		m := exact.Aggregated(p, scope)
		values, err := m.Encode(a)
		if err != nil {
			continue
		}
		if _, err := ilp.Check(&m.Model, values); err != nil {
			continue
		}
		m.Fix(values)
		s := solve(t, m)
		score := constraint.Evaluate(p, m.Decode(values)).Score
		if s.Status != ilp.Optimal || m.Constant+int64(math.Round(s.Objective)) != score {
			t.Fatalf("seed %d: the solver says %v, %g and %d, the judge %d", seed, s.Status, s.Objective, m.Constant, score)
		}
		found++
	}
}

// TestRepair starts from placements at random, with models too small for the whole: what comes back
// may be carried out, is never worse, is the same again, and its bound is one.
func TestRepair(t *testing.T) {
	better, optimal, solved := 0, 0, 0
	o := exact.Options{Columns: 120, Nodes: 6}
	for seed := range cases(4, 8, 300) {
		chance := rand.New(rand.NewPCG(uint64(seed), 6))
		p := draw(chance, medium())
		start := wander(chance, p, p.Start(), nil)
		before := constraint.Evaluate(p, start).Score
		r, err := exact.Repair(p, start, solver(t), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := constraint.Check(p, r.Assignment); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got := constraint.Evaluate(p, r.Assignment).Score; got != r.Score || got > before || r.Bound > got {
			t.Fatalf("seed %d: from %d to %d, which says %d and the bound %d", seed, before, got, r.Score, r.Bound)
		}
		again, err := exact.Repair(p, start, solver(t), o)
		if err != nil || !slices.Equal(r.Assignment, again.Assignment) || r.Ticks != again.Ticks {
			t.Fatalf("seed %d: %v, and the second time %v (%v)", seed, r, again, err)
		}
		full, err := exact.Repair(p, r.Assignment, solver(t), exact.Options{Columns: 100_000})
		if err != nil || r.Bound > full.Score || r.Optimal && full.Score < r.Score || !full.Optimal {
			t.Fatalf("seed %d: the bound is %d and optimal is %t, and there is %+v (%v)", seed, r.Bound, r.Optimal, full, err)
		}
		solved += r.Models
		if r.Score < before {
			better++
		}
		if full.Score == r.Score {
			optimal++
		}
	}
	t.Logf("%d better, %d optimal, %d models", better, optimal, solved)
	if better == 0 || solved == 0 {
		t.Error("nothing was made better: they show too little")
	}
}

// deprived is an application of three that should be apart, of which one runs on the first of the
// nodes, beside room for so many of those that it lacks; all other nodes are full.
func deprived(nodes int, room int64) *constraint.Problem {
	p := &constraint.Problem{
		Kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, Groups: []constraint.Group{{Name: cluster.EachNode}},
		Applications: []constraint.Application{{Name: "app", End: 3, Deployed: true}},
		Shapes:       []constraint.Shape{{Demand: cluster.Vector{1}, Tags: []string{"a"}}},
		Containers:   []constraint.Container{{At: 0, Fixed: true}, {At: constraint.Nowhere}, {At: constraint.Nowhere}},
		Constraints: []cluster.Constraint{{
			Name: "apart", Weight: 1000, Any: [][]cluster.Bound{{{Subject: []string{"a"}, Target: []string{"a"}, Group: cluster.EachNode}}},
		}},
		Objective: constraint.Standard(),
	}
	for n := range int32(nodes) {
		p.Nodes = append(p.Nodes, constraint.Node{Capacity: cluster.Vector{4}, Free: cluster.Vector{0}})
		p.Groups[0].Sets = append(p.Groups[0].Sets, fmt.Sprint("n", n))
		p.Groups[0].SetOf = append(p.Groups[0].SetOf, n)
	}
	p.Nodes[0].Free[0] = room
	return p
}

// TestRepairLeavesNobodyLoose says that a repair takes nobody off who has come back, however that
// violates, and brings those back whom search did not, as far as there is room: by the model of
// everything, and by models of parts where that is too large.
func TestRepairLeavesNobodyLoose(t *testing.T) {
	const nowhere = constraint.Nowhere
	for _, tc := range []struct {
		room         int64
		start        constraint.Assignment
		floor, score int64
	}{
		{0, constraint.Assignment{0, nowhere, nowhere}, 2_000_000, 2_000_000},
		{1, constraint.Assignment{0, nowhere, nowhere}, 1_001_100, 1_002_200},
		{1, constraint.Assignment{0, 0, nowhere}, 1_001_100, 1_002_200},
		{2, constraint.Assignment{0, nowhere, nowhere}, 2200, 3600},
		{2, constraint.Assignment{0, 0, 0}, 2200, 3600},
	} {
		for _, o := range []exact.Options{{Columns: 1000}, {Columns: 30, Nodes: 10}} {
			p := deprived(40, tc.room)
			if bound, err := exact.Bound(p, nil, o); err != nil || bound.Score != tc.floor {
				t.Errorf("%+v: without a solver the bound is %d (%v)", tc, bound.Score, err)
			}
			r, err := exact.Repair(p, tc.start, solver(t), o)
			proven := o.Columns == 1000 || tc.floor == tc.score
			if err != nil || r.Score != tc.score || constraint.Evaluate(p, r.Assignment).Score != tc.score || r.Optimal != proven {
				t.Errorf("%+v, %d columns: %+v (%v)", tc, o.Columns, r, err)
			}
		}
	}
}

// liar is a solver that is wrong: it puts as many everywhere as columns let it.
type liar struct{}

func (liar) Solve(m *ilp.Model, _ []float64, _ ilp.Limits) (ilp.Solution, error) {
	return ilp.Solution{Status: ilp.Feasible, Values: m.Upper, Objective: -1e12, Bound: math.Inf(-1), Ticks: 1}, nil
}

// broken is a solver that fails.
type broken struct{}

func (broken) Solve(*ilp.Model, []float64, ilp.Limits) (ilp.Solution, error) {
	return ilp.Solution{}, errors.New("out of order")
}

// TestRepairBelievesNobody says that a solver that is wrong, or fails, does no harm.
func TestRepairBelievesNobody(t *testing.T) {
	failed := 0
	for seed := range 300 {
		chance := rand.New(rand.NewPCG(uint64(seed), 10))
		p := draw(chance, medium())
		start := wander(chance, p, p.Start(), nil)
		before := constraint.Evaluate(p, start).Score
		r, err := exact.Repair(p, start, liar{}, exact.Defaults())
		if err != nil || constraint.Check(p, r.Assignment) != nil || r.Score > before || constraint.Evaluate(p, r.Assignment).Score != r.Score {
			t.Fatalf("seed %d: %+v (%v, %v), and before it was %d", seed, r, err, constraint.Check(p, r.Assignment), before)
		}
		r, err = exact.Repair(p, start, broken{}, exact.Defaults())
		if !slices.Equal(r.Assignment, start) || r.Score != before {
			t.Fatalf("seed %d: %+v, and before it was %v", seed, r, start)
		}
		if err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("the solver was never asked")
	}
}

// A thousand that differ in their names alone, of which a hard constraint lets twenty in: what a part of them finds no place for is not tried for each of the others.
func TestAlikeAreTriedOnce(t *testing.T) {
	limit, err := constraint.Parse("{*, {app=web, 0, 10}, halves}: hard")
	if err != nil {
		t.Fatal(err)
	}
	p := constraint.Problem{
		Kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, Objective: constraint.Standard(), Constraints: []cluster.Constraint{limit},
		Groups: []constraint.Group{{Name: cluster.EachNode}, {Name: "halves", Sets: []string{"high", "low"}}},
	}
	for i := range 40 {
		name := fmt.Sprintf("n%02d", i)
		p.Nodes = append(p.Nodes, constraint.Node{ID: cluster.NodeID(i), Name: name, Capacity: cluster.Vector{100}, Free: cluster.Vector{100}})
		p.Groups[0].Sets, p.Groups[0].SetOf = append(p.Groups[0].Sets, name), append(p.Groups[0].SetOf, int32(i))
		p.Groups[1].SetOf = append(p.Groups[1].SetOf, int32(i%2))
	}
	found := constraint.Assignment{}
	for i := range int32(1000) {
		name := fmt.Sprint("web-", i)
		p.Applications = append(p.Applications, constraint.Application{Name: name, First: i, End: i + 1})
		p.Shapes = append(p.Shapes, constraint.Shape{Application: i, Demand: cluster.Vector{1}, Tags: []string{cluster.AppTag(name), "app=web"}})
		p.Containers = append(p.Containers, constraint.Container{Task: cluster.TaskID(i), Shape: i, At: constraint.Nowhere})
		found = append(found, constraint.Nowhere)
		if i < 20 {
			found[i] = i
		}
	}
	r, err := exact.Repair(&p, found, solver(t), exact.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if r.Models == 0 || r.Models > 4 || r.Better > 0 {
		t.Errorf("%d models were solved, and %d made it better; want a few, and none", r.Models, r.Better)
	}
}
