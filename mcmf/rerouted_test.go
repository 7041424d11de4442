package mcmf_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/mcmftest"
)

// leftBy is what flows on the arcs that leave each node that gives units.
func leftBy(g *mcmf.Graph, s *mcmf.Solver) map[mcmf.Node]map[mcmf.Arc]int64 {
	by := map[mcmf.Node]map[mcmf.Arc]int64{}
	for v := range g.NodeBound() {
		if !g.HasNode(v) || g.Supply(v) <= 0 {
			continue
		}
		by[v] = map[mcmf.Arc]int64{}
		for a := range g.Leaving(v) {
			if f := s.Flow(a); f != 0 {
				by[v][a] = f
			}
		}
	}
	return by
}

// giver is a pool of tasks, some of which stand for several.
type giver struct {
	chance *rand.Rand
	g      *mcmf.Graph
	sink   mcmf.Node
	nodes  []mcmf.Node
	tasks  []mcmf.Node
}

func newGiver(chance *rand.Rand) *giver {
	p := &giver{chance: chance, g: mcmf.NewGraph(0, 0)}
	p.sink = p.g.AddNode(0)
	for range 8 {
		v := p.g.AddNode(0)
		p.g.AddCurve(v, p.sink, 0, []mcmf.Step{{Capacity: 2, Cost: chance.Int64N(5)}, {Capacity: 3, Cost: 5 + chance.Int64N(9)}})
		p.nodes = append(p.nodes, v)
	}
	for range 30 {
		p.add()
	}
	return p
}

func (p *giver) add() {
	v := p.g.AddNode(1 + int64(p.chance.IntN(5)/4))
	p.g.AddArc(v, p.sink, 0, 3, 40+p.chance.Int64N(9))
	for range 1 + p.chance.IntN(4) {
		p.g.AddArc(v, p.nodes[p.chance.IntN(len(p.nodes))], 0, 2, p.chance.Int64N(20))
	}
	p.tasks = append(p.tasks, v)
}

func (p *giver) change() {
	i := p.chance.IntN(len(p.tasks))
	v := p.tasks[i]
	arcs := slices.Collect(p.g.Leaving(v))
	a := arcs[p.chance.IntN(len(arcs))]
	switch p.chance.IntN(8) {
	case 0:
		p.g.RemoveNode(v)
		p.tasks = slices.Delete(p.tasks, i, i+1)
		p.add()
	case 1:
		p.g.SetSupply(v, 1+int64(p.chance.IntN(3)/2))
	case 2:
		p.g.SetArc(a, 0, 3, p.chance.Int64N(60))
	case 3:
		p.g.SetArc(a, 0, 3, 1<<33) // its node is no leaf any more
	case 4:
		if len(arcs) > 1 && p.g.Arc(a).To != p.sink {
			p.g.RemoveArc(a)
		}
	case 5:
		p.g.AddArc(v, p.nodes[p.chance.IntN(len(p.nodes))], 0, 2, p.chance.Int64N(20))
	case 6:
		p.add()
	default:
		for a := range p.g.Leaving(p.nodes[p.chance.IntN(len(p.nodes))]) {
			p.g.SetArc(a, 0, 1+p.chance.Int64N(6), p.chance.Int64N(20))
		}
	}
}

func (p *giver) settle() {
	total := int64(0)
	for _, v := range p.tasks {
		total += p.g.Supply(v)
	}
	p.g.SetSupply(p.sink, -total)
}

