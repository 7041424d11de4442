package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// This file plays tasks that take more or less of a node as they are granted. Such
// a task works faster with more: its work is a time with one unit of the first kind
// in which its demand is a range, and with r units it takes an r-th of that time
// (PLT = SLT / r, Euro-Par WS 2018, §3). Effort is that kind's quantity × µs, as an
// exact integer, so that nothing is lost or won where a run is resized half-way. Of a
// task whose demand is fixed, a µs is a µs.
//
// A task may be faster on some nodes than on others (trace.Speed). Its effort is that, times the speed in millionths,
// so that what a run has done, and its class keeps, counts the same on any node to which it moves. A run goes on as fast as it began:
// labels that its node gains or loses meanwhile are the next run's.

// effort is how much a task has to do, how fast it does it, and how much of it is done.
type effort struct {
	work   cluster.Time  // with one unit, where it takes more or less, and at speed one
	speeds []trace.Speed // nil: it is as fast everywhere
	pace   int64         // the speed of the present run, where there are any
	done   wide.Number   // up to began
	kept   wide.Number   // the part of it that earlier runs have kept
	began  cluster.Time  // to work with the grant that it has
	ends   cluster.Time  // when the work is done, if nothing comes between
}

// with is what the task takes with the grant.
func (t *task) with(grant cluster.Vector) cluster.Vector {
	if grant != nil {
		return grant
	}
	return t.demand
}

// takes is what the present run takes.
func (t *task) takes() room { return room{t.with(t.grant), t.devices} }

// speedOf is how fast the task's present run is, and how much of that is speed one. The effort of a run in a µs is what it has been
// granted times its speed, which an int64 does not hold: 10 TB in bytes are beyond that at speed one already.
func speedOf(t *task) (pace, one int64) {
	if t.speeds == nil {
		return 1, 1
	}
	return t.pace, trace.SpeedUnit
}

// granted is what the present run takes of what makes its task faster, and how much of that is one unit.
func (b *nodes) granted(t *task) (amount, unit int64) {
	for k := range t.most {
		if t.most[k] != t.demand[k] {
			return t.takes().demand[k], max(b.kinds[k].PerUnit, 1)
		}
	}
	return 1, 1
}

// progress adds what the present run has done since it began to work as it does now.
func (r *runs) progress(t *task) {
	amount, _ := r.nodes.granted(t)
	pace, _ := speedOf(t)
	t.done = t.done.Plus(wide.Product(amount, pace).Times(int64(r.kernel.now - t.began)))
}

// aim sets the end of a run that works from now on with what it takes now.
func (r *runs) aim(row cluster.TaskID) {
	t := r.tasks.list[row]
	t.began, t.ends = r.kernel.now, cluster.Never
	amount, unit := r.nodes.granted(t)
	pace, one := speedOf(t)
	if t.work == cluster.Never || amount == 0 {
		return
	}
	if left := cluster.Time(wide.Product(unit, one).Times(int64(t.work)).Minus(t.done).OverUp(amount, pace)); left < cluster.Never-r.kernel.now {
		t.ends = r.kernel.now + left
		r.kernel.set(timer{at: t.ends, kind: runEnds, task: row, attempt: t.attempt, elastic: t.most != nil})
	}
}

// due reports whether the run ends at the timer's time.
func (b *tasks) due(t timer) bool {
	row := b.list[t.task]
	return row.seq != 0 && row.phase >= working && row.attempt == t.attempt && row.ends == t.at
}

// forget drops timers that come next and are of no use, as a run will end at another
// time: nothing happens then, and time need not go on until there.
func (r *runs) forget() {
	for len(r.kernel.timers) > 0 {
		t := r.kernel.timers[0]
		if t.kind != runEnds || !t.elastic || r.tasks.due(t) {
			return
		}
		r.kernel.pop()
	}
}

// resize gives a run more or less, at once. A run that the core believes to be there may be
// gone; it will hear of that.
func (r *runs) resize(d sched.Decision) {
	t := r.tasks.list[d.Task]
	mark := run{d.Task, d.Attempt}
	if late, given := r.given[mark]; given {
		late.demand = t.with(d.Grant)
		r.given[mark] = late
	}
	if !r.tasks.atWork(d.Task, d.Attempt) {
		return
	}
	r.nodes.refit(t.node, t.takes().demand, t.with(d.Grant))
	if t.phase == beginning {
		t.grant = d.Grant
		return
	}
	r.progress(t)
	r.happens(rests, t)
	t.grant = d.Grant
	r.happens(begins, t)
	r.aim(d.Task)
}

// atWork reports whether the attempt is there and not about to leave.
func (b *tasks) atWork(row cluster.TaskID, attempt uint32) bool {
	t := b.list[row]
	return t.attempt == attempt && (t.phase == beginning || t.phase == working)
}

// refit notes that a run takes so much of the node now.
func (b *nodes) refit(row cluster.NodeID, had, takes cluster.Vector) {
	present := b.list[row].present
	for k := range present {
		present[k] += takes[k] - had[k]
	}
}
