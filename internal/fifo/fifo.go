// Package fifo keeps the tasks that wait in the order in which they began to:
// first come, first served, seen through a window at the front.
//
// A policy takes tasks from the front, places what it can, and puts the others
// back, at their old place or at the end. A task that was placed and comes back,
// because it was refused, has its old place again. When all that wait have gone to
// the end and nothing has changed meanwhile, there is no use in trying again
// (Settled); what is placed beside them makes no room.
package fifo

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/sched"
)

// Queue holds the waiting tasks of one lane. The zero value is empty and ready
// to use.
type Queue struct {
	entries heap.Heap[entry]
	places  []place // by task row
	given   uint64  // the last number that was given out
	passed  int     // tasks that went to the end since something happened
	fresh   []cluster.TaskID
}

// entry is a task in the queue. It is out of date when its task is not waiting
// any more, or has moved to another place.
type entry struct {
	number uint64
	task   cluster.TaskID
}

// Before orders the queue by number.
func (e entry) Before(o entry) bool { return e.number < o.number }

// place is where the task of a row stands.
type place struct {
	seq    cluster.Seq // 1 + the task's; 0 where the row was never seen
	number uint64
	in     bool // an entry with that number is there
}

// Learn takes in what changed. Tasks that come at once come in the order of
// submission.
func (q *Queue) Learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		*q = Queue{entries: q.entries[:0], places: q.places[:0], fresh: q.fresh}
	}
	if len(c.Nodes)+len(c.Shapes)+len(c.Members)+len(c.Gone)+len(c.Tasks) > 0 {
		q.passed = 0
	}
	q.fresh = q.fresh[:0]
	for _, t := range c.Tasks {
		for int(t) >= len(q.places) {
			q.places = append(q.places, place{})
		}
		task, p := s.Task(t), &q.places[t]
		switch {
		case task.Phase != cluster.Waiting:
		case p.seq != task.Seq+1:
			q.fresh = append(q.fresh, t)
		default:
			q.Return(t)
		}
	}
	slices.SortFunc(q.fresh, func(a, b cluster.TaskID) int { return cmp.Compare(s.Task(a).Seq, s.Task(b).Seq) })
	for _, t := range q.fresh {
		q.places[t].seq = s.Task(t).Seq + 1
		q.append(t)
	}
}

// Len is how many tasks wait, or a few more: those that have ceased to wait are
// counted until their turn comes.
func (q *Queue) Len() int { return len(q.entries) }

// Take takes the first waiting task out of the queue, and returns false when
// there is none.
func (q *Queue) Take(s *cluster.View) (cluster.TaskID, bool) {
	for len(q.entries) > 0 {
		e := q.entries.Pop()
		p := &q.places[e.task]
		if !p.in || p.number != e.number {
			continue
		}
		p.in = false
		if task := s.Task(e.task); task.Phase == cluster.Waiting && task.Seq+1 == p.seq {
			return e.task, true
		}
	}
	return 0, false
}

// Return puts a task that was taken back where it was.
func (q *Queue) Return(t cluster.TaskID) {
	if p := &q.places[t]; !p.in {
		p.in = true
		q.entries.Push(entry{p.number, t})
	}
}

// Last puts a task at the end, wherever it was: it was tried in vain.
func (q *Queue) Last(t cluster.TaskID) {
	q.append(t)
	q.passed++
}

func (q *Queue) append(t cluster.TaskID) {
	q.given++
	p := &q.places[t]
	p.number, p.in = q.given, true
	q.entries.Push(entry{p.number, t})
}

// Settled reports whether all that wait have been tried in vain since something
// happened.
func (q *Queue) Settled() bool { return q.passed >= len(q.entries) }
