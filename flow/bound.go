package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file says how much better a round's plan might have been: what it costs, and
// what any plan would have cost at least, both by the prices of the moment when the
// round began. (The plan itself goes by newer ones, made again after every solve.)
//
// Where one request asks, its slots are exactly what fits, and the cheapest flow of the
// first solve is the optimum. Otherwise each task group is given its cheapest places as
// if it were alone. That is a lower bound, although task groups share the curves of
// nodes: a convex curve that begins at 0 costs less cut into parts that each begin anew.
// Where tasks wait that could have had a place, the room of the nodes is counted as well
// (boundroom.go).
//
// A turn of a tier is bounded for itself: what higher tiers took is gone. The work is in
// proportion to the tasks that wait and to what the network holds for them, and no ticks
// are counted for it: nothing is decided by it.

// bounds is the gap of a round so far, and what is known of the current turn.
type bounds struct {
	net        *network
	routing    *routing
	contention *contention
	gap        sched.Gap
	unknown    bool // some turn of the round has no bound
	single     bool // one request asks, and its first solve is the optimum
	running    bool // when the turn began some task could be stopped or moved
	gains      gains
	value      value
	knapsack   knapsack
}

func newBounds(w *network, r *routing, k *contention) bounds {
	return bounds{net: w, routing: r, contention: k, gains: gains{net: w, places: places{net: w}}, value: value{net: w}}
}

// reset begins a round.
func (b *bounds) reset() { b.gap, b.unknown = sched.Gap{}, false }

// begin looks at what each task group of the tier would cost alone.
func (b *bounds) begin(r *round) {
	s, w := r.trial.View(), b.net
	b.gains.reset()
	b.routing.solves = 0
	b.single, b.running = w.exact(s), w.members.running > 0
	if len(r.rivals) == 0 {
		return
	}
	for _, row := range w.turn.active {
		if w.group(row).id.tier == w.turn.tier {
			b.gains.add(s, row, b.single)
		}
	}
}

// exact reports whether one request asks, all of whose plans are flows.
func (w *network) exact(s *cluster.View) bool {
	if w.members.running > 0 || len(w.turn.asks) != 1 {
		return false
	}
	id := w.turn.asks[0]
	if len(s.DeviceNeeds(id.shape)) > 0 {
		return false
	}
	return !slices.ContainsFunc(w.turn.active, func(row int32) bool {
		c := w.group(row)
		// How many may stand together on a node, each way there says for itself.
		byTwoWays := id.job != noJob && slices.ContainsFunc(c.outs, func(o out) bool { return o.group < 0 })
		return c.id.tier != w.turn.tier || byTwoWays
	})
}

// end compares what was planned in the round with what it costs at least.
func (b *bounds) end(r *round, severalTiers bool) {
	if b.gains.placeable == 0 || b.unknown {
		return
	}
	unplaceable := b.gains.unplaceable
	turn := sched.Gap{Bound: b.routing.first - unplaceable, Omits: sched.OmitsNothing}
	known, single := b.routing.solves > 0, b.single && b.routing.fresh
	if single && b.routing.solves == 1 {
		turn.Value = turn.Bound
	} else {
		value, ok := b.value.planned(r, severalTiers)
		turn.Value = value - unplaceable
		known = known && ok
	}
	if !single {
		known = known && b.gains.waits < unreached && b.gains.waits > -unreached
		most, omits := b.mostGain(r.packed)
		turn.Bound, turn.Omits = b.gains.waits-most, omits
	}
	if known = known && turn.Value < unreached; !known {
		b.gap, b.unknown = sched.Gap{}, true
		return
	}
	b.gap.Value += turn.Value
	b.gap.Bound += turn.Bound
	b.gap.Omits = max(b.gap.Omits, turn.Omits)
}

// mostGain is what placing tasks could gain at most, and what that passes over.
func (b *bounds) mostGain(packed bool) (Cost, sched.Omission) {
	most := Cost(0)
	for _, g := range b.gains.list {
		most += min(g.units*g.cost, unreached-most)
	}
	if b.running {
		return most, sched.OmitsEvictions
	}
	if packed {
		if gain, ok := b.knapsack.most(&b.gains, b.contention); ok && gain < most {
			return gain, sched.OmitsPieces
		}
	}
	return most, sched.OmitsSharing
}
