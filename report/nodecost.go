package report

// NodeCost says what nodes cost, those of one price, or all.
type NodeCost struct {
	// Hours is for how many hours nodes were there, in sum, and Used for how many of them they had a task.
	Hours Number `json:"node_hours"`
	Used  Number `json:"used_hours"`
	// Cost is the price of the first, and UsedCost that of the second: what is left to pay where a node is given back while it
	// has no task.
	Cost     Number `json:"cost"`
	UsedCost Number `json:"used_cost"`
}

// nodeCostMetrics are those of runs in which nodes had prices.
func nodeCostMetrics(runs []*Run) []metric {
	var all []metric
	for _, name := range keysOf(runs, func(r *Run) map[string]NodeCost { return r.NodeCosts }) {
		of := func(part string, pick func(*NodeCost) Number) metric {
			return metric{"node_costs." + name + "." + part, InMoney, LowerIsBetter, func(r *Run) (Number, bool) {
				c, is := r.NodeCosts[name]
				return pick(&c), is
			}}
		}
		all = append(all, of("cost", func(c *NodeCost) Number { return c.Cost }), of("used_cost", func(c *NodeCost) Number { return c.UsedCost }))
	}
	return all
}
