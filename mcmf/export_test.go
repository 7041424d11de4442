package mcmf

// Answer is a flow with prices, for the figures to start a solve from.
type Answer struct{ solution }

// Answer is what the last solve found.
func (s *Solver) Answer() Answer {
	a := Answer{solution{flow: make([]int64, s.graph.ArcBound()), price: make([]int64, s.graph.NodeBound()), arc: None}}
	for i := range s.graph.ArcBound() {
		if s.graph.HasArc(i) {
			a.flow[i] = s.Flow(i)
		}
	}
	for v := range s.graph.NodeBound() {
		if s.graph.HasNode(v) {
			a.price[v] = s.Price(v)
		}
	}
	return a
}

// Drain takes a unit away on its whole way from a node, as Firmament's efficient
// task removal does before the node goes.
func (a Answer) Drain(g *Graph, v Node) {
	for on := true; on; {
		on = false
		for i := range g.Leaving(v) {
			if a.flow[i] > 0 {
				a.flow[i]--
				v, on = g.Arc(i).To, true
				break
			}
		}
	}
}

// CostScalingRounds is cost scaling with so many rounds of price refinement, from
// an answer where that is not nil.
func CostScalingRounds(g *Graph, o Options, start *Answer, rounds int) (Result, Answer) {
	_, _, volume := g.examine()
	m, options := newMeter(o), bestScaling()
	options.rounds = rounds
	r, price := newResidual(g, volume), []int64(nil)
	if start != nil {
		price = r.resume(start.solution, mostPrice/int64(r.nodes()+1))
	}
	return g.outcome(costScalingWith(g, r, price, newScaling(m, options)), m)
}

// RefineRounds is how many rounds of price refinement cost scaling has.
func RefineRounds() int { return bestScaling().rounds }

// RelaxationPrioritised is relaxation with arc prioritisation or without.
func RelaxationPrioritised(g *Graph, o Options, prioritise bool) (Result, Answer) {
	_, _, volume := g.examine()
	m := newMeter(o)
	return g.outcome(relaxationWith(g, newResidual(g, volume), nil, newRelaxing(m, prioritise)), m)
}

func (g *Graph) outcome(s solution, m *meter) (Result, Answer) {
	r := Result{Status: s.status, Ticks: m.ticks, Cut: s.cut, Arc: s.arc, Unrouted: s.unrouted}
	if s.status == Optimal {
		r.Cost, _ = g.costOf(s.flow)
	}
	return r, Answer{s}
}

// Checking reports whether solves end with a check, which allocates.
const Checking = checking
