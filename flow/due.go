package flow

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
)

// due is when which task is to be asked about again, as its price changes then.
type due struct {
	heap heap.Heap[appointment]
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

func (d *due) add(s *cluster.State, t cluster.TaskID, at cluster.Time) {
	d.heap.Push(appointment{max(at, s.Now()+1), s.Task(t).Seq, t})
}

// keeps reports whether the appointment is still the task's.
func (w *network) keeps(a appointment) bool {
	m := &w.members[a.task]
	return m.seq == a.seq+1 && m.terms.Next <= a.at
}

// keepAppointments asks about the tasks whose prices have changed by now.
func (w *network) keepAppointments(s *cluster.State) {
	for len(w.due.heap) > 0 && w.due.heap[0].at <= s.Now() {
		if a := w.due.heap.Pop(); w.keeps(a) {
			w.tell(s, a.task)
		}
	}
}

// nextDue is when the next price changes; Never if none does.
func (w *network) nextDue() cluster.Time {
	for len(w.due.heap) > 0 {
		if a := w.due.heap[0]; w.keeps(a) {
			return a.at
		}
		w.due.heap.Pop()
	}
	return cluster.Never
}
