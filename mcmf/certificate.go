package mcmf

import "fmt"

// This file proves that a flow is the cheapest, and trusts nobody: it looks at
// the graph, the flow and the prices alone. A flow that keeps to all bounds and
// supplies (it is feasible) and prices with which no unit could gain by taking
// another way (complementary slackness: no arc with room has a negative reduced
// cost, none with flow to take back a positive one) are optimal, both of them:
// Ahuja, Magnanti, Orlin, Network Flows, theorem 9.4. It takes one look at each
// arc, whatever algorithm found them.

// Certificate reports the first reason why the solver's last flow and prices are
// not optimal for the graph as it is now; nil proves that they are.
func (s *Solver) Certificate() error { return Certify(s.graph, s.Flow, s.Price) }

// Certify is Certificate for a flow and prices from anywhere.
func Certify(g *Graph, flow func(Arc) int64, price func(Node) int64) error {
	balance := make([]int64, g.NodeBound())
	for a := range g.ArcBound() {
		if !g.HasArc(a) {
			continue
		}
		e, x := g.Arc(a), flow(a)
		if x < e.Lower || x > e.Capacity {
			return fmt.Errorf("arc %d from %d to %d: flow %d is outside %d to %d", a, e.From, e.To, x, e.Lower, e.Capacity)
		}
		next, last := marginal(g, a, x)
		slope := price(e.To) - price(e.From)
		if x < e.Capacity && next+slope < 0 {
			return fmt.Errorf("arc %d from %d to %d: one more unit than %d would gain %d", a, e.From, e.To, x, -next-slope)
		}
		if x > e.Lower && last+slope > 0 {
			return fmt.Errorf("arc %d from %d to %d: one unit less than %d would gain %d", a, e.From, e.To, x, last+slope)
		}
		balance[e.From] -= x
		balance[e.To] += x
	}
	for v := range g.NodeBound() {
		if g.HasNode(v) && balance[v]+g.Supply(v) != 0 {
			return fmt.Errorf("node %d: supply %d, but %d more leaves than enters", v, g.Supply(v), -balance[v])
		}
	}
	return nil
}

// marginal is what the next unit on an arc would cost, and what the last did.
func marginal(g *Graph, a Arc, flow int64) (next, last int64) {
	steps := g.Curve(a)
	if steps == nil {
		cost := g.Arc(a).Cost
		return cost, cost
	}
	return unitCost(steps, flow), unitCost(steps, flow-1)
}

// unitCost is the cost of the unit that has so many before it. Before the first
// step units cost what its first does, after the last what its last does.
func unitCost(steps []Step, before int64) int64 {
	for _, step := range steps {
		if before < step.Capacity {
			return step.Cost
		}
		before -= step.Capacity
	}
	return steps[len(steps)-1].Cost
}
