package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
)

// This file takes in pods. Every pod of ours is in one stage; the stage says
// where its slot's task stands in the core.

// Stage is where a pod stands.
type Stage uint8

// The stages of a pod. The core's task is gated in those before Waiting.
const (
	Gated         Stage = iota // something outside keeps it from being placed
	BackingOff                 // waits out the time after a refusal
	AwaitingQuery              // waits until a full-filter query has worked out its nodes
	UnknownNode                // bound to a node that is not known
	Queued                     // may be placed; waits to be let through to the core
	Waiting                    // in the core's hands
	Assumed                    // decided; its bind is under way
	Bound
)

// String names the stage as stories print it.
func (s Stage) String() string {
	return [...]string{"gated", "backing off", "awaiting query", "node unknown", "queued", "waiting", "assumed", "bound"}[s]
}

// Pod is a pod that is known.
type Pod struct {
	Ours  bool
	Stage Stage
	// Why says what keeps a gated pod from being placed.
	Why string
	// Refusals counts the refused decisions since the pod was last bound.
	Refusals int
	// Ready is when the pod was first seen to be ready for placement.
	Ready cluster.Time

	object   *v1.Pod
	info     *framework.PodInfo // of object, once it was read; the judge holds it while on a node
	unread   error              // what could not be read of it
	order    uint64
	slot     *slot
	past     *cluster.Account // how its slot spent its time in the core before this
	node     *node            // Assumed and Bound
	attempt  uint32
	begun    bool               // the core knows that the attempt runs
	reserved *judge.Reservation // while assumed
	needs    []need             // that its vector has columns for, or would have
	query    *query             // while its nodes depend on other objects
	offered  bool               // World.offered has it
	second   bool               // nodes to be avoided will have to do
	special  bool               // a filter that is not node-local refused it once
	until    cluster.Time
	ticket   int // of its latest place in the queue
	ranked   bool
	lost     string // the unknown node that it waits for
	exit     exit
}

// move changes the pod's stage.
func (w *World) move(p *Pod, to Stage) {
	if p.Ours {
		w.stages[p.Stage]--
		w.stages[to]++
	}
	if p.Stage == Waiting && p.query == nil {
		w.rank(p, -1)
	}
	if to == Waiting && p.query == nil {
		w.rank(p, 1)
	}
	p.Stage = to
}

// rank counts the pod among those that wait in the core without a query.
func (w *World) rank(p *Pod, change int) {
	p.ranked = p.ranked || change > 0
	if !p.ranked {
		return
	}
	p.ranked = change > 0
	rank := priority(p.object)
	if w.ranks[rank] += change; w.ranks[rank] == 0 {
		delete(w.ranks, rank)
	}
}

// Object is the pod as it was last seen. It must not be changed.
func (p *Pod) Object() *v1.Pod { return p.object }

// Reservation holds what was set aside for an assumed pod.
func (p *Pod) Reservation() *judge.Reservation { return p.reserved }

// Node names the node that the pod is bound to, or assumed to be.
func (p *Pod) Node() string {
	if p.node == nil {
		return ""
	}
	return p.node.object.Name
}

// Pod returns the pod with the uid, nil if it is not known.
func (w *World) Pod(uid types.UID) *Pod { return w.pods[uid] }

// SeePod takes in a pod as it is now, for the first time or again.
func (w *World) SeePod(object *v1.Pod) {
	p := w.pods[object.UID]
	if over(object) {
		w.LosePod(object)
		return
	}
	if p == nil {
		p = &Pod{object: object, Ours: w.owns(object.Spec.SchedulerName) && !isMirror(object), order: w.arrivals, Ready: cluster.Never}
		w.arrivals++
		if p.Ours {
			w.stages[Gated]++
		}
		w.pods[object.UID] = p
		w.enter(p)
		return
	}
	if !newer(p.object, object) {
		return
	}
	before := p.object
	if p.info != nil {
		before = p.info.Pod
	}
	p.object = object
	same := alike(before, object)
	switch {
	case object.Spec.NodeName != "":
		w.seeBound(p, same)
	case p.Stage == Assumed || p.Stage == Bound || p.Stage == UnknownNode:
		// What was seen is older than what was done.
	case same || !p.Ours: // somebody else's to place
		p.refresh(same)
	default:
		p.refresh(false)
		w.retract(p)
		w.sort(p)
	}
}

