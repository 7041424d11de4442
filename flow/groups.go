package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
)

// group is an aggregator of one request: the nodes below it that are in the network, and
// a heap of all others.
type group struct {
	request int32
	of      Aggregator
	node    mcmf.Node
	above   int32
	chosen  []cluster.NodeID // with an arc
	rest    []cluster.NodeID // without: a heap by price
	below   []below
	quiet   int // solves since it was widened, while it was wide
}

// below is a group under another one.
type below struct {
	group int32
	arc   mcmf.Arc
}

// group finds the group of an aggregator, or makes it with those above it.
func (k *ranking) group(s *cluster.View, q int32, a Aggregator) int32 {
	if row, ok := k.requests[q].groupOf[a]; ok {
		return row
	}
	row := take(&k.freeGroup, &k.groups)
	g := &k.groups[row]
	*g = group{request: q, of: a, node: k.graph.node(), above: -1, chosen: g.chosen[:0], rest: g.rest[:0], below: g.below[:0]}
	k.requests[q].groupOf[a] = row
	k.requests[q].groups = append(k.requests[q].groups, row)
	above, cost := k.answers.above(s, a)
	if above == Nowhere {
		return row
	}
	if err := checkCost(cost); err != nil {
		k.answers.refuse("arc from aggregator %d to %d: %w", above, a, err)
		return row
	}
	if above == a {
		k.answers.refuse("aggregator %d is above itself", a)
		return row
	}
	parent := k.group(s, q, above)
	for up := parent; up >= 0; up = k.groups[up].above {
		if up == row {
			k.answers.refuse("aggregator %d is above itself, by way of %d", a, above)
			return row
		}
	}
	k.groups[row].above = parent
	arc := k.graph.AddArc(k.groups[parent].node, k.groups[row].node, 0, unlimited, cost)
	k.groups[parent].below = append(k.groups[parent].below, below{row, arc})
	return row
}

// clearGroup takes nodes out of the network, of those below a group.
func (k *ranking) clearGroup(g int32, which func(cluster.NodeID) bool) {
	for _, n := range slices.Backward(k.groups[g].chosen) {
		if which(n) {
			k.unchoose(g, n)
			k.groups[g].push(k.requests[k.groups[g].request].offers, n)
		}
	}
}

// less orders nodes of a heap.
func less(offers []offer, a, b cluster.NodeID) bool {
	if pa, pb := offers[a].cost(), offers[b].cost(); pa != pb {
		return pa < pb
	}
	return a < b
}

// push puts a node into the heap, of which the request has these offers.
func (g *group) push(offers []offer, n cluster.NodeID) {
	g.rest = append(g.rest, n)
	g.move(offers, int32(len(g.rest)-1))
}

// remove takes the node at a position out of the heap.
func (g *group) remove(offers []offer, at int32) cluster.NodeID {
	n, last := g.rest[at], len(g.rest)-1
	moved := g.rest[last]
	g.rest = g.rest[:last]
	if int(at) < last {
		g.rest[at] = moved
		g.move(offers, at)
	}
	return n
}

// move puts the node at a position of the heap where its price belongs.
func (g *group) move(offers []offer, at int32) {
	n := g.rest[at]
	for at > 0 && less(offers, n, g.rest[(at-1)/2]) {
		g.rest[at] = g.rest[(at-1)/2]
		offers[g.rest[at]].at = at
		at = (at - 1) / 2
	}
	for {
		child := 2*at + 1
		if int(child) >= len(g.rest) {
			break
		}
		if int(child)+1 < len(g.rest) && less(offers, g.rest[child+1], g.rest[child]) {
			child++
		}
		if !less(offers, g.rest[child], n) {
			break
		}
		g.rest[at] = g.rest[child]
		offers[g.rest[at]].at = at
		at = child
	}
	g.rest[at] = n
	offers[n].at = at
}
