package queue

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
)

// This file is the queue of the policy sla: what waits, in lots of what is the same.
//
// A replica group is what is placed at once: a task, or all waiting copies of a job whose
// first to finish ends the others. A lot is replica groups that are the same to the
// policy, in order of submission: where the first does not fit, none does. A lot is ready
// to be tried; or held, as what it would be given fits on too few nodes, until it would
// be given less or a node gains room; or asleep, as even the least does not fit, until a
// node gains room. So a pass looks at what changed, and not at all that waits.

// replicaGroup is a task, or copies that wait together.
type replicaGroup struct {
	lot   *lot
	tasks []cluster.TaskID // in order of submission
	seq   cluster.Seq      // of the first
	job   cluster.JobID    // of copies; otherwise noJob
}

// lotID says what makes replica groups the same.
type lotID struct {
	class  cluster.ClassID
	shape  cluster.ShapeID
	copies int32
	job    cluster.JobID // of replica groups whose job has tasks elsewhere; otherwise noJob
}

// lotState is how a lot waits.
type lotState uint8

const (
	lotReady lotState = iota
	lotHeld
	lotAsleep
)

// lot is replica groups that are the same.
type lot struct {
	id            lotID
	tier          cluster.Level
	weight        int64 // how much of the tier's cores each replica group asks for beside others
	replicaGroups heap.Heap[place]
	count         int // of its replica groups; replicaGroups holds places of former ones, too
	state         lotState
	failed        int64 // of held: what would be given, and fits on too few nodes
	number        uint64
	most          most
}

// place is a replica group's place in its lot. It counts while the replica group stands
// in that lot and its first task is the same.
type place struct {
	seq   cluster.Seq
	group *replicaGroup
}

// Before orders a lot by submission.
func (p place) Before(o place) bool { return p.seq < o.seq }

// first is the replica group that has waited longest. The lot must hold one.
func (l *lot) first() *replicaGroup {
	for {
		top := l.replicaGroups[0]
		if top.group.lot == l && top.group.seq == top.seq {
			return top.group
		}
		l.replicaGroups.Pop()
	}
}

// lotTurn is the place of a ready lot among those of its class.
type lotTurn struct {
	seq    cluster.Seq // of its first replica group
	number uint64
	lot    *lot
}

// Before orders by submission.
func (a lotTurn) Before(b lotTurn) bool {
	return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.number, b.number)) < 0
}

// ward is how the task of a row stands in a replica group.
type ward struct {
	group *replicaGroup
	seq   cluster.Seq
	shape cluster.ShapeID
}

// slaLine is everything that waits.
type slaLine struct {
	lots          map[lotID]*lot
	wards         []ward                            // per task row
	copies        map[cluster.JobID][]*replicaGroup // of jobs whose tasks are copies
	ready         []heap.Heap[lotTurn]              // per class
	replicaGroups []int64                           // per class
	wants         [cluster.Levels + 1]int64         // per tier, the sum of what replica groups weigh
	held          []*lot                            // those that are, and some that were
	asleep        []*lot                            // the same
	least         floor                             // of what sleepers ask for
	turns         uint64
}

func newSLALine() slaLine {
	return slaLine{lots: map[lotID]*lot{}, copies: map[cluster.JobID][]*replicaGroup{}}
}

// stands reports whether the task waits in a replica group, and as what it is now.
func (w *slaLine) stands(s *cluster.View, t cluster.TaskID) bool {
	if int(t) >= len(w.wards) || w.wards[t].group == nil || int(t) >= s.TaskRows() {
		return false
	}
	task, is := s.Task(t), &w.wards[t]
	return task.Phase == cluster.Waiting && is.seq == task.Seq && is.shape == task.Shape
}

// enlist lets a task wait.
func (w *slaLine) enlist(s *cluster.View, t cluster.TaskID) {
	for int(t) >= len(w.wards) {
		w.wards = append(w.wards, ward{})
	}
	for len(w.ready) < len(s.Classes()) {
		w.ready, w.replicaGroups = append(w.ready, nil), append(w.replicaGroups, 0)
	}
	task := s.Task(t)
	g := w.replicaGroupFor(s, t)
	at, _ := slices.BinarySearchFunc(g.tasks, task.Seq, func(o cluster.TaskID, seq cluster.Seq) int { return cmp.Compare(w.wards[o].seq, seq) })
	g.tasks = slices.Insert(g.tasks, at, t)
	w.wards[t] = ward{g, task.Seq, task.Shape}
	w.join(s, g, w.idOf(s, g))
}

// replicaGroupFor is the replica group that the task joins, out of its lot: a new one, or
// that of the other copies.
func (w *slaLine) replicaGroupFor(s *cluster.View, t cluster.TaskID) *replicaGroup {
	task := s.Task(t)
	if !s.Job(task.Job).FirstEnds {
		return &replicaGroup{job: noJob}
	}
	for _, g := range w.copies[task.Job] {
		if g.lot.id.shape == task.Shape && g.lot.id.class == task.Class {
			w.part(g)
			return g
		}
	}
	g := &replicaGroup{job: task.Job}
	w.copies[task.Job] = append(w.copies[task.Job], g)
	return g
}

