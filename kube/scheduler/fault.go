package scheduler

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
)

// This file survives a panic in the loop, ours or upstream's: else one pod that
// leads to it would end every new leader. Nothing that the loop owns is trusted
// after it. World, judge and core are made anew from what the informers hold, as
// by a new leader (but for upstream's plugins, which cannot be registered with the
// informers again), and without the one object whose fault it seems to be, which is set
// aside (aside.go).
//
// What the world or the judge were dealing with is known exactly. In a round of
// the core it may be any of the pods that the core could place; the next lives are
// given half of them at a time, so that it is found among n in about log n lives,
// and pods of halves without it are placed meanwhile. Only pods that wait are held
// back like that: they concern nobody else. A panic that no waiting pod explains
// ends the process, and so do too many of them. Objects that are read together with others of
// their kind, as constraints are, are announced one by one while that is done.

const (
	// mostFaults is how many panics within faultsLast are survived.
	mostFaults = 64
	faultsLast = cluster.Hour
)

// subject keeps what the loop is dealing with, so that it is known whose fault a panic is.
type subject struct {
	object   metav1.Object // such as a pod or a node, nil if that is not known
	deciding bool          // the core is at work: any pod in its hands
	// before is called with each object before it is dealt with; for tests.
	before func(metav1.Object)
}

// handling notes what is dealt with next.
func (x *subject) handling(object metav1.Object) {
	x.object = object
	if x.before != nil && object != nil {
		x.before(object)
	}
}

// fault is a panic in the loop.
type fault struct {
	cause   any
	stack   []byte
	subject subject
	inHands []*v1.Pod // of the core, if it was at work
}

// Error says what panicked.
func (f *fault) Error() string { return fmt.Sprintf("panic: %v", f.cause) }

// guarded does the work, and returns a panic as a fault.
func (s *Scheduler) guarded(work func() error) (err error) {
	s.subject.object, s.subject.deciding = nil, false
	defer func() {
		if cause := recover(); cause != nil {
			f := &fault{cause: cause, stack: debug.Stack(), subject: s.subject}
			if f.subject.deciding {
				f.inHands = s.world.Pods().InHands()
			}
			err = f
		}
	}()
	return work()
}

// mend finds out whose fault it was, and makes new parts for the next life.
func (s *Scheduler) mend(ctx context.Context, f *fault) error {
	logger := klog.FromContext(ctx)
	a := s.aside
	if now := s.now(); a.faults == 0 || now > a.since+faultsLast {
		a.faults, a.since = 0, now
	}
	a.faults++
	with, what := a.blame(f)
	s.Metrics.Cluster.Panicked(with)
	logger.Error(f, "a panic in the loop; beginning anew without whom it seems to come from", "outcome", what, "stack", string(f.stack))
	if with == "other" {
		return fmt.Errorf("%w, of which nobody knows whose fault it is\n%s", noFault(f), f.stack)
	}
	if a.faults > mostFaults {
		return fmt.Errorf("%d panics within %v, the last: %w", a.faults, faultsLast, noFault(f))
	}
	s.assemble()
	return nil
}

// blame sets aside, or holds back, whose fault it may be. It returns what was being
// dealt with, and what it did, in words.
func (a *aside) blame(f *fault) (with, what string) {
	pod, isPod := f.subject.object.(*v1.Pod)
	other, isThing := f.subject.object.(apiObject)
	switch {
	case len(f.inHands) > 0:
		return "round", a.search(f.inHands, f.Error())
	case f.subject.deciding:
	case isPod:
		a.put(pod, f.Error())
		return "pod", "set aside pod " + klog.KObj(pod).String()
	case isThing:
		of := thingOf(other)
		a.putThing(of, f.Error())
		return of.with(), "set aside " + of.String()
	}
	return "other", "nobody's fault"
}

// noFault is the error of a fault that is not survived.
func noFault(f *fault) error { return fmt.Errorf("%s", f.Error()) }

// search narrows down which of the pods in the core's hands made a round panic: it
// holds back half of those that were in no round without one, and sets the last
// one aside. It returns what it did, in words.
func (a *aside) search(inHands []*v1.Pod, why string) string {
	suspects := slices.DeleteFunc(slices.Clone(inHands), func(p *v1.Pod) bool { return a.passed[p.UID] })
	if len(suspects) == 0 {
		suspects = inHands
	}
	if len(suspects) == 1 {
		a.put(suspects[0], why)
		return "set aside pod " + klog.KObj(suspects[0]).String()
	}
	clear(a.trying)
	for i, p := range suspects {
		if i < len(suspects)/2 {
			a.trying[p.UID] = true
		} else {
			a.heldBack[p.UID] = p
		}
	}
	return fmt.Sprintf("one of %d pods; %d are held back", len(suspects), len(a.heldBack))
}

// stepped takes in that the core has decided without a panic. Those that are held
// back may be next, once those that are tried have been in a round, which for some is one beside the core.
func (a *aside) stepped() {
	if len(a.heldBack) == 0 {
		clear(a.passed)
		return
	}
	inHands := a.s.world.Pods().InHands()
	if len(inHands) == 0 && a.s.world.Pods().Queued() > 0 {
		return // they were not in the core's hands yet
	}
	tried := true
	for _, p := range inHands {
		if !awaitsBeside(a.s, p) {
			a.passed[p.UID] = true
		}
		tried = tried && (a.passed[p.UID] || !a.trying[p.UID])
	}
	if !tried {
		return
	}
	held := slices.SortedFunc(maps.Values(a.heldBack), byAge)
	clear(a.heldBack)
	a.s.inbox.put(func() {
		for _, p := range held {
			if now := a.current(p); now != nil {
				a.s.intake.takeIn(now)
			}
		}
	})
}

// awaitsBeside reports whether the pod, which is in the core's hands, waits for a round of a lane beside the core.
func awaitsBeside(s *Scheduler, pod *v1.Pod) bool {
	p := s.world.Pod(pod.UID)
	return p != nil && s.epochs.core.Undecided(p.Task())
}

// triedBeside are the pods that are being searched and wait for a round beside the core that begins.
func triedBeside(a *aside) (uids []types.UID) {
	if len(a.heldBack) == 0 {
		return nil
	}
	for _, p := range a.s.world.Pods().InHands() {
		if a.trying[p.UID] && awaitsBeside(a.s, p) {
			uids = append(uids, p.UID)
		}
	}
	return uids
}

// landed are the nodes of pods whose binds succeeded and that the informers do not
// show there yet. A new life has to know.
type landed struct {
	mu    sync.Mutex
	nodes map[types.UID]string
}

func (l *landed) add(uid types.UID, node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes[uid] = node
}

func (l *landed) forget(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.nodes, uid)
}

// asBound is the pod as the informers will show it.
func (l *landed) asBound(object *v1.Pod) *v1.Pod {
	l.mu.Lock()
	defer l.mu.Unlock()
	node := l.nodes[object.UID]
	if node == "" || object.Spec.NodeName != "" {
		return object
	}
	bound := *object
	bound.Spec.NodeName = node
	return &bound
}
