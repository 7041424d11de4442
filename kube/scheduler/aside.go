package scheduler

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
)

// This file keeps what was set aside after a panic: pods and nodes that
// are not reported to the world. Each has an event that says so, pods that are ours
// to place also a condition. It is tried again when it changes in what a decision
// could depend on, and once in a while, less and less often. Pods that an owner made
// alike are set aside together: a template would else take a life for each replica.
//
// Where a pod that is bound is set aside, nobody knows how full its node is, so
// the node is set aside with it. What a leader has set aside the next one has to
// find out for itself.

const (
	asideAtFirst = cluster.Minute
	asideAtMost  = cluster.Hour
)

// aside belongs to the loop, and outlives its panics.
type aside struct {
	s     *Scheduler
	pods  map[types.UID]*exile
	nodes map[string]*exile
	// heldBack are pods that are held back while a round's panic is searched, passed
	// those that were in a round without one.
	heldBack   map[types.UID]*v1.Pod
	passed     map[types.UID]bool
	unreported []*exile

	faults int // since the time
	since  cluster.Time
}

// exile is an object that dealing with panicked.
type exile struct {
	pod    *v1.Pod // as it was last seen; nil of a node
	node   string
	object *v1.Node // of a node, as it was last seen; nil if it was not since
	why    string
	faults int
	until  cluster.Time // when it is tried again; 0 while it is
	tried  cluster.Time // when it was
}

func newAside(s *Scheduler) *aside {
	return &aside{s: s, pods: map[types.UID]*exile{}, nodes: map[string]*exile{}, heldBack: map[types.UID]*v1.Pod{}, passed: map[types.UID]bool{}}
}

// banish sets the exile aside until its next try.
func (a *aside) banish(e *exile, why string) {
	e.faults++
	e.why, e.until = why, a.s.now()+min(asideAtMost, asideAtFirst<<min(e.faults-1, 20))
	a.unreported = append(a.unreported, e)
}

// put sets a pod aside, and its node if it has one.
func (a *aside) put(pod *v1.Pod, why string) {
	e := a.pods[pod.UID]
	if e == nil {
		e = &exile{}
		a.pods[pod.UID] = e
	}
	e.pod = pod
	a.banish(e, why)
	if node := pod.Spec.NodeName; node != "" {
		a.putNode(node, "pod "+klog.KObj(pod).String()+" on it is set aside: "+why)
	}
}

// putNode sets a node aside.
func (a *aside) putNode(name, why string) {
	e := a.nodes[name]
	if e == nil {
		e = &exile{node: name}
		a.nodes[name] = e
	}
	a.banish(e, why)
}

// keeps reports whether the pod is not to be dealt with now.
func (a *aside) keeps(pod *v1.Pod) bool {
	if a.heldBack[pod.UID] != nil && pod.Spec.NodeName == "" {
		a.heldBack[pod.UID] = pod
		return true
	}
	e := a.pods[pod.UID]
	if e == nil {
		like := a.like(pod)
		if like == nil {
			return false
		}
		e = &exile{pod: pod, why: like.why, until: like.until, faults: like.faults}
		a.pods[pod.UID] = e
		a.unreported = append(a.unreported, e)
	}
	if e.until > 0 && !samePod(e.pod, pod) {
		a.try(e) // it changed
	}
	if like := a.like(pod); e.until == 0 && like != nil { // one like it was tried, too
		e.until, e.faults, e.why = like.until, like.faults, like.why
	}
	e.pod = pod
	return e.until > 0
}

// ofOneOwner is how many pods of one owner are set aside before all of them are,
// however they differ.
const ofOneOwner = 3

// like is a pod set aside of the same owner as this one, which waits, if it requests
// the same, or is not the only one.
func (a *aside) like(pod *v1.Pod) *exile {
	owner := metav1.GetControllerOfNoCopy(pod)
	if len(a.pods) == 0 || owner == nil || pod.Spec.NodeName != "" {
		return nil
	}
	var latest *exile
	same, siblings := false, 0
	for _, uid := range slices.Sorted(maps.Keys(a.pods)) {
		e := a.pods[uid]
		its := metav1.GetControllerOfNoCopy(e.pod)
		if uid == pod.UID || e.until == 0 || its == nil || its.UID != owner.UID {
			continue
		}
		siblings++
		same = same || samePod(e.pod, pod)
		if latest == nil || e.until > latest.until {
			latest = e
		}
	}
	if same || siblings >= ofOneOwner {
		return latest
	}
	return nil
}

// onTrial reports whether another pod of the same owner was let in again just now.
func (a *aside) onTrial(pod *v1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	for _, e := range a.pods {
		its := metav1.GetControllerOfNoCopy(e.pod)
		if e.until == 0 && e.pod.UID != pod.UID && owner != nil && its != nil && its.UID == owner.UID {
			return true
		}
	}
	return false
}

// try lets an exile in again.
func (a *aside) try(e *exile) { e.until, e.tried = 0, a.s.now() }