// withdraw forgets a task that may not wait any more.
func (w *slaLine) withdraw(s *cluster.View, t cluster.TaskID) {
	if int(t) >= len(w.wards) || w.wards[t].group == nil {
		return
	}
	g := w.wards[t].group
	id := g.lot.id
	w.part(g)
	g.tasks = slices.DeleteFunc(g.tasks, func(o cluster.TaskID) bool { return o == t })
	w.wards[t] = ward{}
	if len(g.tasks) > 0 { // copies of it are elsewhere, or gone
		id.copies, id.job = int32(len(g.tasks)), g.job
		w.join(s, g, id)
	} else {
		w.forget(g)
	}
}

// remove takes a replica group out of the line: it is placed.
func (w *slaLine) remove(g *replicaGroup) {
	w.part(g)
	for _, t := range g.tasks {
		w.wards[t] = ward{}
	}
	w.forget(g)
}

// forget drops a replica group that has no tasks.
func (w *slaLine) forget(g *replicaGroup) {
	if g.job == noJob {
		return
	}
	rest := slices.DeleteFunc(w.copies[g.job], func(o *replicaGroup) bool { return o == g })
	if w.copies[g.job] = rest; len(rest) == 0 {
		delete(w.copies, g.job)
	}
}

// idOf says which replica groups are the same as this one. Copies none of which is
// anywhere else may go wherever copies of another such job may.
func (w *slaLine) idOf(s *cluster.View, g *replicaGroup) lotID {
	task := s.Task(g.tasks[0])
	id := lotID{class: task.Class, shape: task.Shape, copies: int32(len(g.tasks)), job: noJob}
	all := g.job != noJob && int(s.Job(g.job).Tasks) == len(g.tasks)
	if !all && (g.job != noJob || s.Shape(task.Shape).PerNode > 0) {
		id.job = task.Job
	}
	return id
}

// join puts a replica group into a lot. A lot that is held or asleep stays so: the
// newcomer is the same as those that did not fit.
func (w *slaLine) join(s *cluster.View, g *replicaGroup, id lotID) {
	l := w.lots[id]
	if l == nil {
		class := &s.Classes()[id.class]
		l = &lot{id: id, tier: class.Tier, weight: int64(class.Size)}
		if l.weight == 0 && s.Shape(id.shape).Max != nil {
			l.weight = 1 // a range of a class that says nothing of size
		}
		w.lots[id] = l
	}
	g.lot, g.seq = l, w.wards[g.tasks[0]].seq
	l.replicaGroups.Push(place{g.seq, g})
	l.count++
	w.replicaGroups[id.class]++
	w.wants[l.tier] += l.weight
	if l.state == lotReady && l.first() == g {
		w.enter(l)
	}
}

// part takes a replica group out of its lot, and the lot out of the line when it is
// empty.
func (w *slaLine) part(g *replicaGroup) {
	l := g.lot
	g.lot = nil
	l.count--
	w.replicaGroups[l.id.class]--
	w.wants[l.tier] -= l.weight
	if l.count == 0 {
		delete(w.lots, l.id)
	}
}

// exile moves the replica group into a lot of its job's own: a node refuses it for the
// sake of another task of its job, which says nothing of the others.
func (w *slaLine) exile(s *cluster.View, g *replicaGroup) *lot {
	id := g.lot.id
	id.job = s.Task(g.tasks[0]).Job
	w.part(g)
	w.join(s, g, id)
	return g.lot
}

// enter makes the lot ready, at the place of its first replica group.
func (w *slaLine) enter(l *lot) {
	w.turns++
	l.state, l.number = lotReady, w.turns
	w.ready[l.id.class].Push(lotTurn{l.first().seq, l.number, l})
}

// hold lets the lot wait until it would be given less than failed.
func (w *slaLine) hold(l *lot, failed int64) {
	l.state, l.failed = lotHeld, failed
	w.held = append(w.held, l)
}

// sleep lets the lot wait until a node changes so that its least fits.
func (w *slaLine) sleep(s *cluster.View, l *lot) {
	l.state = lotAsleep
	w.asleep = append(w.asleep, l)
	w.least = w.least.with(s.Shape(l.id.shape).Demand)
}

// next is the ready lot of the class whose first replica group has waited longest, and
// false if there is none. It stays in the line.
func (w *slaLine) next(class int) (lotTurn, bool) {
	turns := &w.ready[class]
	for len(*turns) > 0 {
		top := (*turns)[0]
		l := top.lot
		switch {
		case l.count == 0 || l.state != lotReady || l.number != top.number:
			turns.Pop()
		case l.first().seq != top.seq: // its first replica group is gone
			turns.Pop()
			w.enter(l)
		default:
			return top, true
		}
	}
	return lotTurn{}, false
}

// recheck makes those held lots ready that are to be tried again.
func (w *slaLine) recheck(again func(*lot) bool) {
	list := w.held
	w.held = list[:0]
	for _, l := range list {
		switch {
		case l.count == 0 || l.state != lotHeld: // gone, or ready since
		case again(l):
			w.enter(l)
		default:
			w.held = append(w.held, l)
		}
	}
	clear(list[len(w.held):])
}

// rouse makes those sleeping lots ready that fit.
func (w *slaLine) rouse(s *cluster.View, fits func(*lot) bool) {
	list := w.asleep
	w.asleep, w.least = list[:0], nil
	for _, l := range list {
		switch {
		case l.count == 0 || l.state != lotAsleep: // gone
		case fits(l):
			w.enter(l)
		default:
			w.sleep(s, l)
		}
	}
	clear(list[len(w.asleep):])
}
