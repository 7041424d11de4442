package sched

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file is the ledger: which decisions hold together, for whom they are, and what has
// yet to come of them. A bundle is entered when commit accepts it, and stays open until
// the last of its actions has its outcome; so nobody has to guess for whose sake a run leaves its
// node, or for what a task waits.
//
// An action has its outcome when the row of its task says so. The ledger reads the change
// log after each event, before another one can hide the outcome; the work is in proportion to what
// changes, the memory to the most that was ever open at once.
//
// An eviction is needless from the moment that nobody waits for it any more: whom it
// serves is gone, waits again, or came to its room before the victim had left. The core
// decides nothing about that. A world that has not yet told the run to leave may take the
// eviction back, and reports EvictRefused, as of any run that stays.

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

// Ledger keeps the open bundles of a core. Whoever is not the core only asks.
type Ledger struct {
	last    uint64 // number of the latest bundle
	read    uint64 // position in the change log up to which outcomes are known
	entries rows[entry]
	bundles rows[openBundle]
	coming  []int32 // by task row, its open placement
	leaving []int32 // by task row, its open eviction
	// needless are the open evictions for which nobody waits, in the order in which that
	// came about.
	needless []int32
	// unplaced counts evictions without a placement, see Counts.
	unplaced int64
	// evicted are, by task row, one more than the seq of a task that an eviction lets wait, until it has
	// another place.
	evicted []cluster.Seq
}

// entry is one action of an open bundle.
type entry struct {
	kind    Kind
	stage   stage
	task    cluster.TaskID
	seq     cluster.Seq
	attempt uint32 // of the run that is to begin or to leave; 0 of one that is only promised
	node    cluster.NodeID
	bundle  int32
	serves  int32 // of an eviction: the placement that it is for
	whole   bool  // of an eviction: of a job whose runs leave all at once
	// needless says that the entry is in Ledger.needless, which most never are: it is
	// searched for only there.
	needless bool
}

// stage is what has come of an action.
type stage uint8

const (
	promised stage = iota // a placement: its room has yet to come free, and nobody was told
	sent                  // the decision is out
	done                  // the run has begun, or has left
	undone                // the run will not begin, or stays, or its task has ended
)

func (s stage) open() bool { return s <= sent }

// openBundle is a bundle some of whose actions have no outcome.
type openBundle struct {
	number  uint64
	entries []int32
	open    int32 // entries without an outcome
	left    int32 // runs that have left for its sake
	places  bool
	placed  bool // one of its placements has begun
}

// rows are reused. Row 0 is never in use, so that it can stand for none.
type rows[T any] struct {
	list []T
	free []int32
}

// take is a row that is not in use, as whoever had it left it. The pointer is valid until the next call.
func (r *rows[T]) take() (int32, *T) {
	row := int32(max(len(r.list), 1))
	if n := len(r.free); n > 0 {
		row, r.free = r.free[n-1], r.free[:n-1]
	} else {
		r.list = append(r.list, make([]T, int(row)+1-len(r.list))...)
	}
	return row, &r.list[row]
}

func (r *rows[T]) give(row int32) { r.free = append(r.free, row) }

// enter writes down a bundle that was accepted, and what its decisions are for.
func (l *Ledger) enter(s *cluster.View, bundle []Action, decisions []Decision) {
	l.last++
	id, b := l.bundles.take()
	*b = openBundle{number: l.last, entries: b.entries[:0], places: slices.ContainsFunc(bundle, func(a Action) bool { return a.Kind == Place })}
	l.overtake(id, bundle)
	for _, a := range bundle {
		if a.Kind == Place {
			l.enterPlacement(id, a.Task, s.Task(a.Task))
		}
	}
	for _, i := range b.entries {
		if e := &l.entries.list[i]; e.kind == Evict && e.stage.open() {
			l.reassign(i, served(bundle, e.task, e.node))
		}
	}
	for i := range decisions {
		d := &decisions[i]
		d.Purpose = Purpose{Bundle: l.last, Task: cluster.NoTask}
		if d.Kind != Evict {
			continue
		}
		if t := served(bundle, d.Task, d.Node); t != cluster.NoTask {
			d.Purpose.Task, d.Purpose.Seq = t, s.Task(t).Seq
		}
		e := entry{kind: Evict, stage: sent, task: d.Task, seq: d.Seq, attempt: d.Attempt, node: d.Node, serves: l.at(l.coming, d.Purpose.Task)}
		e.whole = s.Job(s.Task(d.Task).Job).Disruption == cluster.DisruptTogether
		l.leaving = setRow(l.leaving, d.Task, l.add(id, e))
	}
	if b.open == 0 {
		l.end(id)
	}
	l.follow(s)
}

