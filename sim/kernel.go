package sim

import (
	"cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
)

// What happens in the world at one moment happens in this order: room comes
// free before anybody asks for it.
const (
	runEnds      = iota // a run has done its work
	runLeaves           // a victim is gone
	runBegins           // an allocation is ready
	runRefused          // an allocation failed
	reported            // an outcome is reported late, or again
	nodeFails           // a seeded loss
	nodeReturns         // and the end of it
	nodeWakes           // it is on again
	nodesIdle           // one has been empty for long enough to be switched off
	nodesWanted         // somebody has waited for long enough for another one to be woken
	nodesMeasure        // all nodes report what is in use
	foreign             // somebody else starts or ends a task
	roundEnds           // a policy has finished thinking
)

// timer is something that will happen.
type timer struct {
	at      cluster.Time
	kind    uint8
	seq     uint64 // order of setting, so that ties have an order
	task    cluster.TaskID
	attempt uint32
	node    cluster.NodeID
	lane    int           // of roundEnds
	report  cluster.Event // of reported
	ends    bool          // of foreign: the task ends
	elastic bool          // of runEnds: the run may end at another time after all
}

// Before orders timers by time, kind and order of setting.
func (a timer) Before(b timer) bool {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind), cmp.Compare(a.seq, b.seq)) < 0
}

// forEver reports whether the timer belongs to what goes on even when there is
// nothing left to do: faults, measurements, and rounds that a watchdog starts.
func (a timer) forEver() bool {
	return a.kind == nodeFails || a.kind == nodeReturns || a.kind == nodesIdle || a.kind == nodesWanted || a.kind == nodesMeasure || a.kind == foreign || a.kind == roundEnds
}

// kernel is the clock, and the future: a heap of timers. Time goes on only as the run says,
// from the time of one timer to that of the next.
type kernel struct {
	now    cluster.Time
	timers heap.Heap[timer]
	seq    uint64
	busy   int // timers of work under way: those that are not for ever
}

// set adds a timer; a time past Never is never.
func (k *kernel) set(t timer) {
	if t.at == cluster.Never || t.at < 0 {
		return
	}
	k.seq++
	t.seq = k.seq
	k.timers.Push(t)
	if !t.forEver() {
		k.busy++
	}
}

// pop takes the next timer.
func (k *kernel) pop() timer {
	t := k.timers.Pop()
	if !t.forEver() {
		k.busy--
	}
	return t
}

// due is the next timer, if its time has come; it stays until it is popped.
func (k *kernel) due() (t timer, is bool) {
	if len(k.timers) == 0 || k.timers[0].at > k.now {
		return timer{}, false
	}
	return k.timers[0], true
}

// next is the time of the next timer.
func (k *kernel) next() cluster.Time {
	if len(k.timers) == 0 {
		return cluster.Never
	}
	return k.timers[0].at
}