// refresh takes over what was seen last. What was read of the pod still holds
// if it means the same.
func (p *Pod) refresh(same bool) {
	if same && p.info != nil {
		p.info.Pod = p.object
		return
	}
	p.info, p.unread = nil, nil
}

// LosePod takes in that a pod is gone, or done.
func (w *World) LosePod(object *v1.Pod) {
	p := w.pods[object.UID]
	if p == nil {
		return
	}
	delete(w.pods, object.UID)
	w.stopAwaitingNode(p)
	if p.slot == nil {
		return // somebody else's, and never placed
	}
	onNode := p.node != nil
	w.departed(p)
	w.retract(p)
	if p.Ours {
		w.stages[p.Stage]--
	}
	w.takeOff(p)
	w.changes++
	if !p.Ours || p.slot.job.key.owner == p.object.UID || object.Status.Phase == v1.PodSucceeded {
		w.end(p.slot)
		return
	}
	if onNode {
		w.goneFromNode(p)
	}
	w.vacate(p)
}

// enter gives a pod its slot and its stage.
func (w *World) enter(p *Pod) {
	if p.object.Spec.NodeName == "" {
		if !p.Ours {
			return // somebody else's to place
		}
		w.sort(p)
		return
	}
	w.occupy(p, w.boundShape(p))
	w.arrive(p)
}

// reenter reports a pod to a new core.
func (w *World) reenter(p *Pod) {
	w.handling(p.object)
	p.slot, p.query, p.offered = nil, nil, false
	p.exit.leaving, p.exit.ending = false, false
	stage, n := p.Stage, p.node
	switch {
	case n != nil:
		w.occupy(p, w.boundShape(p))
		w.found(p, n)
		w.move(p, stage)
		if p.exit.protectedUntil > w.now {
			w.protect(p)
		}
		w.seeEnding(p)
	case stage == UnknownNode:
		w.occupy(p, w.boundShape(p))
	case stage == BackingOff:
		w.hold(p, "")
		w.move(p, BackingOff)
	case p.Ours:
		w.sort(p)
	}
}

// seeBound takes in a pod that is bound. Same says that it otherwise means what
// it meant before.
func (w *World) seeBound(p *Pod, same bool) {
	switch {
	case p.Stage == Assumed && p.node.object.Name == p.object.Spec.NodeName:
		w.started(p)
		w.renew(p, same)
		return
	case p.Stage == Bound && p.node.object.Name == p.object.Spec.NodeName:
		w.renew(p, same)
		return
	case p.Stage == UnknownNode:
		w.stopAwaitingNode(p) // its bind may have been out to another node than this
	case p.Stage == Assumed || p.Stage == Bound:
		// Somebody else was faster. The bind will be refused.
		w.takeOff(p)
		w.goneFromNode(p)
	default:
		w.retract(p)
	}
	p.refresh(same)
	if p.slot == nil { // somebody else's, and now placed
		w.occupy(p, w.boundShape(p))
	}
	w.arrive(p)
}

// arrive puts a bound pod, whose task is gated, on its node.
func (w *World) arrive(p *Pod) {
	name := p.object.Spec.NodeName
	w.reshape(p, w.boundShape(p))
	if n := w.nodes[name]; n != nil {
		w.settleOn(p, n)
		return
	}
	w.awaitNode(p, name)
}

// settleOn puts a pod on its node, which has become known or to which it was bound.
func (w *World) settleOn(p *Pod, n *node) {
	w.handling(p.object)
	w.found(p, n)
	w.move(p, Bound)
	w.putOn(p, n)
	w.seeEnding(p)
}

// found reports to the core where the pod runs.
func (w *World) found(p *Pod, n *node) {
	w.emit(cluster.TaskFound{Task: p.slot.task, Seq: p.slot.seq, Node: n.row})
	w.runs[p.slot.task]++
	p.attempt, p.begun, p.node = w.runs[p.slot.task], true, n
}

