package mcmftest

import (
	"testing"

	"fairlead.dev/fairlead/mcmf"
)

// The oracles are held to the standard that they set for the others.
func TestAlgorithms(t *testing.T) {
	for _, algorithm := range append(mcmf.Algorithms(), mcmf.Automatic) {
		t.Run("algorithm="+string(algorithm), func(t *testing.T) { Run(t, Named(algorithm)) })
	}
}

// TestSwitching solves each time with another algorithm, so that each begins with
// what another left.
func TestSwitching(t *testing.T) {
	Run(t, func(g *mcmf.Graph) Solver { return &switching{mcmf.NewSolver(g), mcmf.Algorithms(), 0} })
}

type switching struct {
	*mcmf.Solver

	names  []mcmf.Algorithm
	solves int
}

func (s *switching) Solve(o mcmf.Options) mcmf.Result {
	o.Algorithm = s.names[s.solves%len(s.names)]
	s.solves++
	return s.Solver.Solve(o)
}

// TestRival compares the rival with the only plainer way: to try all flows.
func TestRival(t *testing.T) {
	tried := 0
	for seed := range times(3000, 30_000) {
		g := Oddity(chance(99, seed))
		flows := 1.0
		for a := range g.ArcBound() {
			if g.HasArc(a) {
				flows *= float64(g.Arc(a).Capacity - g.Arc(a).Lower + 1)
			}
		}
		status, cost := LeastCost(g)
		if status == mcmf.Unbalanced || flows <= 0 || flows > 3000 {
			continue
		}
		tried++
		best, found := everyFlow(g)
		if found != (status == mcmf.Optimal) || found && best != cost {
			t.Fatalf("seed %d: %v with the cost %d, but of all flows the best costs %d (there is one: %t)\n%s", seed, status, cost, best, found, Print(g))
		}
	}
	if tried < 100 {
		t.Errorf("only %d networks were small enough", tried)
	}
}

// everyFlow is the least cost of all flows that meet supplies and bounds.
func everyFlow(g *mcmf.Graph) (least int64, found bool) {
	balance := make([]int64, g.NodeBound())
	for v := range g.NodeBound() {
		if g.HasNode(v) {
			balance[v] = g.Supply(v)
		}
	}
	var try func(a mcmf.Arc, cost int64)
	try = func(a mcmf.Arc, cost int64) {
		if a == g.ArcBound() {
			for _, left := range balance {
				if left != 0 {
					return
				}
			}
			if !found || cost < least {
				least, found = cost, true
			}
			return
		}
		if !g.HasArc(a) {
			try(a+1, cost)
			return
		}
		e := g.Arc(a)
		for units := e.Lower; units <= e.Capacity; units++ {
			paid, _, _ := curveCosts(g, a, units)
			balance[e.From] -= units
			balance[e.To] += units
			try(a+1, cost+paid.Int64())
			balance[e.From] += units
			balance[e.To] -= units
		}
	}
	try(0, 0)
	return least, found
}

// TestSameSeed makes everything twice.
func TestSameSeed(t *testing.T) {
	for _, shape := range shapes() {
		one, two := shape.make(7), shape.make(7)
		if Print(one) != Print(two) {
			t.Errorf("%s: one seed made two networks", shape.name)
		}
	}
}

func TestSizes(t *testing.T) {
	count := func(g *mcmf.Graph) (nodes, arcs int) { return int(g.NodeBound()), int(g.ArcBound()) }
	for _, family := range []NETGEN{NETGEN8(1000), NETGENSR(1024)} {
		if nodes, arcs := count(family.New(1)); nodes != family.Nodes || arcs != family.Arcs {
			t.Errorf("NETGEN made %d nodes and %d arcs, want %d and %d", nodes, arcs, family.Nodes, family.Arcs)
		}
	}
	// What bench/mcmf makes of the same parameters has 18,175 nodes and 135,557
	// arcs; how many jobs there are is chance.
	w := Hot(1250, 0.8).New(1)
	if nodes, arcs := count(w.Graph); nodes < 17_000 || nodes > 19_000 || arcs < 132_000 || arcs > 139_000 {
		t.Errorf("hot80 has %d nodes and %d arcs", nodes, arcs)
	}
	if w.Slots() != 18_750 || w.Tasks() != 15_000 {
		t.Errorf("hot80 has %d tasks and %d slots", w.Tasks(), w.Slots())
	}
}

