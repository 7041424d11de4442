package report

import (
	"bytes"
	"slices"
)

// This file is what nodes cost over a run, by the price of an hour.

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

// writeNodeCosts prints what nodes cost where they had prices, a row for each price and then one of all, as means over the seeds;
// and what of it those did that had a task.
func writeNodeCosts(text *bytes.Buffer, groups [][]Run, labels []label) {
	labels = withoutSeed(labels)
	head := line{}
	for _, l := range labels {
		head = append(head, l.title)
	}
	lines := []line{append(head, "PRICE", "NODE HOURS", "WITH TASKS", "COST", "WITH TASKS")}
	for _, group := range groups {
		var runs []*Run
		for i := range group {
			runs = append(runs, &group[i])
		}
		names := keysOf(runs, func(r *Run) map[string]NodeCost { return r.NodeCosts })
		slices.SortStableFunc(names, func(a, b string) int { return nodeCostRank(a) - nodeCostRank(b) })
		for _, name := range names {
			lines = append(lines, row(nodeCostMeasures(name), group, append(labelCells(&group[0].Setup, labels), name)...))
		}
	}
	if len(lines) == 1 {
		return
	}
	text.WriteString("\nNode costs:\n")
	align(text, lines, len(labels)+1)
}

// nodeCostRank puts prices of labels first, then what is of all other nodes, and the sum last.
func nodeCostRank(name string) int { return 1 + slices.Index([]string{"other", "none", "all"}, name) }

// nodeCostMeasures are the columns of a price.
func nodeCostMeasures(name string) []measure {
	of := func(unit Unit, pick func(*NodeCost) Number) measure {
		return measure{show: unit.show, values: func(r *Run) []float64 {
			c, is := r.NodeCosts[name]
			if !is {
				return nil
			}
			return []float64{float64(pick(&c))}
		}}
	}
	return []measure{
		of(InNodeHours, func(c *NodeCost) Number { return c.Hours }), of(InNodeHours, func(c *NodeCost) Number { return c.Used }),
		of(InMoney, func(c *NodeCost) Number { return c.Cost }), of(InMoney, func(c *NodeCost) Number { return c.UsedCost }),
	}
}
