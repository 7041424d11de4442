package world

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/judge"
	"fairlead.dev/fairlead/kube/sizes"
)

// This file takes in pods. Every pod of ours is in one stage; the stage says
// where its slot's task stands in the core (stages.go).

// Pod is a pod that is known.
type Pod struct {
	sight
	run
	turn

	Ours  bool
	Stage Stage
	// Why says what keeps a gated pod from being placed.
	Why string
	// Refusals counts the refused decisions since the pod was last bound.
	Refusals int
	// Ready is when the pod was first seen to be ready for placement.
	Ready cluster.Time

	order uint64
	group *Group // of its first sight; nil if it has none
	slot  *slot
	needs []need // that its vector has columns for, or would have
	query *query // while its nodes depend on other objects
	lost  string // the unknown node that it waits for
	exit  exit
}

// sight is a pod as it was last seen, and what was read of it.
type sight struct {
	object *v1.Pod            // as all decide by it: with its tier
	seen   *v1.Pod            // as the API server has it
	tier   labels.Set         // of nodes, that its class asks for
	info   *framework.PodInfo // of object, once it was read; the judge holds it while on a node
	unread error              // what could not be read of it
	// reading is what it shares with others of its owner; nil if it does not.
	reading *reading
	set     string // the key of its node set on a node; empty until it is asked for
	// company is what rules between pods say of it, nil until that is asked for; regrouped says that it was of an earlier sight.
	company   *company
	regrouped bool
	stock     *stock   // of its volumes; nil if it has none that matter
	bars      []string // tags of what it has and others ask for (way.go)
	elastic   *elastic // what it may take, once that was asked for; nil if its class has no sizes
}

// run is a pod's attempt in its slot, from the decision on.
type run struct {
	lineage  lineage
	class    string // that its slot has; a pod on a node keeps it
	node     *node  // Assumed and Bound
	counted  int32  // the priority as which it is counted on its node
	attempt  uint32
	begun    bool               // the core knows that the attempt runs
	reserved *judge.Reservation // while assumed
	// calledBack says that the bind was called back, which its outcome is about to say.
	calledBack bool
	noted      bool    // it was decided for, in a shadow, and is not decided for again
	growth     *growth // how its size goes on while it is on a node; nil if that is fixed
}

// turn is when a pod that waits is next dealt with, and how.
type turn struct {
	until    cluster.Time // backing off
	ticket   int          // of its latest place in the queue
	ranked   bool
	rank     int32         // by which Pods.unplaced counts it
	letIn    bool          // the composite pod groups above it let it be placed
	lined    bool          // nothing else keeps it from that
	bound    bool          // by constraints that objects say, as an application's
	selected bool          // by such a constraint
	offered  bool          // queue.offered has it
	second   bool          // nodes to be avoided will have to do
	special  bool          // a filter that is not node-local refused it once
	choice   *judge.Choice // the devices that it is to get beside others of its gang; nil if upstream is to choose
	doubted  bool          // upstream refused that choice, and is to choose once
	way      *way          // what others have that it asks for; nil if that is not known
}

// Object is the pod as it was last seen. It must not be changed.
func (p *sight) Object() *v1.Pod { return p.object }

// Reservation holds what was set aside for an assumed pod.
func (p *run) Reservation() *judge.Reservation { return p.reserved }

// Task is the row of the pod's task in the core.
func (p *Pod) Task() cluster.TaskID { return p.slot.task }

// Node names the node that the pod is bound to, or assumed to be.
func (p *run) Node() string {
	if p.node == nil {
		return ""
	}
	return p.node.object.Name
}

// SeePod takes in a pod as it is now, for the first time or again.
func (w *World) SeePod(object *v1.Pod) {
	p := w.pods.byUID[object.UID]
	if over(object) {
		w.LosePod(object)
		return
	}
	if p == nil {
		p = &Pod{sight: sight{object: object, seen: object}, Ours: w.owns(object.Spec.SchedulerName) && !isMirror(object), Ready: cluster.Never}
		w.pods.add(p)
		w.placed.volumes.meet(p)
		w.groups.join(p)
		switch {
		case object.Spec.NodeName != "":
			w.slots.occupy(p, w.shapes.known(p))
			w.placed.arrive(p)
		case p.Ours: // and not somebody else's to place
			w.waiting.sort(p)
		default:
			w.placed.nominations.see(p, true)
		}
		return
	}
	if !newer(p.object, object) {
		return
	}
	before := p.object
	if p.info != nil {
		before = p.info.Pod
	}
	p.seen = object
	object = p.dressed(object)
	p.object = object
	w.placed.recount(p)
	same := alike(before, object)
	sameHint := hasSameHint(w, p, before)
	w.placed.nominations.see(p, same && before.Status.NominatedNodeName == object.Status.NominatedNodeName)
	switch {
	case object.Spec.NodeName != "":
		w.seeBound(p, same)
	case p.Stage == Assumed || p.Stage == Bound || p.Stage == UnknownNode:
		// What was seen is older than what was done. Budgets go by its labels all the same, and it may have been deleted.
		if p.Stage == Bound {
			w.exits.guards.cover(p)
			w.exits.seeEnding(p)
		}
	case same && sameHint || !p.Ours: // somebody else's to place
		p.refresh(same)
	default:
		p.refresh(false)
		p.noted = false
		w.waiting.again(p)
	}
}

