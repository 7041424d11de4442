package mcmf

// This file lets a second solver work on a graph beside the first, on another
// goroutine, and hand its answer over. It is all that package race needs.

// Choice is the algorithm that Automatic stands for now.
func (s *Solver) Choice() Algorithm { return s.choose(Automatic) }

// Rival is another solver of the graph as it is now, which starts from nothing.
// Both may solve at the same time, on two goroutines. It is of no use any more
// when the graph changes.
func (s *Solver) Rival() *Solver {
	// A solve only reads nodes, arcs and curves, and these are shared. What it
	// writes, the notes of changes and a bound of all costs, is in the copy.
	g := *s.graph
	g.watch(nil)
	g.touchedNodes, g.touchedArcs = nil, nil
	return NewSolver(&g)
}

// Adopt makes the last flow and prices of a rival those of the solver, as if it
// had solved itself. The rival is of no use any more.
func (s *Solver) Adopt(rival *Solver) {
	s.warm, s.last = rival.warm, rival.last
	if s.warm != nil {
		s.warm.graph = s.graph
	}
	s.graph.watch(s.warm)
}
