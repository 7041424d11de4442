package sim

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/keeper"
	"fairlead.dev/fairlead/sim/trace"
)

// This file plays runs: what the world makes of decisions about tasks, and what it reports of
// that. A run takes its room from when it is allocated until it is stopped, and the book of
// nodes always holds exactly the runs that are there: the present one of each task, and the
// orphans beside it, which were given up and began after all. elastic.go is about how much of
// its work a run has done, copies.go about who ends with whom.

// runs are all that tasks do on nodes.
type runs struct {
	world    *World
	dice     dice
	kernel   *kernel
	nodes    *nodes
	tasks    *tasks
	planner  *planner
	outbox   *outbox
	measures *measures
	budgets  *budgets

	overheads overheads
	given     map[run]given // runs that were given up and may begin yet
}

// run names one run of one task.
type run struct {
	task    cluster.TaskID
	attempt uint32
}

// given is whose run it was, and what it takes.
type given struct {
	seq cluster.Seq
	room
}

// happens tells the measures what befalls a task.
func (r *runs) happens(what occurrence, t *task) {
	r.measures.happened(happening{what: what, at: r.kernel.now, task: t})
}

// allocate starts the run that the decision names.
func (r *runs) allocate(d sched.Decision) {
	t := r.tasks.list[d.Task]
	t.phase, t.node, t.devices, t.grant, t.attempt, t.silent = beginning, d.Node, d.Devices, d.Grant, d.Attempt, false
	t.runs++
	r.nodes.arrive(d.Task, d.Node, t.takes())
	ready := r.planner.effectiveAt() + r.overhead(t)
	set := timer{at: ready, kind: runBegins, task: d.Task, attempt: d.Attempt, node: d.Node}
	switch faults := &r.world.Faults; {
	case r.dice.falls(faults.BindLate):
		late := set
		late.at = ready + r.dice.about(faults.grace())
		r.kernel.set(late)
		r.given[run{d.Task, d.Attempt}] = given{t.seq, t.takes()}
		set.kind = runRefused
	case r.dice.falls(faults.BindRefused):
		set.kind = runRefused
	case ready == r.kernel.now:
		r.begin(set)
		return
	}
	r.kernel.set(set)
}

// overhead draws how long the allocation takes.
func (r *runs) overhead(t *task) cluster.Time {
	now := r.kernel.now
	o := r.overheads.at(now)
	if len(o.Hot) == 0 && len(o.Cold) == 0 {
		return 0
	}
	if slices.Contains(t.warm, t.node) {
		return r.overheads.next(now, hotStart)
	}
	first := len(t.warm) == 0
	t.warm = append(t.warm, t.node)
	if first && len(o.First) > 0 {
		return r.overheads.next(now, firstStart)
	}
	return r.overheads.next(now, coldStart)
}

// begin lets an allocation that is ready work. One that was given up begins
// all the same, as an orphan beside whatever the task does by now.
func (r *runs) begin(due timer) {
	t := r.tasks.list[due.task]
	if t.phase == beginning && t.attempt == due.attempt {
		r.work(due.task)
		r.fetch(due.task)
		t.silent = r.outbox.report(cluster.TaskStarted{Task: due.task, Attempt: due.attempt, Node: due.node, Devices: t.devices, Grant: t.grant})
		return
	}
	key := run{due.task, due.attempt}
	was := r.given[key]
	delete(r.given, key)
	if t.seq == 0 || was.seq != t.seq || !r.nodes.isOn(due.node) {
		return
	}
	r.nodes.arrive(due.task, due.node, was.room)
	t.orphans = append(t.orphans, orphan{due.attempt, due.node, was.room})
	r.outbox.emit(cluster.TaskStarted{Task: due.task, Attempt: due.attempt, Node: due.node, Devices: was.devices, Grant: was.demand})
}

// adopt makes an orphan the task's run if the core, which was just told of it,
// takes it for that. Otherwise the core has said that it must leave.
func (r *runs) adopt(started cluster.TaskStarted, row *cluster.Task) {
	t := r.tasks.list[started.Task]
	at := slices.IndexFunc(t.orphans, func(o orphan) bool { return o.attempt == started.Attempt && o.node == started.Node })
	if at < 0 || row.Seq != t.seq || row.Attempt != started.Attempt || row.Phase != cluster.Running || t.phase != idle {
		return
	}
	t.node, t.devices, t.grant, t.attempt = started.Node, t.orphans[at].devices, t.orphans[at].demand, started.Attempt
	t.orphans = slices.Delete(t.orphans, at, at+1)
	r.work(started.Task)
	r.fetch(started.Task)
}

