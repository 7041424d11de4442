package mcmftest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"fairlead.dev/fairlead/mcmf"
)

const (
	partHostile = 99
	partNear    = 78
	partDrift   = 5
)

// hostile changes a cluster in life, and now and then for one solve in a way that
// no cluster does.
type hostile struct {
	w      *Workload
	s      *mcmf.Solver
	r      *rand.Rand
	revert []func() // what holds for one solve only, the first change first
}

func newHostile(seed uint64) *hostile {
	r := chance(partHostile, seed)
	w := []func(seed uint64) *Workload{
		Quincy{Machines: 20, Tasks: 70, Utilisation: 0.9, Skew: 2, Preferences: 6}.New,
		Quincy{Machines: 20, Tasks: 70, Utilisation: 1.1, Skew: 2, Preferences: 6}.New,
		LoadSpread{Machines: 20, Tasks: 60, Slots: 6}.New,
		LoadSpread{Machines: 20, Tasks: 60, Slots: 6, Parallel: true}.New,
		ECSched{Machines: 20, Containers: 20}.New,
	}[r.IntN(5)](seed)
	return &hostile{w: w, s: mcmf.NewSolver(w.Graph), r: r}
}

// change makes a few changes. One that is for this solve only is the last.
func (h *hostile) change() {
	for range 1 + h.r.IntN(3) {
		switch h.r.IntN(8) {
		case 0:
			h.w.Churn(1)
		case 1:
			h.w.Churn(h.r.IntN(40))
		case 2:
			h.w.Reprice(1 + h.r.IntN(10))
		case 3:
			h.w.FailRack()
		case 4:
			h.w.RestoreRacks()
		case 5:
			h.w.Grow(0.1)
		case 6:
			h.passRound()
		default:
			h.unsettle()
			return
		}
	}
}

func (h *hostile) someTask() mcmf.Node { return h.w.tasks[h.r.IntN(len(h.w.tasks))].node }

// someArc leaves a task.
func (h *hostile) someArc(v mcmf.Node) mcmf.Arc {
	arcs := slices.Collect(h.w.Graph.Leaving(v))
	return arcs[h.r.IntN(len(arcs))]
}

// passRound takes an arc from a task, gives its id to another, and back.
func (h *hostile) passRound() {
	g, x, y := h.w.Graph, h.someTask(), h.someTask()
	a := h.someArc(x)
	e := g.Arc(a)
	g.RemoveArc(a)
	other := g.AddArc(y, e.To, 0, 1, e.Cost+5)
	g.RemoveArc(other)
	if back := g.AddArc(x, e.To, 0, 1, e.Cost); other != a || back != a {
		panic(fmt.Sprintf("mcmftest: arc %d came back as %d and %d", a, other, back))
	}
}

// unsettle does something that makes most often a core node of a task, which is a
// leaf again after the next solve.
func (h *hostile) unsettle() {
	g, sink, v := h.w.Graph, h.w.Sink, h.someTask()
	a := h.someArc(v)
	was := g.Arc(a)
	restoreArc := func() { g.SetArc(a, 0, 1, was.Cost) }
	switch h.r.IntN(7) {
	case 0: // a second unit
		g.SetSupply(v, 2)
		g.SetSupply(sink, g.Supply(sink)-1)
		h.later(func() { g.SetSupply(v, 1); g.SetSupply(sink, g.Supply(sink)+1) })
	case 1: // an arc from another task, or a loop
		in := g.AddArc(h.someTask(), v, int64(h.r.IntN(2)), 1, 3)
		h.later(func() { g.RemoveArc(in) })
	case 2: // a cost beyond that of a slot
		g.SetArc(a, 0, 1, 1<<40)
		h.later(restoreArc)
	case 3:
		g.SetCurve(a, 0, []mcmf.Step{{Capacity: 1, Cost: was.Cost}, {Capacity: 3, Cost: was.Cost + 5}})
		h.later(restoreArc)
	case 4: // no choice
		g.SetArc(a, 1, 1, was.Cost)
		h.later(restoreArc)
	case 5: // no way at all
		for out := range g.Leaving(v) {
			e := g.Arc(out)
			g.SetArc(out, 0, 0, e.Cost)
			h.later(func() { g.SetArc(out, 0, 1, e.Cost) })
		}
	default: // so much more volume that bounds grow, beside all else
		from, to := g.AddNode(1000), g.AddNode(-1000)
		g.AddArc(from, to, 0, 1<<60, 4)
		h.later(func() { g.RemoveNode(from); g.RemoveNode(to) })
	}
}

