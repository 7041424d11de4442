package mcmf

// Solver finds least-cost flows of one Graph, again and again as it changes. It
// remembers the last flow and its prices, and starts from them.
//
// A Graph has one Solver that is told of its changes, the one that was asked
// last. Neither is safe for use by several goroutines.
type Solver struct {
	graph *Graph
	// warm is what the incremental solver keeps, or nil; then last is the last
	// answer of an algorithm that starts from nothing.
	warm  *contracted
	last  solution
	meter meter
}

// NewSolver is a solver of a graph, which may be changed between two solves.
func NewSolver(g *Graph) *Solver { return &Solver{graph: g} }

// Solve finds a least-cost flow of the graph as it is now.
//
// The algorithm is Options.Algorithm, or, if that is Automatic:
//   - Incremental, where an earlier solve left a flow to start from;
//   - Auction, where a quarter of all nodes or more are leaves (they give one unit
//     and nothing enters them, as tasks that are scheduled), all units end at one
//     node, and most leaves find room at the head of their cheapest arc;
//   - CostScaling, where there are few leaves and many levels of nodes that can let
//     hardly more through than has to pass;
//   - NetworkSimplex for all other graphs.
//
// look.go has the numbers. The choice may become better with any version, and with
// it may change which of several flows of the same cost is found. Who needs the same
// flow for good names the algorithm.
//
// It panics if there is no such algorithm.
func (s *Solver) Solve(o Options) Result {
	s.meter = *newMeter(o)
	m := &s.meter
	status, crossed, volume := s.graph.examine()
	if status != Optimal {
		return Result{Status: status, Algorithm: o.Algorithm, Arc: crossed}
	}
	switch name := s.choose(o.Algorithm); name {
	case Incremental, Auction:
		return s.solveWarm(name, volume, m)
	default:
		return s.solveCold(name, volume, m)
	}
}

// Algorithms are the names that Options.Algorithm may have.
func Algorithms() []Algorithm {
	return []Algorithm{Incremental, Auction, CostScaling, NetworkSimplex, Relaxation, SuccessivePaths, CycleCancelling}
}

// choose resolves Automatic.
func (s *Solver) choose(name Algorithm) Algorithm {
	if name != Automatic {
		return name
	}
	if s.Solved() {
		return Incremental
	}
	return s.graph.look()
}

// fromNothing is the algorithm of a name that starts from nothing.
func fromNothing(name Algorithm) func(g *Graph, volume int64, m *meter) solution {
	switch name {
	case CostScaling:
		return costScaling
	case NetworkSimplex:
		return networkSimplex
	case Relaxation:
		return relaxation
	case SuccessivePaths:
		return successivePaths
	case CycleCancelling:
		return cycleCancelling
	default:
		panic("mcmf: there is no algorithm " + string(name))
	}
}

// solveCold starts from nothing, and leaves an answer to start from.
func (s *Solver) solveCold(name Algorithm, volume int64, m *meter) Result {
	solve := fromNothing(name)
	s.warm, s.last = nil, solve(s.graph, volume, m)
	s.graph.watch(nil)
	r := Result{Status: s.last.status, Ticks: m.ticks, Algorithm: name, Cut: s.last.cut, Arc: None, Unrouted: s.last.unrouted}
	if r.Status == Optimal {
		var fits bool
		if r.Cost, fits = s.graph.costOf(s.last.flow); !fits {
			r.Status = Overflow
		}
	}
	return r
}

// solveWarm starts from what there is, unless Auction is to begin anew.
func (s *Solver) solveWarm(name Algorithm, volume int64, m *meter) Result {
	c, auctioned := s.warm, false
	switch {
	case name == Incremental && c != nil && !c.outdated(volume):
		c.meter, c.auctioned = m, false
		c.sync()
	case name == Incremental && (c != nil || s.last.flow != nil):
		if c != nil {
			s.last = c.answer()
		}
		c = compile(s.graph, volume)
		c.meter = m
		c.adopt(s.last)
	default:
		c = compile(s.graph, volume)
		c.meter = m
		if auctioned = name == Auction && c.mayAuction(); auctioned {
			c.auction(stepsAnew)
		} else {
			c.mendAll()
		}
	}
	s.warm, s.last = c, solution{}
	s.graph.watch(c)
	r := Result{Algorithm: name, Arc: None}
	r.Status, r.Cut = c.settleAll(auctioned)
	r.Ticks = m.ticks
	switch {
	case r.Status == Optimal:
		c.enough = 0
	case r.Status == Exhausted && c.auctioned:
		c.enough = 2 * min(m.limit, unreachable/2)
	}
	if r.Status == Cancelled || r.Status == Exhausted {
		r.Unrouted = c.unrouted()
	}
	if checking {
		if err := c.check(); err != nil {
			panic("mcmf: " + err.Error())
		}
	}
	// What a solve that was cut has on its arcs may cost more than any answer does.
	cost, fits := c.cost.int64()
	switch {
	case c.overflow || r.Status == Optimal && !fits:
		s.warm = nil
		r.Status, r.Cut = Overflow, nil
	case r.Status == Optimal:
		r.Cost = cost
	}
	return r
}

// Solved reports whether an earlier solve left a flow to start from.
func (s *Solver) Solved() bool { return s.warm != nil || s.last.flow != nil }

// Flow is what flows on an arc, by the last solve. Of an arc that has changed
// since it says nothing of use.
func (s *Solver) Flow(a Arc) int64 {
	s.graph.arc(a)
	switch {
	case s.warm != nil && int(a) < len(s.warm.place):
		return s.warm.flowOn(a)
	case int(a) < len(s.last.flow):
		return s.last.flow[a]
	}
	return 0
}

// Price is what one more unit given at a node would cost, by the last solve, up
// to a number that is the same for all nodes. With it no arc with room left has
// Cost - Price(From) + Price(To) below zero, nor one with flow above its lower
// bound above zero: that is what makes the flow the cheapest.
func (s *Solver) Price(v Node) int64 {
	s.graph.node(v)
	switch {
	case s.warm != nil && int(v) < len(s.warm.role):
		return s.warm.priceAt(v)
	case int(v) < len(s.last.price):
		return s.last.price[v]
	}
	return 0
}
