package flow

import "fairlead.dev/fairlead/mcmf"

// This file says what finds the first flow of a network; those after it start from
// the one before. Where several flows cost the same, the algorithm decides which it
// is, and with it what is decided: so it is not left to package mcmf, whose choice
// may become better with any version, and recordings replay as they ran.

// solver is mcmf.Solver with our own choice of the first algorithm.
type solver struct {
	*mcmf.Solver

	graph *mcmf.Graph
}

func newSolver(g *mcmf.Graph) solver { return solver{mcmf.NewSolver(g), g} }

// Solve is mcmf.Solver.Solve.
func (s solver) Solve(o mcmf.Options) mcmf.Result {
	if o.Algorithm == mcmf.Automatic && !s.Solved() {
		o.Algorithm = first(s.graph)
	}
	return s.Solver.Solve(o)
}

// first is an auction where a quarter of the nodes or more are leaves (they give one
// unit and nothing enters them), else network simplex.
func first(g *mcmf.Graph) mcmf.Algorithm {
	leaves := 0
	for v := range g.NodeBound() {
		if g.HasNode(v) && g.Supply(v) == 1 && !entered(g, v) {
			leaves++
		}
	}
	if 4*leaves >= int(g.NodeBound()) {
		return mcmf.Auction
	}
	return mcmf.NetworkSimplex
}

func entered(g *mcmf.Graph, v mcmf.Node) bool {
	for range g.Entering(v) {
		return true
	}
	return false
}
