package sim

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/power"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/keeper"
)

// This file switches nodes off and wakes them, as a keeper says (sched/keeper). The core is told by sets: a node that is off, or waking, is in none,
// as if each task asked for a node that is on, so that nothing is placed there and its row, its labels and what it held stay known. A node that is lost while it is off
// returns as any other: on. A run that was given up does not begin on a node that was switched off meanwhile, and where somebody else starts one, the
// node is on.

// switches are the switches of all nodes.
type switches struct {
	keeper *keeper.Keeper // nil: none is ever off
	rules  keeper.Rules
	meter  power.Meter
	state  *cluster.View
	kernel *kernel
	nodes  *nodes
	outbox *outbox

	idle, waits cluster.Time // when the timers are that were set last
	mayWake     bool         // somebody waits for whom another node may be woken yet
}

// begin gives the switches to a keeper, where nodes may be switched off.
func (w *switches) begin() {
	if w.rules.OffAfter > 0 {
		w.keeper = keeper.New(w.rules, w)
	}
}

// Standing is how a node stands.
func (w *switches) Standing(n cluster.NodeID) keeper.Standing { return w.nodes.list[n].standing }

// Admits reports whether a node is as tasks of the shape want it.
func (w *switches) Admits(shape cluster.ShapeID, n cluster.NodeID) bool {
	return w.nodes.meets(n, w.nodes.sets[w.state.Shape(shape).Eligible].admission)
}

// Wakes is what a node draws with nothing on it, and how long it takes to wake.
func (w *switches) Wakes(n cluster.NodeID) (watts int64, takes cluster.Time) {
	return w.meter.Watts(w.state, n), w.takes(n)
}

// turn asks the keeper, and does what it says.
func (w *switches) turn() {
	if w.keeper == nil {
		return
	}
	now := w.kernel.now
	orders := w.keeper.Decide(w.state, now)
	for _, n := range orders.Off {
		if len(w.nodes.list[n].runs) == 0 { // else one of somebody who takes nothing, and was given up
			w.nodes.turn(n, keeper.Off, w.outbox.emit)
			if w.state.Usage(n) != nil { // what was measured last was measured of runs, and nothing is measured while it is off
				w.outbox.emit(cluster.UsageReported{Node: n, Usage: make(cluster.Vector, len(w.nodes.kinds))})
			}
		}
	}
	for _, n := range orders.Wake {
		w.nodes.turn(n, keeper.Waking, w.outbox.emit)
		w.nodes.list[n].wakes = now + w.takes(n)
		w.kernel.set(timer{at: w.nodes.list[n].wakes, kind: nodeWakes, node: n})
	}
	for _, e := range orders.Coming {
		w.outbox.emit(e)
	}
	w.mayWake = orders.Waits != cluster.Never
	w.ask(&w.idle, orders.Idle, nodesIdle)
	w.ask(&w.waits, orders.Waits, nodesWanted)
}

// ask sets a timer at which the keeper is asked again, unless one is set that comes no later: then it says anew when.
func (w *switches) ask(last *cluster.Time, at cluster.Time, kind uint8) {
	if now := w.kernel.now; *last <= now || at < *last {
		*last = at
		w.kernel.set(timer{at: at, kind: kind})
	}
}

// takes is how long a node takes to wake.
func (w *switches) takes(n cluster.NodeID) cluster.Time {
	if of := w.meter.Hardware(w.state, n).Wake; of > 0 {
		return of
	}
	return w.rules.Wake
}

// woken plays the end of waking, unless the node was lost, or is on since somebody else came.
func (w *switches) woken(n cluster.NodeID) {
	if at := &w.nodes.list[n]; at.live && at.standing == keeper.Waking && at.wakes == w.kernel.now {
		w.nodes.turn(n, keeper.On, w.outbox.emit)
	}
}

// turn brings a live node into a standing, and tells the core.
func (b *nodes) turn(row cluster.NodeID, to keeper.Standing, emit func(cluster.Event)) {
	if runs := len(b.list[row].runs); to != keeper.On && runs > 0 {
		panic(fmt.Sprintf("sim: node %s is switched off under %d runs", b.list[row].name, runs))
	}
	b.list[row].standing = to
	b.turned = append(b.turned, row)
	for id := 1; id < len(b.sets); id++ {
		b.judge(cluster.SetID(id), row, emit)
	}
}

// isOn reports whether the node is up and on.
func (b *nodes) isOn(row cluster.NodeID) bool {
	return b.list[row].live && b.list[row].standing == keeper.On
}

// keepsOff says what keeps tasks of the set off a node: what they want of it, and that it is not on.
func (w *switches) keepsOff(set cluster.SetID, n cluster.NodeID) []sched.Filtered {
	all := w.nodes.keepsOff(set, n)
	standing := w.nodes.list[n].standing
	if standing == keeper.On {
		return all
	}
	if all[0] == (sched.Filtered{}) {
		all = all[:0]
	}
	if standing == keeper.Waking {
		return append(all, sched.Filtered{Mechanism: sched.ByWaking})
	}
	return append(all, sched.Filtered{Mechanism: sched.ByOff, Wants: report.ShortTime(w.takes(n))})
}