func (h *hostile) later(revert func()) { h.revert = append(h.revert, revert) }

// solve solves with any algorithm that is fast, now and then within a budget.
func (h *hostile) solve() mcmf.Result {
	o := mcmf.Options{Algorithm: []mcmf.Algorithm{
		mcmf.Automatic, mcmf.Automatic, mcmf.Automatic, mcmf.Incremental, mcmf.Auction, mcmf.NetworkSimplex, mcmf.CostScaling, mcmf.Relaxation,
	}[h.r.IntN(8)]}
	if h.r.IntN(4) == 0 {
		o.Budget = 1 + h.r.Int64N(2000)
	}
	return h.s.Solve(o)
}

// settle takes back what was for one solve only.
func (h *hostile) settle() {
	for _, revert := range slices.Backward(h.revert) {
		revert()
	}
	h.revert = nil
}

// TestHostile mixes all that may happen to a cluster, on one graph and with one
// solver: each answer is right, and the same for who does it all again. With the
// tag invariants, it looks at the state after each solve, too.
func TestHostile(t *testing.T) {
	seen := map[mcmf.Status]int{}
	for seed := range times(100, 3000) {
		// A panic then names the seed, too.
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			one, two := newHostile(seed), newHostile(seed)
			for batch := range 40 {
				one.change()
				two.change()
				r, again := one.solve(), two.solve()
				seen[r.Status]++
				if err := Verify(one.w.Graph, one.s, r); err != nil {
					t.Fatalf("batch %d, %s: %v", batch, r.Algorithm, err)
				}
				if status, cost := oracle(one.w.Graph); r.Status != mcmf.Exhausted && (r.Status != status || r.Cost != cost) {
					t.Fatalf("batch %d, %s: %v with the cost %d, want %v with %d", batch, r.Algorithm, r.Status, r.Cost, status, cost)
				}
				if err := same(one.w.Graph, one.s, two.s); err != nil || !reflect.DeepEqual(r, again) {
					t.Fatalf("batch %d: %v and, done again, %v: %v", batch, r, again, err)
				}
				one.settle()
				two.settle()
			}
		})
		if t.Failed() {
			return
		}
	}
	for _, status := range []mcmf.Status{mcmf.Optimal, mcmf.Infeasible, mcmf.Exhausted} {
		if seen[status] == 0 {
			t.Errorf("no solve was %v; the generator is broken", status)
		}
	}
}

// TestRecycledArc has the id of an arc change hands twice between two solves, from
// task x to y and back, which the solver is told of as touches of one id.
func TestRecycledArc(t *testing.T) {
	g := mcmf.NewGraph(0, 0)
	sink, m, n := g.AddNode(-2), g.AddNode(0), g.AddNode(0)
	g.AddArc(m, sink, 0, 2, 0)
	g.AddArc(n, sink, 0, 2, 0)
	x, y := g.AddNode(1), g.AddNode(1)
	g.AddArc(x, n, 0, 1, 9)
	a := g.AddArc(x, m, 0, 1, 1)
	g.AddArc(y, n, 0, 1, 2)
	s := Named(mcmf.Incremental)(g)
	if err := agree(g, s, mcmf.Optimal, 3); err != nil {
		t.Fatal(err)
	}
	g.RemoveArc(a)
	toY := g.AddArc(y, m, 0, 1, 5)
	g.RemoveArc(toY)
	toX := g.AddArc(x, m, 0, 1, 1)
	if toY != a || toX != a {
		t.Fatalf("arc %d became %d and %d", a, toY, toX)
	}
	if err := agree(g, s, mcmf.Optimal, 3); err != nil {
		t.Error(err)
	}
}

// TestTwoSolversOfOneGraph has the second solver told of changes that the first
// then knows nothing of, and must not take for none.
func TestTwoSolversOfOneGraph(t *testing.T) {
	w := LoadSpread{Machines: 10, Tasks: 30, Slots: 4}.New(1)
	one, two := mcmf.NewSolver(w.Graph), mcmf.NewSolver(w.Graph)
	for round := range 20 {
		for i, s := range []Solver{two, one} {
			status, cost := oracle(w.Graph)
			if err := agree(w.Graph, s, status, cost); err != nil {
				t.Fatalf("round %d, solver %d: %v", round, i, err)
			}
			w.Churn(6 - 5*i)
		}
	}
}

