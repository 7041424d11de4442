package queue

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Ties says which of several equally good nodes is taken. It changes results
// by points, not by digits, and is therefore named and recorded.
type Ties uint8

const (
	// Fixed takes the first node of one random order, drawn once per run.
	Fixed Ties = iota
	// Lowest takes the lowest node row.
	Lowest
	// Random takes each with equal chance.
	Random
)

// String is the name of the tie-break as flags give it.
func (t Ties) String() string { return [...]string{"fixed", "lowest", "random"}[t] }

// ParseTies reads the name of a tie-break, and reports whether it is one.
func ParseTies(name string) (Ties, bool) {
	for _, t := range []Ties{Fixed, Lowest, Random} {
		if t.String() == name {
			return t, true
		}
	}
	return 0, false
}

// nodeOrder ranks nodes for tie-breaking.
type nodeOrder struct {
	at   []cluster.NodeID // node of each rank
	rank []int32          // rank of each node
}

// newNodeOrder ranks n nodes. A fixed order is drawn from the seed node by
// node, so that nodes that come later do not change the order of those before.
func newNodeOrder(n int, ties Ties, seed uint64) nodeOrder {
	o := nodeOrder{at: make([]cluster.NodeID, n), rank: make([]int32, n)}
	for i := range o.at {
		o.at[i] = cluster.NodeID(i)
	}
	if ties == Fixed {
		source := rand.New(rand.NewPCG(seed, 0x0f17ed))
		draw := make([]uint64, n)
		for i := range draw {
			draw[i] = source.Uint64()
		}
		slices.SortFunc(o.at, func(a, b cluster.NodeID) int {
			return cmp.Or(cmp.Compare(draw[a], draw[b]), cmp.Compare(a, b))
		})
	}
	for rank, node := range o.at {
		o.rank[node] = int32(rank)
	}
	return o
}

// Order gives a waiting task its place in the queue: smaller keys first, equal
// keys in the order of submission.
type Order func(s *cluster.View, t cluster.TaskID) int64

// firstCome is the order of submission.
func firstCome(*cluster.View, cluster.TaskID) int64 { return 0 }

// byPriority puts the more important first.
func byPriority(s *cluster.View, t cluster.TaskID) int64 { return -int64(s.Task(t).Priority) }

// decreasing puts the larger demand first, measured in shares of the largest
// node, as first-fit decreasing and best-fit decreasing do.
func decreasing(known *offers) Order {
	return func(s *cluster.View, t cluster.TaskID) int64 {
		size := int64(0)
		for k, need := range s.Demand(t) {
			size += min(cluster.Fraction(need, known.most[k]), 1<<40)
		}
		return -size
	}
}