// TestRerouted compares the nodes that are said to have been rerouted with all whose
// flow has changed, over random changes, solved by one algorithm and another.
func TestRerouted(t *testing.T) {
	known, changed := 0, 0
	for seed := range uint64(60) {
		p := newGiver(rand.New(rand.NewPCG(seed, 5)))
		s := mcmf.NewSolver(p.g)
		var before map[mcmf.Node]map[mcmf.Arc]int64
		for step := range 60 {
			for range p.chance.IntN(4) {
				p.change()
			}
			p.settle()
			o := mcmf.Options{}
			if p.chance.IntN(8) == 0 {
				o.Algorithm = []mcmf.Algorithm{mcmf.Auction, mcmf.CostScaling, mcmf.NetworkSimplex}[p.chance.IntN(3)]
			}
			if p.chance.IntN(4) == 0 {
				s.Solve(mcmf.Options{Budget: 1 + p.chance.Int64N(50)}) // one that may not come to its end
			}
			if r := s.Solve(o); r.Status != mcmf.Optimal {
				t.Fatal(r)
			}
			if p.chance.IntN(4) == 0 {
				continue // it is not asked each time
			}
			after := leftBy(p.g, s)
			nodes, all := s.Rerouted()
			if !slices.IsSorted(nodes) {
				t.Fatalf("seed %d, step %d: %v is not in order", seed, step, nodes)
			}
			for v, flow := range after {
				same := maps.Equal(flow, before[v])
				if !all && !same && !slices.Contains(nodes, v) {
					t.Fatalf("seed %d, step %d: node %d had %v, has %v, and is not among %v", seed, step, v, before[v], flow, nodes)
				}
				if !all && !same {
					changed++
				}
			}
			if !all {
				known++
			}
			before = after
		}
	}
	if known < 500 || changed < 500 {
		t.Errorf("only %d times of 2,700 it was known who was rerouted, of %d nodes", known, changed)
	}
}

// TestReroutedByAuction does the same where so much changes at once that leaves are
// moved by an auction.
func TestReroutedByAuction(t *testing.T) {
	w := mcmftest.Hot(60, 1.02).New(1)
	s := mcmf.NewSolver(w.Graph)
	var before map[mcmf.Node]map[mcmf.Arc]int64
	anew := 0
	for step := range 40 {
		w.Churn([]int{5, 300}[step/5%2])
		if step%10 == 8 {
			w.FailRack()
		}
		s.Solve(mcmf.Options{})
		after := leftBy(w.Graph, s)
		nodes, all := s.Rerouted()
		for v, flow := range after {
			if !all && !maps.Equal(flow, before[v]) && !slices.Contains(nodes, v) {
				t.Fatalf("step %d: node %d had %v, has %v, and is not listed", step, v, before[v], flow)
			}
		}
		if all {
			anew++
		}
		before = after
	}
	if anew < 2 || anew > 30 {
		t.Errorf("%d times of 40 all may have been moved, want some", anew)
	}
}

// TestReroutedIsShort wants few to look at after few changes.
func TestReroutedIsShort(t *testing.T) {
	w := mcmftest.Hot(400, .9).New(1)
	s := mcmf.NewSolver(w.Graph)
	listed := 0
	for step := range 50 {
		w.Churn(10)
		s.Solve(mcmf.Options{})
		nodes, all := s.Rerouted()
		if all != (step == 0) {
			t.Fatalf("step %d: all %t", step, all)
		}
		listed += len(nodes)
	}
	if listed > 50*60 {
		t.Errorf("of %d tasks %d were listed on average after 10 left and 10 came, want at most 60", w.Tasks(), listed/50)
	}
	t.Logf("of %d tasks %.1f were listed on average", w.Tasks(), float64(listed)/50)
}

// TestReroutedByRival asks after the answer of another solver was taken over: it may be
// all, even where the rival solved by the same algorithm.
func TestReroutedByRival(t *testing.T) {
	for _, algorithm := range []mcmf.Algorithm{mcmf.Auction, mcmf.CostScaling} {
		w := mcmftest.Hot(20, .9).New(1)
		s := mcmf.NewSolver(w.Graph)
		s.Solve(mcmf.Options{})
		s.Rerouted()
		w.Churn(5)
		rival := s.Rival()
		rival.Solve(mcmf.Options{Algorithm: algorithm})
		s.Adopt(rival)
		if nodes, all := s.Rerouted(); !all {
			t.Errorf("%s: %d nodes may have been moved, want all", algorithm, len(nodes))
		}
		s.Solve(mcmf.Options{})
		if algorithm == mcmf.Auction {
			if _, all := s.Rerouted(); all {
				t.Errorf("after nothing has changed, all may have been moved")
			}
		}
	}
}
