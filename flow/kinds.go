package flow

import (
	"iter"
	"math/bits"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/book"
)

// This file says whose ports to look at when other requests ask than before, or those of another
// tier. What a tenant shares then depends on its shape and its tier alone. So the answer is kept for
// each pair of these, with the nodes that have such tenants, and only those are looked at whose pair
// has another answer than it had: in a stream of shapes that differ little hardly any, where all nodes
// with all their tenants were looked at before.

// tenantKind is the tenants of a shape and a tier.
type tenantKind struct {
	tier   int64
	shares bool    // they did, when nodes were last looked at
	nodes  nodeSet // where they stood when that node was last looked at; some may have left since
}

// meet notes that tenants of a kind are on a node, whose port is being looked at.
func (p *ports) meet(s *cluster.View, shape cluster.ShapeID, tier int64, n cluster.NodeID) {
	z := p.tenants
	z.kinds = book.Grown(z.kinds, shape, nil)
	of, i := z.kinds[shape], 0
	for i < len(of) && of[i].tier != tier {
		i++
	}
	if i == len(of) {
		of = append(of, tenantKind{tier: tier})
		z.kinds[shape] = of
	}
	k := &of[i]
	if len(k.nodes) == 0 {
		k.shares = p.kindShares(s, shape, tier)
	}
	k.nodes.add(n)
}

// kindShares reports whether everybody who asks could have the place of a tenant of the kind, and is
// of no lower tier.
func (p *ports) kindShares(s *cluster.View, shape cluster.ShapeID, tier int64) bool {
	return tier <= int64(p.turn.tier) && p.turn.covers(s, shape)
}

// turned adds the nodes with tenants of kinds that share now and did not, or the reverse.
func (p *ports) turned(s *cluster.View, nodes *nodeSet) {
	for shape, of := range p.tenants.kinds {
		for i := range of {
			k := &of[i]
			if len(k.nodes) == 0 {
				continue
			}
			p.turn.effort.looks++
			if shares := p.kindShares(s, cluster.ShapeID(shape), k.tier); shares != k.shares {
				nodes.join(k.nodes)
				k.nodes = k.nodes[:0] // who is met there again is noted again
			}
		}
	}
}

// forgetShape forgets the kinds of a shape whose row was given anew.
func (z *tenants) forgetShape(shape cluster.ShapeID) {
	if int(shape) < len(z.kinds) {
		z.kinds[shape] = nil
	}
}

// nodeSet is a set of nodes, a bit for each row.
type nodeSet []uint64

func (b *nodeSet) add(n cluster.NodeID) {
	*b = book.Grown(*b, n>>6, 0)
	(*b)[n>>6] |= 1 << (n & 63)
}

func (b *nodeSet) remove(n cluster.NodeID) { (*b)[n>>6] &^= 1 << (n & 63) }

func (b *nodeSet) join(o nodeSet) {
	for i, word := range o {
		*b = book.Grown(*b, int32(i), 0)
		(*b)[i] |= word
	}
}

// all yields the nodes by row. It may change meanwhile.
func (b *nodeSet) all() iter.Seq[cluster.NodeID] {
	return func(yield func(cluster.NodeID) bool) {
		for i, word := range *b {
			for ; word != 0; word &= word - 1 {
				if !yield(cluster.NodeID(i<<6 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}