// awaitNode keeps a pod whose node is not known. The core has its task waiting if
// the node was lost, and else gated.
func (w *World) awaitNode(p *Pod, name string) {
	if p.node != nil {
		w.departed(p)
		w.emit(cluster.TaskGated{Task: p.slot.task, Seq: p.slot.seq})
		p.node = nil
		w.onNodes--
	}
	w.move(p, UnknownNode)
	p.lost = name
	if w.unknownNode[name] == nil {
		w.unknownNode[name] = map[types.UID]*Pod{}
	}
	w.unknownNode[name][p.object.UID] = p
}

// stopAwaitingNode forgets that the pod waits for a node to appear.
func (w *World) stopAwaitingNode(p *Pod) {
	if p.Stage != UnknownNode {
		return
	}
	delete(w.unknownNode[p.lost], p.object.UID)
	if len(w.unknownNode[p.lost]) == 0 {
		delete(w.unknownNode, p.lost)
	}
}

// sort finds out what keeps a pod that is to be placed, and lets it wait if
// nothing does. Its task, if it has one, is gated.
func (w *World) sort(p *Pod) {
	w.handling(p.object)
	w.reclass(p)
	info, err := p.read()
	_, mislabelled := w.promised(p)
	p.second = p.second && w.softTaints > 0
	demand, complete := cluster.Vector(nil), false
	if err == nil {
		demand, complete = w.demand(p, info)
		complete = complete && !slices.ContainsFunc(demand, func(q int64) bool { return q >= cluster.MaxQuantity })
	}
	switch {
	case err != nil:
		w.hold(p, fmt.Sprintf("its affinity terms cannot be read: %v", err))
	case len(p.object.Spec.SchedulingGates) > 0:
		w.hold(p, "")
	case mislabelled != "":
		w.hold(p, mislabelled)
	case absurd(p.object) != "":
		w.hold(p, absurd(p.object))
	case p.object.DeletionTimestamp != nil:
		w.hold(p, "")
	case p.object.Spec.SchedulingGroup != nil:
		w.hold(p, "it belongs to a pod group, and pod groups are not placed by this version of fairlead")
	case !complete || p.special || w.judge.Bespoke(p.object):
		p.Ready = min(p.Ready, w.now)
		w.awaitQuery(p, demand)
	default:
		p.Ready = min(p.Ready, w.now)
		w.take(p, w.shapeOf(w.localSet(p), demand))
		w.enqueue(p)
	}
}

// hold keeps the pod from being placed until it is seen to have changed.
func (w *World) hold(p *Pod, why string) {
	if p.slot == nil {
		w.occupy(p, w.emptyShape())
	}
	w.move(p, Gated)
	p.Why = why
}

// take gives the pod a slot of the shape, or its slot the shape.
func (w *World) take(p *Pod, s *shape) {
	if p.slot == nil {
		w.occupy(p, s)
	} else {
		w.reshape(p, s)
	}
}

// gate takes the pod's task, which waits, out of the core's hands.
func (w *World) gate(p *Pod) {
	w.emit(cluster.TaskGated{Task: p.slot.task, Seq: p.slot.seq})
}

// retract takes a pod that is not on a node out of every queue.
func (w *World) retract(p *Pod) {
	if p.Stage == Waiting {
		w.gate(p)
		if set := p.slot.shape.set; set != nil {
			w.leave(set)
		}
	}
	if p.query != nil {
		w.leaveQuery(p)
	}
	if p.Stage == Waiting || p.Stage == Queued || p.Stage == AwaitingQuery || p.Stage == BackingOff {
		w.move(p, Gated)
	}
}

// placed reports whether the pod is on a node, known or not, or is decided to be.
func (p *Pod) placed() bool {
	return p.node != nil || p.object.Spec.NodeName != "" || p.Stage == UnknownNode
}

// boundShape is the shape of a pod that is on a node: all that matters is the
// room it takes.
func (w *World) boundShape(p *Pod) *shape {
	info, _ := p.read()
	demand, _ := w.demand(p, info)
	if p.slot != nil && slices.Equal(p.slot.shape.demand, demand) {
		return p.slot.shape
	}
	return w.shapeOf(nil, demand)
}

