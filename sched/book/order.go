package book

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

// Order ranks nodes for tie-breaking.
type Order struct {
	At   []cluster.NodeID // node of each rank
	Rank []int32          // rank of each node
}

// NewOrder ranks n nodes. A fixed order is drawn from the seed node by
// node, so that nodes that come later do not change the order of those before.
func NewOrder(n int, ties Ties, seed uint64) Order {
	o := Order{At: make([]cluster.NodeID, n), Rank: make([]int32, n)}
	for i := range o.At {
		o.At[i] = cluster.NodeID(i)
	}
	if ties == Fixed {
		source := rand.New(rand.NewPCG(seed, 0x0f17ed))
		draw := make([]uint64, n)
		for i := range draw {
			draw[i] = source.Uint64()
		}
		slices.SortFunc(o.At, func(a, b cluster.NodeID) int {
			return cmp.Or(cmp.Compare(draw[a], draw[b]), cmp.Compare(a, b))
		})
	}
	for rank, node := range o.At {
		o.Rank[node] = int32(rank)
	}
	return o
}