// work sets the end of a run that begins to work now.
func (r *runs) work(row cluster.TaskID) {
	t := r.tasks.list[row]
	t.phase, t.kept = working, t.done
	if t.speeds != nil {
		t.pace = trace.SpeedOn(t.speeds, r.nodes.list[t.node].labels)
	}
	r.budgets.begin(row)
	r.happens(begins, t)
	r.aim(row)
}

// fetch lets a run that begins to work read its input.
func (r *runs) fetch(row cluster.TaskID) {
	r.measures.happened(happening{what: fetches, at: r.kernel.now, task: r.tasks.list[row], input: r.planner.view().Input(row)})
}

// refuse reports that an allocation failed.
func (r *runs) refuse(due timer) {
	t := r.tasks.list[due.task]
	if t.phase != beginning || t.attempt != due.attempt {
		return
	}
	r.stop(due.task)
	r.outbox.report(cluster.BindRefused{Task: due.task, Attempt: due.attempt})
}

// evict tells a run to go. One that is not there has gone already; an orphan
// cannot refuse. It is told as the decision comes out, so that none is taken back here: of
// what the ledger calls needless, nothing is left but runs that are on their way.
func (r *runs) evict(d sched.Decision) {
	t := r.tasks.list[d.Task]
	faults := &r.world.Faults
	own := t.attempt == d.Attempt && t.phase == working
	orphaned := slices.ContainsFunc(t.orphans, func(o orphan) bool { return o.attempt == d.Attempt })
	if own && (r.anchored(d) || r.kept(d.Task) || r.dice.falls(faults.EvictRefused)) {
		r.happens(stays, t)
		r.outbox.report(cluster.EvictRefused{Task: d.Task, Attempt: d.Attempt})
		return
	}
	if own {
		r.budgets.leave(d.Task)
	}
	leaves := r.planner.effectiveAt() + r.overheads.next(r.kernel.now, leavesAfter)
	switch {
	case (own || orphaned) && r.dice.falls(faults.EvictLate):
		if own {
			t.phase = leavingNow
			r.happens(rests, t)
		}
		r.kernel.set(timer{at: r.planner.effectiveAt() + r.dice.about(faults.grace()), kind: runLeaves, task: d.Task, attempt: d.Attempt})
	case leaves > r.kernel.now:
		r.kernel.set(timer{at: leaves, kind: runLeaves, task: d.Task, attempt: d.Attempt})
	default:
		r.leave(d.Task, d.Attempt)
	}
}

// anchored reports whether the run is to be moved and nobody would make its task again elsewhere, as a scheduler of
// Kubernetes finds out when it is to be told. It is left alone for a while then.
func (r *runs) anchored(d sched.Decision) bool {
	t := r.tasks.list[d.Task]
	if by, serves := d.Purpose.Serves(); !t.single || !serves || by != d.Task {
		return false
	}
	r.outbox.emit(cluster.TaskProtected{Task: d.Task, Attempt: d.Attempt, Until: r.kernel.now + longPause, Reason: "nobody would make another in its place elsewhere"})
	return true
}

// kept reports whether a budget keeps the task, which is told to go.
func (r *runs) kept(row cluster.TaskID) bool {
	_, refused := r.budgets.refuses(row)
	if refused {
		r.budgets.refuse(row)
	}
	return refused
}

// leave ends a run whose task goes on, and tells the core.
func (r *runs) leave(row cluster.TaskID, attempt uint32) {
	t := r.tasks.list[row]
	anew := cluster.Time(0)
	if t.attempt == attempt && t.phase != idle {
		r.measures.happened(happening{what: evicted, at: r.kernel.now, task: t, row: r.planner.view().Task(row)})
		if t.single {
			delete(r.given, run{row, attempt})
			r.finish(row, killed)
			return
		}
		r.stop(row)
		anew = r.overheads.next(r.kernel.now, comesAnew)
	} else {
		r.removeOrphans(row, func(o orphan) bool { return o.attempt == attempt })
	}
	delete(r.given, run{row, attempt}) // what was told to leave does not begin any more
	r.outbox.report(cluster.TaskLeft{Task: row, Attempt: attempt})
	if anew > 0 {
		r.outbox.emit(cluster.TaskGated{Task: row, Seq: t.seq})
		r.kernel.set(timer{at: r.kernel.now + anew, kind: reported, report: cluster.TaskUngated{Task: row, Seq: t.seq, Waited: anew}})
	}
}