// apart is a pair with the root, and beside it, without a way to the root, nodes
// that all lead to each other, or one to one, where so many leaves or else two units
// have to go from the first to the last. It returns the arcs between those nodes.
func apart(r *rand.Rand, nodes, leaves int, costliest int64) (g *mcmf.Graph, arcs []mcmf.Arc) {
	g = mcmf.NewGraph(0, 0)
	g.AddArc(g.AddNode(10), g.AddNode(-10), 0, 20, 1)
	var all []mcmf.Node
	for range nodes {
		all = append(all, g.AddNode(0))
	}
	for range leaves {
		l := g.AddNode(1)
		for _, v := range all[:nodes-1] {
			g.AddArc(l, v, 0, 1, r.Int64N(100))
		}
	}
	g.SetSupply(all[nodes-1], -int64(leaves))
	if leaves == 0 {
		g.SetSupply(all[0], 2)
		g.SetSupply(all[nodes-1], -2)
	}
	for _, u := range all {
		for _, v := range all {
			if u != v && (nodes > 2 || u < v) {
				arcs = append(arcs, g.AddArc(u, v, 0, 3+r.Int64N(3), r.Int64N(costliest)))
			}
		}
	}
	return g, arcs
}

// TestPricesDoNotDrift solves thousands of times where nothing but the differences
// of prices matters, so that all of them rise, or fall, with every solve: neither
// proof nor cost may suffer, as near to the greatest costs as can be.
func TestPricesDoNotDrift(t *testing.T) {
	for _, tc := range []struct {
		name          string
		nodes, leaves int
		costliest     int64
	}{
		{"two nodes, greatest costs", 2, 0, 1 << 57},
		{"two nodes", 2, 0, 1 << 51},
		{"six nodes, greatest costs", 6, 0, 1 << 56},
		{"leaves, greatest costs", 4, 4, 1 << 56},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := chance(partDrift, 0)
			g, arcs := apart(r, tc.nodes, tc.leaves, tc.costliest)
			s := Named(mcmf.Incremental)(g)
			for solve := range times(5000, 100_000) {
				a := arcs[r.IntN(len(arcs))]
				// By turns, so that prices swing as far as they can.
				cost := tc.costliest - r.Int64N(tc.costliest/8)
				if solve%2 == 1 {
					cost = -cost
				}
				g.SetArc(a, 0, g.Arc(a).Capacity, cost)
				status, least := LeastCost(g)
				if err := agree(g, s, status, least); err != nil {
					t.Fatalf("solve %d: %v\n%s", solve, err, Print(g))
				}
			}
		})
	}
}

// near is a network whose costs are as near to the bound as can be, among others
// that are not.
func near(r *rand.Rand) *mcmf.Graph {
	g := mcmf.NewGraph(0, 0)
	nodes, leaves := 2+r.IntN(12), r.IntN(6)
	most := int64(1<<60) / int64(nodes+leaves+1)
	for range nodes {
		g.AddNode(0)
	}
	node := func() mcmf.Node { return mcmf.Node(r.IntN(nodes)) }
	cost := func() int64 {
		switch r.IntN(3) {
		case 0:
			return most - r.Int64N(3)
		case 1:
			return r.Int64N(most)
		default:
			return r.Int64N(10)
		}
	}
	for range 2*nodes + r.IntN(3*nodes) {
		u, v, capacity := node(), node(), 1+r.Int64N(4)
		if r.IntN(3) == 0 {
			capacity = 1 << r.IntN(50)
		}
		c := cost()
		if r.IntN(3) == 0 {
			c = -c
		}
		g.AddArc(u, v, 0, capacity, c)
	}
	for range 1 + r.IntN(4) {
		u, v, units := node(), node(), r.Int64N(5)
		g.SetSupply(u, g.Supply(u)+units)
		g.SetSupply(v, g.Supply(v)-units)
	}
	for range leaves {
		l := g.AddNode(1)
		for range 1 + r.IntN(4) {
			g.AddArc(l, node(), 0, 1, r.Int64N(2<<30)-1<<30)
		}
		v := node()
		g.SetSupply(v, g.Supply(v)-1)
	}
	return g
}

