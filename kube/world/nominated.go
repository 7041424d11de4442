package world

import (
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/kube/judge"
)

// This file honours nominations of others. A pod of another scheduler with a nominated node waits there
// for its victims to leave, and takes room from pods that are not above it, as upstream's filters count it.
// The core knows of no room for some and not for others, so that the pod takes its room from
// all as long as one of those that wait for a node is not above it, and from nobody when all are: what upstream's filters
// refuse for the sake of that room is never done, and a pod that is above it may have to wait until the others are placed.
//
// It takes room alone. Rules between pods do not count it, as it is not there yet: whoever counts on its company would be let in where upstream's
// filters, which look a second time without those that are nominated, refuse.
//
// A node that somebody else has nominated for a pod of ours, an autoscaler that has made it for that pod, say, is a hint: where nodes have a price, the pod prefers
// it as much as can be said.

// nominations keeps the pods for which other schedulers make room.
type nominations struct {
	placed *placed
	of     map[types.UID]*nomination
}

// nomination is a pod with a nominated node, and who takes its room there, if it takes some.
type nomination struct {
	pod  *Pod
	room *Pod
}

// see takes in that a pod was seen; same says that it still means what it meant.
func (ns *nominations) see(p *Pod, same bool) {
	is := nominatedElsewhere(p)
	if !is || !same {
		ns.lose(p)
	}
	if is && ns.of[p.object.UID] == nil {
		ns.of[p.object.UID] = &nomination{pod: p}
	}
}

// lose takes in that nobody makes room for the pod any more.
func (ns *nominations) lose(p *Pod) {
	if n := ns.of[p.object.UID]; n != nil {
		ns.release(n)
		delete(ns.of, p.object.UID)
	}
}

// nominatedElsewhere reports whether another scheduler makes room for the pod.
func nominatedElsewhere(p *Pod) bool {
	return !p.Ours && p.object.Spec.NodeName == "" && p.object.Status.NominatedNodeName != "" && p.object.DeletionTimestamp == nil
}

// KeptWords are how the condition of a pod begins for which a node is kept until others have left, and which is nominated for it therefore.
func KeptWords(node string) string { return "Fairlead: node " + node + " is kept for it" }

// hintOf is the node that somebody else has nominated for a pod of ours that waits; empty if there is none.
func hintOf(pod *v1.Pod) string {
	node := pod.Status.NominatedNodeName
	if node == "" || pod.Spec.NodeName != "" || slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodScheduled && strings.Contains(c.Message, KeptWords(node))
	}) {
		return ""
	}
	return node
}

// hasSameHint reports whether the pod's hint is as before, as far as that matters: not where nodes have no price, and a node that is kept for the pod is none that
// somebody else has taken back.
func hasSameHint(w *World, p *Pod, before *v1.Pod) bool {
	hint := hintOf(p.object)
	kept := hint == "" && p.object.Status.NominatedNodeName != ""
	return kept || hint == hintOf(before) || !w.shapes.prices(p.object.Spec.SchedulerName).Nodes
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
	for _, n := range ns.inOrder() {
		node := on.nodes.byName[n.pod.object.Status.NominatedNodeName]
		switch takes := node != nil && priority(n.pod.object) >= lowest; {
		case takes && n.room == nil:
			ns.take(n, node)
		case !takes:
			ns.release(n)
		}
	}
}

// inOrder are all nominations, in the order in which their pods came.
func (ns *nominations) inOrder() []*nomination {
	pods := make(map[types.UID]*Pod, len(ns.of))
	for uid, n := range ns.of {
		pods[uid] = n.pod
	}
	list := make([]*nomination, 0, len(pods))
	for _, p := range inOrder(pods) {
		list = append(list, ns.of[p.object.UID])
	}
	return list
}

// take lets the pod take its room on the node. Of a resource that no node offers there is no room to take.
func (ns *nominations) take(n *nomination, on *node) {
	room := &Pod{sight: sight{object: roomOf(n.pod.object)}, order: n.pod.order}
	info, _ := room.read()
	for name, q := range judge.Requests(info).ScalarResources {
		if q > 0 && !ns.placed.judge.ProvidesDevices(name) && ns.placed.shapes.columns.offers[name] == 0 {
			return
		}
	}
	n.room = room
	ns.reenter(n)
	ns.placed.pods.move(room, Bound)
	ns.placed.putOn(room, on)
}

// reenter reports to a core that the room is taken.
func (ns *nominations) reenter(n *nomination) {
	room, on := n.room, ns.placed
	info, _ := room.read()
	demand, _ := on.shapes.demand(room, info)
	n.pod.needs = room.needs // so that columns are counted
	on.slots.occupy(room, on.shapes.like(shape{demand: demand}))
	on.slots.found(room, on.nodes.byName[n.pod.object.Status.NominatedNodeName])
}

// roomOf is a pod that asks for the same room, and is nothing else to anybody.
func roomOf(pod *v1.Pod) *v1.Pod {
	bare := func(containers []v1.Container) (list []v1.Container) {
		for _, c := range containers {
			list = append(list, v1.Container{Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy})
		}
		return list
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Spec: v1.PodSpec{
			SchedulerName: pod.Spec.SchedulerName, Priority: pod.Spec.Priority, Overhead: pod.Spec.Overhead, Resources: pod.Spec.Resources,
			Containers: bare(pod.Spec.Containers), InitContainers: bare(pod.Spec.InitContainers),
		},
	}
}

// StandsForRoom reports whether it is no pod that is there, but one that takes the room which another scheduler makes.
func (p *Pod) StandsForRoom() bool { return !p.Ours && p.node != nil && p.object.Spec.NodeName == "" }

// release lets a nominated pod take no room any more, if it took some.
func (ns *nominations) release(n *nomination) {
	if n.room != nil {
		ns.placed.takeOff(n.room)
		ns.placed.slots.end(n.room.slot)
		n.room, n.pod.needs = nil, nil
	}
}

// releaseAll releases the pods that are nominated for the node, which is gone.
func (ns *nominations) releaseAll(gone *node) {
	for _, n := range ns.inOrder() {
		if n.room != nil && n.room.node == gone {
			ns.release(n)
		}
	}
}

// reenterAll reports to a new core what room is taken.
func (ns *nominations) reenterAll() {
	for _, n := range ns.inOrder() {
		if n.room != nil {
			n.room.slot = nil
			ns.reenter(n)
		}
	}
}

// waitsForNode reports whether pods of the stage may be given a node in this turn.
func (s Stage) waitsForNode() bool { return s == AwaitingQuery || s == Queued || s == Waiting }

// countUnplaced counts a pod of ours among those that wait for a node, or no longer.
func (ps *Pods) countUnplaced(p *Pod, waits bool) {
	change := -1
	if waits {
		p.rank, change = p.priority(), 1
	}
	if ps.unplaced[p.rank] += change; ps.unplaced[p.rank] == 0 {
		delete(ps.unplaced, p.rank)
	}
}
