package sim

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/report"
)

// This file measures what nodes cost by a price of an hour, those of each price apart: a provider, or a kind of node.

// Price is what a node costs an hour that has a label, or is in a group, of that name and value.
type Price struct {
	Key, Value string // an empty key: any node
	Hour       int64  // in millionths
}

// Name is what results call the nodes of the price.
func (p *Price) Name() string {
	if p.Key == "" {
		return "other"
	}
	return p.Key + "=" + p.Value
}

// of reports whether it is the price of the node.
func (p *Price) of(n *cluster.NodeSpec) bool {
	is := func(l cluster.Label) bool { return l.Key == p.Key && l.Value == p.Value }
	return p.Key == "" || slices.ContainsFunc(n.Labels, is) || slices.ContainsFunc(n.Groups, is)
}

// costs are what the nodes of each price have cost.
type costs struct {
	prices   []Price // the first that is of a node counts
	holdings *holdings
	node     []costing // by row
	by       []costed  // by price, and of nodes that have none
}

// costing is how a node counts.
type costing struct {
	price int // one more than its place; 0 of a node that is not live
	used  bool
}

// costed is how many nodes of a price there are now, and for how long there were.
type costed struct {
	live, used         int64
	livePast, usedPast wide.Number // nodes × µs
}

// newCosts is nil where no node has a price. Which nodes have tasks, the holdings know, which are brought up to date before.
func newCosts(prices []Price, h *holdings) *costs {
	if len(prices) == 0 {
		return nil
	}
	return &costs{prices: prices, holdings: h, by: make([]costed, len(prices)+1)}
}

func (c *costs) advance(s *span) {
	for n := range s.nodes() {
		c.node = grown(c.node, n, costing{})
		c.count(c.node[n], -1)
		c.node[n] = costing{}
		if s.state.NodeLive(n) {
			c.node[n] = costing{1 + c.priceOf(s.state.NodeSpec(n)), c.holdings.active[n]}
		}
		c.count(c.node[n], 1)
	}
	for i := range c.by {
		of := &c.by[i]
		of.livePast = of.livePast.Plus(wide.Product(of.live, int64(s.to-s.from)))
		of.usedPast = of.usedPast.Plus(wide.Product(of.used, int64(s.to-s.from)))
	}
}

// priceOf is the place of the price of a node; the one after the last where it has none.
func (c *costs) priceOf(n *cluster.NodeSpec) int {
	if at := slices.IndexFunc(c.prices, func(p Price) bool { return p.of(n) }); at >= 0 {
		return at
	}
	return len(c.prices)
}

// count counts a node, or takes it off.
func (c *costs) count(n costing, sign int64) {
	if n.price == 0 {
		return
	}
	of := &c.by[n.price-1]
	of.live += sign
	if n.used {
		of.used += sign
	}
}

func (c *costs) result(_ *span, r *report.Run) {
	r.NodeCosts = map[string]report.NodeCost{}
	var all report.NodeCost
	for i := range c.by {
		name, hour := "none", 0.0
		if i < len(c.prices) {
			name, hour = c.prices[i].Name(), float64(c.prices[i].Hour)/1e6
		}
		live, used := c.by[i].livePast.Float()/float64(cluster.Hour), c.by[i].usedPast.Float()/float64(cluster.Hour)
		of := report.NodeCost{Hours: report.Number(live), Used: report.Number(used), Cost: report.Number(live * hour), UsedCost: report.Number(used * hour)}
		if i < len(c.prices) || live > 0 {
			r.NodeCosts[name] = of
		}
		all.Hours, all.Used = all.Hours+of.Hours, all.Used+of.Used
		all.Cost, all.UsedCost = all.Cost+of.Cost, all.UsedCost+of.UsedCost
	}
	r.NodeCosts["all"] = all
}
