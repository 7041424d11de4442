// Package race solves by two algorithms at the same time and takes the answer
// that is there first, as Firmament does (Gog et al., OSDI 2016, section 6.1):
// the incremental solver is the fastest by far while little has changed and
// there is room for all, cost scaling from nothing where very much has, or where
// very many want the same. Which it is cannot be told before.
//
// What differs from Firmament:
//   - The incremental solver begins alone. Only when it has looked at each arc a
//     few times is another goroutine started; of most batches of changes it has
//     long been done by then, and the second racer would be a waste.
//   - What the winner found is where the next solve begins, whoever won.
//   - A race can be run again: who won may depend on the machine and the moment,
//     but nothing else does. See Solver.Solve.
package race

import (
	"sync/atomic"

	"fairlead.dev/fairlead/mcmf"
)

// HeadStart is how many looks an arc the incremental solver has before anybody
// races it.
const HeadStart = 4

// Solver is an mcmf.Solver whose Solve is a race. It is not safe for use by
// several goroutines; those that it starts itself are gone when Solve returns.
type Solver struct {
	*mcmf.Solver

	graph   *mcmf.Graph
	against mcmf.Algorithm
}

// New is a solver of a graph that races mcmf.Automatic against an algorithm that
// starts from nothing; mcmf.CostScaling is the one that differs most.
func New(g *mcmf.Graph, against mcmf.Algorithm) *Solver {
	return &Solver{Solver: mcmf.NewSolver(g), graph: g, against: against}
}

// Solve finds a least-cost flow of the graph as it is now. Result.Algorithm says
// who won, and Result.Ticks what the winner spent.
//
// To get the flow of an earlier race again, with all ties as they were, set
// Options.Algorithm to its winner: then only that one runs, from the same start.
//
// Options.Budget is what each racer may spend; the head start counts for both.
// Options.Stop is never asked by two goroutines at once, but not always by the
// caller's. After the race Solve waits until the loser has noticed that it lost,
// which takes it about as long as one look at each arc.
func (s *Solver) Solve(o mcmf.Options) mcmf.Result {
	compete := o.Algorithm == mcmf.Automatic
	if compete {
		o.Algorithm = s.Choice()
	}
	ahead := int64(0)
	if o.Algorithm == mcmf.Incremental {
		first, over := s.begin(o)
		if over {
			return first
		}
		// It goes on where it was when the head start ended.
		ahead = first.Ticks
		if o.Budget > 0 {
			o.Budget = max(o.Budget-ahead, 1)
		}
	}
	var r mcmf.Result
	if compete && o.Algorithm != s.against {
		r = s.race(o)
	} else {
		r = s.Solver.Solve(o)
	}
	if r.Algorithm == mcmf.Incremental {
		r.Ticks += ahead
	}
	return r
}

// begin gives the incremental solver its head start, and says whether that was
// enough.
func (s *Solver) begin(o mcmf.Options) (r mcmf.Result, over bool) {
	start := HeadStart * int64(s.graph.ArcBound()+1)
	if o.Budget > 0 && o.Budget <= start {
		return s.Solver.Solve(o), true
	}
	o.Budget = start
	r = s.Solver.Solve(o)
	return r, r.Status != mcmf.Exhausted
}

// What the solver of this goroutine has come to, for its rival to see.
const (
	racing  int32 = iota
	settled       // it has the result, or the caller wants none any more
	gaveUp        // its budget is spent, or numbers are too big for it
)

// race solves on this goroutine and, from nothing, on another.
func (s *Solver) race(o mcmf.Options) mcmf.Result {
	var state atomic.Int32
	var beaten atomic.Bool
	stop := func() bool { return o.Stop != nil && o.Stop() }

	rival := s.Rival()
	theirs, done := mcmf.Result{}, make(chan struct{})
	go func() {
		defer close(done)
		theirs = rival.Solve(mcmf.Options{Algorithm: s.against, Budget: o.Budget, Stop: func() bool {
			switch state.Load() {
			case racing:
				return false
			case gaveUp:
				return stop()
			default:
				return true
			}
		}})
		beaten.Store(conclusive(theirs.Status))
	}()
	// Should Solve panic, nobody is to be left behind.
	defer func() {
		state.CompareAndSwap(racing, settled)
		<-done
	}()

	ours := mcmf.Options{Algorithm: o.Algorithm, Budget: o.Budget, Stop: func() bool { return beaten.Load() || stop() }}
	mine := s.Solver.Solve(ours)
	if mine.Status == mcmf.Exhausted || mine.Status == mcmf.Overflow {
		state.Store(gaveUp)
	} else {
		state.Store(settled)
	}
	<-done
	if conclusive(mine.Status) || !conclusive(theirs.Status) {
		return mine
	}
	s.Adopt(rival)
	return theirs
}

// conclusive reports whether no other algorithm could say anything better.
// Overflow is not: some need more room for their numbers than others.
func conclusive(status mcmf.Status) bool {
	return status == mcmf.Optimal || status == mcmf.Infeasible || status == mcmf.Unbalanced
}
