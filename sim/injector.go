package sim

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// This file plays what befalls nodes by chance: they fail and return, and somebody else starts
// tasks on them. It keeps nothing but its timers, and draws when one of these is due, in their
// order; without such faults it sets no timer and draws nothing. What goes wrong of binds,
// evictions and reports is drawn where these are played.

// injector injects faults of nodes.
type injector struct {
	faults *Faults
	dice   dice
	kernel *kernel
	nodes  *nodes
	tasks  *tasks
	outbox *outbox
	runs   *runs
}

// start sets when somebody else starts the first task.
func (i *injector) start() {
	if i.faults.Foreign > 0 {
		i.kernel.set(timer{at: i.dice.about(i.faults.Foreign), kind: foreign})
	}
}

// joined sets when a new node fails.
func (i *injector) joined(row cluster.NodeID) {
	if i.faults.NodeLoss > 0 {
		i.kernel.set(timer{at: i.kernel.now + i.dice.about(i.faults.NodeLoss), kind: nodeFails, node: row})
	}
}

// failNode plays a seeded loss.
func (i *injector) failNode(row cluster.NodeID) {
	if i.nodes.list[row].live {
		i.runs.loseNode(row)
		i.kernel.set(timer{at: i.kernel.now + i.dice.about(max(i.faults.Down, cluster.Second)), kind: nodeReturns, node: row})
	}
	i.kernel.set(timer{at: i.kernel.now + i.dice.about(i.faults.NodeLoss), kind: nodeFails, node: row})
}

// returnNode brings a node back as it was, unless the trace did.
func (i *injector) returnNode(row cluster.NodeID) {
	n := &i.nodes.list[row]
	if !n.live {
		i.nodes.add(&trace.Node{ID: n.id, Name: n.name, Capacity: n.capacity, Labels: n.labels, Groups: n.groups, Tier: n.tier}, i.outbox.emit)
	}
}

// meddle lets somebody else start a task on a node that is up, whether it fits
// or not, and end it some ten minutes later.
func (i *injector) meddle(due timer) {
	if due.ends {
		if t := i.tasks.list[due.task]; t.seq != 0 && t.attempt == due.attempt && t.phase != idle {
			i.runs.finish(due.task, killed)
		}
		return
	}
	i.kernel.set(timer{at: i.kernel.now + i.dice.about(i.faults.Foreign), kind: foreign})
	if len(i.nodes.list) == 0 {
		return
	}
	node := cluster.NodeID(i.dice.source.IntN(len(i.nodes.list)))
	if !i.nodes.isOn(node) {
		return
	}
	task := i.tasks.submitForeign(i.nodes.eighth(node), i.kernel.now, i.outbox.emit)
	i.runs.found(task, node)
	attempt := i.tasks.list[task].attempt
	i.kernel.set(timer{at: i.kernel.now + i.dice.about(10*cluster.Minute), kind: foreign, task: task, attempt: attempt, ends: true})
}

// eighth is an eighth of what the node has, of devices at most one.
func (b *nodes) eighth(row cluster.NodeID) cluster.Vector {
	demand := slices.Clone(b.list[row].capacity)
	for k := range demand {
		demand[k] = (demand[k] + 7) / 8
		if b.kinds[k].Devices {
			demand[k] = min(demand[k], b.kinds[k].PerUnit)
		}
	}
	return demand
}

// submitForeign takes in a task that somebody else started, as a job of its own and of the
// least class, and tells the core.
func (b *tasks) submitForeign(demand cluster.Vector, now cluster.Time, emit func(cluster.Event)) cluster.TaskID {
	shape := b.shape(&trace.Task{Demand: demand}, sets{}, emit)
	j := &job{row: cluster.JobID(b.jobRows.Take()), foreign: true, expected: 1}
	emit(cluster.JobSubmitted{Job: j.row, Name: "foreign", Foreign: true})
	row := b.newTask(j)
	t := b.list[row]
	least := cluster.ClassID(len(b.classes.Classes) - 1)
	t.shape, t.demand, t.work, t.submitted, t.service = shape, b.demands[shape], cluster.Never, now, least
	emit(cluster.TaskSubmitted{Task: row, Seq: t.seq, Job: j.row, Shape: shape, Class: least})
	return row
}
