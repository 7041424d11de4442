package world

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file follows a decision to evict from the core to its outcome. The pod
// stands in its profile's queue until the budget lets the API server be asked;
// the core counts its run as leaving all the while, and what needs its room
// holds a reservation. Outcomes are two: the pod is seen to be gone, or the API
// server refuses, most often for the sake of a PodDisruptionBudget.
//
// The core learns by events whom not to choose. A pod that was refused is protected
// for a while, so that policies look for victims elsewhere and the API server is not
// asked again. A pod that somebody else has deleted is leaving: its room will come
// free, and nobody is asked for it.

// Evictions is how fast the pods of a profile may be evicted.
type Evictions struct {
	// AtOnce is how many pods may be on their way out at the same time, from
	// the request until they are gone.
	AtOnce int
	// PerMinute is how many may be asked to go in a minute.
	PerMinute int
}

// SetEvictions says which profiles' pods may be evicted, by schedulerName. At
// first, nobody's.
func (w *World) SetEvictions(allowed map[string]Evictions) {
	w.exits = map[string]*exits{}
	for name, e := range allowed {
		w.exits[name] = &exits{Evictions: e}
	}
}

// exits are the evictions of a profile's pods.
type exits struct {
	Evictions
	queue []*Pod       // decided, and not yet asked for; the first decided first
	out   int          // asked for, and not gone
	next  cluster.Time // when the next would be asked for if they came evenly
}

// pause is the time between two requests that come evenly.
func (e *exits) pause() cluster.Time { return cluster.Minute / cluster.Time(e.PerMinute) }

// opens is when the next request may be made. As many as may be out at once may
// follow each other without a pause.
func (e *exits) opens() cluster.Time { return e.next - cluster.Time(e.AtOnce-1)*e.pause() }

// exit is where a pod stands on its way out.
type exit struct {
	leaving        bool         // the core has decided that it leaves
	ending         bool         // the core knows that somebody else has deleted it
	requested      bool         // the API server was asked, and did not refuse
	by             *Pod         // for whose sake, if that is known; its own if the next is to stand elsewhere
	refusals       int          // of requests that it leaves
	protectedUntil cluster.Time // until when it is not to be evicted
}

// Evict takes in a decision that a pod shall leave its node, for the sake of
// another, nil if that is not known, or to stand elsewhere itself. The outcome is an
// event, now or later.
func (w *World) Evict(d sched.Decision, by *Pod) {
	s := w.tasks[d.Task]
	if s == nil || s.seq != d.Seq || s.pod == nil || s.pod.node == nil || s.pod.attempt != d.Attempt {
		w.emit(cluster.TaskLeft{Task: d.Task, Attempt: d.Attempt}) // it is not there
		return
	}
	p := s.pod
	w.handling(p.object)
	e := w.exits[p.object.Spec.SchedulerName]
	p.exit.leaving, p.exit.by = true, by
	switch {
	case p.exit.requested || p.object.DeletionTimestamp != nil: // on its way out already
	case e == nil || p.exit.protectedUntil > w.now || by == p && !comesBack(p.object):
		w.stay(p)
	default:
		e.queue = append(e.queue, p)
	}
}

// comesBack reports whether somebody makes another pod in place of this one, which
// may then stand elsewhere. A DaemonSet's may not.
func comesBack(pod *v1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind != "DaemonSet"
}

// Dismiss returns the pods that the API server is now to be asked to evict, as far
// as budgets allow. Pods whose bind is under way wait for its outcome.
func (w *World) Dismiss() []*Pod {
	var dismissed []*Pod
	for _, name := range sortedKeys(w.exits) {
		e := w.exits[name]
		e.queue = slices.DeleteFunc(e.queue, func(p *Pod) bool {
			switch {
			case !p.exit.leaving || p.exit.requested || p.object.DeletionTimestamp != nil:
				return true // gone, or going
			case p.Stage != Bound || e.out >= e.AtOnce || e.opens() > w.now:
				return false
			}
			p.exit.requested = true
			e.out++
			e.next = max(e.next, w.now) + e.pause()
			dismissed = append(dismissed, p)
			return true
		})
	}
	return dismissed
}

// By is the pod for whose sake this one is evicted; nil if that is not known, and
// itself if it is to stand elsewhere.
func (p *Pod) By() *Pod { return p.exit.by }

// Stays takes in that the API server refused to evict the pod.
func (w *World) Stays(p *Pod) {
	if w.pods[p.object.UID] != p || !p.exit.requested {
		return
	}
	p.exit.requested = false
	w.exits[p.object.Spec.SchedulerName].out--
	if p.object.DeletionTimestamp == nil { // nor did somebody else see to it
		w.stay(p)
	}
}

// stay lets the pod go on, and protects it from another request for a while.
func (w *World) stay(p *Pod) {
	if p.exit.leaving {
		w.emit(cluster.EvictRefused{Task: p.slot.task, Attempt: p.attempt})
		p.exit.leaving, p.begun = false, true // so the core has it now, whatever becomes of its bind
	}
	p.exit.refusals++
	p.exit.protectedUntil = w.now + w.backoff(p.exit.refusals)
	w.protect(p)
}

// protect reports until when the pod is not to be evicted.
func (w *World) protect(p *Pod) {
	w.emit(cluster.TaskProtected{
		Task: p.slot.task, Attempt: p.attempt, Until: p.exit.protectedUntil,
		Reason: fmt.Sprintf("the API server refused to evict pod %s/%s, as it does for a PodDisruptionBudget", p.object.Namespace, p.object.Name),
	})
}

// seeEnding reports, once a run, that somebody else has deleted the pod, if
// the core may count on the room of such pods.
func (w *World) seeEnding(p *Pod) {
	mayGo := p.Ours && w.exits[p.object.Spec.SchedulerName] != nil
	if mayGo && p.Stage == Bound && p.object.DeletionTimestamp != nil && !p.exit.leaving && !p.exit.ending {
		p.exit.ending = true
		w.emit(cluster.TaskLeaving{Task: p.slot.task, Attempt: p.attempt})
	}
}

// departed forgets that the pod was leaving: it has left, or its node is not known.
func (w *World) departed(p *Pod) {
	if p.exit.requested {
		w.exits[p.object.Spec.SchedulerName].out--
	}
	p.exit = exit{refusals: p.exit.refusals}
}

// exitWake is when something is due here although nothing happens.
func (w *World) exitWake() cluster.Time {
	wake := cluster.Never
	for _, e := range w.exits {
		waits := slices.ContainsFunc(e.queue, func(p *Pod) bool { return p.Stage == Bound })
		if waits && e.out < e.AtOnce {
			wake = min(wake, max(e.opens(), w.now))
		}
	}
	return wake
}

// Lingering counts the pods that were decided to leave and are still there: those
// that are queued, and those whose eviction was requested.
func (w *World) Lingering() (queued, requested int) {
	for _, e := range w.exits {
		queued, requested = queued+len(e.queue), requested+e.out
	}
	return queued, requested
}

// isMirror reports whether the pod is what the API server shows of a static pod,
// which its node runs whatever is decided.
func isMirror(pod *v1.Pod) bool {
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	return mirror
}
