package sim

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// This file plays what happens to nodes, by the trace or by chance, and what
// other people do on them.

// loseNode takes a node away with all that runs on it.
func (s *simulation) loseNode(row cluster.NodeID) {
	for _, t := range slices.Clone(s.nodes.list[row].runs) {
		task := &s.tasks.list[t]
		if task.node != row || task.phase == idle {
			s.removeOrphans(t, func(o orphan) bool { return o.node == row })
			continue
		}
		s.stop(t)
		if task.job.foreign {
			s.finish(t, killed)
		} else {
			s.stats.tasks.Evicted++
		}
	}
	s.nodes.lose(row, s.emit)
}

// failNode plays a seeded loss.
func (s *simulation) failNode(row cluster.NodeID) {
	f := &s.cfg.World.Faults
	if s.nodes.list[row].live {
		s.loseNode(row)
		s.kernel.set(timer{at: s.now + s.dice.about(max(f.Down, cluster.Second)), kind: nodeReturns, node: row})
	}
	s.kernel.set(timer{at: s.now + s.dice.about(f.NodeLoss), kind: nodeFails, node: row})
}

// returnNode brings a node back as it was, unless the trace did.
func (s *simulation) returnNode(row cluster.NodeID) {
	n := &s.nodes.list[row]
	if !n.live {
		s.nodes.add(&trace.Node{ID: n.id, Name: n.name, Capacity: n.capacity, Labels: n.labels, Groups: n.groups, Tier: n.tier}, s.emit)
	}
}

// meddle lets somebody else start a task on a node that is up, whether it fits
// or not, and end it some ten minutes later.
func (s *simulation) meddle(t timer) {
	if t.ends {
		if row := &s.tasks.list[t.task]; row.seq != 0 && row.attempt == t.attempt && row.phase != idle {
			s.finish(t.task, killed)
		}
		return
	}
	s.kernel.set(timer{at: s.now + s.dice.about(s.cfg.World.Faults.Foreign), kind: foreign})
	if len(s.nodes.list) == 0 {
		return
	}
	row := cluster.NodeID(s.dice.source.IntN(len(s.nodes.list)))
	if !s.nodes.list[row].live {
		return
	}
	demand := slices.Clone(s.nodes.list[row].capacity)
	for k := range demand {
		demand[k] = (demand[k] + 7) / 8
		if s.nodes.kinds[k].Devices {
			demand[k] = min(demand[k], s.nodes.kinds[k].PerUnit)
		}
	}
	shape := s.tasks.shape(&trace.Task{Demand: demand}, cluster.AllNodes, s.emit)
	j := &job{row: cluster.JobID(s.tasks.jobRows.Take()), foreign: true, expected: 1}
	s.emit(cluster.JobSubmitted{Job: j.row, Name: "foreign", Foreign: true})
	task := s.tasks.newTask(j)
	w := &s.tasks.list[task]
	least := cluster.ClassID(len(s.tasks.classes.Classes) - 1)
	w.shape, w.demand, w.work, w.submitted, w.service = shape, s.tasks.demands[shape], cluster.Never, s.now, least
	s.emit(cluster.TaskSubmitted{Task: task, Seq: w.seq, Job: j.row, Shape: shape, Class: least})
	s.found(task, row)
	s.kernel.set(timer{at: s.now + s.dice.about(10*cluster.Minute), kind: foreign, task: task, attempt: w.attempt, ends: true})
}
