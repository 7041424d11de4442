package mcmf

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// oddGraph is a tiny graph with everything that is allowed: negative costs and
// lower bounds, no room, parallel arcs, self-loops, curves, holes in the ids,
// nodes without arcs, and capacities that mean no limit. About half are feasible.
func oddGraph(random *rand.Rand) *Graph {
	g := NewGraph(0, 0)
	var nodes []Node
	for range random.IntN(8) {
		nodes = append(nodes, g.AddNode(0))
	}
	if len(nodes) == 0 {
		return g
	}
	pick := func() Node { return nodes[random.IntN(len(nodes))] }
	for range random.IntN(4) {
		u, v, units := pick(), pick(), random.Int64N(5)
		g.SetSupply(u, g.Supply(u)+units)
		g.SetSupply(v, g.Supply(v)-units)
	}
	least := int64(0)
	if random.IntN(2) == 0 {
		least = -5
	}
	for range random.IntN(20) {
		u, v, cost := pick(), pick(), least+random.Int64N(12)
		switch random.IntN(8) {
		case 0:
			lower := random.Int64N(5) - 2
			g.AddArc(u, v, lower, lower+random.Int64N(4), cost)
		case 1:
			steps := make([]Step, random.IntN(4))
			total := int64(0)
			for k := range steps {
				steps[k] = Step{Capacity: random.Int64N(4), Cost: cost}
				cost += random.Int64N(3)
				total += steps[k].Capacity
			}
			g.AddCurve(u, v, min(total, random.Int64N(4)-2), steps)
		case 2:
			if cost >= 0 {
				g.AddArc(u, v, 0, 1<<63-1, cost)
			}
		default:
			g.AddArc(u, v, 0, random.Int64N(6), cost)
		}
	}
	for a := range g.ArcBound() {
		if random.IntN(10) == 0 {
			g.RemoveArc(a)
		}
	}
	if v := pick(); random.IntN(3) == 0 && g.Supply(v) == 0 {
		g.RemoveNode(v)
	}
	return g
}

// checkCut reports what is wrong with a proof that a graph is infeasible.
func checkCut(g *Graph, cut []Node) error {
	given, room := int64(0), int64(0)
	for _, v := range cut {
		given += g.Supply(v)
	}
	for a := range g.ArcBound() {
		if !g.HasArc(a) {
			continue
		}
		e := g.Arc(a)
		from, to := slices.Contains(cut, e.From), slices.Contains(cut, e.To)
		switch {
		case from && !to:
			if e.Capacity == 1<<63-1 {
				return fmt.Errorf("arc %d leaves the cut %v and has no limit", a, cut)
			}
			room += e.Capacity
		case to && !from:
			given += e.Lower
		}
	}
	if given <= room {
		return fmt.Errorf("the cut %v gives %d, and %d can leave", cut, given, room)
	}
	return nil
}

// checkSolution reports what is wrong with an outcome.
func checkSolution(g *Graph, s solution) error {
	switch s.status {
	case Optimal:
		if s.unrouted != 0 {
			return fmt.Errorf("optimal, with %d unrouted", s.unrouted)
		}
		return Certify(g, func(a Arc) int64 { return s.flow[a] }, func(v Node) int64 { return s.price[v] })
	case Infeasible:
		return checkCut(g, s.cut)
	default:
		return fmt.Errorf("status %v", s.status)
	}
}

