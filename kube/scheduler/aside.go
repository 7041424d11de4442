package scheduler

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/world"
)

// This file keeps what was set aside after a panic: pods, nodes and other objects that
// are not reported to the world (asidethings.go has all but pods). Each has an event that says so, pods that are ours
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

// aside belongs to the loop, and outlives its panics. A turn costs what is due in it,
// however many replicas are set aside: those that an owner made alike are one quarantine.
type aside struct {
	s      *Scheduler
	pods   map[types.UID]*quarantine // of which each is a member
	owners byOwner                   // of pods that wait, at most ofOneOwner for each owner
	things map[thing]*quarantine
	queue  quarantines // all of them
	// heldBack are pods that are held back while a round's panic is searched, passed
	// those that were in a round without one.
	heldBack   map[types.UID]*v1.Pod
	trying     map[types.UID]bool // those that are not held back meanwhile
	passed     map[types.UID]bool
	unreported []setAside

	made   uint64 // quarantines, to order them
	lives  int    // that have begun
	faults int    // since the time
	since  cluster.Time
}

// setAside is an object that was set aside with a quarantine.
type setAside struct {
	with *quarantine
	pod  *v1.Pod // nil of another thing
}

// quarantine is what dealing with panicked: a pod, pods that an owner made alike, or another thing.
type quarantine struct {
	pod     *v1.Pod // as the first of the pods was when it panicked; nil of another thing
	members map[types.UID]*v1.Pod
	thing   thing
	sight   sight // of the thing
	why     string
	faults  int
	stage   quarantineStage
	trial   types.UID    // of the pod that is tried, or was last
	until   cluster.Time // when the stage ends
	order   uint64       // among those whose stages end at once
	at      int          // in the queue
}

// quarantineStage says how far a quarantine is from being forgotten.
type quarantineStage int

const (
	shut    quarantineStage = iota
	onTrial                 // it is let in again, of several pods one
	lifted                  // all are let in; only its faults are remembered
)

// holds reports whether the pod, a member, is not to be dealt with.
func (e *quarantine) holds(uid types.UID) bool { return e.stage == shut || e.trial != uid }

// held counts the pods that are not to be dealt with.
func (e *quarantine) held() int {
	if e.stage == onTrial {
		return max(0, len(e.members)-1)
	}
	return len(e.members)
}

// pause is how long it is set aside after its latest fault.
func (e *quarantine) pause() cluster.Time {
	return world.Backoff{Initial: asideAtFirst, Max: asideAtMost}.After(e.faults)
}

// quarantines is a heap: first whose stage ends first.
type quarantines []*quarantine

// Len is heap.Interface's, as are those below.
func (q *quarantines) Len() int { return len(*q) }

// Less compares by sooner.
func (q *quarantines) Less(i, j int) bool { return sooner((*q)[i], (*q)[j]) < 0 }

// Swap keeps where each stands.
func (q *quarantines) Swap(i, j int) {
	of := *q
	of[i], of[j] = of[j], of[i]
	of[i].at, of[j].at = i, j
}

// Push adds at the end.
func (q *quarantines) Push(e any) {
	e.(*quarantine).at = len(*q)
	*q = append(*q, e.(*quarantine))
}

// Pop takes from the end.
func (q *quarantines) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last], *q = nil, (*q)[:last]
	return e
}

func newAside(s *Scheduler) *aside {
	return &aside{
		s: s, pods: map[types.UID]*quarantine{}, owners: byOwner{}, things: map[thing]*quarantine{},
		heldBack: map[types.UID]*v1.Pod{}, trying: map[types.UID]bool{}, passed: map[types.UID]bool{},
	}
}

// add makes a quarantine, which is yet to be shut.
func (a *aside) add(e *quarantine) *quarantine {
	a.made++
	e.order, e.until = a.made, cluster.Never
	heap.Push(&a.queue, e)
	if e.pod != nil {
		e.members = map[types.UID]*v1.Pod{}
		a.owners.add(e)
	}
	return e
}

// drop forgets a quarantine that has no members any more.
func (a *aside) drop(e *quarantine) {
	heap.Remove(&a.queue, e.at)
	if e.pod == nil {
		delete(a.things, e.thing)
		return
	}
	a.owners.remove(e)
}

// byOwner finds the quarantines of pods that wait by their owner.
type byOwner map[types.UID][]*quarantine

func (x byOwner) add(e *quarantine) {
	if owner := ownerOf(e.pod); owner != "" {
		x[owner] = append(x[owner], e)
	}
}

func (x byOwner) remove(e *quarantine) {
	owner := ownerOf(e.pod)
	if left := slices.DeleteFunc(x[owner], func(other *quarantine) bool { return other == e }); len(left) > 0 {
		x[owner] = left
	} else {
		delete(x, owner)
	}
}

// ownerOf is the owner that may have made others like the pod. A pod on a node is on its
// own: what is wrong with it may be the node.
func ownerOf(pod *v1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && pod.Spec.NodeName == "" {
		return owner.UID
	}
	return ""
}