// TestNearTheLimits solves and changes such networks. What is not refused is right,
// and does not take ages: the seeds that are named did, or were wrong.
func TestNearTheLimits(t *testing.T) {
	const mostTicks = 1 << 16
	seeds := []uint64{29811, 34949, 36723, 58465, 59884}
	for seed := range times(1000, 50_000) {
		seeds = append(seeds, seed)
	}
	seen := map[mcmf.Status]int{}
	for _, seed := range seeds {
		r := chance(partNear, seed)
		g := near(r)
		s := mcmf.NewSolver(g)
		for batch := range 5 {
			algorithm := []mcmf.Algorithm{mcmf.Incremental, mcmf.Auction, mcmf.CostScaling, mcmf.NetworkSimplex, mcmf.Relaxation}[r.IntN(5)]
			if batch < 2 {
				algorithm = mcmf.Auction
			}
			result := s.Solve(mcmf.Options{Algorithm: algorithm})
			seen[result.Status]++
			if err := Verify(g, s, result); err != nil {
				t.Fatalf("seed %d, batch %d, %s: %v\n%s", seed, batch, algorithm, err, Print(g))
			}
			status, cost := LeastCost(g)
			if result.Status != mcmf.Overflow && (result.Status != status || status == mcmf.Optimal && result.Cost != cost) {
				t.Fatalf("seed %d, batch %d, %s: %v with the cost %d, want %v with %d\n%s",
					seed, batch, algorithm, result.Status, result.Cost, status, cost, Print(g))
			}
			if result.Ticks > mostTicks {
				t.Fatalf("seed %d, batch %d, %s: %d ticks\n%s", seed, batch, algorithm, result.Ticks, Print(g))
			}
			o := oddity{r: r, g: g}
			a := o.someArc()
			if e := g.Arc(a); g.Supply(e.From) != 1 {
				g.SetArc(a, 0, e.Capacity, -e.Cost)
			}
			a = o.someArc()
			g.SetArc(a, 0, 1+r.Int64N(5), g.Arc(a).Cost)
		}
	}
	if seen[mcmf.Optimal] == 0 || seen[mcmf.Infeasible] == 0 {
		t.Errorf("%v; the generator is broken", seen)
	}
}

// TestCurvesKeepTheirFlow widens curves beyond the flow on them, which changes
// nothing: it must not cost what routing that flow again would.
func TestCurvesKeepTheirFlow(t *testing.T) {
	const machines, each = 200, 100
	g := mcmf.NewGraph(0, 0)
	source, hub, sink := g.AddNode(machines*each), g.AddNode(0), g.AddNode(-machines*each)
	g.AddArc(source, hub, 0, 1<<40, 0)
	var curves []mcmf.Arc
	for range machines {
		m := g.AddNode(0)
		g.AddArc(m, sink, 0, 2*each, 0)
		curves = append(curves, g.AddCurve(hub, m, 0, []mcmf.Step{{Capacity: each, Cost: 5}, {Capacity: each, Cost: 9}}))
	}
	s := Named(mcmf.Incremental)(g)
	if err := agree(g, s, mcmf.Optimal, 5*machines*each); err != nil {
		t.Fatal(err)
	}
	ticks := int64(0)
	for _, a := range curves[:100] {
		g.SetCurve(a, 0, []mcmf.Step{{Capacity: each, Cost: 5}, {Capacity: each + 1, Cost: 9}})
		r := s.Solve(mcmf.Options{})
		if err := Verify(g, s, r); err != nil || r.Status != mcmf.Optimal {
			t.Fatalf("arc %d: %v, %v", a, r, err)
		}
		ticks += r.Ticks
	}
	if ticks > 100 {
		t.Errorf("%d ticks for 100 curves that are wider", ticks)
	}
}

// TestBoundsGrow adds so much volume, beside a cluster, that what was as good as no
// limit is one: all is compiled anew, and the answer is kept.
func TestBoundsGrow(t *testing.T) {
	w := Hot(300, 0.8).New(1)
	g := w.Graph
	s := mcmf.NewSolver(g)
	first := s.Solve(mcmf.Options{})
	const many = 1 << 20
	g.AddArc(g.AddNode(many), g.AddNode(-many), 0, 1<<30, 1)
	if err := agree(g, s, mcmf.Optimal, first.Cost+many); err != nil {
		t.Fatal(err)
	}
	g.AddArc(g.AddNode(2*many), g.AddNode(-2*many), 0, 1<<30, 1)
	r := s.Solve(mcmf.Options{})
	if r.Status != mcmf.Optimal || r.Cost != first.Cost+3*many || r.Ticks > first.Ticks/1000 {
		t.Errorf("%v; from scratch %d ticks", r, first.Ticks)
	}
}
