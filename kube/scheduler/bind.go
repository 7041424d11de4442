package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/kube/judge"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/world"
)

// This file sends binds to the API server. A bind ends in one of two ways: the
// pod is bound to our node, or it is known not to be. An answer that tells
// neither, such as a timeout, is followed by reads until one does; until then
// the pod counts as being on its node. The API server binds a pod once, so that
// asking twice does no harm.

// congestion is how many binds for each worker may be under way before rounds
// pause: what is decided later is decided on better knowledge.
const congestion = 8

// bindTries is how often a bind that did not come through is sent.
const bindTries = 3

type binder struct {
	s       *Scheduler
	workers chan struct{} // one token for each request under way
	mu      sync.Mutex
	flying  int // binds that were begun and have no outcome
	sent    int // those of them that do not wait for volumes or devices
	all     sync.WaitGroup

	// life ends when a scheduler that stops has waited long enough: what is not
	// sent by then must not be sent after the next leader has taken over.
	life context.Context //nolint:containedctx // of all binds, not of a call
	end  context.CancelFunc
}

func newBinder(s *Scheduler) *binder {
	return &binder{s: s, workers: make(chan struct{}, s.Config.BindWorkers)}
}

// begin lets binds be sent until drain. Those that were decided are carried
// through also while the scheduler stops.
func (b *binder) begin(ctx context.Context) {
	b.life, b.end = context.WithCancel(context.WithoutCancel(ctx))
}

func (b *binder) inFlight() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.flying
}

// room is how many more binds may be under way. It is not positive while the API
// server is behind.
func (b *binder) room() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return congestion*cap(b.workers) - b.sent
}

func (b *binder) add(flying, sent int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flying += flying
	b.sent += sent
}

// flight is one bind, with all that its goroutine may look at.
type flight struct {
	pod         *world.Pod // to be handed back to the loop, not to be read
	object      *v1.Pod
	node        string
	reservation *judge.Reservation
	began       time.Time
}

// bind sends the pod, which is assumed, to its node. It returns at once.
func (b *binder) bind(ctx context.Context, p *world.Pod) {
	b.s.explainer.writer.drop(p.Object().UID)
	f := flight{pod: p, object: p.Object(), node: p.Node(), reservation: p.Reservation(), began: b.s.Clock.Now()}
	b.add(1, 1)
	b.s.Metrics.Binds.Began()
	b.all.Go(func() {
		err := b.carry(b.life, f)
		b.add(-1, -1)
		b.s.Metrics.Binds.Ended(resultOf(err), b.s.Clock.Since(f.began))
		b.s.inbox.put(func() { b.s.bound(ctx, f, err) })
	})
}

// carry does all that binding takes. The pod is bound to the node exactly if it
// returns nil.
func (b *binder) carry(ctx context.Context, f flight) error {
	if err := b.prepare(ctx, f); err != nil {
		return err
	}
	b.workers <- struct{}{}
	defer func() { <-b.workers }()
	var err error
	for range bindTries {
		if ctx.Err() != nil {
			err = ctx.Err()
			break
		}
		if err = b.send(ctx, f); err == nil {
			f.reservation.PostBind(ctx)
			return nil
		}
		if isFinal(err) {
			break
		}
	}
	f.reservation.Unreserve(ctx)
	return err
}

// prepare waits for the volumes and devices that were set aside. It may take
// minutes, in which the pod does not count as a bind that the API server owes.
func (b *binder) prepare(ctx context.Context, f flight) error {
	if f.reservation.Empty() {
		return nil
	}
	b.add(0, -1)
	defer b.add(0, 1)
	if status := f.reservation.PreBind(ctx); !status.IsSuccess() {
		f.reservation.Unreserve(ctx)
		return fmt.Errorf("prepare volumes and devices: %w", status.AsError())
	}
	return nil
}

// errElsewhere says that somebody else bound the pod first.
var errElsewhere = errors.New("bound to another node")

// errGone says that the pod is not there any more.
var errGone = errors.New("the pod is gone")

func isFinal(err error) bool { return errors.Is(err, errElsewhere) || errors.Is(err, errGone) }