// TestExponential shows that each unit on Zadeh's network takes a dearer path than
// the one before, so that there is no way around a path for each.
func TestExponential(t *testing.T) {
	const levels = 6
	last, lastStep := int64(0), int64(-1)
	for units := range int64(1<<levels + 1) {
		g := Exponential(levels)
		for v := range g.NodeBound() {
			if supply := g.Supply(v); supply != 0 {
				g.SetSupply(v, supply/(1<<levels)*units)
			}
		}
		status, cost := LeastCost(g)
		if step := cost - last; status != mcmf.Optimal || units > 0 && step <= lastStep {
			t.Fatalf("unit %d costs %d, the one before %d; %v", units, step, lastStep, status)
		} else if units > 0 {
			last, lastStep = cost, step
		}
	}
}

// TestUndo wants every number back, by every kind of change.
func TestUndo(t *testing.T) {
	for seed := range times(500, 5000) {
		r := chance(98, seed)
		g := Oddity(r)
		before := Print(g)
		s := NewSequence(g, r)
		s.Batch(30)
		s.Undo()
		if after := Print(g); after != before {
			t.Fatalf("seed %d: before\n%s\nafter all was taken back\n%s", seed, before, after)
		}
	}
}

// TestWorkload counts what changes.
func TestWorkload(t *testing.T) {
	w := Quincy{Machines: 100, Tasks: 300, Utilisation: 0.75, Skew: 2, Preferences: 10}.New(1)
	check := func(what string, tasks int, slots int64, nodes int) {
		t.Helper()
		units := int64(0)
		for a := range w.Graph.Entering(w.Sink) {
			units += w.Graph.Arc(a).Capacity
		}
		there := 0
		for v := range w.Graph.NodeBound() {
			if w.Graph.HasNode(v) {
				there++
			}
		}
		jobs := 0
		for _, job := range w.jobs {
			if job.size > 0 {
				jobs++
			}
		}
		if w.Tasks() != tasks || w.Slots() != slots || w.Graph.Supply(w.Sink) != -int64(tasks) || units != slots+int64(tasks) || there != nodes+tasks+jobs {
			t.Errorf("%s: %d tasks, %d slots, the sink gives %d and takes %d at most, %d nodes beside tasks and jobs; want %d, %d, %d",
				what, w.Tasks(), w.Slots(), w.Graph.Supply(w.Sink), units, there-w.Tasks()-jobs, tasks, slots, nodes)
		}
	}
	check("new", 300, 400, 105)
	if n := w.Churn(100); n != 100 {
		t.Errorf("churn made %d changes", n)
	}
	check("churned", 300, 400, 105)
	w.Churn(1)
	check("one ended", 299, 400, 105)
	w.Churn(1)
	check("one begun", 300, 400, 105)
	if n := w.Reprice(10); n != 10 {
		t.Errorf("reprice made %d changes", n)
	}
	check("repriced", 300, 400, 105)
	w.Grow(0.1)
	check("grown", 300, 440, 105)
	failed := w.FailRack()
	if failed != 41 && failed != 21 {
		t.Errorf("%d nodes failed", failed)
	}
	if failed == 41 && w.Slots() > 300 || w.Slots() == 440 {
		t.Errorf("%d slots left", w.Slots())
	}
	if n := w.RestoreRacks(); n != failed {
		t.Errorf("%d nodes came back, want %d", n, failed)
	}
	check("restored", 300, 440, 105)
}