// enterPlacement writes down a placement, unless the bundle itself has undone it.
func (l *Ledger) enterPlacement(id int32, t cluster.TaskID, task *cluster.Task) {
	if l.displaced(t, task.Seq) {
		l.evicted[t] = 0
	}
	if before := l.at(l.coming, t); before != 0 { // it was promised another place
		l.close(before, undone)
	}
	e := entry{kind: Place, stage: sent, task: t, seq: task.Seq, attempt: task.Attempt, node: task.Node}
	switch {
	case task.Next != cluster.NoNode:
		e.stage, e.attempt, e.node = promised, 0, task.Next
	case task.Phase == cluster.Reserved:
		e.stage, e.attempt = promised, 0
	case task.Phase != cluster.Starting:
		return
	}
	l.coming = setRow(l.coming, t, l.add(id, e))
}

// add adds an open entry to a bundle.
func (l *Ledger) add(id int32, e entry) int32 {
	i, row := l.entries.take()
	*row, row.bundle = e, id
	b := &l.bundles.list[id]
	b.entries = append(b.entries, i)
	b.open++
	return i
}

// at is the entry of a task row, 0 if there is none.
func (l *Ledger) at(list []int32, t cluster.TaskID) int32 {
	if int64(t) >= int64(len(list)) {
		return 0
	}
	return list[t]
}

// setRow sets the entry of a task row, which may be new.
func setRow(list []int32, t cluster.TaskID, i int32) []int32 {
	for int(t) >= len(list) {
		list = append(list, 0)
	}
	list[t] = i
	return list
}

// served is the task that the eviction of a run from the node serves in the bundle.
func served(bundle []Action, victim cluster.TaskID, node cluster.NodeID) cluster.TaskID {
	first, here := cluster.NoTask, cluster.NoTask
	for _, a := range bundle {
		switch {
		case a.Kind != Place:
		case a.Task == victim:
			return victim
		case a.Node == node && here == cluster.NoTask:
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

// overtake hands over to a bundle what left or leaves for the sake of tasks that it evicts before
// they have begun: that is now for those whom it places. A bundle that placed others as well
// keeps what is its own.
func (l *Ledger) overtake(id int32, bundle []Action) {
	if !l.bundles.list[id].places {
		return
	}
	var overtaken []int32 // bundles of which some placement will not come about
	for _, a := range bundle {
		p := l.at(l.coming, a.Task)
		if a.Kind != Evict || p == 0 {
			continue
		}
		e := &l.entries.list[p]
		e.stage = undone // before any of these bundles is looked at; follow closes it
		if !slices.Contains(overtaken, e.bundle) {
			overtaken = append(overtaken, e.bundle)
		}
	}
	for _, from := range overtaken {
		if b := &l.bundles.list[from]; !l.placesStill(b) {
			l.bundles.list[id].left += b.left
			b.left = 0
			l.handOver(from, id)
		}
	}
}

// handOver moves the open evictions of a bundle to another one, and those of jobs whose runs leave all at once.
func (l *Ledger) handOver(from, to int32) {
	b, heir := &l.bundles.list[from], &l.bundles.list[to]
	b.entries = slices.DeleteFunc(b.entries, func(i int32) bool {
		e := &l.entries.list[i]
		open, told := e.stage.open(), e.whole && e.stage == done // who has left with others tells what becomes of these
		if e.kind != Evict || !open && !told {
			return false
		}
		e.bundle, heir.entries = to, append(heir.entries, i)
		if open {
			b.open--
			heir.open++
		}
		return true
	})
}

// placesStill reports whether the bundle has placed, or is to place, anybody.
func (l *Ledger) placesStill(b *openBundle) bool {
	return slices.ContainsFunc(b.entries, func(i int32) bool {
		e := &l.entries.list[i]
		return e.kind == Place && e.stage != undone
	})
}

// reassign lets an eviction that was handed over serve the task.
func (l *Ledger) reassign(i int32, t cluster.TaskID) {
	e := &l.entries.list[i]
	e.serves = l.at(l.coming, t)
	l.setNeedless(i, e.serves == 0 || l.entries.list[e.serves].node != e.node)
}
