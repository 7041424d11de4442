package flow

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/book"
)

// walks follows units from aggregators to nodes.
type walks struct {
	routing *routing
	list    []walk // by group
	stamp   uint32
}

// walk is how far the flow that leaves a group has been followed.
type walk struct {
	stamp uint32
	next  int32
	left  int64
}

// place is where a unit went, and what its way to the port cost.
type place struct {
	node cluster.NodeID
	cost Cost
}

// begin begins to follow another flow.
func (z *walks) begin() {
	z.stamp++
	z.list = book.Grown(z.list, int32(len(z.routing.net.ranking.groups)-1), walk{})
}

// follow takes a unit, at a cost so far, from a group to the node where it ends.
func (z *walks) follow(g int32, cost Cost) (place, bool) {
	r, k := z.routing, &z.routing.net.ranking
	for {
		gr, at := &k.groups[g], &z.list[g]
		if at.stamp != z.stamp {
			*at = walk{stamp: z.stamp, next: -1}
		}
		for at.left == 0 {
			at.next++
			i := int(at.next)
			switch {
			case i < len(gr.below):
				at.left = r.solver.Flow(gr.below[i].arc)
			case i < len(gr.below)+len(gr.chosen):
				n := gr.chosen[i-len(gr.below)]
				at.left = r.solver.Flow(k.requests[gr.request].offers[n].arc)
			default:
				return place{}, false
			}
		}
		at.left--
		if i := int(at.next); i >= len(gr.below) {
			n := gr.chosen[i-len(gr.below)]
			arc := k.requests[gr.request].offers[n].arc
			return place{n, cost + r.unit(arc, r.solver.Flow(arc)-1)}, true
		}
		cost += r.net.graph.Arc(gr.below[at.next].arc).Cost
		g = gr.below[at.next].group
	}
}
