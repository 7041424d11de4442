package world

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/apis/scheduling"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file follows a decision to evict from the core to its outcome. The pod
// stands in its profile's queue until the budget lets the API server be asked;
// the core counts its run as leaving all the while, and what needs its room
// holds a reservation. Outcomes are three: the pod is seen to be gone; the API
// server refuses, most often for the sake of a PodDisruptionBudget; or nobody waits
// for its room any more before the API server was asked, and the eviction is taken back.
//
// The core learns by events whom not to choose. A pod that was refused is protected
// for a while, so that policies look for victims elsewhere and the API server is not
// asked again. A pod that somebody else has deleted is leaving: its room will come
// free, and nobody is asked for it.

// Evictions is how fast the pods of a profile may be evicted.
type Evictions struct {
	Pace       // of those that make room
	Moves Pace // of those that leave for their own sake, to come to another node
	// Others is one more than the lane for which pods of other schedulers may be evicted as well; 0 is none.
	Others uint8
	// BestEffort says that PodDisruptionBudgets do not keep pods from going to make room; who violates none goes first.
	BestEffort bool
	// ExemptSystem says that pods of the system's priorities are never evicted.
	ExemptSystem bool
	// TakesTurns says that the policy has pods take turns, by which one is evicted soon after others were for it: that is not in vain.
	TakesTurns bool
}

// Pace is how fast pods may be asked to go.
type Pace struct {
	// AtOnce is how many pods may be on their way out at the same time, from
	// the request until they are gone.
	AtOnce int
	// PerMinute is how many may be asked to go in a minute.
	PerMinute int
}

// Exits keeps who is on its way out, by profile. A pod that the core has decided shall leave
// is queued, and then asked for and counted as out, until it is gone or stays; never are more
// out at once than the budget allows.
type Exits struct {
	journal *journal
	backoff Backoff
	pods    *Pods
	slots   *slots
	budgets map[string]*budget // by schedulerName
	others  *budget            // of pods of other schedulers: the profile's for which they may be evicted; nil if there is none
	guards  guards
	storm   Storm
	movers  []*Pod // who is to leave for its own sake
}

// Allow says which profiles' pods may be evicted, by schedulerName. At
// first, nobody's. A core hears of it when it is new.
func (x *Exits) Allow(allowed map[string]Evictions) {
	x.budgets, x.others = map[string]*budget{}, nil
	for name, e := range allowed {
		x.budgets[name] = &budget{Evictions: e, room: departures{Pace: e.Pace}, moves: departures{Pace: e.Moves}}
		if e.Others > 0 {
			x.others = x.budgets[name]
		}
	}
}

// allows reports whether pods of that schedulerName may be evicted, those of the system or others.
func (x *Exits) allows(schedulerName string, system bool) bool {
	e := x.budgets[schedulerName]
	return e != nil && (!e.ExemptSystem || !system)
}

// of is the budget of who may evict the pod; nil if nobody may.
func (x *Exits) of(p *Pod) *budget {
	e := x.others
	switch {
	case p.Ours:
		e = x.budgets[p.object.Spec.SchedulerName]
	case isMirror(p.object) || p.object.Spec.NodeName == "": // it stands for a static one, which its node runs whatever is decided, or for room
		return nil
	}
	if e != nil && e.ExemptSystem && isSystem(p) {
		return nil
	}
	return e
}

// isSystem reports whether the cluster itself needs the pod, as its priority says. Pods of groups are none of these.
func isSystem(p *Pod) bool {
	return p.group == nil && priority(p.object) >= scheduling.SystemCriticalPriority
}

// yieldsTo is one more than the lane that may evict the pod of another scheduler; 0 if none may.
func (x *Exits) yieldsTo(p *Pod) uint8 {
	if e := x.of(p); e != nil {
		return e.Others
	}
	return 0
}

// begin forgets what was decided and not yet asked for, for a new core.
func (x *Exits) begin() {
	x.movers = nil
	x.guards.begin()
	x.storm.begin()
	for _, e := range x.budgets {
		e.room.queue, e.moves.queue = nil, nil
	}
}

// budget is what a profile says of evictions, and who leaves by it: to make room, and to come to another node.
type budget struct {
	Evictions
	room, moves departures
}