// enter begins a stage that ends at the time.
func (a *aside) enter(e *quarantine, stage quarantineStage, until cluster.Time) {
	e.stage, e.until = stage, until
	heap.Fix(&a.queue, e.at)
}

// shutOut sets the quarantine aside until its next try.
func (a *aside) shutOut(e *quarantine, pod *v1.Pod, why string) {
	e.faults++
	e.why = why
	a.enter(e, shut, a.s.now()+e.pause())
	a.unreported = append(a.unreported, setAside{e, pod})
}

// put sets a pod aside, and its node if it has one.
func (a *aside) put(pod *v1.Pod, why string) {
	e := a.blamed(pod)
	a.join(e, pod)
	a.shutOut(e, pod, why)
	if node := pod.Spec.NodeName; node != "" {
		a.putThing(nodeNamed(node), "pod "+klog.KObj(pod).String()+" on it is set aside: "+why)
	}
}

// blamed is the quarantine that the pod, which panicked, belongs to.
func (a *aside) blamed(pod *v1.Pod) *quarantine {
	if e := a.pods[pod.UID]; e != nil {
		switch owner := ownerOf(pod); {
		case len(e.members) == 1:
			a.reshape(e, pod)
			return e
		case owner != "" && owner == ownerOf(e.pod):
			return e
		}
		a.leave(e, pod.UID)
	}
	peers := a.owners[ownerOf(pod)]
	for _, e := range peers {
		if samePod(e.pod, pod) {
			return e
		}
	}
	if len(peers) >= ofOneOwner {
		return slices.MaxFunc(peers, sooner)
	}
	return a.add(&quarantine{pod: pod})
}

// sooner compares by when their stages end.
func sooner(a, b *quarantine) int {
	return cmp.Or(cmp.Compare(a.until, b.until), cmp.Compare(a.order, b.order))
}

// reshape takes over how the only pod of a quarantine is by now.
func (a *aside) reshape(e *quarantine, pod *v1.Pod) {
	a.owners.remove(e)
	e.pod = pod
	a.owners.add(e)
}

func (a *aside) join(e *quarantine, pod *v1.Pod) {
	e.members[pod.UID] = pod
	a.pods[pod.UID] = e
}

// leave takes a pod out of its quarantine, which goes with the last one. If it was on trial,
// another one is tried when that would have been over.
func (a *aside) leave(e *quarantine, uid types.UID) {
	delete(a.pods, uid)
	delete(e.members, uid)
	switch {
	case len(e.members) == 0:
		a.drop(e)
	case e.stage == onTrial && e.trial == uid:
		a.enter(e, shut, e.until)
	}
}

// keeps reports whether the pod is not to be dealt with now.
func (a *aside) keeps(pod *v1.Pod) bool {
	if a.heldBack[pod.UID] != nil && pod.Spec.NodeName == "" {
		a.heldBack[pod.UID] = pod
		return true
	}
	e := a.pods[pod.UID]
	if e != nil && e.holds(pod.UID) && !samePod(e.members[pod.UID], pod) {
		e = a.changed(e, pod)
	}
	if e == nil {
		if e = a.like(pod); e == nil {
			return false
		}
		a.unreported = append(a.unreported, setAside{e, pod})
	}
	a.join(e, pod)
	return e.holds(pod.UID)
}

// changed tries a pod that has changed again, unless others like it are set aside. It
// returns the quarantine that the pod still belongs to, if any.
func (a *aside) changed(e *quarantine, pod *v1.Pod) *quarantine {
	if len(e.members) > 1 {
		a.leave(e, pod.UID)
		return nil
	}
	a.owners.remove(e)
	like := a.like(pod)
	a.owners.add(e)
	if like != nil {
		a.leave(e, pod.UID)
		return nil
	}
	a.reshape(e, pod)
	a.try(e, pod.UID)
	return e
}

// ofOneOwner is how many pods of one owner are set aside before all of them are,
// however they differ.
const ofOneOwner = 3

// like is what is set aside of the same owner as the pod, which waits, if the pod requests
// the same, or that are several.
func (a *aside) like(pod *v1.Pod) *quarantine {
	var latest *quarantine
	siblings := 0
	for _, e := range a.owners[ownerOf(pod)] {
		switch {
		case e.held() == 0:
			continue
		case samePod(e.pod, pod):
			return e
		case latest == nil || sooner(latest, e) < 0:
			latest = e
		}
		siblings += e.held()
	}
	if siblings >= ofOneOwner {
		return latest
	}
	return nil
}

// forget forgets a pod that is gone.
func (a *aside) forget(uid types.UID) {
	if e := a.pods[uid]; e != nil {
		if n := a.things[nodeNamed(e.members[uid].Spec.NodeName)]; n != nil && n.stage == shut {
			a.enter(n, shut, a.s.now()) // due now
		}
		a.leave(e, uid)
	}
	delete(a.heldBack, uid)
	delete(a.trying, uid)
	delete(a.passed, uid)
}