// send makes one request, and finds out what it did if the answer does not say.
func (b *binder) send(ctx context.Context, f flight) error {
	request, cancel := context.WithTimeout(ctx, b.s.Config.BindTimeout.Duration)
	defer cancel()
	err := b.s.Client.CoreV1().Pods(f.object.Namespace).Bind(request, &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.object.Namespace, Name: f.object.Name, UID: f.object.UID},
		Target:     v1.ObjectReference{Kind: "Node", Name: f.node},
	}, metav1.CreateOptions{})
	b.s.Metrics.Binds.Wrote("pods/binding", "create", outcome(err))
	if err == nil {
		return nil
	}
	if refusedAtOnce(err) {
		return err
	}
	b.s.Metrics.Binds.Ambiguous()
	return b.lookUp(ctx, f, err)
}

// refusedAtOnce reports whether the API server said that it did nothing.
func refusedAtOnce(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// firstLook is how long a request that was given up may still be on its way when
// the pod is read for the first time.
const firstLook = 500 * time.Millisecond

// lookUp reads the pod until the API server says what became of the bind.
func (b *binder) lookUp(ctx context.Context, f flight, cause error) error {
	for pause := firstLook; ; pause = min(2*pause, 5*time.Second) {
		select {
		case <-ctx.Done():
			return cause
		case <-b.s.Clock.After(pause):
		}
		request, cancel := context.WithTimeout(ctx, b.s.Config.BindTimeout.Duration)
		pod, err := b.s.Client.CoreV1().Pods(f.object.Namespace).Get(request, f.object.Name, metav1.GetOptions{})
		cancel()
		switch {
		case apierrors.IsNotFound(err), err == nil && pod.UID != f.object.UID:
			return fmt.Errorf("%w: %w", errGone, cause)
		case err != nil:
			klog.FromContext(ctx).V(2).Info("cannot read what became of a bind; will read again",
				"pod", klog.KObj(f.object), "node", f.node, "cause", cause, "err", err)
		case pod.Spec.NodeName == f.node:
			return nil
		case pod.Spec.NodeName != "":
			return fmt.Errorf("%w, %s: %w", errElsewhere, pod.Spec.NodeName, cause)
		default:
			return cause
		}
	}
}

// drain waits until all binds have their outcome, but no longer than the limit.
// After it, no bind is sent.
func (b *binder) drain(limit time.Duration) {
	defer b.end()
	done := make(chan struct{})
	go func() {
		b.all.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-b.s.Clock.After(limit):
	}
}

// bound takes the outcome of a bind to the world.
func (s *Scheduler) bound(ctx context.Context, f flight, err error) {
	profile := f.object.Spec.SchedulerName
	if err != nil {
		klog.FromContext(ctx).V(1).Info("a pod was not bound", "pod", klog.KObj(f.object), "node", f.node, "err", err)
		s.Metrics.Pods.Attempted(metrics.Failed, profile, s.Clock.Since(f.began))
		s.world.Failed(f.pod)
		s.world.Stir()     // what was set aside for it is free again
		if !isFinal(err) { // else it is bound or gone: nothing is wrong with it
			s.explainer.failed(f, err)
		}
		return
	}
	s.Metrics.Pods.Attempted(metrics.Scheduled, profile, s.Clock.Since(f.began))
	s.Metrics.Pods.Bound(1+f.pod.Refusals, time.Duration(s.now()-f.pod.Ready)*time.Microsecond)
	s.world.Started(f.pod)
	s.explainer.forgetFor(s, f.object.UID)
	s.recorders[profile].scheduled(f.object, f.node)
}

func resultOf(err error) metrics.BindResult {
	switch {
	case err == nil:
		return metrics.BindBound
	case isFinal(err) || apierrors.IsConflict(err):
		return metrics.BindConflict
	case errors.Is(err, context.DeadlineExceeded) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err):
		return metrics.BindTimeout
	}
	return metrics.BindError
}

// outcome is the result of a request in one word, to count by.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return string(reason)
	}
	return "no answer"
}
