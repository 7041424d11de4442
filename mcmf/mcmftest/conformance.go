package mcmftest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"fairlead.dev/fairlead/mcmf"
)

// Named is a solver of that algorithm alone.
func Named(algorithm mcmf.Algorithm) func(g *mcmf.Graph) Solver {
	return func(g *mcmf.Graph) Solver { return named{mcmf.NewSolver(g), algorithm} }
}

type named struct {
	*mcmf.Solver

	algorithm mcmf.Algorithm
}

// Solve solves with the algorithm of that name.
func (n named) Solve(o mcmf.Options) mcmf.Result {
	o.Algorithm = n.algorithm
	return n.Solver.Solve(o)
}

// long reports whether the environment asks for long tests.
func long() bool { return os.Getenv("FAIRLEAD_LONG") != "" }

// times is how often to repeat something.
func times(short, ifLong int) uint64 {
	if long() {
		return uint64(ifLong)
	}
	return uint64(short)
}

// Run tests whatever solves: it must agree with a plain rival on small networks
// and with successive shortest paths on others, prove what it says, and go on
// after changes. FAIRLEAD_LONG=1 makes the tests long. A failure names the seed
// that brings it back.
func Run(t *testing.T, fresh func(g *mcmf.Graph) Solver) {
	t.Helper()
	for _, part := range []struct {
		name string
		run  func(t *testing.T, fresh func(g *mcmf.Graph) Solver)
	}{
		{"oddities", runOddities},
		{"extremes", runExtremes},
		{"shapes", runShapes},
		{"statuses", runStatuses},
		{"budgets", runBudgets},
		{"sequences", runSequences},
		{"workloads", runWorkloads},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, fresh) })
	}
}

// chance is a source for each case of a part.
func chance(part, seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, part)) }

const (
	partOddities = iota
	partExtremes
	partBudgets
	partSequences
)

// agree solves and wants the right status and the least cost, with proof.
func agree(g *mcmf.Graph, s Solver, status mcmf.Status, cost int64) error {
	r := s.Solve(mcmf.Options{})
	if err := Verify(g, s, r); err != nil {
		return err
	}
	if r.Status != status || status == mcmf.Optimal && r.Cost != cost {
		return fmt.Errorf("%v with the cost %d, want %v with %d", r.Status, r.Cost, status, cost)
	}
	if r.Ticks < 0 {
		return fmt.Errorf("%d ticks", r.Ticks)
	}
	return nil
}

// same reports the first arc or node of which two solvers say another flow or
// price, or nil.
func same(g *mcmf.Graph, one, two Solver) error {
	for a := range g.ArcBound() {
		if g.HasArc(a) && one.Flow(a) != two.Flow(a) {
			return fmt.Errorf("the flow on arc %d is %d, and %d", a, one.Flow(a), two.Flow(a))
		}
	}
	for v := range g.NodeBound() {
		if g.HasNode(v) && one.Price(v) != two.Price(v) {
			return fmt.Errorf("the price at node %d is %d, and %d", v, one.Price(v), two.Price(v))
		}
	}
	return nil
}

// oracle is the status and the cost by successive shortest paths.
func oracle(g *mcmf.Graph) (mcmf.Status, int64) {
	r := mcmf.NewSolver(Clone(g)).Solve(mcmf.Options{Algorithm: mcmf.SuccessivePaths})
	return r.Status, r.Cost
}

// runOddities compares with the rival; and says the same twice.
func runOddities(t *testing.T, fresh func(g *mcmf.Graph) Solver) {
	t.Helper()
	seen := map[mcmf.Status]int{}
	for seed := range times(400, 10_000) {
		g := Oddity(chance(partOddities, seed))
		status, cost := LeastCost(g)
		seen[status]++
		s := fresh(g)
		if err := agree(g, s, status, cost); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, Print(g))
		}
		if err := agree(g, s, status, cost); err != nil {
			t.Fatalf("seed %d, solved again without a change: %v\n%s", seed, err, Print(g))
		}
		clone := Clone(g)
		one, two := fresh(clone), fresh(Clone(g))
		r, again := one.Solve(mcmf.Options{}), two.Solve(mcmf.Options{})
		if err := same(clone, one, two); err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("seed %d: two solves of the same differ: %v and %v: %v\n%s", seed, r, again, err, Print(clone))
		}
	}
	for _, status := range []mcmf.Status{mcmf.Optimal, mcmf.Infeasible, mcmf.Unbalanced} {
		if seen[status] == 0 {
			t.Errorf("no network was %v; the generator is broken", status)
		}
	}
}

