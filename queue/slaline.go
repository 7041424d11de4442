package queue

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/book"
)

// This file is the queue of the policy sla: what waits, in lots of what is the same.
//
// A replica group is what is placed at once: a task, or all waiting copies of a job whose
// first to finish ends the others. Its first task stands for it in the book. A lot is replica
// groups that are the same to the policy, in order of submission: where the first does not
// fit, none does. A lot is ready to be tried, in the line of its class; or asleep, as what it would
// be given fits on too few nodes, until a node gains room for that; of a lot that would be given
// more than the least, also until it would be given less (watched). So a pass looks at what changed,
// and not at all that waits.

// lot is replica groups that are the same.
type lot = book.Group[grants]

// grants is what a lot may be given.
type grants struct {
	tier    cluster.Level
	weight  int64 // how much of the tier's cores each replica group asks for beside others
	failed  int64 // while it sleeps: what would be given, and fits on too few nodes
	watched bool  // is in slaLine.watched
	most    most
}

// replicaGroup is copies that wait together.
type replicaGroup struct {
	tasks []cluster.TaskID // in order of submission
	job   cluster.JobID
	shape cluster.ShapeID
	class cluster.ClassID
}

// membership is how a copy stands in a replica group.
type membership struct {
	group *replicaGroup // nil of a task that has no copies
	seq   cluster.Seq
}

// slaLine is everything that waits.
type slaLine struct {
	waiting     book.Waiting[grants]
	memberships []membership                      // per task row
	copies      map[cluster.JobID][]*replicaGroup // of jobs whose tasks are copies
	ready       []book.Line[grants]               // per class
	count       []int64                           // of replica groups, per class
	wants       [cluster.Levels + 1]int64         // per tier, the sum of what replica groups weigh
	watched     []*lot                            // that sleep and would be given more than the least, and some that did
	single      [1]cluster.TaskID                 // scratch of tasks
}

// group is the replica group of the task, nil where it has no copies.
func (w *slaLine) group(t cluster.TaskID) *replicaGroup {
	if int(t) >= len(w.memberships) {
		return nil
	}
	return w.memberships[t].group
}

// tasks are those of the replica group that the task is in, the first one before all others. They
// are good until it is called again.
func (w *slaLine) tasks(t cluster.TaskID) []cluster.TaskID {
	if g := w.group(t); g != nil {
		return g.tasks
	}
	w.single[0] = t
	return w.single[:]
}

// stands reports whether the task waits in a replica group, and as what it is now.
func (w *slaLine) stands(s *cluster.View, t cluster.TaskID) bool {
	g := w.group(t)
	if g == nil {
		return w.waiting.Stands(s, t)
	}
	task := s.Task(t)
	return task.Phase == cluster.Waiting && w.memberships[t].seq == task.Seq && g.shape == task.Shape
}

// enlist lets a task wait.
func (w *slaLine) enlist(s *cluster.View, t cluster.TaskID) {
	for len(w.ready) < len(s.Classes()) {
		w.ready, w.count = append(w.ready, book.Line[grants]{}), append(w.count, 0)
	}
	task := s.Task(t)
	if s.Job(task.Job).FirstEnds {
		w.memberships = book.Grown(w.memberships, t, membership{})
		g := w.replicaGroupFor(task)
		at, _ := slices.BinarySearchFunc(g.tasks, task.Seq, func(o cluster.TaskID, seq cluster.Seq) int { return cmp.Compare(w.memberships[o].seq, seq) })
		g.tasks = slices.Insert(g.tasks, at, t)
		w.memberships[t] = membership{g, task.Seq}
	}
	w.join(s, w.tasks(t)[0], w.idOf(s, w.tasks(t)))
}

// replicaGroupFor is the replica group that the copy joins, out of its lot: a new one, or
// that of the other copies.
func (w *slaLine) replicaGroupFor(task *cluster.Task) *replicaGroup {
	for _, g := range w.copies[task.Job] {
		if g.shape == task.Shape && g.class == task.Class {
			w.part(g.tasks[0])
			return g
		}
	}
	g := &replicaGroup{job: task.Job, shape: task.Shape, class: task.Class}
	if w.copies == nil {
		w.copies = map[cluster.JobID][]*replicaGroup{}
	}
	w.copies[task.Job] = append(w.copies[task.Job], g)
	return g
}

