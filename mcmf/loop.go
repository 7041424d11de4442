package mcmf

// An arc from a node to itself is no search's business: flow goes round it as
// long as that gains, and otherwise as little as it must.

// loopFlow is what flows round an arc from a node to itself.
func (g *Graph) loopFlow(a Arc) int64 {
	row := &g.arcs[a]
	steps := g.curves.of(a)
	if steps == nil {
		if row.Cost < 0 {
			return row.Capacity
		}
		return row.Lower
	}
	flow, end := row.Lower, int64(0)
	for _, step := range steps {
		end += step.Capacity
		if step.Cost < 0 {
			flow = max(flow, end)
		}
	}
	return flow
}

// payLoop adds what flows round a loop to the cost of all flow.
func (c *contracted) payLoop(a Arc) {
	if _, paid := c.loops[a]; paid {
		return
	}
	var cost sum
	cost.addFlow(&c.graph.arcs[a], c.graph.curves.of(a), c.graph.loopFlow(a))
	c.loops[a] = cost
	c.cost.addSum(cost, 1)
}

// forgetLoop takes it away again, before the loop changes.
func (c *contracted) forgetLoop(a Arc) {
	if cost, paid := c.loops[a]; paid {
		c.cost.addSum(cost, -1)
		delete(c.loops, a)
	}
}