// read is what the judge wants to know of the pod. Affinity terms that cannot
// be read are left out, here as upstream.
func (p *Pod) read() (*framework.PodInfo, error) {
	if p.info == nil {
		p.info, p.unread = judge.NewPod(p.object)
		if p.info == nil {
			p.info = &framework.PodInfo{Pod: p.object}
		}
	}
	return p.info, p.unread
}

// putOn reports to the judge that the pod takes room on the node.
func (w *World) putOn(p *Pod, n *node) {
	info, _ := p.read()
	if n.pods[p.object.UID] == nil {
		n.pods[p.object.UID] = p
		w.onNodes++
	}
	w.judge.AddPod(info, n.object.Name)
	w.changes++
}

// takeOff undoes putOn. The caller reports it to the core.
func (w *World) takeOff(p *Pod) {
	if p.node == nil {
		return
	}
	w.departed(p)
	w.judge.RemovePod(p.info, p.node.object.Name)
	delete(p.node.pods, p.object.UID)
	w.onNodes--
	p.node = nil
	w.changes++
}

// renew takes over what was seen of a pod on its node, and reports it if the pod
// was resized, relabelled or deleted.
func (w *World) renew(p *Pod, same bool) {
	if same {
		p.refresh(true)
		w.seeEnding(p)
		return
	}
	n := p.node
	w.judge.RemovePod(p.info, n.object.Name)
	p.refresh(false)
	w.putOn(p, n)
	w.reshape(p, w.boundShape(p))
	w.seeEnding(p)
}

// over reports whether a pod takes no room any more and never will.
func over(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// newer reports whether b is a later sight of the pod than a. Repeated and late
// events are not.
func newer(a, b *v1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err != nil || order < 0
}

// alike reports whether the two sights of a pod mean the same to every
// decision, but for the node it is on. The API server counts the changes of a
// pod's spec in its generation.
func alike(a, b *v1.Pod) bool {
	if !maps.Equal(a.Labels, b.Labels) || (a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) || !sameSize(&a.Status, &b.Status) {
		return false
	}
	if a.Generation > 0 && a.Generation == b.Generation {
		return true
	}
	placed := a.Spec
	placed.NodeName = b.Spec.NodeName
	return apiequality.Semantic.DeepEqual(placed, b.Spec)
}

// sameSize reports whether the two agree on what the pod was given, and on its
// claims.
func sameSize(a, b *v1.PodStatus) bool {
	return len(a.ContainerStatuses)+len(b.ContainerStatuses)+len(a.InitContainerStatuses)+len(b.InitContainerStatuses) == 0 &&
		len(a.ResourceClaimStatuses)+len(b.ResourceClaimStatuses) == 0 && a.Resources == nil && b.Resources == nil ||
		apiequality.Semantic.DeepEqual(a.ContainerStatuses, b.ContainerStatuses) &&
			apiequality.Semantic.DeepEqual(a.InitContainerStatuses, b.InitContainerStatuses) &&
			apiequality.Semantic.DeepEqual(a.ResourceClaimStatuses, b.ResourceClaimStatuses) &&
			apiequality.Semantic.DeepEqual(a.Resources, b.Resources) &&
			slices.EqualFunc(a.Conditions, b.Conditions, func(s, t v1.PodCondition) bool {
				return s.Type == t.Type && s.Status == t.Status && s.Reason == t.Reason
			})
}

func equalQuantity(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }

func inOrder(pods map[types.UID]*Pod) []*Pod {
	list := make([]*Pod, 0, len(pods))
	for _, p := range pods {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *Pod) int { return cmp.Compare(a.order, b.order) })
	return list
}

// Reconsider finds out anew which pods need a query, after what that depends on beside
// the pods has changed.
func (w *World) Reconsider() {
	w.MarkDirty()
	for _, p := range inOrder(w.pods) {
		if p.Ours && (p.Stage == Waiting || p.Stage == Queued) {
			w.retract(p)
			w.sort(p)
		}
	}
}
