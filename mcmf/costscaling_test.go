package mcmf

import (
	"math/rand/v2"
	"testing"
)

func TestCostScaling(t *testing.T)     { checkAgainst(t, costScaling) }
func TestCostScalingEnds(t *testing.T) { checkEnds(t, costScaling) }

func TestCostScalingOptions(t *testing.T) {
	for _, o := range []scalingOptions{
		{alpha: 1, length: 1},
		{alpha: 4, length: 1, updates: true},
		{alpha: 2, length: 4, rounds: 3},
		{alpha: 5, length: 2, rounds: 1, updates: true},
	} {
		checkAgainst(t, func(g *Graph, volume int64, m *meter) solution {
			return costScalingWith(g, newResidual(g, volume), nil, newScaling(m, o))
		})
	}
}

func TestCostScalingWarm(t *testing.T) {
	checkWarm(t, costScaling, costScalingFrom)
	checkWarm(t, costScaling, func(g *Graph, volume int64, start solution, m *meter) solution {
		r := newResidual(g, volume)
		price := r.resume(start, mostPrice/int64(r.nodes()+1))
		o := bestScaling()
		o.local = true
		return costScalingWith(g, r, price, newScaling(m, o))
	})
}

// checkWarm starts a solver from solutions of the graph before a change, of a
// different graph, and from nonsense.
func checkWarm(t *testing.T, solve func(*Graph, int64, *meter) solution, from func(*Graph, int64, solution, *meter) solution) {
	t.Helper()
	earlier := solution{}
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 3))
		g := oddGraph(random)
		_, _, volume := g.examine()
		if own := solve(g, volume, newMeter(Options{})); own.status == Optimal {
			earlier = own
		}
		for a := range g.ArcBound() {
			if g.HasArc(a) && g.Arc(a).Capacity < 1<<62 && random.IntN(4) == 0 {
				g.SetArc(a, g.Arc(a).Lower, g.Arc(a).Capacity+random.Int64N(2), g.Arc(a).Cost+random.Int64N(9)-4)
			}
		}
		if seed%50 == 0 {
			for k := range earlier.price {
				earlier.price[k] = (random.Int64() - random.Int64()) >> random.IntN(9)
			}
		}
		_, _, volume = g.examine()
		want := cycleCancelling(g, volume, newMeter(Options{}))
		got := from(g, volume, earlier, newMeter(Options{}))
		if err := checkSolution(g, got); err != nil || got.status != want.status {
			t.Fatalf("seed %d: %v, and cycle cancelling says %v: %v", seed, got.status, want.status, err)
		}
	}
}

func TestCostScalingOverflow(t *testing.T) {
	// Every capacity is within the volume, but together they are too much.
	g := NewGraph(0, 0)
	u, v := g.AddNode(1<<58), g.AddNode(-1<<58)
	for range 64 {
		g.AddArc(u, v, 0, 1<<62, 1)
	}
	_, _, volume := g.examine()
	if s := costScaling(g, volume, newMeter(Options{})); s.status != Overflow {
		t.Errorf("status %v", s.status)
	}
	// Costs as great as they may be.
	g = NewGraph(0, 0)
	for range 4 {
		g.AddNode(0)
	}
	for k := range Node(4) {
		g.AddArc(k, (k+1)%4, 0, 5, (1<<60)/5)
		g.AddArc((k+1)%4, k, 0, 5, -(1<<60)/5)
	}
	_, _, volume = g.examine()
	if s := costScaling(g, volume, newMeter(Options{})); s.status != Overflow {
		if err := checkSolution(g, s); err != nil {
			t.Error(err)
		}
	}
}
