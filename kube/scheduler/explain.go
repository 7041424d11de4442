package scheduler

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/judge"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/world"
)

// This file reports to people and autoscalers why a pod is not placed: as its
// condition PodScheduled and as an event, in kube-scheduler's grammar, followed
// by a sentence of our own. To find the words takes a look at every node, so
// pods queue for it, those that request the same share one look, and the loop spends
// no more than a little of each turn on it. A pod that goes on waiting is
// looked at again once in a while, as its reasons change.
//
// Autoscalers bring nodes for pods whose condition has the reason Unschedulable, and for no others. A pod that
// no node would help has another one, Held, or nodes would be brought for it and be given back for ever.

const explainingLasts = 10 * time.Millisecond

// heldReason is the reason of PodScheduled for a pod that waits for something other than room. kube-scheduler leaves such pods without a condition.
const heldReason = "Held"

// explainer belongs to the loop, except for what the writers share.
type explainer struct {
	queue    []*world.Pod
	queued   map[types.UID]bool
	reported map[types.UID]verdict
	again    reminders
	retries  []reminder // of whom something could not be written, the earliest first
	cached   map[likeness]explanation
	asOf     uint64 // world's changes when the cache was filled
	writer   writer
	// nominations are the pods for which a node is nominated in the API server, see nominate.go.
	nominations []*nomination
	// incomplete are the pod groups of which a pod was said to be held as others have yet to come. The gang that they are placed with may change.
	incomplete map[*world.Group]bool
	// kept says of pods, by uid, which budget did not let another go for them, as of when.
	kept map[types.UID]refusal
	// told is what was written of objects with a condition, by uid, and standRetries what could not be, the earliest first.
	told         map[types.UID]stand
	standRetries []standRetry
	// enough is what was said last of workloads whose class has replicas.
	enough map[world.Workload]metav1.Condition
	// waiting is how many pods of a pod group were reported to wait for nodes.
	waiting map[*world.Gang]int
}

// verdict is what was reported last about a pod.
type verdict struct {
	reason  string // of the condition
	message string
	plugins sets.Set[string]
	profile string
	at      cluster.Time
	group   *world.Gang // with which it waits for nodes; nil if it is of no pod group, or does not
	short   bool        // what its gang is short of was known
}

type explanation struct {
	reason  string // of the condition
	message string
	plugins sets.Set[string]
}

// likeness is what the words for a pod depend on, as long as the world is the same.
type likeness struct {
	shape     string
	namespace string      // to which the words are said
	gang      *world.Gang // nil of a pod by itself
	pods      int         // of the gang
	// outranks says that some pod on a node is less important.
	outranks bool
	delay    string // see world.Delay
}

func newExplainer(s *Scheduler) *explainer {
	e := &explainer{queued: map[types.UID]bool{}, again: reminders{has: map[types.UID]bool{}}, reported: map[types.UID]verdict{}, cached: map[likeness]explanation{}, kept: map[types.UID]refusal{}, told: map[types.UID]stand{}, incomplete: map[*world.Group]bool{}, waiting: map[*world.Gang]int{}, enough: map[world.Workload]metav1.Condition{}}
	e.writer.mute = s.epochs.shadow != nil
	e.writer.start(s)
	return e
}

// want puts pods that were not placed into the queue.
func (e *explainer) want(pods []*world.Pod) {
	for _, p := range pods {
		if uid := p.Object().UID; !e.queued[uid] {
			e.queued[uid] = true
			e.queue = append(e.queue, p)
		}
	}
}

// wantNow is want for pods of which something else holds than was reported, however short a time ago.
func (e *explainer) wantNow(pods []*world.Pod) {
	for _, p := range pods {
		if last, known := e.reported[p.Object().UID]; known {
			last.at -= explainAgain
			e.reported[p.Object().UID] = last
		}
	}
	e.want(pods)
}

// work explains until its time is over, and reports whether there is more.
func (e *explainer) work(s *Scheduler) bool {
	now := s.now()
	e.lookAgain(s)
	for len(e.retries) > 0 && e.retries[0].at <= now {
		e.want([]*world.Pod{e.retries[0].pod})
		e.retries = e.retries[1:]
	}
	e.retryStands(s)
	until := s.Clock.Now().Add(explainingLasts)
	for len(e.queue) > 0 {
		p := e.queue[0]
		e.queue = e.queue[1:]
		delete(e.queued, p.Object().UID)
		e.explain(s, p)
		if s.Clock.Now().After(until) {
			break
		}
	}
	return len(e.queue) > 0
}