// refresh takes over what was seen last. What was read of the pod still holds
// if it means the same.
func (p *sight) refresh(same bool) {
	if same && p.info != nil {
		p.info.Pod = p.object
		return
	}
	p.info, p.unread, p.reading, p.set, p.regrouped = nil, nil, nil, "", true
}

// LosePod takes in that a pod is gone, or done.
func (w *World) LosePod(object *v1.Pod) {
	p := w.pods.byUID[object.UID]
	if p == nil {
		return
	}
	w.placed.nominations.lose(p)
	w.placed.stopAwaitingNode(p)
	defer w.rules.forget(p)
	defer w.groups.leave(p)
	defer w.placed.volumes.part(p)
	if p.slot == nil { // somebody else's, and never placed
		w.pods.remove(p)
		return
	}
	LedgerOf(w).endsNoMore(p)
	onNode, evicted := p.node != nil, p.exit.requested
	if evicted {
		p.slot.preemptions++
	}
	w.exits.departed(p)
	w.waiting.retract(p)
	w.pods.remove(p)
	w.placed.takeOff(p)
	w.journal.changes++
	if !p.Ours || metav1.GetControllerOfNoCopy(p.object) == nil || object.Status.Phase == v1.PodSucceeded {
		p.slot.done = object.Status.Phase == v1.PodSucceeded
		w.slots.end(p.slot)
		return
	}
	if onNode {
		w.placed.gone(p)
	}
	if p.lineage.succeeded {
		w.slots.end(p.slot)
		return
	}
	w.slots.vacate(p, evicted)
}

// reenter reports a pod to a new core.
func (w *World) reenter(p *Pod) {
	w.pods.handling(p.object)
	p.slot, p.query, p.offered, p.lineage.ending = nil, nil, false, nil
	p.exit.leaving, p.exit.ending, p.exit.guards, p.exit.deleted = false, false, nil, false
	p.exit.by, p.exit.victims = nil, nil
	p.exit.forgetBundles()
	stage, n := p.Stage, p.node
	switch {
	case n != nil:
		w.slots.occupy(p, w.shapes.known(p))
		w.slots.found(p, n)
		w.pods.move(p, stage)
		w.exits.guards.cover(p)
		if p.exit.protectedUntil > w.journal.now {
			w.journal.emit(p.protection())
		}
		w.exits.seeEnding(p)
	case stage == UnknownNode:
		w.slots.occupy(p, w.shapes.known(p))
	case stage == BackingOff:
		w.waiting.hold(p, "")
		w.pods.move(p, BackingOff)
	case p.Ours:
		w.waiting.sort(p)
	}
}

// seeBound takes in a pod that is bound. Same says that it otherwise means what
// it meant before.
func (w *World) seeBound(p *Pod, same bool) {
	switch {
	case p.Stage == Assumed && p.node.object.Name == p.object.Spec.NodeName:
		w.placed.started(p)
		w.placed.renew(p, same)
		return
	case p.Stage == Bound && p.node.object.Name == p.object.Spec.NodeName:
		w.placed.renew(p, same)
		return
	case p.Stage == UnknownNode:
		w.placed.stopAwaitingNode(p) // its bind may have been out to another node than this
	case p.Stage == Assumed || p.Stage == Bound:
		// Somebody else was faster. The bind will be refused.
		w.placed.takeOff(p)
		w.placed.gone(p)
	default:
		w.waiting.retract(p)
	}
	p.refresh(same)
	if p.slot == nil { // somebody else's, and now placed
		w.slots.occupy(p, w.shapes.known(p))
	}
	w.placed.arrive(p)
}

// placed reports whether the pod is on a node, known or not, or is decided to be.
func (p *Pod) placed() bool {
	return p.node != nil || p.object.Spec.NodeName != "" || p.Stage == UnknownNode
}

// read is what the judge wants to know of the pod. Affinity terms that cannot
// be read are left out, here as upstream.
func (p *Pod) read() (*framework.PodInfo, error) {
	if p.info == nil {
		p.readAs(p.object)
	}
	return p.info, p.unread
}

// readAs reads the pod as it was seen at a time. What it requests is what it was granted.
func (p *Pod) readAs(object *v1.Pod) {
	p.info, p.unread = judge.NewPod(p.sized(object))
	if p.info == nil {
		p.info = &framework.PodInfo{}
	} else if p.growth != nil {
		judge.Requests(p.info) // which upstream keeps
	}
	p.info.Pod = object
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
	if !maps.Equal(a.Labels, b.Labels) || (a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) || !sameSize(&a.Status, &b.Status) || sizes.Owner(a) != sizes.Owner(b) {
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