// keepsNode reports whether the node is not to be dealt with now.
func (a *aside) keepsNode(node *v1.Node) bool {
	e := a.nodes[node.Name]
	if e == nil {
		return false
	}
	if e.until > 0 && e.object != nil && !sameNode(e.object, node) {
		a.try(e)
	}
	e.object = node
	return e.until > 0
}

// forget forgets a pod that is gone.
func (a *aside) forget(uid types.UID) {
	if e := a.pods[uid]; e != nil && e.pod.Spec.NodeName != "" {
		if n := a.nodes[e.pod.Spec.NodeName]; n != nil && n.until > 0 {
			n.until = max(1, a.s.now()) // due now
		}
	}
	delete(a.pods, uid)
	delete(a.heldBack, uid)
	delete(a.passed, uid)
}

// forgetNode forgets a node that is gone.
func (a *aside) forgetNode(node *v1.Node) { delete(a.nodes, node.Name) }

// due tries those again whose time has come.
func (a *aside) due() {
	now := a.s.now()
	for _, uid := range slices.Sorted(maps.Keys(a.pods)) {
		e := a.pods[uid]
		switch like := a.like(e.pod); {
		case a.current(e.pod) == nil:
			a.forget(uid)
		case e.until == 0 && now >= e.tried+asideAtFirst:
			delete(a.pods, uid) // nothing is wrong with it any more
		case e.until == 0 || e.until > now:
		case like != nil && like.until > now:
			e.until = like.until
		case a.onTrial(e.pod):
			e.until = now + asideAtFirst
		default:
			a.try(e)
			a.s.takeIn(a.current(e.pod))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.nodes)) {
		e := a.nodes[name]
		switch object, err := a.s.informers.Core().V1().Nodes().Lister().Get(name); {
		case err != nil:
			delete(a.nodes, name) // it is gone
		case e.until > 0 && e.until <= now:
			a.try(e)
			a.s.seeNode(object)
		}
	}
	a.s.handling(nil)
	if len(a.unreported) > 0 {
		a.report()
	}
}

// current is the pod as the informers have it, nil if it is gone.
func (a *aside) current(pod *v1.Pod) *v1.Pod {
	now, err := a.s.informers.Core().V1().Pods().Lister().Pods(pod.Namespace).Get(pod.Name)
	if err != nil || now.UID != pod.UID {
		return nil
	}
	return now
}

// wake is when the next one is due.
func (a *aside) wake() cluster.Time {
	wake := cluster.Never
	for _, e := range a.pods {
		if e.until > 0 {
			wake = min(wake, e.until)
		}
	}
	for _, e := range a.nodes {
		if e.until > 0 {
			wake = min(wake, e.until)
		}
	}
	return wake
}

// count counts pods and nodes that are set aside now.
func (a *aside) count() (pods, nodes int) {
	for _, e := range a.pods {
		if e.until > 0 {
			pods++
		}
	}
	for _, e := range a.nodes {
		if e.until > 0 {
			nodes++
		}
	}
	return pods, nodes
}

// report reports each that was set aside: once as an event, and in each life as a
// condition, since a life may end before that is written.
func (a *aside) report() {
	for _, uid := range slices.Sorted(maps.Keys(a.pods)) {
		e := a.pods[uid]
		if _, ours := a.s.recorders[e.pod.Spec.SchedulerName]; ours && e.until > 0 && e.pod.Spec.NodeName == "" {
			a.s.explainer.writer.put(e.pod, v1.PodReasonSchedulerError, e.message())
		}
	}
	for _, e := range a.unreported {
		to := a.s.recorders[a.s.Config.Profiles[0].SchedulerName]
		switch {
		case e.until == 0:
		case e.pod != nil:
			if its, ours := a.s.recorders[e.pod.Spec.SchedulerName]; ours {
				to = its
			}
			to.Eventf(e.pod, nil, v1.EventTypeWarning, "SetAside", "Scheduling", "%s", shortened(e.message()))
		case e.object != nil:
			to.Eventf(e.object, nil, v1.EventTypeWarning, "SetAside", "Scheduling", "%s", shortened(e.message()))
		}
	}
	a.unreported = nil
}

// message says what happened to it. It stays the same while that does.
func (e *exile) message() string {
	return "Fairlead has set it aside, since dealing with it failed: " + e.why + ". It is tried again when it changes, and once in a while."
}

// samePod reports whether the two sights of a pod, or of two pods, request the same.
func samePod(a, b *v1.Pod) bool {
	return a.Namespace == b.Namespace && apiequality.Semantic.DeepEqual(a.Labels, b.Labels) && apiequality.Semantic.DeepEqual(a.Spec, b.Spec) &&
		(a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil)
}

// sameNode reports whether the two sights of a node have the same to offer.
func sameNode(a, b *v1.Node) bool {
	return apiequality.Semantic.DeepEqual(a.Labels, b.Labels) && apiequality.Semantic.DeepEqual(a.Spec, b.Spec) &&
		apiequality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable)
}

// byAge puts the pod first that was made first.
func byAge(a, b *v1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
