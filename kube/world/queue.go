package world

import (
	"cmp"
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
)

// This file is the door to the core. Pods that may be placed are queued, the
// most important first, and are let through as far as there is room for their
// binds. Else a thousand pods would be decided at once, and one that is more
// important and comes a moment later would wait for a thousand binds.

// queue keeps the pods that are queued, and those that were let through. A pod that left
// the queue may still have a place there, which is passed over, as only its latest ticket
// counts. Each pod that came to wait in the core since the last Settle is in offered, once.
type queue struct {
	journal *journal
	pods    *Pods
	sets    *nodeSets
	places  heap.Heap[queuePlace]
	room    int    // for so many pods to be let through
	offered []*Pod // in the core's hands since the last Settle, or kept room for; each once
}

// begin forgets who was queued or let through, for a new core.
func (q *queue) begin() { q.places, q.offered = nil, nil }

// push puts a pod, whose task is gated and has its shape, into the queue.
func (q *queue) push(p *Pod) {
	q.pods.move(p, Queued)
	p.Why = ""
	p.ticket++
	q.places.Push(queuePlace{p, p.ticket, p.priority()})
}

// admit lets pods wait in the core while there is room.
func (q *queue) admit() {
	for q.room > 0 && len(q.places) > 0 {
		s := q.places.Pop()
		p := s.pod
		if p.Stage != Queued || p.ticket != s.ticket || !q.pods.has(p) {
			continue // it left the queue
		}
		q.pods.handling(p.object)
		q.sets.warm(p.slot.shape.set)
		q.offer(p)
		if q.room < math.MaxInt {
			q.room--
		}
	}
}

// offer lets the core place the pod.
func (q *queue) offer(p *Pod) {
	q.pods.move(p, Waiting)
	p.Why = ""
	q.journal.emit(cluster.TaskUngated{Task: p.slot.task, Seq: p.slot.seq, Waited: p.lineage.waited})
	p.lineage.waited = 0
	if !p.offered {
		p.offered = true
		q.offered = append(q.offered, p)
	}
}

// offerAgain lets Settle look at all pods that wait. Those that have done so
// since before there was a soft taint would else never have their second try.
func (q *queue) offerAgain() {
	for _, p := range q.offered { // some of which may have gone back to where they wait before that
		p.offered = false
	}
	q.offered = q.offered[:0]
	for _, p := range inOrder(q.pods.byUID) {
		if p.offered = p.Stage == Waiting; p.offered {
			q.offered = append(q.offered, p)
		}
	}
}

// queuePlace is a pod's place in the queue. A pod that left the queue and came back
// has another one.
type queuePlace struct {
	pod      *Pod
	ticket   int
	priority int32 // then
}

// Before puts the more important pod first.
func (s queuePlace) Before(other queuePlace) bool {
	return cmp.Or(cmp.Compare(other.priority, s.priority), cmp.Compare(s.pod.order, other.pod.order), cmp.Compare(s.ticket, other.ticket)) < 0
}
