package mcmf_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/mcmftest"
)

// Once lists have the room they need, a solve after changes allocates nothing.
func TestWarmSolvesAllocateNothing(t *testing.T) {
	if mcmf.Checking {
		t.Skip("checks allocate")
	}
	w := mcmftest.Hot(200, .95).New(1)
	s := mcmf.NewSolver(w.Graph)
	var counts []uint64
	for range 400 {
		w.Churn(20)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := s.Solve(mcmf.Options{})
		runtime.ReadMemStats(&after)
		if r.Status != mcmf.Optimal || r.Algorithm == mcmf.Incremental != (len(counts) > 0) {
			t.Fatal(r)
		}
		counts = append(counts, after.Mallocs-before.Mallocs)
	}
	late := counts[200:]
	slices.Sort(late)
	if most := late[len(late)*9/10]; most > 0 {
		t.Errorf("of 200 late solves 20 allocate %d times or more", most)
	}
}

// A flow may be asked for while the graph has changed: of arcs that are still
// there it is that of the last solve, of others nothing sensible, but no panic.
func TestFlowBetweenSolves(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	w := mcmftest.Hot(40, .9).New(1)
	s := mcmf.NewSolver(w.Graph)
	for range 50 {
		if got := s.Solve(mcmf.Options{}); got.Status != mcmf.Optimal {
			t.Fatal(got)
		}
		w.Churn(100)
		v := w.Graph.AddNode(0)
		w.Graph.AddArc(v, w.Sink, 0, int64(r.IntN(3)), 1)
		for a := range w.Graph.ArcBound() {
			if w.Graph.HasArc(a) {
				s.Flow(a)
			}
		}
		for v := range w.Graph.NodeBound() {
			if w.Graph.HasNode(v) {
				s.Price(v)
			}
		}
	}
}

// The same changes lead to the same flow, whatever was asked in between.
func TestSameChangesSameFlow(t *testing.T) {
	var flows [2][]int64
	for i := range flows {
		w := mcmftest.Hot(100, 1.02).New(7)
		s := mcmf.NewSolver(w.Graph)
		for step := range 30 {
			w.Churn(50)
			switch step % 10 {
			case 3:
				w.FailRack()
			case 6:
				w.RestoreRacks()
			case 8:
				w.Reprice(40)
			}
			if r := s.Solve(mcmf.Options{}); r.Status != mcmf.Optimal {
				t.Fatal(r)
			}
		}
		for a := range w.Graph.ArcBound() {
			if w.Graph.HasArc(a) {
				flows[i] = append(flows[i], s.Flow(a))
			}
		}
	}
	if !slices.Equal(flows[0], flows[1]) {
		t.Error("two runs made different flows")
	}
}

// TestCurveWithoutEnd changes an arc whose curve takes more than there is, so that
// it pays: it is filled, and that has an end.
func TestCurveWithoutEnd(t *testing.T) {
	g := mcmf.NewGraph(0, 0)
	source, middle, sink := g.AddNode(3), g.AddNode(0), g.AddNode(-3)
	g.AddArc(source, sink, 0, 1<<32, 100)
	g.AddArc(middle, sink, 0, 2, 0)
	way := g.AddCurve(source, middle, 0, []mcmf.Step{{Capacity: 1, Cost: 200}, {Capacity: 1 << 32, Cost: 300}})
	s := mcmf.NewSolver(g)
	if r := s.Solve(mcmf.Options{Algorithm: mcmf.NetworkSimplex}); r.Status != mcmf.Optimal || r.Cost != 300 {
		t.Fatalf("at first: %v", r)
	}
	for i, want := range []int64{100 + 1 + 2, 300, 100 + 3 + 4} {
		cost := []int64{1, 300, 3}[i]
		g.SetCurve(way, 0, []mcmf.Step{{Capacity: 1, Cost: cost}, {Capacity: 1 << 32, Cost: cost + 1}})
		r := s.Solve(mcmf.Options{Algorithm: mcmf.Incremental})
		if r.Status != mcmf.Optimal || r.Cost != want {
			t.Errorf("change %d: %v with cost %d, want %d", i, r.Status, r.Cost, want)
		}
		if err := s.Certificate(); err != nil {
			t.Errorf("change %d: %v", i, err)
		}
	}
}