// runExtremes wants proof or the status Overflow, and both now and then.
func runExtremes(t *testing.T, fresh func(g *mcmf.Graph) Solver) {
	t.Helper()
	seen := map[mcmf.Status]int{}
	for seed := range times(400, 10_000) {
		g := Extreme(chance(partExtremes, seed))
		s := fresh(g)
		r := s.Solve(mcmf.Options{})
		seen[r.Status]++
		if err := Verify(g, s, r); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, Print(g))
		}
	}
	for _, status := range []mcmf.Status{mcmf.Optimal, mcmf.Infeasible, mcmf.Overflow} {
		if seen[status] == 0 {
			t.Errorf("no network was %v", status)
		}
	}
}

// shape is a network with a name.
type shape struct {
	name string
	make func(seed uint64) *mcmf.Graph
}

// shapes are small networks of all kinds, slow oracles' sake.
func shapes() []shape {
	of := func(w *Workload) *mcmf.Graph { return w.Graph }
	quincy := func(utilisation, skew float64) func(uint64) *mcmf.Graph {
		q := Quincy{Machines: 60, Tasks: 150, Utilisation: utilisation, Skew: skew, Preferences: 10}
		return func(seed uint64) *mcmf.Graph { return of(q.New(seed)) }
	}
	by := func(build func(r *rand.Rand) *mcmf.Graph) func(uint64) *mcmf.Graph {
		return func(seed uint64) *mcmf.Graph { return build(seeded(seed)) }
	}
	return []shape{
		{"quincy80", quincy(0.8, 1)},
		{"hot95", quincy(0.95, 2)},
		{"hot105", quincy(1.05, 2)},
		{"big job", func(seed uint64) *mcmf.Graph {
			return of(Quincy{Machines: 30, Tasks: 100, Utilisation: 1.5, Skew: 3, Preferences: 3, BigJob: 60}.New(seed))
		}},
		{"loadspread", func(seed uint64) *mcmf.Graph { return of(LoadSpread{Machines: 30, Tasks: 60, Slots: 8}.New(seed)) }},
		{"loadspread parallel", func(seed uint64) *mcmf.Graph {
			return of(LoadSpread{Machines: 30, Tasks: 60, Slots: 8, Parallel: true}.New(seed))
		}},
		{"ecsched", func(seed uint64) *mcmf.Graph { return of(ECSched{Machines: 40, Containers: 20}.New(seed)) }},
		{"netgen 8", func(seed uint64) *mcmf.Graph { return NETGEN8(100).New(seed) }},
		{"netgen sr", func(seed uint64) *mcmf.Graph { return NETGENSR(64).New(seed) }},
		{"grid", by(func(r *rand.Rand) *mcmf.Graph { return Grid(r, 6, 12, 100, 20) })},
		{"torus", by(func(r *rand.Rand) *mcmf.Graph { return Torus(r, 60, 6, 1000, 1000) })},
		{"goto", func(seed uint64) *mcmf.Graph {
			return GOTO{Nodes: 64, Degree: 8, MostCost: 1000, MostCapacity: 100}.New(seed)
		}},
		{"assignment", by(func(r *rand.Rand) *mcmf.Graph { return Assignment(r, 40, 5, 100) })},
		{"assignment without prices", by(func(r *rand.Rand) *mcmf.Graph { return Assignment(r, 30, 5, 0) })},
		{"large", by(func(r *rand.Rand) *mcmf.Graph { return Large(r, 60, 400) })},
		{"price war", func(uint64) *mcmf.Graph { return PriceWar(8, 1000) }},
		{"price wars", func(uint64) *mcmf.Graph { return PriceWars(5, 4, 500) }},
		{"chain", func(uint64) *mcmf.Graph { return Chain(200, 5) }},
		{"exponential", func(uint64) *mcmf.Graph { return Exponential(7) }},
		{"nothing", func(uint64) *mcmf.Graph { return mcmf.NewGraph(0, 0) }},
		{"one node", func(uint64) *mcmf.Graph { return Chain(1, 5) }},
	}
}