// checkAgainst compares a solver with cycle cancelling on many odd graphs.
func checkAgainst(t *testing.T, solve func(g *Graph, volume int64, m *meter) solution) {
	t.Helper()
	count := map[Status]int{}
	for seed := range uint64(4000) {
		g := oddGraph(rand.New(rand.NewPCG(seed, 1)))
		status, _, volume := g.examine()
		if status != Optimal {
			t.Fatalf("seed %d: %v", seed, status)
		}
		want := cycleCancelling(g, volume, newMeter(Options{}))
		got := solve(g, volume, newMeter(Options{}))
		for _, s := range []solution{want, got} {
			if err := checkSolution(g, s); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if want.status != got.status {
			t.Fatalf("seed %d: %v, and cycle cancelling says %v", seed, got.status, want.status)
		}
		count[got.status]++
	}
	if count[Optimal] < 1000 || count[Infeasible] < 1000 {
		t.Errorf("the graphs are too much alike: %v", count)
	}
}

// checkEnds stops a solver after each number of ticks: the flow that is there
// must keep to all bounds, and lack as much as it says.
func checkEnds(t *testing.T, solve func(g *Graph, volume int64, m *meter) solution) {
	t.Helper()
	ends := 0
	for seed := range uint64(300) {
		g := oddGraph(rand.New(rand.NewPCG(seed, 2)))
		_, _, volume := g.examine()
		for budget := int64(1); budget < 4000; budget += 1 + budget/4 {
			s := solve(g, volume, newMeter(Options{Budget: budget}))
			if s.status == Optimal || s.status == Infeasible {
				break
			}
			if s.status != Exhausted {
				t.Fatalf("seed %d, budget %d: %v", seed, budget, s.status)
			}
			ends++
			if err := checkPartial(g, s); err != nil {
				t.Fatalf("seed %d, budget %d: %v", seed, budget, err)
			}
		}
		m := newMeter(Options{Stop: func() bool { return true }})
		m.check = 0
		if s := solve(g, volume, m); s.status == Exhausted {
			t.Fatalf("seed %d: %v after a stop", seed, s.status)
		}
	}
	if ends < 300 {
		t.Errorf("only %d solves were stopped", ends)
	}
}

// checkPartial reports what is wrong with the outcome of a stopped solve.
func checkPartial(g *Graph, s solution) error {
	lacks := make([]int64, g.NodeBound())
	for v := range g.NodeBound() {
		if g.HasNode(v) {
			lacks[v] = g.Supply(v)
		}
	}
	for a := range g.ArcBound() {
		if !g.HasArc(a) {
			continue
		}
		e := g.Arc(a)
		if s.flow[a] < e.Lower || s.flow[a] > e.Capacity {
			return fmt.Errorf("arc %d: flow %d is outside %d to %d", a, s.flow[a], e.Lower, e.Capacity)
		}
		lacks[e.From] -= s.flow[a]
		lacks[e.To] += s.flow[a]
	}
	total := int64(0)
	for _, units := range lacks {
		total += max(units, 0)
	}
	if total != s.unrouted {
		return fmt.Errorf("%d are unrouted, and it says %d", total, s.unrouted)
	}
	return nil
}

func TestCycleCancelling(t *testing.T)     { checkAgainst(t, cycleCancelling) }
func TestCycleCancellingEnds(t *testing.T) { checkEnds(t, cycleCancelling) }
func TestSuccessivePaths(t *testing.T)     { checkAgainst(t, successivePaths) }
func TestSuccessivePathsEnds(t *testing.T) { checkEnds(t, successivePaths) }

func TestResidual(t *testing.T) {
	g := NewGraph(0, 0)
	hole, s, d := g.AddNode(0), g.AddNode(3), g.AddNode(-3)
	g.RemoveNode(hole)
	loop := g.AddArc(s, s, 0, 4, -1)
	bound := g.AddArc(s, d, 1, 1<<63-1, 7)
	curve := g.AddCurve(s, d, -1, []Step{{2, 5}, {0, 6}, {1, 8}})
	_, _, volume := g.examine()
	r := newResidual(g, volume)
	if want := []int64{3, -3}; !slices.Equal(r.excess, want) {
		t.Errorf("excess %v, want %v: the bounds 1 and -1 are even", r.excess, want)
	}
	if want := []int64{4, 1, -1}; !slices.Equal(r.base, want) {
		t.Errorf("flow that no link shows is %v, want %v", r.base, want)
	}
	want := []link{
		{head: 1, mate: 3, cost: 7, room: volume + 1},
		{head: 1, mate: 4, cost: 5, room: 3},
		{head: 1, mate: 5, cost: 8, room: 1},
		{head: 0, mate: 0, cost: -7},
		{head: 0, mate: 1, cost: -5},
		{head: 0, mate: 2, cost: -8},
	}
	if !slices.Equal(r.links, want) {
		t.Errorf("links\n%v, want\n%v", r.links, want)
	}
	r.load([]int64{4, 1, 2})
	if r.excess[0] != 0 || r.links[1].room != 0 {
		t.Errorf("with a flow of 3 more on the curve, excess is %v and links are %v", r.excess, r.links)
	}
	flow := r.solution(g, Optimal, nil).flow
	if flow[loop] != 4 || flow[bound] != 1 || flow[curve] != 2 {
		t.Errorf("the flow loaded comes back as %v", flow)
	}
}
