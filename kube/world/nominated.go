package world

import (
	"math"

	"k8s.io/apimachinery/pkg/types"
)

// This file honours nominations of others. A pod of another scheduler with a nominated node waits there
// for its victims to leave, and takes room from pods that are not above it, as upstream's filters count it.
// The core knows of no room for some and not for others, so that the pod takes its room from
// all as long as one of those that wait for a node is not above it, and from nobody when all are: what upstream's filters
// refuse for its sake is never done, and a pod that is above it may have to wait until the others are placed.
//
// A node that is nominated for a pod of ours, by an autoscaler, say, is a hint, and not heeded.

// nominations keeps the pods for which other schedulers make room. Those that have a node take room there.
type nominations struct {
	placed *placed
	rules  *rules
	of     map[types.UID]*Pod
}

// see takes in that a pod was seen; same says that it still means what it meant.
func (ns *nominations) see(p *Pod, same bool) {
	is := nominatedElsewhere(p)
	if !is || !same {
		ns.lose(p)
	}
	if is {
		ns.of[p.object.UID] = p
	}
}

// lose takes in that nobody makes room for the pod any more.
func (ns *nominations) lose(p *Pod) {
	if ns.of[p.object.UID] == p {
		ns.release(p)
		delete(ns.of, p.object.UID)
	}
}

// nominatedElsewhere reports whether another scheduler makes room for the pod.
func nominatedElsewhere(p *Pod) bool {
	return !p.Ours && p.object.Spec.NodeName == "" && p.object.Status.NominatedNodeName != "" && p.object.DeletionTimestamp == nil
}

// honour lets nominated pods of others take room, or none, by who waits now.
func (ns *nominations) honour() {
	on := ns.placed
	if len(ns.of) == 0 || len(on.pods.unplaced) == 0 {
		return
	}
	lowest := int32(math.MaxInt32)
	for rank := range on.pods.unplaced {
		lowest = min(lowest, rank)
	}
	for _, p := range inOrder(ns.of) {
		n := on.nodes.byName[p.object.Status.NominatedNodeName]
		switch takes := n != nil && priority(p.object) >= lowest; {
		case takes && p.node == nil:
			on.slots.occupy(p, on.shapes.known(p))
			on.settleOn(p, n)
		case !takes:
			ns.release(p)
		}
	}
}

// release lets a nominated pod take no room any more, if it took some.
func (ns *nominations) release(p *Pod) {
	if p.node == nil {
		return
	}
	ns.placed.takeOff(p)
	ns.placed.slots.end(p.slot)
	ns.rules.forget(p)
	p.slot = nil
	ns.placed.pods.move(p, Gated)
}

// releaseAll releases the pods that are nominated for the node, which is gone.
func (ns *nominations) releaseAll(n *node) {
	for _, p := range inOrder(n.pods) {
		if ns.of[p.object.UID] == p {
			ns.release(p)
		}
	}
}

// Nominated reports whether a pod of another scheduler takes room on the node, or may soon, as it is nominated there.
func (ps *Pods) Nominated(node string) bool {
	for _, p := range ps.byUID {
		if nominatedElsewhere(p) && p.object.Status.NominatedNodeName == node {
			return true
		}
	}
	return false
}

// waitsForNode reports whether pods of the stage may be given a node in this turn.
func (s Stage) waitsForNode() bool { return s == AwaitingQuery || s == Queued || s == Waiting }

// countUnplaced counts a pod of ours among those that wait for a node, or no longer.
func (ps *Pods) countUnplaced(p *Pod, waits bool) {
	change := -1
	if waits {
		p.rank, change = priority(p.object), 1
	}
	if ps.unplaced[p.rank] += change; ps.unplaced[p.rank] == 0 {
		delete(ps.unplaced, p.rank)
	}
}
