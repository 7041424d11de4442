package flow

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file lets rounds with a budget go on where the one before was cut.
//
// Tiers are planned for one after the other, the highest first. Who begins with the
// highest in every round spends the budget there in every round, on tasks that have just
// been found to have no place, and what the lower tiers had come to is undone for it. So
// a tier that was planned for to its end *sleeps*: rounds pass it over until
//
//   - one of its tasks begins to wait, or comes to pay otherwise, or
//   - a node changed that one of its requests could use.
//
// Then it wakes with all below it, which are to take what it leaves.
//
// Within a tier it is the network that keeps what was reached: which nodes were looked at,
// and the flow. A solve that was cut is continued from its flow by the incremental solver,
// be it that of an algorithm that would begin from nothing again, and each such solve
// finds the way of one unit or more.
//
// Bound: while nothing happens, a round that is cut has spent its budget on work that is
// not done again, or found the way of one unit where the budget is too small even for
// that. So where a round without a budget takes W ticks and routes n units, rounds with
// one of b ticks serve everybody who can be served in at most n + 4W/b of them: the
// factor is for what is looked at a second time, as plans are made piece by piece. (Over
// 10,000 worlds drawn at random they spent 3.9 W at most, budgets of one tick included.)
//
// A round without a budget passes nobody over.

// sleepers are the tiers that rounds with a budget pass over.
type sleepers struct {
	from int64 // the lowest tier that sleeps; noTier if none does
	list []sleeper
}

// sleeper is a request that tasks of a tier that sleeps wait with.
type sleeper struct{ tier, request int32 }

// noTier is above all tiers, and belowTiers below them.
const (
	noTier     = math.MaxInt64
	belowTiers = math.MinInt64
)

// sleep lets a tier sleep that was planned for to its end, after those above it.
func (z *sleepers) sleep(tier int32) { z.from = int64(tier) }

// wake wakes a tier, and those below it.
func (z *sleepers) wake(tier int64) {
	if tier >= z.from {
		z.from = tier + 1
	}
}

// sleeps reports whether the tier is to be passed over.
func (z *sleepers) sleeps(tier int32) bool { return int64(tier) >= z.from }

// update wakes the tiers that may gain by what a round was shown: the tasks, and the
// nodes noted in the journal from a position on.
func (z *sleepers) update(w *network, s *cluster.View, c *sched.Changed, from uint64) {
	if c.All || len(c.Constrained) > 0 || w.stays.any() && w.journal.End() > from {
		z.from = noTier
	}
	if z.from == noTier {
		return
	}
	for _, t := range c.Tasks {
		if m := w.members.of(t); m.seq != 0 && (m.stay >= 0 || m.node == cluster.NoNode) {
			z.wake(int64(m.terms.Tier))
		}
	}
	if w.journal.End() > from {
		z.enlist(w)
	}
	for n := range w.journal.Since(from) {
		if len(z.list) == 0 {
			break
		}
		z.wake(z.highest(w, s, n))
	}
}

// enlist lists the requests of the tiers that sleep, the highest tier first.
func (z *sleepers) enlist(w *network) {
	z.list = z.list[:0]
	for _, row := range w.supply.lines {
		if c := w.group(row); z.sleeps(c.id.tier) {
			z.list = append(z.list, sleeper{c.id.tier, c.request})
		}
	}
	slices.SortFunc(z.list, func(a, b sleeper) int {
		return cmp.Or(cmp.Compare(b.tier, a.tier), cmp.Compare(a.request, b.request))
	})
	z.list = slices.Compact(z.list)
}

// highest is the highest of the tiers that sleep of which a request could use the node.
func (z *sleepers) highest(w *network, s *cluster.View, n cluster.NodeID) int64 {
	for _, x := range z.list {
		if !z.sleeps(x.tier) {
			break
		}
		w.answers.effort.looks++
		if w.couldUse(s, x.request, n) {
			return int64(x.tier)
		}
	}
	return belowTiers
}

// couldUse reports whether the request could have a place on the node: now, or, where
// tasks may be evicted, if everybody left.
func (w *network) couldUse(s *cluster.View, q int32, n cluster.NodeID) bool {
	if w.members.running == 0 {
		return w.room(s, q, n) > 0
	}
	id := w.request(q).id
	return int(n) < s.NodeRows() && s.FitsEmpty(id.shape, n) && !barred(s, id.shape, n)
}
