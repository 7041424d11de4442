package sched

import "fairlead.dev/fairlead/cluster"

// This file is the ledger: which decisions hold together, and for whom they are. A bundle
// is written down when commit accepts it, so that nobody has to guess later for whose sake
// a run leaves its node.

// Purpose is what a decision is for.
type Purpose struct {
	// Bundle numbers the bundle that brought the decision, from 1 on. It is 0 of what no
	// bundle brought: an orphan that is told to leave, and an End.
	Bundle uint64
	// Task and Seq name, where a bundle evicts, the task that this serves: who is placed on
	// the node that the victim leaves, or else the first that the bundle places; the victim
	// itself, if it is to move. NoTask says that the bundle places nobody.
	Task cluster.TaskID
	Seq  cluster.Seq
}

// Serves is the task for whose sake a run leaves, and false if there is none.
func (p Purpose) Serves() (cluster.TaskID, bool) {
	return p.Task, p.Bundle != 0 && p.Task != cluster.NoTask
}

// ledger knows by which bundle each task was placed.
type ledger struct {
	last uint64   // number of the latest bundle
	of   []uint64 // by task row
}

// enter writes down a bundle that was accepted, and what its decisions are for.
func (l *ledger) enter(s *cluster.View, bundle []Action, decisions []Decision) {
	l.last++
	for _, a := range bundle {
		if a.Kind != Place {
			continue
		}
		for int(a.Task) >= len(l.of) {
			l.of = append(l.of, 0)
		}
		l.of[a.Task] = l.last
	}
	for i := range decisions {
		d := &decisions[i]
		d.Purpose = Purpose{Bundle: l.last, Task: cluster.NoTask}
		if d.Kind != Evict {
			continue
		}
		if t := served(bundle, d); t != cluster.NoTask {
			d.Purpose.Task, d.Purpose.Seq = t, s.Task(t).Seq
		}
	}
}

// served is the task that an eviction of the bundle serves.
func served(bundle []Action, d *Decision) cluster.TaskID {
	first, here := cluster.NoTask, cluster.NoTask
	for _, a := range bundle {
		switch {
		case a.Kind != Place:
		case a.Task == d.Task:
			return d.Task
		case a.Node == d.Node && here == cluster.NoTask:
			here = a.Task
		case first == cluster.NoTask:
			first = a.Task
		}
	}
	if here != cluster.NoTask {
		return here
	}
	return first
}

// placed is the purpose of a task's placement that goes out only now, as its room has come
// free.
func (l *ledger) placed(t cluster.TaskID) Purpose {
	return Purpose{Bundle: l.of[t], Task: cluster.NoTask}
}
