package world

import (
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
)

// placed keeps the pods that are on nodes, whether bound there or assumed to be. A pod with a
// node is among that node's pods, the judge's and onNodes once each; one that is bound to a
// node that is not known is in unknownNode, and in the stage of that name.
type placed struct {
	journal *journal
	judge   *judge.Judge
	pods    *Pods
	nodes   *nodes
	shapes  *shapes
	slots   *slots
	exits   *Exits
	volumes *Volumes
	onNodes int           // pods on nodes, of anybody
	ranks   map[int32]int // how many of these have each priority
	// unknownNode are the pods that are bound to a node that is not known, by its name.
	unknownNode map[string]map[types.UID]*Pod
	nominations *nominations
	contest     *Contest
	sizes       *Sizes
}

// arrive puts a bound pod, whose task is gated, on its node.
func (on *placed) arrive(p *Pod) {
	name := p.object.Spec.NodeName
	on.slots.reshape(p, on.shapes.known(p))
	if n := on.nodes.byName[name]; n != nil {
		on.settleOn(p, n)
		return
	}
	on.awaitNode(p, name)
}

// settleOn puts a pod on its node, which has become known or to which it was bound.
func (on *placed) settleOn(p *Pod, n *node) {
	on.pods.handling(p.object)
	p.node = n
	on.sizes.renew(p)
	on.slots.reshape(p, on.shapes.known(p))
	on.slots.found(p, n)
	on.pods.move(p, Bound)
	on.putOn(p, n)
	on.exits.guards.cover(p)
	on.exits.seeEnding(p)
	on.contest.arrived(p, n)
}

// appeared puts the pods that wait for the node on it, as it is known now.
func (on *placed) appeared(n *node) {
	for _, p := range inOrder(on.unknownNode[n.object.Name]) {
		on.settleOn(p, n)
	}
	delete(on.unknownNode, n.object.Name)
}

// awaitNode keeps a pod whose node is not known. The core has its task waiting if
// the node was lost, and else gated.
func (on *placed) awaitNode(p *Pod, name string) {
	if p.node != nil {
		on.exits.departed(p)
		on.slots.gate(p)
		p.node = nil
		on.sizes.end(p)
		on.count(p, -1)
	}
	on.pods.move(p, UnknownNode)
	p.lost = name
	if on.unknownNode[name] == nil {
		on.unknownNode[name] = map[types.UID]*Pod{}
	}
	on.unknownNode[name][p.object.UID] = p
}

// stopAwaitingNode forgets that the pod waits for a node to appear.
func (on *placed) stopAwaitingNode(p *Pod) {
	if p.Stage != UnknownNode {
		return
	}
	delete(on.unknownNode[p.lost], p.object.UID)
	if len(on.unknownNode[p.lost]) == 0 {
		delete(on.unknownNode, p.lost)
	}
}

// putOn reports to the judge that the pod takes room on the node.
func (on *placed) putOn(p *Pod, n *node) {
	info, _ := p.read()
	if n.pods[p.object.UID] != nil {
		on.count(p, -1)
	}
	n.pods[p.object.UID] = p
	on.count(p, 1)
	on.judge.AddPod(info, n.object.Name)
	on.volumes.arrived(p, n)
	on.journal.changes++
}

// takeOff undoes putOn. The caller reports it to the core.
func (on *placed) takeOff(p *Pod) {
	if p.node == nil {
		return
	}
	on.exits.departed(p)
	n := p.node
	on.judge.RemovePod(p.info, n.object.Name)
	delete(n.pods, p.object.UID)
	on.count(p, -1)
	p.node = nil
	on.sizes.end(p)
	on.sizes.roomCame(n)
	on.volumes.left(p, n)
	on.journal.changes++
}

// renew takes over what was seen of a pod on its node, and reports it if the pod
// was resized, relabelled or deleted.
func (on *placed) renew(p *Pod, same bool) {
	if same {
		p.refresh(true)
		on.exits.seeEnding(p)
		return
	}
	n := p.node
	on.judge.RemovePod(p.info, n.object.Name)
	p.refresh(false)
	on.sizes.renew(p)
	on.putOn(p, n)
	on.slots.reshape(p, on.shapes.known(p))
	if p.Stage == Bound {
		on.exits.guards.cover(p)
	}
	on.exits.seeEnding(p)
}

// count counts one more pod on a node, or one less.
func (on *placed) count(p *Pod, change int) {
	if on.onNodes += change; change > 0 {
		p.counted = p.priority()
	}
	if on.ranks[p.counted] += change; on.ranks[p.counted] == 0 {
		delete(on.ranks, p.counted)
	}
}

// recount takes in that the priority of a pod, or of its group, may be another one.
func (on *placed) recount(p *Pod) {
	if p.node != nil && p.counted != p.priority() {
		on.count(p, -1)
		on.count(p, 1)
	}
}

// Outranks reports whether some pod on a node, of whatever scheduler, is less important than the pod.
func Outranks(w *World, p *Pod) bool {
	for rank := range w.placed.ranks {
		if rank < p.priority() {
			return true
		}
	}
	return false
}

// started takes in that an assumed pod is bound.
func (on *placed) started(p *Pod) {
	if !p.begun {
		on.journal.emit(cluster.TaskStarted{Task: p.slot.task, Attempt: p.attempt, Node: p.node.row, Grant: p.granted()})
	}
	on.pods.move(p, Bound)
	on.exits.guards.cover(p)
	p.Refusals, p.reserved = 0, nil
}

// gone reports that the pod's run on its node is over, or never
// began, and that it is not to be placed for now.
func (on *placed) gone(p *Pod) {
	if p.begun || p.Stage == Bound {
		on.journal.emit(cluster.TaskLeft{Task: p.slot.task, Attempt: p.attempt})
	} else {
		on.journal.emit(cluster.BindRefused{Task: p.slot.task, Attempt: p.attempt})
	}
	on.slots.gate(p)
}