// withdraw forgets a task that may not wait any more.
func (w *slaLine) withdraw(s *cluster.View, t cluster.TaskID) {
	g := w.group(t)
	if g == nil {
		w.part(t)
		return
	}
	id := w.waiting.Of(g.tasks[0]).ID
	w.part(g.tasks[0])
	g.tasks = slices.DeleteFunc(g.tasks, func(o cluster.TaskID) bool { return o == t })
	w.memberships[t] = membership{}
	if len(g.tasks) > 0 { // copies of it are elsewhere, or gone
		id.Copies, id.Job = int32(len(g.tasks)), g.job
		w.join(s, g.tasks[0], id)
	} else {
		w.forget(g)
	}
}

// remove takes the replica group of the task out of the line: it is placed.
func (w *slaLine) remove(t cluster.TaskID) {
	w.part(w.tasks(t)[0])
	if g := w.group(t); g != nil {
		for _, t := range g.tasks {
			w.memberships[t] = membership{}
		}
		w.forget(g)
	}
}

// forget drops a replica group that has no tasks.
func (w *slaLine) forget(g *replicaGroup) {
	rest := slices.DeleteFunc(w.copies[g.job], func(o *replicaGroup) bool { return o == g })
	if w.copies[g.job] = rest; len(rest) == 0 {
		delete(w.copies, g.job)
	}
}

// idOf says which replica groups are the same as this one. Copies none of which is
// anywhere else may go wherever copies of another such job may.
func (w *slaLine) idOf(s *cluster.View, tasks []cluster.TaskID) book.ID {
	task := s.Task(tasks[0])
	id := book.ID{Class: task.Class, Shape: task.Shape, Copies: int32(len(tasks)), Job: book.JobOf(s, task)}
	if job := s.Job(task.Job); job.FirstEnds {
		if id.Job = task.Job; int(job.Tasks) == len(tasks) {
			id.Job = book.NoJob
		}
	}
	return id
}

// join puts a replica group into a lot. A lot that is asleep stays so: the
// newcomer is the same as those that did not fit.
func (w *slaLine) join(s *cluster.View, first cluster.TaskID, id book.ID) *lot {
	l, _ := w.waiting.Join(s, first, id, 0)
	if l.Len() == 1 {
		class := &s.Classes()[id.Class]
		l.Own = grants{tier: class.Tier, weight: int64(class.Size)}
		if l.Own.weight == 0 && s.Shape(id.Shape).Max != nil {
			l.Own.weight = 1 // a range of a class that says nothing of size
		}
	}
	w.count[id.Class]++
	w.wants[l.Own.tier] += l.Own.weight
	if w.waiting.First(l) == first {
		w.again(l)
	}
	return l
}

// part takes a replica group out of its lot, if it is in one.
func (w *slaLine) part(first cluster.TaskID) {
	if l := w.waiting.Of(first); l != nil {
		w.waiting.Leave(first)
		w.count[l.Class]--
		w.wants[l.Own.tier] -= l.Own.weight
	}
}

// separate moves the first replica group into a lot of its job's own: a node refuses it for the
// sake of another task of its job, which says nothing of the others.
func (w *slaLine) separate(s *cluster.View, l *lot) *lot {
	first, id := w.waiting.First(l), l.ID
	id.Job = s.Task(first).Job
	w.part(first)
	return w.join(s, first, id)
}

// enter makes the lot ready, at the place of its first replica group.
func (w *slaLine) enter(l *lot) { w.ready[l.Class].Enter(&w.waiting, l, 0) }

// again lets the lot stand in the line if it is ready.
func (w *slaLine) again(l *lot) {
	if l.Len() > 0 && !l.Asleep() {
		w.enter(l)
	}
}

// sleep lets the lot wait until what failed fits, or it would be given less.
func (w *slaLine) sleep(s *cluster.View, l *lot, failed int64) {
	l.Own.failed = failed
	w.waiting.Sleep(s, l)
	if failed > s.Shape(l.Shape).Demand[0] && !l.Own.watched {
		l.Own.watched = true
		w.watched = append(w.watched, l)
	}
}

// recheck makes those watched lots ready that are to be tried again.
func (w *slaLine) recheck(again func(*lot) bool) {
	w.watched = slices.DeleteFunc(w.watched, func(l *lot) bool {
		if l.Asleep() && again(l) {
			w.enter(l)
		}
		l.Own.watched = l.Asleep()
		return !l.Own.watched
	})
}