// due tries those again whose time has come.
func (a *aside) due() {
	for now := a.s.now(); len(a.queue) > 0 && a.queue[0].until <= now; {
		switch e := a.queue[0]; {
		case e.stage == lifted:
			a.drop(e)
		case e.stage == onTrial: // nothing is wrong with it any more
			a.lift(e)
		case e.pod == nil:
			a.try(e, "")
			e.sight.again()
		default:
			a.tryOne(e)
		}
	}
	a.s.subject.handling(nil)
	a.report()
}

// try lets a quarantine in again, of several pods this one.
func (a *aside) try(e *quarantine, uid types.UID) {
	e.trial = uid
	a.enter(e, onTrial, a.s.now()+asideAtFirst)
}

// tryOne tries one of the pods again, each time another one, unless one of the same owner
// is on trial.
func (a *aside) tryOne(e *quarantine) {
	if slices.ContainsFunc(a.owners[ownerOf(e.pod)], func(peer *quarantine) bool { return peer.stage == onTrial }) {
		a.enter(e, shut, a.s.now()+asideAtFirst)
		return
	}
	uid := e.next()
	pod := a.current(e.members[uid])
	if pod == nil {
		a.forget(uid)
		return
	}
	a.try(e, uid)
	a.s.intake.takeIn(pod)
}

// next is the pod to be tried after the last one.
func (e *quarantine) next() types.UID {
	var first, next types.UID
	for uid := range e.members {
		if first == "" || uid < first {
			first = uid
		}
		if uid > e.trial && (next == "" || uid < next) {
			next = uid
		}
	}
	return cmp.Or(next, first)
}

// lift lets in all that are set aside. The faults are remembered for a while, should it
// not last.
func (a *aside) lift(e *quarantine) {
	members := e.members
	e.members = map[types.UID]*v1.Pod{}
	for uid := range members {
		delete(a.pods, uid)
	}
	a.enter(e, lifted, a.s.now()+e.pause())
	for _, uid := range slices.Sorted(maps.Keys(members)) {
		if pod := a.current(members[uid]); pod != nil && uid != e.trial {
			a.s.intake.takeIn(pod)
		}
	}
}

// current is the pod as the informers have it, nil if it is gone.
func (a *aside) current(pod *v1.Pod) *v1.Pod {
	now, err := a.s.intake.informers.Core().V1().Pods().Lister().Pods(pod.Namespace).Get(pod.Name)
	if err != nil || now.UID != pod.UID {
		return nil
	}
	return now
}

// wake is when the next one is due.
func (a *aside) wake() cluster.Time {
	if len(a.queue) == 0 {
		return cluster.Never
	}
	return a.queue[0].until
}

// count counts what is set aside now.
func (a *aside) count() (pods, nodes, others int) {
	for _, e := range a.queue {
		pods += e.held()
		switch {
		case e.pod != nil || e.stage != shut:
		case e.thing.isNode():
			nodes++
		default:
			others++
		}
	}
	return pods, nodes, others
}

// begin forgets, in a new life, what went while nobody watched, and reports the others
// again, since the last life may have ended before that was written.
func (a *aside) begin() {
	for _, uid := range slices.Sorted(maps.Keys(a.pods)) {
		e := a.pods[uid]
		if pod := e.members[uid]; a.current(pod) == nil {
			a.forget(uid)
		} else {
			a.explain(setAside{e, pod})
		}
	}
	a.forgetUnseen()
	a.report()
}

// explain writes the condition of a pod that is set aside and ours to place.
func (a *aside) explain(of setAside) {
	if _, ours := a.s.recorders[of.pod.Spec.SchedulerName]; ours && of.with.holds(of.pod.UID) && of.pod.Spec.NodeName == "" {
		a.s.explainer.writer.put(condition{pod: of.pod, reason: v1.PodReasonSchedulerError, message: of.with.message()})
	}
}

// report reports each that was set aside since, as an event and as a condition.
func (a *aside) report() {
	for _, of := range a.unreported {
		to := a.s.recorders[a.s.Config.Profiles[0].SchedulerName]
		switch e := of.with; {
		case of.pod != nil && a.pods[of.pod.UID] == e && e.holds(of.pod.UID):
			a.explain(of)
			if its, ours := a.s.recorders[of.pod.Spec.SchedulerName]; ours {
				to = its
			}
			to.Eventf(of.pod, nil, v1.EventTypeWarning, "SetAside", "Scheduling", "%s", shortened(e.message()))
		case of.pod == nil && e.sight.object != nil && e.stage == shut:
			to.Eventf(e.sight.object, nil, v1.EventTypeWarning, "SetAside", "Scheduling", "%s", shortened(e.message()))
		}
	}
	a.unreported = nil
}

// message says what happened to it. It stays the same while that does.
func (e *quarantine) message() string {
	return "Fairlead has set it aside, since dealing with it failed: " + e.why + ". It is tried again when it changes, and once in a while."
}

// samePod reports whether the two sights of a pod, or of two pods, request the same.
func samePod(a, b *v1.Pod) bool {
	return a.Namespace == b.Namespace && apiequality.Semantic.DeepEqual(a.Labels, b.Labels) && apiequality.Semantic.DeepEqual(a.Spec, b.Spec) &&
		(a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil)
}

// byAge puts the pod first that was made first.
func byAge(a, b *v1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