// explain reports why the pod waits, if it still does and the reason is new. It says whether there was something to report.
func (e *explainer) explain(s *Scheduler, p *world.Pod) (told bool) {
	s.subject.handling(p.Object())
	uid := p.Object().UID
	if !s.world.Pods().Waits(p) {
		if !s.world.Pods().BacksOff(p) {
			e.forgetFor(s, uid)
			delete(e.kept, uid)
			delete(e.incomplete, p.Group())
		}
		return false
	}
	x := e.reasons(s, p)
	last, known := e.reported[uid]
	e.again.add(p, s.now())
	if known && last.reason == x.reason && (last.message == x.message || s.now() < last.at+explainAgain && last.short == (p.Shortage() != "")) {
		return false // that it is known now what a gang is short of is said at once
	}
	e.report(s, p, condition{reason: x.reason}, x)
	switch g := p.Group(); {
	case x.reason == heldReason && g != nil:
		e.incomplete[g] = true
	case e.incomplete[g]: // whoever came last completes it, and room would help the others as well
		delete(e.incomplete, g)
		e.want(p.Gang().Members())
	}
	return true
}

// report reports a pod as an event and a condition, of which the words are missing.
func (e *explainer) report(s *Scheduler, p *world.Pod, c condition, x explanation) {
	uid, profile := p.Object().UID, p.Object().Spec.SchedulerName
	if _, known := e.reported[uid]; !known {
		s.Metrics.Pods.Attempted(metrics.Unschedulable, profile, 0)
	}
	var group *world.Gang
	if c.reason == v1.PodReasonUnschedulable {
		group = countedGang(p)
	}
	if group != nil && e.waiting[group] == 0 && c.nominated == nil { // else others leave for it, which was counted
		s.Metrics.PodGroups.Unplaced(profile)
	}
	e.forgetFor(s, uid)
	e.reported[uid] = verdict{c.reason, x.message, x.plugins, profile, s.now(), group, p.Shortage() != ""}
	if group != nil {
		e.waiting[group]++
	}
	for plugin := range x.plugins {
		s.Metrics.Pods.AddUnschedulable(plugin, profile, 1)
	}
	s.recorders[profile].failed(p.Object(), x.message)
	c.pod, c.message = p.Object(), x.message
	e.writer.put(c)
	e.reportGroup(s, p, x.message)
}

// refused reports a pod that upstream's filters refuse again and again after
// a query has said which nodes it may use.
func (e *explainer) refused(s *Scheduler, p *world.Pod, status *fwk.Status) {
	if last, known := e.reported[p.Object().UID]; known && s.now() < last.at+explainAgain {
		return
	}
	reason := v1.PodReasonUnschedulable
	if !status.IsRejected() {
		reason = v1.PodReasonSchedulerError
	}
	e.report(s, p, condition{reason: reason}, explanation{
		message: fmt.Sprintf("0/%d nodes are available: %s.", s.world.Counts().Nodes, status.Message()), plugins: sets.New(status.Plugin()),
	})
}

// reasons returns the words for the pod: those that hold for its like, and what holds for it alone.
func (e *explainer) reasons(s *Scheduler, p *world.Pod) explanation {
	x := explanation{}
	if node := roomHeld(s, p); node != "" {
		x = diagnosis(s.judge.Diagnose(p.Object()), heldFor(s, p, node))
	} else {
		x = e.likeReasons(s, p)
	}
	if tier := world.TierOf(s.world, p); tier != "" && p.Why == "" {
		x.message += " Fairlead: " + tier + "."
	}
	if r, ok := e.kept[p.Object().UID]; ok && s.now() < r.at+explainAgain {
		x.message += " " + r.text
	}
	return x
}

// likeReasons returns the words for the pod, from what was reported of its like if the
// world is still the same.
func (e *explainer) likeReasons(s *Scheduler, p *world.Pod) explanation {
	if p.Why != "" {
		return explanation{reason: heldReason, message: fmt.Sprintf("0/%d nodes are available: %s.", s.world.Counts().Nodes, p.Why)}
	}
	if p.Stage == world.Waiting && s.epochs.core.Undecided(p.Task()) { // no node that an autoscaler brought would help it
		return explanation{reason: heldReason, message: fmt.Sprintf("0/%d nodes are available: it waits for a round of the pods that constraints bind.", s.world.Counts().Nodes)}
	}
	if asOf := s.world.Changes(); asOf != e.asOf {
		clear(e.cached)
		e.asOf = asOf
	}
	key := likeness{shape: s.world.Binds().Likeness(p), namespace: p.Object().Namespace, gang: p.Gang(), outranks: world.Outranks(s.world, p), delay: world.Delay(s.world, p)}
	if key.gang != nil {
		key.pods = key.gang.Pods()
	}
	x, ok := e.cached[key]
	if !ok {
		isIncomplete := incomplete(s, p)
		fit := s.judge.Diagnose(p.Object())
		if fit != nil && !isIncomplete {
			fit.Diagnosis.PostFilterMsg = onPreemption(s, p, fit, key.outranks)
		}
		x = diagnosis(fit, ownWords(s, p, key.delay))
		if isIncomplete {
			x.reason = heldReason
		}
		e.cached[key] = x
	}
	return x
}