// of are the departures with which the pod leaves.
func (e *budget) of(p *Pod) *departures {
	if p.exit.moves {
		return &e.moves
	}
	return &e.room
}

// departures are who leaves, at a pace.
type departures struct {
	Pace
	queue []*Pod       // decided, and not yet asked for; the first decided first
	out   int          // asked for, and not gone
	next  cluster.Time // when the next would be asked for if they came evenly
}

// pause is the time between two requests that come evenly.
func (d *departures) pause() cluster.Time { return cluster.Minute / cluster.Time(d.PerMinute) }

// opens is when the next request may be made. As many as may be out at once may
// follow each other without a pause.
func (d *departures) opens() cluster.Time { return d.next - cluster.Time(d.AtOnce-1)*d.pause() }

// exit is where a pod stands on its way out.
type exit struct {
	leaving        bool         // the core has decided that it leaves
	bundle         uint64       // by which it leaves
	moves          bool         // for its own sake, to come to another node
	ending         bool         // the core knows that somebody else has deleted it
	requested      bool         // the API server was asked, and did not refuse
	refusals       int          // of requests that it leaves
	protectedUntil cluster.Time // until when it is not to be evicted
	protectedFor   string       // why, in words without names: they are recorded
	guards         []*guard     // by which the core knows its run to be guarded
	deleted        bool         // these count it among those that leave and were deleted
	others         cluster.Time // when others were last told to leave for it; 0 is never
	by             *Pod         // for which it leaves; nil if that is not known
	victims        []*Pod       // who have been asked to leave for it, of late
	comesBy        uint64       // the bundle by which these were
	fewest         sched.Fewest // what the policy has proven of that
}

// forgetBundles begins anew with a core that counts its bundles anew.
func (x *exit) forgetBundles() { x.bundle, x.comesBy, x.fewest = 0, 0, sched.Fewest{} }

// Fewest is how few pods have to leave by the bundle that places the pod, if the policy has proven that.
func (p *Pod) Fewest() sched.Fewest { return p.exit.fewest }

// Why a pod is protected from evictions.
const (
	refusedByServer = "the API server refused to evict it, as it does for a PodDisruptionBudget"
	notAllowed      = "its profile allows no evictions"
	notReplaced     = "nobody would make another pod in its place elsewhere"
)

// Evict takes in a decision that a pod shall leave its node. The outcome is an
// event, now or later.
func (x *Exits) Evict(d sched.Decision) {
	p := x.slots.running(d)
	if p == nil {
		x.journal.emit(cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt}) // it is not there
		return
	}
	x.pods.handling(p.object)
	e := x.of(p)
	p.exit.leaving, p.exit.by = true, nil
	p.slot.workload.touch()
	by, serves := d.Purpose.Serves()
	p.exit.bundle = d.Purpose.Bundle
	if !p.exit.requested { // whose pace it counts against is said once
		p.exit.moves = serves && by == d.Task
	}
	if x.movers = slices.DeleteFunc(x.movers, func(o *Pod) bool { return !o.exit.leaving || o == p }); p.exit.moves {
		x.movers = append(x.movers, p)
	}
	if by := x.slots.podOf(by); serves && by != nil && by != p {
		by.exit.others, p.exit.by = x.journal.now, by
		if by.exit.comesBy != d.Purpose.Bundle { // its first eviction
			by.exit.comesBy, by.exit.fewest = d.Purpose.Bundle, d.Fewest
		}
		by.exit.victims = append(slices.DeleteFunc(by.exit.victims, func(o *Pod) bool { return !o.exit.leaving || o == p }), p)
	}
	switch {
	case p.exit.requested || p.object.DeletionTimestamp != nil: // on its way out already
	case e == nil:
		x.stay(p, notAllowed)
	case p.exit.moves && !comesBack(p.object):
		x.stay(p, notReplaced)
	default:
		l := e.of(p)
		l.queue = append(l.queue, p)
	}
	x.guards.follow(p)
}

// Requests are those that Dismiss returned, on their way to the API server.
type Requests interface {
	// Waits reports whether the request for the pod has not been sent yet.
	Waits(p *Pod) bool
	// CallBack takes it back, and returns false if it has been sent meanwhile.
	CallBack(p *Pod) bool
}

