package flow

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
)

// answers asks the model, and holds what it says to the contract: what cannot be is
// noted, and left out or put right.
type answers struct {
	model      Model
	tree       Tree   // the model, if it is one
	loaded     Loaded // the model, if it is one
	ranks      bool   // the model is a Ranker
	preference Cost   // of a Preferrer, otherwise 0
	moves      bool   // a round may move tasks
	arcs       Arcs   // of the task group that was asked about last
	dearer     Curve  // scratch of withUnmet
	effort     *effort
	wrong      error // the first thing that the model said and that cannot be
}

func newAnswers(m Model, moves bool, e *effort) answers {
	a := answers{model: m, moves: moves, effort: e}
	a.tree, _ = m.(Tree)
	a.loaded, _ = m.(Loaded)
	_, a.ranks = m.(Ranker)
	a.preference = a.preferenceOf(m)
	return a
}

// refuse notes what is wrong with an answer, unless something was already.
func (a *answers) refuse(format string, args ...any) {
	if a.wrong == nil {
		a.wrong = fmt.Errorf(format, args...)
	}
}

// terms are those of a task.
func (a *answers) terms(s *cluster.View, t cluster.TaskID) Terms {
	a.effort.asks++
	terms := a.model.Terms(s, t)
	if terms.May == MayMove && (!a.moves || len(cluster.GuardsOf(s, t)) > 0) { // whom a budget guards leaves only where nobody else helps
		terms.May = MayStop
	}
	for _, c := range [2]*Cost{&terms.Wait, &terms.Stay} {
		if err := checkCost(*c); err != nil {
			a.refuse("terms of task %s: %w", s.TaskName(t), err)
			*c = min(max(*c, -MaxCost), MaxCost)
		}
	}
	return terms
}

// out asks for the arcs that leave the task group of a task.
func (a *answers) out(s *cluster.View, t cluster.TaskID) {
	a.arcs.list = a.arcs.list[:0]
	a.effort.asks++
	a.model.Out(s, t, &a.arcs)
}

// check says what is wrong with an arc of the task.
func (a *answers) check(s *cluster.View, t cluster.TaskID, arc outArc) error {
	if err := checkCost(arc.cost); err != nil {
		return fmt.Errorf("arc of task %s: %w", s.TaskName(t), err)
	}
	switch {
	case arc.node == cluster.NoNode && arc.aggregator == Nowhere:
		return fmt.Errorf("arc of task %s: to nowhere", s.TaskName(t))
	case arc.node != cluster.NoNode && int(arc.node) >= s.NodeRows():
		return fmt.Errorf("arc of task %s: to node %d, want one of the %d that are known", s.TaskName(t), arc.node, s.NodeRows())
	}
	return nil
}

// into is the aggregator below which a node stands, and what the shape costs there.
func (a *answers) into(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (Aggregator, Curve) {
	a.effort.asks++
	g, curve := a.model.Into(s, shape, n)
	if err := curve.check(); err != nil {
		a.refuse("curve to node %s: %w", s.NodeSpec(n).Name, err)
		return Nowhere, nil
	}
	return g, a.withUnmet(s, shape, n, curve)
}

// load is the load of a node, nothing where the model has none. A node of which it says
// what cannot be takes nothing.
func (a *answers) load(s *cluster.View, n cluster.NodeID) (Curve, bool) {
	if a.loaded == nil {
		return nil, true
	}
	a.effort.asks++
	c := a.loaded.Load(s, n)
	if err := c.check(); err != nil {
		a.refuse("load of node %s: %w", s.NodeSpec(n).Name, err)
		return nil, false
	}
	return c, true
}

// above is the aggregator above another one, and what passing costs; or Nowhere.
func (a *answers) above(s *cluster.View, g Aggregator) (Aggregator, Cost) {
	if a.tree == nil {
		return Nowhere, 0
	}
	a.effort.asks++
	return a.tree.Above(s, g)
}

// descend yields an aggregator and all above it, with what the way from there down
// to it costs.
func (a *answers) descend(s *cluster.View, g Aggregator, yield func(Aggregator, Cost)) {
	const deepest = 64 // those that are in a circle are reported elsewhere (ranking.group)
	cost := Cost(0)
	for range deepest {
		yield(g, cost)
		above, more := a.above(s, g)
		if above == Nowhere || checkCost(more) != nil {
			return
		}
		g, cost = above, cost+more
	}
}
