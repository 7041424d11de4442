package world

import (
	"cmp"
	"math"

	"fairlead.dev/fairlead/cluster"
)

// This file is the door to the core. Pods that may be placed are queued, the
// most important first, and are let through as far as there is room for their
// binds. Else a thousand pods would be decided at once, and one that is more
// important and comes a moment later would wait for a thousand binds.

// SetRoom says how many pods may be let through by the next Admit, and how many of
// those that await a query and have volumes or devices set aside, which take their
// time to be prepared. At first there is no limit.
func (w *World) SetRoom(pods, preparations int) { w.room, w.preparations = pods, preparations }

// Queued is how many pods are queued.
func (w *World) Queued() int { return w.stages[Queued] }

// enqueue puts a pod, whose task is gated and has its shape, into the queue.
func (w *World) enqueue(p *Pod) {
	w.move(p, Queued)
	p.Why = ""
	p.ticket++
	w.queue.Push(queuePlace{p, p.ticket})
}

// admitQueued lets pods wait in the core while there is room.
func (w *World) admitQueued() {
	for w.room > 0 && len(w.queue) > 0 {
		s := w.queue.Pop()
		p := s.pod
		if p.Stage != Queued || p.ticket != s.ticket || w.pods[p.object.UID] != p {
			continue // it left the queue
		}
		w.handling(p.object)
		w.warm(p.slot.shape.set)
		w.offer(p)
		if w.room < math.MaxInt {
			w.room--
		}
	}
}

// offer lets the core place the pod.
func (w *World) offer(p *Pod) {
	w.move(p, Waiting)
	p.Why = ""
	w.emit(cluster.TaskUngated{Task: p.slot.task, Seq: p.slot.seq})
	if !p.offered {
		p.offered = true
		w.offered = append(w.offered, p)
	}
}

// queuePlace is a pod's place in the queue. A pod that left the queue and came back
// has another one.
type queuePlace struct {
	pod    *Pod
	ticket int
}

// Before puts the more important pod first.
func (s queuePlace) Before(other queuePlace) bool {
	return cmp.Or(before(s.pod, other.pod), cmp.Compare(s.ticket, other.ticket)) < 0
}