// incomplete reports whether pods of the pod's gang have yet to come, so that it waits however much room there is.
func incomplete(s *Scheduler, p *world.Pod) bool {
	g := p.Gang()
	if g == nil || g.Pods() >= g.Least() {
		return false
	}
	v := s.epochs.core.View() // it knows who is done
	job := v.Task(p.Task()).Job
	if p.Stage == world.Waiting {
		return cluster.GangAwaits(v, job)
	}
	return cluster.GangLacks(v, job) > g.Pods()-g.Placed()
}

// onPreemption is kube-scheduler's sentence on preemption where it is known without a look at the pods of each node; else it is empty, as it is where nobody is ever evicted, and for pods
// of groups and where a pod is refused on all nodes at once. It says why preemption does not help.
func onPreemption(s *Scheduler, p *world.Pod, fit *framework.FitError, outranks bool) string {
	at := slices.IndexFunc(s.Config.Profiles, func(profile config.Profile) bool { return profile.SchedulerName == p.Object().Spec.SchedulerName })
	if at < 0 || !s.Config.Profiles[at].Evictions.Enabled || p.Group() != nil || fit.Diagnosis.PreFilterMsg != "" {
		return ""
	}
	if info, err := s.known().Find(s.Config.Profiles[at].Policy.Name); err != nil || !info.Evicts {
		return ""
	}
	if never := p.Object().Spec.PreemptionPolicy; never != nil && *never == v1.PreemptNever {
		return "preemption: not eligible due to preemptionPolicy=Never."
	}
	resolvable := judge.Resolvable(fit)
	if resolvable > 0 && outranks {
		return ""
	}
	return "preemption: " + judge.NoVictims(fit, resolvable)
}

// diagnosis puts kube-scheduler's words before ours.
func diagnosis(fit *framework.FitError, ours string) explanation {
	if ours == "" {
		ours = "Fairlead: " + unblocks(fit) + "."
	}
	if fit != nil {
		return explanation{reason: v1.PodReasonUnschedulable, message: fit.Error() + " " + ours, plugins: fit.Diagnosis.UnschedulablePlugins}
	}
	return explanation{reason: v1.PodReasonUnschedulable, message: ours}
}

// ownWords is the sentence that we add; empty if it takes upstream's filters to say it.
func ownWords(s *Scheduler, p *world.Pod, delay string) string {
	if p.Stage == world.Waiting {
		return "Fairlead: " + world.Discreet(s.world, p, s.epochs.core.Why(p.Task()).Text(s.world.Columns().Meanings())) + "."
	}
	if n := s.world.Columns().Uncounted(p); n != "" {
		return fmt.Sprintf("Fairlead: more resources and host ports are in use than are counted, %s among them; pods that ask for it are placed one at a time.", n)
	}
	if why := p.Shortage(); why != "" {
		return fmt.Sprintf("Fairlead: a gang of %d: %s.", p.Gang().Least(), why)
	}
	if delay != "" {
		return "Fairlead: " + delay + "."
	}
	return ""
}

// failed reports that a bind went wrong. Should the pod wait after that, as before, this is said anew.
func (e *explainer) failed(s *Scheduler, f *flight, err error) {
	e.forgetFor(s, f.object.UID)
	e.writer.put(condition{pod: f.object, reason: v1.PodReasonSchedulerError, message: fmt.Sprintf("binding to node %s failed: %v", f.node, err)})
}

// forgetFor drops what was reported about a pod that does not wait any more.
func (e *explainer) forgetFor(s *Scheduler, uid types.UID) {
	if last, ok := e.reported[uid]; ok {
		for plugin := range last.plugins {
			s.Metrics.Pods.AddUnschedulable(plugin, last.profile, -1)
		}
		if last.group != nil {
			if e.waiting[last.group]--; e.waiting[last.group] == 0 {
				delete(e.waiting, last.group)
			}
		}
		delete(e.reported, uid)
	}
}

// stop ends the writers, and takes back from the gauges what was reported.
func (e *explainer) stop(s *Scheduler) {
	for uid := range e.reported {
		e.forgetFor(s, uid)
	}
	e.writer.stop()
}
