package world

import (
	v1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/shadow"
)

// This file is the fate of decisions in a shadow, which carries nothing out: they are noted. Its world is the real one, one step ahead.
//
// A pod for which a node was decided is assumed to be there, as if its bind was under way, until the other scheduler has bound it: it is found where it really is then, be that our node or another. So the next
// pod is decided on the cluster as the other scheduler has made it, beside what was decided and not bound yet. A pod that is not bound for a minute (shadow.Holds) gives its room back; it is not decided for again, and waits for what
// becomes of it, unless it changes.
//
// Nobody leaves. An eviction that was decided is taken back at once, and the pod for which others were to leave, with those of its gang, is held in the same way: it was decided for, once. A pod that was to move
// is left alone for a while, or it would be chosen again in the next round. Whom the other scheduler has leave for its own pods leaves as he does.
//
// Volumes and devices are not set aside for what is only noted, as that writes: two pods that wait may be meant to have the same.

// moveAgain is for how long a pod that was to move is left alone, as one that has moved.
const moveAgain = 30 * cluster.Minute

// Notes keeps the pods that were decided for. A world that is no shadow's has none.
type Notes struct {
	journal *journal
	pods    *Pods
	slots   *slots
	waiting *waiting
	placed  *placed
	open    []note // on their nodes, the first decided first
}

// note is a pod on the node that was decided for it, in that attempt.
type note struct {
	pod     *Pod
	attempt uint32
	until   cluster.Time
}

// Notes takes the decisions of a shadow; nil of a world that is none's.
func (b *Binds) Notes() *Notes { return b.notes }

// Note notes that the pod, which is assumed, was decided for.
func (ns *Notes) Note(p *Pod) {
	p.noted = true
	ns.open = append(ns.open, note{p, p.attempt, ns.journal.now + shadow.Holds})
}

// Spare takes back a decision that a pod shall leave, and holds those for whom it was to.
func (ns *Notes) Spare(d sched.Decision) {
	p := ns.slots.running(d)
	if p == nil {
		ns.journal.emit(cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt}) // it is not there
		return
	}
	ns.pods.handling(p.object)
	by, serves := d.Purpose.Serves()
	if to := ns.slots.podOf(by); serves && to != nil && to != p {
		ns.rest(to)
		if g := to.gang(); g != nil {
			for _, other := range g.Members() {
				ns.rest(other)
			}
		}
	}
	ns.journal.emit(cluster.EvictRefused{Task: d.Task, Attempt: d.Attempt})
	p.begun = true // so the core has it now
	if serves && by == d.Task {
		p.exit.protectedUntil, p.exit.protectedFor = ns.journal.now+moveAgain, "a shadow moves nobody"
		ns.journal.emit(p.protection())
	}
}

// rest takes a pod that was decided for out of the core's hands.
func (ns *Notes) rest(p *Pod) {
	if p.Stage != Waiting {
		return
	}
	p.noted = true
	ns.waiting.again(p)
}

// Preempted takes in that the other scheduler is about to have the pod leave for another one, if its conditions say so.
func (ns *Notes) Preempted(p *Pod) {
	if p.Stage != Bound || p.exit.protectedFor == shadow.Preempted {
		return
	}
	for _, c := range p.object.Status.Conditions {
		if c.Type == v1.DisruptionTarget && c.Status == v1.ConditionTrue && c.Reason == v1.PodReasonPreemptionByScheduler {
			p.exit.protectedUntil, p.exit.protectedFor = cluster.Never, shadow.Preempted
			ns.journal.emit(p.protection())
		}
	}
}

// due takes pods off their nodes that were not bound for too long.
func (ns *Notes) due() {
	if ns == nil {
		return
	}
	for len(ns.open) > 0 && ns.open[0].until <= ns.journal.now {
		n := ns.open[0]
		ns.open = ns.open[1:]
		if p := n.pod; ns.pods.has(p) && p.Stage == Assumed && p.attempt == n.attempt {
			ns.pods.handling(p.object)
			ns.placed.takeOff(p)
			ns.placed.gone(p)
			if p.info != nil { // it may have changed meanwhile
				p.refresh(alike(p.info.Pod, p.object))
			}
			ns.waiting.sort(p)
		}
	}
}

// wake is when the next of these is due.
func (ns *Notes) wake() cluster.Time {
	if ns == nil || len(ns.open) == 0 {
		return cluster.Never
	}
	return ns.open[0].until
}

// begin lets all pods that were decided for be decided for again by a new core.
func (ns *Notes) begin() {
	if ns == nil {
		return
	}
	ns.open = nil
	for _, p := range inOrder(ns.pods.byUID) {
		if !p.noted {
			continue
		}
		p.noted = false
		if p.object.Spec.NodeName != "" {
			continue // it is where it is
		}
		if p.node != nil {
			ns.placed.takeOff(p)
		}
		ns.placed.stopAwaitingNode(p)
		ns.pods.move(p, Gated)
	}
}
