package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// components tells apart moves that depend on each other: where somebody comes to a node
// that somebody leaves. Who comes to a free slot there depends on nobody, and goes before
// all.
type components struct {
	parent []int32                  // of each move: the component it is in
	left   map[cluster.NodeID]bool  // nodes that somebody leaves
	at     map[cluster.NodeID]int32 // a move that has to do with the node
}

// independent reports whether no move depends on another.
func independent(moves []move) bool {
	return !slices.ContainsFunc(moves, func(m move) bool { return m.from != cluster.NoNode })
}

// sort sorts moves by component, and in each those that leave come first.
func (c *components) sort(moves []move) {
	clear(c.left)
	clear(c.at)
	for _, m := range moves {
		c.left[m.from] = true
	}
	c.parent = c.parent[:0]
	for i, m := range moves {
		c.parent = append(c.parent, int32(i))
		if m.to != cluster.NoNode && c.left[m.to] && !m.free {
			c.link(m.to, int32(i))
		}
	}
	for i, m := range moves {
		if _, comes := c.at[m.from]; comes && m.from != cluster.NoNode {
			c.link(m.from, int32(i))
		}
	}
	type sorted struct {
		root int32
		move move
	}
	list := make([]sorted, len(moves))
	for i, m := range moves {
		list[i] = sorted{c.root(int32(i)), m}
	}
	slices.SortStableFunc(list, func(a, b sorted) int {
		waits := func(m move) int {
			if m.from == cluster.NoNode {
				return 1
			}
			return 0
		}
		bound := func(m move) int {
			if m.free {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(bound(a.move), bound(b.move)), cmp.Compare(a.root, b.root), cmp.Compare(waits(a.move), waits(b.move)))
	})
	for i, l := range list {
		moves[i], c.parent[i] = l.move, l.root
	}
}

// link puts a move into the component of those that have to do with the node.
func (c *components) link(n cluster.NodeID, move int32) {
	other, ok := c.at[n]
	if !ok {
		c.at[n] = move
		return
	}
	a, b := c.root(other), c.root(move)
	c.parent[max(a, b)] = min(a, b)
}

// root is the first move of a component.
func (c *components) root(move int32) int32 {
	for c.parent[move] != move {
		c.parent[move] = c.parent[c.parent[move]]
		move = c.parent[move]
	}
	return move
}

// postponePreemptors puts off all for which somebody has to leave, while others find a
// place for which nobody has to. Where several requests ask, nodes have more room than
// their slots show, and the next solve may know a place without victims.
func (c *components) postponePreemptors(moves []move) []move {
	clear(c.left)
	for _, m := range moves {
		if m.evicts() {
			c.left[m.from] = true
		}
	}
	leaves := func(m move) bool { return c.left[m.from] || c.left[m.to] && !m.free }
	if slices.ContainsFunc(moves, func(m move) bool { return !leaves(m) }) {
		return slices.DeleteFunc(moves, leaves)
	}
	return moves
}
