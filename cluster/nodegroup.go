package cluster

import (
	"cmp"
	"maps"
	"slices"
)

// This file numbers the sets of the groups that bounds name, so that counting looks
// at no strings. Only such groups are kept. A set keeps its number for ever.

// outside is the set of nodes that are in none of the group's sets.
const outside int32 = 0

// nodeGroup is a group and the set of it that each node is in. Of EachNode the set is
// the node's row, and one more.
type nodeGroup struct {
	key    string
	number map[string]int32 // of each set by its name, from 1 on; empty for EachNode
	of     []int32          // by node
	nodes  []int32          // how many live nodes each set has; outside none
}

func newNodeGroup(key string) nodeGroup {
	return nodeGroup{key: key, number: map[string]int32{}, nodes: make([]int32, 1)}
}

// set is the number of the set that a live node with these groups is in.
func (g *nodeGroup) set(n NodeID, groups []Label) int32 {
	if g.key == EachNode {
		return int32(n) + 1
	}
	at, found := slices.BinarySearchFunc(groups, g.key, func(l Label, key string) int { return cmp.Compare(l.Key, key) })
	if !found {
		return outside
	}
	set, known := g.number[groups[at].Value]
	if !known {
		set = int32(len(g.number)) + 1
		g.number[groups[at].Value] = set
	}
	return set
}

// setOf is the set that the node is in.
func (g *nodeGroup) setOf(n NodeID) int32 {
	if int(n) >= len(g.of) {
		return outside
	}
	return g.of[n]
}

// move puts the node into the set.
func (g *nodeGroup) move(n NodeID, set int32) {
	g.of = grown(g.of, int(n))
	g.nodes = grown(g.nodes, int(set))
	if from := g.of[n]; from != outside {
		g.nodes[from]--
	}
	if set != outside {
		g.nodes[set]++
	}
	g.of[n] = set
}

// size is how many live nodes the set has.
func (g *nodeGroup) size(set int32) int32 {
	if int(set) >= len(g.nodes) {
		return 0
	}
	return g.nodes[set]
}

// clone is a copy that shares nothing that changes.
func (g *nodeGroup) clone() nodeGroup {
	return nodeGroup{key: g.key, number: maps.Clone(g.number), of: slices.Clone(g.of), nodes: slices.Clone(g.nodes)}
}