// removeOrphans removes the orphans of a task that match.
func (r *runs) removeOrphans(row cluster.TaskID, match func(orphan) bool) {
	t := r.tasks.list[row]
	t.orphans = slices.DeleteFunc(t.orphans, func(o orphan) bool {
		if match(o) {
			r.nodes.depart(row, o.node, o.room)
			return true
		}
		return false
	})
}

// stop takes a run from its node, keeping its work if its class does, or the world.
func (r *runs) stop(row cluster.TaskID) {
	t := r.tasks.list[row]
	if t.phase == working {
		r.happens(rests, t)
	}
	r.budgets.leave(row)
	switch {
	case t.phase < working:
	case r.world.KeepWork || r.planner.view().Classes()[t.service].KeepsWork:
		r.progress(t)
	default:
		t.done = t.kept
	}
	r.nodes.depart(row, t.node, t.takes())
	t.phase, t.node, t.grant = idle, cluster.NoNode, nil
}

// finish ends a task for good: by its own work, because its user says so, or as
// another copy of it has finished.
func (r *runs) finish(row cluster.TaskID, why cause) {
	t := r.tasks.list[row]
	if t.silent && t.phase >= working {
		r.outbox.emit(cluster.TaskStarted{Task: row, Attempt: t.attempt, Node: t.node, Devices: t.devices, Grant: t.grant})
	}
	if t.phase != idle {
		r.stop(row)
	}
	for _, o := range t.orphans {
		r.outbox.emit(cluster.TaskLeft{Task: row, Attempt: o.attempt})
	}
	r.removeOrphans(row, func(orphan) bool { return true })
	r.budgets.forget(row)
	r.outbox.end(cluster.TaskEnded{Task: row, Seq: t.seq, Finished: why == byItself && !t.fails}, why)
}

// found lets a task work on a node where nobody here placed it.
func (r *runs) found(row cluster.TaskID, node cluster.NodeID) {
	t := r.tasks.list[row]
	if !r.nodes.isOn(node) {
		r.nodes.turn(node, keeper.On, r.outbox.emit)
	}
	t.devices, t.grant = r.nodes.pick(node, t.demand), nil
	r.outbox.emit(cluster.TaskFound{Task: row, Seq: t.seq, Node: node, Devices: t.devices})
	// The attempt is the core's to number; a fresh row begins after its base.
	t.node, t.attempt, t.placed = node, r.nextAttempt(row), true
	t.runs++
	t.warm = append(t.warm, node)
	r.nodes.arrive(row, node, t.takes())
	r.work(row)
	if t.job.foreign {
		return
	}
	if t.pinned {
		r.outbox.emit(cluster.TaskProtected{Task: row, Attempt: t.attempt, Until: cluster.Never, Reason: cluster.BelongsToNode})
	}
	r.measures.happened(happening{what: placed, at: r.kernel.now, task: t, latency: cluster.Never})
}

// nextAttempt is the number that the core will give to the next run of the
// row: one more than its last.
func (r *runs) nextAttempt(row cluster.TaskID) uint32 {
	if int(row) >= r.planner.view().TaskRows() {
		return 1
	}
	return r.planner.view().Task(row).Attempt + 1
}

// loseNode takes a node away with all that runs on it.
func (r *runs) loseNode(row cluster.NodeID) {
	for _, t := range slices.Clone(r.nodes.list[row].runs) {
		task := r.tasks.list[t]
		if task.node != row || task.phase == idle {
			r.removeOrphans(t, func(o orphan) bool { return o.node == row })
			continue
		}
		r.stop(t)
		if task.job.foreign || task.others != "" || task.single {
			r.finish(t, killed)
		} else {
			r.happens(lost, task)
		}
	}
	r.nodes.lose(row, r.outbox.emit)
}
