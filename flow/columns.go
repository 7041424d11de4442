package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
)

// columns says which of the nodes below an aggregator are in the network: column
// generation, as ranking.go has it.
type columns struct {
	ranking  *ranking
	slots    *slots
	tempting []bargain
}

// fewNodes are as many as an aggregator among many begins a solve with at most.
const fewNodes = 40

// enough is how many nodes below an aggregator a solve begins with: some choice for
// each task that waits.
func (c *columns) enough(g *group) int {
	wanted := c.ranking.requests[g.request].wanted
	if c.ranking.answers.tree != nil { // each rack has some, beside all the others
		return int(min(2+wanted, fewNodes))
	}
	return int(8 + 2*wanted)
}

// choose puts a node into the network that the heap has at a position.
func (c *columns) choose(s *cluster.View, g, at int32) {
	gr := &c.ranking.groups[g]
	n := gr.remove(c.ranking.requests[gr.request].offers, at)
	if c.slots.ports.put(n) {
		c.slots.updatePort(s, n)
	}
	c.ranking.choose(s, g, n)
}

// fill sees to it that each aggregator of the requests has some nodes.
func (c *columns) fill(s *cluster.View, requests []int32) {
	for _, q := range requests {
		for _, g := range c.ranking.requests[q].groups {
			gr := &c.ranking.groups[g]
			for enough := c.enough(gr); len(gr.chosen) < enough && len(gr.rest) > 0; {
				c.choose(s, g, 0)
			}
		}
	}
}

// all puts all nodes that a request may have into the network.
func (c *columns) all(s *cluster.View, q int32) {
	for _, g := range c.ranking.requests[q].groups {
		for len(c.ranking.groups[g].rest) > 0 {
			c.choose(s, g, 0)
		}
	}
}

// widen puts nodes into the network that could improve the solution, and reports
// whether there are any.
func (c *columns) widen(s *cluster.View, requests []int32, price func(mcmf.Node) int64) bool {
	widened := false
	for _, row := range requests {
		for _, g := range c.ranking.requests[row].groups {
			gr := &c.ranking.groups[g]
			c.tempting = c.tempting[:0]
			c.tempt(gr, 0, price(gr.node), price)
			slices.SortFunc(c.tempting, func(a, b bargain) int {
				return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.node, b.node))
			})
			// As many again as there are, so that few solves are enough.
			for _, b := range c.tempting[:min(len(c.tempting), max(8, len(gr.chosen)))] {
				c.choose(s, g, c.ranking.requests[row].offers[b.node].at)
				widened = true
			}
			if len(c.tempting) > 0 {
				gr.quiet = 0
			}
		}
	}
	return widened
}

// bargain is a node left out whose arc would improve the solution by so much.
type bargain struct {
	node cluster.NodeID
	cost Cost // below 0
}

// tempt lists the bargains of a heap from a position down. What is behind a port in
// the network has its own price, else none.
func (c *columns) tempt(g *group, at int, worth int64, price func(mcmf.Node) int64) {
	k, sink := c.ranking, c.ranking.graph.sink
	offers := k.requests[g.request].offers
	if at >= len(g.rest) || offers[g.rest[at]].cost()+price(sink) >= worth {
		return
	}
	k.answers.effort.looks++
	n := g.rest[at]
	o := &offers[n]
	cost := o.cost() + price(sink) - worth
	if port := k.ports.nodes[n].port; port != mcmf.None && k.answers.loaded == nil {
		cost += max(0, price(port)-price(sink)-o.stop)
	}
	if cost < 0 {
		c.tempting = append(c.tempting, bargain{n, cost})
	}
	c.tempt(g, 2*at+1, worth, price)
	c.tempt(g, 2*at+2, worth, price)
}

// narrow takes nodes without flow out of the network where there have been many more
// than are needed for a while.
func (c *columns) narrow(requests []int32, flow func(mcmf.Arc) int64) {
	const while = 16
	for _, row := range requests {
		q := &c.ranking.requests[row]
		for _, g := range q.groups {
			gr := &c.ranking.groups[g]
			if len(gr.chosen) <= 4*c.enough(gr) {
				continue
			}
			if gr.quiet++; gr.quiet > while {
				gr.quiet = 0
				c.ranking.clearGroup(g, func(n cluster.NodeID) bool { return flow(q.offers[n].arc) == 0 })
			}
		}
	}
}