func runShapes(t *testing.T, fresh func(g *mcmf.Graph) Solver) {
	t.Helper()
	for _, shape := range shapes() {
		t.Run(shape.name, func(t *testing.T) {
			for seed := range times(1, 20) {
				g := shape.make(seed)
				status, cost := oracle(g)
				if status != mcmf.Optimal {
					t.Fatalf("seed %d is %v; the generator is broken", seed, status)
				}
				if err := agree(g, fresh(g), status, cost); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// runStatuses has a network for each way to have no solution.
func runStatuses(t *testing.T, fresh func(g *mcmf.Graph) Solver) {
	t.Helper()
	const most = 1<<63 - 1
	for _, tc := range []struct {
		name                  string
		supply, demand        int64
		lower, capacity, cost int64
		want                  mcmf.Status
	}{
		{"enough", 5, -5, 0, 5, 7, mcmf.Optimal},
		{"too little capacity", 5, -5, 0, 4, 7, mcmf.Infeasible},
		{"too high a lower bound", 5, -5, 6, 9, 7, mcmf.Infeasible},
		{"bounds that cross", 5, -5, 6, 5, 7, mcmf.Infeasible},
		{"more supply than demand", 6, -5, 0, 9, 7, mcmf.Unbalanced},
		{"no demand", 5, 0, 0, 9, 7, mcmf.Unbalanced},
		{"no limit", 5, -5, 0, most, 7, mcmf.Optimal},
		{"a cost beyond all", 5, -5, 0, 5, most, mcmf.Overflow},
		{"a cost beyond all below zero", 5, -5, 0, 5, -most - 1, mcmf.Overflow},
		{"a sum beyond all", 1 << 40, -1 << 40, 0, 1 << 40, 1 << 40, mcmf.Overflow},
		{"units beyond all", most, -most, 0, most, 1, mcmf.Overflow},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := mcmf.NewGraph(2, 1)
			u, v := g.AddNode(tc.supply), g.AddNode(tc.demand)
			a := g.AddArc(u, v, tc.lower, tc.capacity, tc.cost)
			s := fresh(g)
			if err := agree(g, s, tc.want, tc.supply*tc.cost); err != nil {
				t.Fatal(err)
			}
			// A solver is as good as new after a bad result.
			g.SetSupply(u, 5)
			g.SetSupply(v, -5)
			g.SetArc(a, 0, 5, 7)
			if err := agree(g, s, mcmf.Optimal, 35); err != nil {
				t.Errorf("mended after that: %v", err)
			}
		})
	}
}

// runBudgets stops a solver early, checks what it has by then, and goes on.
func runBudgets(t *testing.T, fresh func(g *mcmf.Graph) Solver) {
	t.Helper()
	seen := map[mcmf.Status]int{}
	for seed := range times(20, 500) {
		r := chance(partBudgets, seed)
		g := Large(r, 30, 150)
		status, cost := oracle(g)
		s := fresh(g)
		for budget := int64(1); budget < 1<<20; budget *= 8 {
			result := s.Solve(mcmf.Options{Budget: budget})
			seen[result.Status]++
			if err := Verify(g, s, result); err != nil {
				t.Fatalf("seed %d, a budget of %d: %v", seed, budget, err)
			}
			if result.Status == mcmf.Optimal && result.Cost != cost || result.Status != mcmf.Optimal && result.Status != mcmf.Exhausted {
				t.Fatalf("seed %d, a budget of %d: %v with the cost %d, want %v with %d", seed, budget, result.Status, result.Cost, status, cost)
			}
		}
		if err := agree(g, s, status, cost); err != nil {
			t.Fatalf("seed %d, without a budget after budgets: %v", seed, err)
		}
	}
	if seen[mcmf.Exhausted] == 0 {
		t.Error("no budget was exhausted")
	}
	g := Large(chance(partBudgets, 1000), 300, 3000)
	s := fresh(g)
	result := s.Solve(mcmf.Options{Stop: func() bool { return true }})
	if result.Status != mcmf.Cancelled && (result.Status != mcmf.Optimal || result.Ticks > 1<<16) {
		t.Errorf("stopped at once: %v after %d ticks", result.Status, result.Ticks)
	}
	if err := Verify(g, s, result); err != nil {
		t.Errorf("stopped at once: %v", err)
	}
	if status, cost := oracle(g); status == mcmf.Optimal {
		if err := agree(g, s, status, cost); err != nil {
			t.Errorf("after it was stopped: %v", err)
		}
	}
}

// runSequences changes small networks batch by batch, and then takes all back.
func runSequences(t *testing.T, fresh func(g *mcmf.Graph) Solver) {
	t.Helper()
	for seed := range times(60, 1000) {
		r := chance(partSequences, seed)
		var g *mcmf.Graph
		if r.IntN(2) == 0 {
			g = Oddity(r)
		} else {
			g = Large(r, 15, 60)
		}
		status, cost := LeastCost(g)
		s := fresh(g)
		if err := agree(g, s, status, cost); err != nil {
			t.Fatalf("seed %d, before any change: %v\n%s", seed, err, Print(g))
		}
		sequence := NewSequence(g, r)
		for batch := range 10 {
			before := Print(g)
			sequence.Batch(1 + r.IntN(1+batch*2))
			now, least := LeastCost(g)
			if err := agree(g, s, now, least); err != nil {
				t.Fatalf("seed %d, batch %d: %v\nbefore:\n%safter:\n%s", seed, batch, err, before, Print(g))
			}
		}
		sequence.Undo()
		if now, least := LeastCost(g); now != status || least != cost {
			t.Fatalf("seed %d: what was taken back is not what it was", seed)
		}
		if err := agree(g, s, status, cost); err != nil {
			t.Fatalf("seed %d, all taken back: %v\n%s", seed, err, Print(g))
		}
	}
}

// runWorkloads changes clusters as they change in life.
func runWorkloads(t *testing.T, fresh func(g *mcmf.Graph) Solver) {
	t.Helper()
	for _, tc := range []struct {
		name string
		make func(seed uint64) *Workload
	}{
		{"hot80", Quincy{Machines: 50, Tasks: 70, Utilisation: 0.8, Skew: 2, Preferences: 10}.New},
		{"hot105", Quincy{Machines: 50, Tasks: 70, Utilisation: 1.05, Skew: 2, Preferences: 10}.New},
		{"loadspread", LoadSpread{Machines: 60, Tasks: 60, Slots: 6}.New},
		{"ecsched", ECSched{Machines: 50, Containers: 30}.New},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for seed := range times(1, 20) {
				w := tc.make(seed)
				s := fresh(w.Graph)
				step := func(what string) {
					status, cost := oracle(w.Graph)
					if status != mcmf.Optimal {
						t.Fatalf("seed %d, %s: %v; the generator is broken", seed, what, status)
					}
					if err := agree(w.Graph, s, status, cost); err != nil {
						t.Fatalf("seed %d, %s: %v", seed, what, err)
					}
				}
				step("first")
				for range 2 {
					w.Churn(1)
					step("one task ends or begins")
					w.Churn(20)
					step("twenty tasks end and begin")
					w.Reprice(10)
					step("costs change")
					w.FailRack()
					step("a rack fails")
					w.Churn(10)
					step("ten tasks end and begin")
					w.Grow(0.1)
					step("machines grow")
					w.RestoreRacks()
					step("the rack is back")
				}
			}
		})
	}
}