// TakeBack takes back the evictions for which nobody waits any more and whose requests have
// not been sent: the core has these pods running again. What was sent is not called back, as
// it may have been done.
func (x *Exits) TakeBack(l *sched.Ledger, v *cluster.View, requests Requests) {
	unsent := func(d sched.Decision) bool {
		p := x.slots.running(d)
		if p == nil || !p.exit.leaving || p.calledBack || p.object.DeletionTimestamp != nil {
			return false
		}
		if together := v.Job(v.Task(d.Task).Job).Disruption == cluster.DisruptTogether; together {
			return !p.exit.requested // as what cannot be called back in the end would go without the others
		}
		return !p.exit.requested || requests.Waits(p)
	}
	for _, d := range l.Needless(v, unsent, nil) {
		p := x.slots.running(d)
		l := x.of(p).of(p)
		switch {
		case !p.exit.requested:
			l.queue = slices.DeleteFunc(l.queue, func(other *Pod) bool { return other == p })
		case requests.CallBack(p):
			p.exit.requested = false
			l.out--
		default:
			continue
		}
		x.goOn(p)
	}
}

// CallBack calls back the binds of pods whose room others are to have: what is not bound need not be evicted, and its volumes and devices may take long to be
// prepared. The argument says whether a bind had not been sent; it is not, then, and Binds hears of it as of any other outcome. Pods of a gang are bound together,
// and wait for that. It returns the pods.
func (x *Exits) CallBack(callBack func(*Pod) bool) (back []*Pod) {
	for _, name := range sortedKeys(x.budgets) {
		e := x.budgets[name]
		for _, p := range e.room.queue {
			if p.Stage == Assumed && p.exit.leaving && p.exit.by != nil && !p.calledBack && p.gang() == nil && !x.hinges(e, p) && callBack(p) {
				p.calledBack = true
				back = append(back, p)
			}
		}
	}
	return back
}

// comesBack reports whether somebody makes another pod in place of this one, which
// may then stand elsewhere. A DaemonSet's may not.
func comesBack(pod *v1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind != "DaemonSet"
}

// Dismiss returns the pods that the API server is now to be asked to evict, as far
// as budgets allow. Pods whose bind is under way wait for its outcome.
func (x *Exits) Dismiss() (dismissed []*Pod) {
	for _, name := range sortedKeys(x.budgets) {
		e := x.budgets[name]
		for _, l := range e.departures() {
			l.queue = slices.DeleteFunc(l.queue, func(p *Pod) bool {
				switch {
				case !p.exit.leaving || p.exit.requested || p.object.DeletionTimestamp != nil:
					return true // gone, or going
				case p.Stage != Bound || l.out >= l.AtOnce || l.opens() > x.journal.now || x.storm.stops(x.journal.now) || x.hinges(e, p):
					return false
				}
				p.exit.requested = true
				l.out++
				l.next = max(l.next, x.journal.now) + l.pause()
				dismissed = append(dismissed, p)
				return true
			})
		}
	}
	return dismissed
}

// departures are both.
func (e *budget) departures() [2]*departures { return [2]*departures{&e.room, &e.moves} }

// hinges reports whether somebody has to go first with whom the pod would leave, for one pod or for those of a gang: one of whom a budget can spare nobody, as far as is known, and whom the API server may well keep, or
// one that is to move; so that the others would leave in vain.
func (x *Exits) hinges(e *budget, p *Pod) bool {
	mayBeKept := func(o *Pod) bool {
		return o.exit.leaving && o.exit.bundle == p.exit.bundle && o.object.DeletionTimestamp == nil
	}
	if !p.exit.moves && slices.ContainsFunc(x.movers, mayBeKept) {
		return true
	}
	by := p.exit.by
	if by == nil || e.BestEffort || p.exit.unspared() {
		return false
	}
	keeps := func(by *Pod) bool {
		return slices.ContainsFunc(by.exit.victims, func(o *Pod) bool {
			return o.exit.leaving && o.exit.by == by && o.exit.unspared() && o.object.DeletionTimestamp == nil
		})
	}
	if by.gang() == nil {
		return keeps(by)
	}
	return slices.ContainsFunc(by.gang().Members(), keeps)
}

