package flow

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/mcmftest"
)

// TestFirst holds the first algorithm to what it was when recordings were made,
// whatever package mcmf would choose.
func TestFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, of := range []struct {
		name string
		g    *mcmf.Graph
		want mcmf.Algorithm
	}{
		{"tasks that want the same few nodes", mcmftest.ECSched{Machines: 100, Containers: 100}.New(1).Graph, mcmf.Auction},
		{"few tasks", mcmftest.ECSched{Machines: 100, Containers: 10}.New(1).Graph, mcmf.NetworkSimplex},
		{"sparse assignment", mcmftest.Assignment(r, 100, 4, 100), mcmf.Auction},
		{"full and deep", mcmftest.GOTO8(1024).New(1), mcmf.NetworkSimplex},
	} {
		s := newSolver(of.g)
		if got := s.Solve(mcmf.Options{}).Algorithm; got != of.want {
			t.Errorf("%s: at first %s, want %s", of.name, got, of.want)
		}
		if got := s.Solve(mcmf.Options{}).Algorithm; got != mcmf.Incremental {
			t.Errorf("%s: then %s, want %s", of.name, got, mcmf.Incremental)
		}
	}
	s := newSolver(mcmftest.Assignment(r, 10, 4, 100))
	if got := s.Solve(mcmf.Options{Algorithm: mcmf.CostScaling}).Algorithm; got != mcmf.CostScaling {
		t.Errorf("%s, want cost scaling, which was asked for", got)
	}
}
