package world

import (
	"cmp"
	"math"

	"fairlead.dev/fairlead/cluster"
)

// This file is the door to the core. Pods that may be placed stand in line, the
// most important first, and are let through as far as there is room for their
// binds. Else a thousand pods would be decided at once, and one that is more
// important and comes a moment later would wait for a thousand binds.

// SetRoom says how many pods may be let through by the next Ask, and how many of
// those that ask and have volumes or devices set aside, which take their time to be
// prepared. At first there is no limit.
func (w *World) SetRoom(pods, preparations int) { w.room, w.preparations = pods, preparations }

// Lined is how many pods stand in line.
func (w *World) Lined() int { return w.stages[Lining] }

// lineUp puts a pod, whose task is gated and has its shape, into the line.
func (w *World) lineUp(p *Pod) {
	w.move(p, Lining)
	p.Why = ""
	p.ticket++
	w.line.Push(standing{p, p.ticket})
}

// letThrough lets pods wait in the core while there is room.
func (w *World) letThrough() {
	for w.room > 0 && len(w.line) > 0 {
		s := w.line.Pop()
		p := s.pod
		if p.Stage != Lining || p.ticket != s.ticket || w.pods[p.object.UID] != p {
			continue // it left the line
		}
		w.handling(p.object)
		w.warm(p.slot.shape.class)
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

// standing is a pod's place in line. A pod that left the line and came back has
// another one.
type standing struct {
	pod    *Pod
	ticket int
}

// Before puts the more important pod first.
func (s standing) Before(other standing) bool {
	return cmp.Or(before(s.pod, other.pod), cmp.Compare(s.ticket, other.ticket)) < 0
}
