package flow

import (
	"cmp"
	"math/bits"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/evict"
)

// This file chooses on one node whom to stop so that a task fits: by the least sum of what
// evicting them costs, or where pairs decide (Ranker) by the least worst, of equal
// ones first who has more of what is missing. What that costs at least is
// known without a search.

// chooser chooses among the tenants of a node.
type chooser struct {
	search evict.Search
	list   []evict.Candidate

	rates []Cost   // by node: of each kind, and one more (ratesOf)
	rated []uint64 // by node: when, as Journal.Latest
}

// choose finds whom to stop, and what that costs. Tasks of a higher tier are left
// alone. It is false where even all the others do not make enough room.
func (c *chooser) choose(w *network, s *cluster.View, shape cluster.ShapeID, tier int32, n cluster.NodeID) (Cost, bool) {
	if !c.search.Begin(s, shape, n) {
		return 0, false
	}
	list, best := c.search.Releasable(s, evict.Below(w.tenants.of(s, n), int64(tier)+1)), evict.LeastSum
	if w.answers.ranks {
		best, c.list = evict.LeastWorst, append(c.list[:0], list...)
		list = c.list
		slices.SortFunc(list, func(a, b evict.Candidate) int {
			if a.Price != b.Price {
				return cmp.Compare(a.Price, b.Price)
			}
			return cmp.Or(cmp.Compare(c.search.Cover(&b), c.search.Cover(&a)), cmp.Compare(b.Seq, a.Seq))
		})
	}
	price, ok := c.search.Choose(best, list)
	w.answers.effort.looks += c.search.Sets / looksPerTick
	return price, ok
}

// atLeast is less than choose would find, or the same, without a search: what is
// missing of each kind costs no less than at the best rate of all who run there, and
// no less than the cheapest of them. Who is in the way by a constraint counts for nothing.
func (c *chooser) atLeast(w *network, s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (Cost, bool) {
	if c.search.Begin(s, shape, n); c.search.HasRoom() {
		return 0, true
	}
	lacks, rates := c.search.Lacks(), c.ratesOf(w, s, n)
	bound := rates[len(lacks)]
	for k, lack := range lacks {
		switch {
		case lack <= 0:
		case rates[k] == unreached:
			return 0, false // nobody there has any of it
		case !w.answers.ranks:
			bound = max(bound, times(rates[k], lack))
		}
	}
	return bound, bound < unreached
}

// rateBits is the number of binary digits behind the point of a rate, so that the
// highest rate is below unreached.
const rateBits = 18

// times is a quantity at a rate, rounded down.
func times(rate Cost, quantity int64) Cost {
	hi, lo := bits.Mul64(uint64(rate), uint64(quantity))
	if hi >= 1<<(rateBits-4) {
		return unreached
	}
	return Cost(hi<<(64-rateBits) | lo>>rateBits)
}

// ratesOf are the prices at which a node could be had from those who run there: for
// each kind the best rate, of any, and then the price of the cheapest of them.
func (c *chooser) ratesOf(w *network, s *cluster.View, n cluster.NodeID) []Cost {
	width := len(s.Kinds()) + 1
	for len(c.rated) < len(w.ports.nodes) {
		c.rated = append(c.rated, book.Never)
		for range width {
			c.rates = append(c.rates, 0)
		}
	}
	rates := c.rates[int(n)*width : (int(n)+1)*width]
	if c.rated[n] == w.journal.Latest(n) {
		return rates
	}
	c.rated[n] = w.journal.Latest(n)
	for k := range rates {
		rates[k] = unreached
	}
	for _, t := range w.tenants.of(s, n) {
		rates[width-1] = min(rates[width-1], t.Price)
		for k, q := range s.Demand(t.Task) {
			if q > 0 {
				rates[k] = min(rates[k], t.Price<<rateBits/q)
			}
		}
	}
	return rates
}
