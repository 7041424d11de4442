package book

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
)

// Place is where a task stands in the order: by key, then by submission.
type Place struct {
	Key int64
	Seq cluster.Seq
}

// Compare is the order.
func (a Place) Compare(b Place) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Seq, b.Seq))
}

// Before is the same order, for heaps: it makes no comparison that decides nothing.
func (a Place) Before(b Place) bool {
	if a.Key != b.Key {
		return a.Key < b.Key
	}
	return a.Seq < b.Seq
}

// Entry is a task in a queue. It counts while it has the task's ticket.
type Entry struct {
	Place
	Task   cluster.TaskID
	ticket uint32
}

// Before orders a queue.
func (e Entry) Before(o Entry) bool { return e.Place.Before(o.Place) }

// Queue is tasks in the order of their places. Entries that do not count any more are
// dropped when they come to the front, or before they are the most.
type Queue struct {
	entries heap.Heap[Entry]
	count   int // of those that count
}

// Len is how many tasks stand in the queue.
func (q *Queue) Len() int { return q.count }

// Kept is how many entries it keeps, with those that do not count.
func (q *Queue) Kept() int { return len(q.entries) }

// Tickets are those of the tasks that stand in queues, each in one of them at most.
type Tickets struct {
	last uint32   // that was given out
	of   []uint32 // by task row; 0 of those that stand in none
}

// Counts reports whether the task still stands where the entry says.
func (z *Tickets) Counts(e Entry) bool { return z.of[e.Task] == e.ticket }

// Enter lets a task that stands in no queue stand in this one.
func (z *Tickets) Enter(q *Queue, t cluster.TaskID, at Place) {
	z.of = Grown(z.of, t, 0)
	z.last++
	z.of[t] = z.last
	q.count++
	q.entries.Push(Entry{at, t, z.last})
	if len(q.entries) > 2*q.count+64 { // most of it is out of date, behind somebody who stays
		q.entries = slices.DeleteFunc(q.entries, func(e Entry) bool { return !z.Counts(e) })
		q.entries.Init()
	}
}

// Leave takes a task out of the queue in which it stands.
func (z *Tickets) Leave(q *Queue, t cluster.TaskID) {
	z.of[t] = 0
	q.count--
}

// First is the first of a queue, and false if nobody stands in it.
func (z *Tickets) First(q *Queue) (Entry, bool) {
	for len(q.entries) > 0 {
		if e := q.entries[0]; z.Counts(e) {
			return e, true
		}
		q.entries.Pop()
	}
	return Entry{}, false
}

// Firsts appends the first so many of a queue to a list. They stand there as before.
func (z *Tickets) Firsts(q *Queue, most int64, list []Entry) []Entry {
	from := len(list)
	for range most {
		e, ok := z.First(q)
		if !ok {
			break
		}
		q.entries.Pop()
		list = append(list, e)
	}
	for _, e := range list[from:] {
		q.entries.Push(e)
	}
	return list
}

// All appends everybody who stands in a queue to a list, in no order that matters.
func (z *Tickets) All(q *Queue, list []Entry) []Entry {
	for _, e := range q.entries {
		if z.Counts(e) {
			list = append(list, e)
		}
	}
	return list
}
