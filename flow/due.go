package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
)

// due is when which task is to be asked about again, as its price changes then.
type due struct {
	heap   heap.Heap[appointment]
	booked []appointment // by task row: the one that counts
}

type appointment struct {
	at   cluster.Time
	seq  cluster.Seq
	task cluster.TaskID
}

// Before orders appointments by time, then by submission.
func (a appointment) Before(b appointment) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.seq < b.seq
}

// book makes the one appointment of a task, which may be Never. Those that it had before
// are forgotten, before they are the most.
func (d *due) book(s *cluster.View, t cluster.TaskID, at cluster.Time) {
	for int(t) >= len(d.booked) {
		d.booked = append(d.booked, appointment{})
	}
	a := appointment{max(at, s.Now()+1), s.Task(t).Seq, t}
	if d.booked[t] == a {
		return
	}
	d.booked[t] = a
	if a.at == cluster.Never {
		return
	}
	if len(d.heap) > 2*len(d.booked)+64 {
		d.heap = slices.DeleteFunc(d.heap, func(a appointment) bool { return d.booked[a.task] != a })
		d.heap.Init()
	}
	d.heap.Push(a)
}

// pop takes the first appointment off the heap.
func (d *due) pop() appointment {
	a := d.heap.Pop()
	if d.booked[a.task] == a {
		d.booked[a.task] = appointment{}
	}
	return a
}

// keeps reports whether the appointment is still the task's.
func (w *network) keeps(a appointment) bool {
	return w.due.booked[a.task] == a && w.members[a.task].seq == a.seq+1
}

// keepAppointments asks about the tasks whose prices have changed by now, and is the
// highest tier of these; belowTiers where there are none.
func (w *network) keepAppointments(s *cluster.View) int64 {
	highest := int64(belowTiers)
	for len(w.due.heap) > 0 && w.due.heap[0].at <= s.Now() {
		kept := w.keeps(w.due.heap[0])
		if a := w.due.pop(); kept {
			w.updateTask(s, a.task)
			highest = max(highest, int64(w.members[a.task].terms.Tier))
		}
	}
	return highest
}

// nextDue is when the next price changes; Never if none does.
func (w *network) nextDue() cluster.Time {
	for len(w.due.heap) > 0 {
		if a := w.due.heap[0]; w.keeps(a) {
			return a.at
		}
		w.due.pop()
	}
	return cluster.Never
}
