package flow

import (
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow/pack"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// This file plans rounds in which requests of several shapes want more than there
// is. Uniform slots waste room there: the largest request sets their size. So the
// round is planned a second time, from where it began: package pack proposes which
// tasks could stand together on each node, cuts the nodes into slots of these sizes,
// and a flow decides who gets them, at which price. What is left over bids higher,
// a few times. The plan that leaves least waiting, by price, is the one that counts;
// what still fits beside it is placed by uniform slots again.
//
// Only nodes take part that had room for somebody when the round began. In a cluster
// that is full these are the nodes that tasks have left since the last one.
//
// A budget may end all that at any point. What was planned without packing is then held back,
// and the next round goes on with the search (Policy.serve): with the packing, or with the flow
// through its slots. If something happens before it has come to its end, what it knows is of no
// use any more: the next round plans anew, and what it finds, or holds already, when its budget
// is spent is what it does. So of two rounds one decides. What a round placed that ended before
// it came to packing stands, and packing goes by what is left: it was decided and may run by now, and
// had it been held back as well, nobody would start while a budget is too small for uniform slots.

const (
	// mostBids is how often what is left over bids higher.
	mostBids = 6
	// mostPackTicks ends bidding early in very large rounds.
	mostPackTicks = 1 << 22
)

// packing plans rounds so.
type packing struct {
	net        *network
	effort     *effort
	spread     *spread
	contention *contention
	market     market
	packer     pack.Packer
	packing    pack.Packing
	bidding    bidding
	uniform    done // what was planned without packing
	held       bool // the last round held that back
}

// bidding is how far the search for the best packing has come.
type bidding struct {
	solving bool  // through the slots of the packing
	bids    int   // of which the plan is known
	ticks   int64 // of their packings
	least   Cost
	goes    []goes // of the best plan
}

// goes is so many tasks of a request on a node.
type goes struct {
	request int32
	node    cluster.NodeID
	units   int64
}

// done is a plan that was made, to come back to: what it did, and what that costs.
type done struct {
	actions       []sched.Action
	ends          []int
	evicted, cost Cost
}

// contended reports whether several requests could have had a place, and some task waits
// that asks for one of them.
func (k *packing) contended(r *round) bool {
	return len(r.rivals) > 1 && slices.ContainsFunc(r.rivals, func(row int32) bool { q := k.net.request(row); return q.live && q.wanted > 0 })
}

// plan plans again what was planned in a contended round, and keeps the plan that costs
// less: what all who wait pay for it, and those who were evicted. It reports whether it, and
// what it does last, came to an end.
func (k *packing) plan(r *round) bool {
	w, hurries := k.net, k.held && !r.resumes
	k.held = false
	if r.packed = r.resumes || k.contended(r); !r.packed {
		return true
	}
	if k.contention.state = r.trial.View(); !r.resumes {
		k.begin(r)
	}
	if !k.seek(r) && !hurries {
		k.held = r.from == 0 // else what was planned above happens before the next round
		r.holds = k.held
		return false
	}
	if !w.stopped() && k.assign(r) {
		whole := k.spread.plan(r) || r.budget == 0
		w.update(r.trial.View())
		if w.supply.left(false)+r.evicted < k.uniform.cost {
			return whole
		}
	}
	k.undo(r)
	k.redo(r, &k.uniform)
	return true
}

// begin takes back what was planned, to come back to, and lists who competes for what.
func (k *packing) begin(r *round) {
	d := &k.uniform
	*d = done{actions: d.actions[:0], ends: d.ends[:0], evicted: r.evicted, cost: k.net.supply.left(false) + r.evicted}
	for i := r.from; i < r.out.Bundles(); i++ {
		d.actions = append(d.actions, r.out.Bundle(i)...)
		d.ends = append(d.ends, len(d.actions))
	}
	k.undo(r)
	k.contention.gather()
	k.packer.Begin(&k.contention.in, &k.packing)
	k.bidding = bidding{least: math.MaxInt64, goes: k.bidding.goes[:0]}
}

// undo takes back all that was planned in the round.
func (k *packing) undo(r *round) {
	s, tasks := r.trial.View(), []cluster.TaskID(nil)
	for i := r.from; i < r.out.Bundles(); i++ {
		for _, a := range r.out.Bundle(i) {
			tasks = append(tasks, a.Task)
			k.net.noteTask(s, a.Task)
		}
	}
	r.trial.Rollback(r.mark)
	r.out.Cut(r.from)
	r.evicted = 0
	for _, task := range tasks {
		k.net.noteTask(s, task)
		k.net.members.update(s, task)
	}
	k.net.update(s)
}

// redo does again what was undone.
func (k *packing) redo(r *round, d *done) {
	s, from := r.trial.View(), 0
	for _, to := range d.ends {
		for _, a := range d.actions[from:to] {
			k.net.noteTask(s, a.Task)
			if r.trial.Try(a).Refused() {
				panic("flow: what was done once is refused the second time")
			}
			r.out.Add(a)
			k.net.noteTask(s, a.Task)
			k.net.members.update(s, a.Task)
		}
		r.out.Close()
		from = to
	}
	r.evicted = d.evicted
	k.net.update(s)
}

// seek packs, and lets requests have the slots, again and again. It reports whether it came to
// its end.
func (k *packing) seek(r *round) bool {
	x := &k.bidding
	for {
		if !x.solving {
			before := k.packing.Ticks
			x.solving = k.packer.Run(k.effort.left(r.budget))
			k.effort.arcs += k.packing.Ticks - before
			if !x.solving {
				return false
			}
			x.ticks += k.packing.Ticks
			k.market.open(k.contention, &k.packing)
		}
		result := k.market.solver.Solve(mcmf.Options{Budget: k.effort.left(r.budget), Stop: k.net.stop})
		k.effort.arcs += result.Ticks
		if result.Status == mcmf.Exhausted {
			return false
		}
		if result.Status == mcmf.Optimal && result.Cost < x.least {
			x.least = result.Cost
			k.market.going(&x.goes)
		}
		x.solving = false
		if x.bids++; x.bids == mostBids || x.ticks > mostPackTicks || k.net.stopped() || !k.packer.Rebid(&k.packing) {
			return true
		}
	}
}

// assign gives each place to a task of its request, the dearest to leave waiting
// first, and reports whether any was placed.
func (k *packing) assign(r *round) bool {
	w, placed := k.net, false
	var line []book.Entry
	last := int32(-1)
	for _, g := range k.bidding.goes {
		if g.request != last {
			last, line = g.request, w.supply.line(g.request)
		}
		for range min(g.units, int64(len(line))) {
			e := line[0]
			line = line[1:]
			m := move{task: e.Task, taskGroup: w.members.group(e.Task), from: cluster.NoNode, to: g.node}
			if w.do(r, []move{m}, true) {
				placed = true
			}
		}
	}
	w.update(r.trial.View())
	return placed
}