// unspared reports whether a budget that guards the pod can spare nobody.
func (x *exit) unspared() bool {
	return slices.ContainsFunc(x.guards, func(g *guard) bool { return g.object.Status.DisruptionsAllowed <= 0 })
}

// Stays takes in that the API server refused to evict the pod.
func (x *Exits) Stays(p *Pod) {
	if !x.pods.has(p) || !p.exit.requested {
		return
	}
	p.exit.requested = false
	x.of(p).of(p).out--
	if p.object.DeletionTimestamp == nil { // nor did somebody else see to it
		x.stay(p, refusedByServer)
	}
}

// stay lets the pod go on, and protects it from another request for a while, for the reason.
func (x *Exits) stay(p *Pod, why string) {
	if p.exit.leaving {
		x.goOn(p)
	}
	p.exit.refusals++
	p.exit.protectedUntil, p.exit.protectedFor = x.journal.now+x.backoff.After(p.exit.refusals), why
	x.journal.emit(p.protection())
}

// goOn reports that the pod, which was to leave, stays.
func (x *Exits) goOn(p *Pod) {
	x.journal.emit(cluster.EvictRefused{Task: p.slot.task, Attempt: p.attempt})
	p.exit.leaving, p.begun = false, true // so the core has it now, whatever becomes of its bind
	x.guards.follow(p)
}

// protection says until when the pod is not to be evicted.
func (p *Pod) protection() cluster.TaskProtected {
	return cluster.TaskProtected{
		Task: p.slot.task, Attempt: p.attempt, Until: p.exit.protectedUntil, Reason: p.exit.protectedFor,
	}
}

// seeEnding reports, once a run, that somebody else has deleted the pod, if
// the core may count on the room of such pods.
func (x *Exits) seeEnding(p *Pod) {
	ending, mayGo := p.Stage == Bound && p.object.DeletionTimestamp != nil, x.of(p) != nil
	if ending {
		x.slots.classes.ledger.ends(p)
	}
	if mayGo && ending && !p.exit.leaving && !p.exit.ending {
		p.exit.ending = true
		p.slot.workload.touch()
		x.journal.emit(cluster.TaskLeaving{Task: p.slot.task, Attempt: p.attempt})
	}
	x.guards.follow(p)
}

// departed forgets that the pod was leaving: it has left, or its node is not known.
func (x *Exits) departed(p *Pod) {
	if p.exit.requested {
		e := x.of(p)
		e.of(p).out--
		x.storm.leaves(x.journal.now, p.exit.others, e.TakesTurns)
	}
	x.guards.leave(p)
	p.exit = exit{refusals: p.exit.refusals}
}

// wake is when the next request of any profile may be made.
func (x *Exits) wake() cluster.Time {
	wake := cluster.Never
	for _, e := range x.budgets {
		wake = min(wake, e.wake(x))
	}
	if wake < x.storm.until {
		return x.storm.until
	}
	return wake
}

// wake is when the next request may be made; cluster.Never if there is none to make.
func (e *budget) wake(x *Exits) cluster.Time {
	wake := cluster.Never
	for _, l := range e.departures() {
		if l.out < l.AtOnce && slices.ContainsFunc(l.queue, func(p *Pod) bool { return p.Stage == Bound && !x.hinges(e, p) }) {
			wake = min(wake, max(l.opens(), x.journal.now))
		}
	}
	return wake
}

// Storm is whether evictions are stopped, as too many are in vain.
func (x *Exits) Storm() *Storm { return &x.storm }

// Lingering counts the pods that were decided to leave and are still there: those
// that are queued, and those whose eviction was requested.
func (x *Exits) Lingering() (queued, requested int) {
	for _, e := range x.budgets {
		for _, l := range e.departures() {
			queued, requested = queued+len(l.queue), requested+l.out
		}
	}
	return queued, requested
}

// isMirror reports whether the pod is what the API server shows of a static pod,
// which its node runs whatever is decided.
func isMirror(pod *v1.Pod) bool {
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	return mirror
}
