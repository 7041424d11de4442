package scheduler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
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
	// Binds that were begun and have no outcome: those whose volumes or devices
	// are being prepared, which may take minutes, and those that wait until few enough of
	// a round beside the core are under way, neither of which may keep others waiting;
	// and those that the API server owes an answer.
	preparing, queued, sent int
	all                     sync.WaitGroup
	departures              departures
	executions              executions
	flights                 map[*world.Pod]*flight // binds without an outcome; they are the loop's
	caution                 *caution
	rooms                   map[*flight]bool // binds that wait until others have become smaller; they are the loop's

	// life ends with the lease, and when a scheduler that stops has waited long
	// enough: what is not sent by then must not be sent after the next leader has
	// taken over.
	life context.Context //nolint:containedctx // of all binds, not of a call
	end  context.CancelFunc
}

func newBinder(s *Scheduler) *binder {
	return &binder{s: s, workers: make(chan struct{}, s.Config.BindWorkers), departures: departures{}, executions: executions{}, flights: map[*world.Pod]*flight{}, caution: newCaution(), rooms: map[*flight]bool{}}
}

// begin lets binds be sent until drain, or until the lease ends. Those that were
// decided are carried through also while the scheduler stops.
func (b *binder) begin(lease context.Context) {
	b.life, b.end = context.WithCancel(lease)
}

func (b *binder) inFlight() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.preparing + b.queued + b.sent
}

// room is how many more binds may be under way, and for how many more pods volumes
// and devices may be prepared. Binds are not positive while the API server is
// behind.
func (b *binder) room() (binds, preparations int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := congestion * cap(b.workers)
	return most - b.sent, most - b.preparing
}

func (b *binder) add(preparing, queued, sent int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.preparing += preparing
	b.queued += queued
	b.sent += sent
}

// ready counts a bind that has nothing to prepare, or has prepared it, and no more than that.
func (b *binder) ready(f *flight, prepared int) {
	if f.beside {
		b.add(-prepared, 1, 0)
	} else {
		b.add(-prepared, 0, 1)
	}
}

// answered counts a bind no more.
func (b *binder) answered(f *flight) {
	if f.beside && !f.sent {
		b.add(0, -1, 0)
	} else {
		b.add(0, 0, -1)
	}
}

// flight is one bind, with all that its goroutine may look at.
type flight struct {
	errand
	pod         *world.Pod // to be handed back to the loop, not to be read
	object      *v1.Pod
	node        string
	reservation *judge.Reservation
	began       time.Time
	cancel      context.CancelFunc // ends whatever it waits for
	company     *company           // of its gang; nil if it is bound by itself
	room        chan error         // tells that its room is there, or will not be; nil if it is already
	unprepared  bool               // it was given up before its bind was to be sent
	how         string             // it was placed, in words, where more can be said than that it was; it is the loop's
	doubtful    bool               // nobody knows what was written of what it was to be prepared with
	beside      bool               // a round beside the core placed it
	sent        bool               // and it was its turn to be sent
}

// bind sends the pod, which is assumed, to its node, with its company if it has one; in a shadow it is noted. It returns at once.
func (b *binder) bind(ctx context.Context, p *world.Pod, with *company) {
	if notes := notesOf(b.s); notes != nil {
		notes.Note(p)
		return
	}
	b.s.explainer.writer.drop(p.Object().UID)
	life, cancel := context.WithCancel(b.life)
	f := &flight{pod: p, object: p.Object(), node: p.Node(), reservation: p.Reservation(), began: b.s.Clock.Now(), cancel: cancel, company: with, beside: b.s.epochs.beside.binding}
	b.flights[p] = f
	holdForRoom(b, f)
	if f.prepares() {
		b.add(1, 0, 0)
	} else {
		b.ready(f, 0)
	}
	b.s.Metrics.Binds.Began()
	b.all.Go(func() {
		defer cancel()
		err := b.carry(life, f)
		if err == nil {
			b.s.intake.landed.add(f.object.UID, f.node)
		}
		b.answered(f)
		b.s.Metrics.Binds.Ended(resultOf(err), b.s.Clock.Since(f.began))
		f.company.together(func() { b.s.bound(ctx, f, err) }, b.s.inbox.put)
	})
}

// carry does all that binding takes. The pod is bound to the node exactly if it
// returns nil; else what was set aside for it is given back, as far as the plugins that
// did it can.
func (b *binder) carry(ctx context.Context, f *flight) error {
	panicked, err := b.survive(ctx, f, func() error {
		if err := b.prepare(ctx, f); err != nil {
			f.unprepared = true
			return err
		}
		return b.deliver(ctx, f)
	})
	switch {
	case f.isCalledBack():
		ctx, err = b.life, errCalledBack // its own has ended
	case panicked: // nobody knows how far it came
		err = b.lookUp(ctx, f, err)
	}
	_, _ = b.survive(ctx, f, func() error {
		if err != nil {
			b.giveBack(ctx, f)
		} else {
			f.reservation.PostBind(ctx)
		}
		return nil
	})
	return err
}

// survive does a part of the work, and returns a panic of a plugin as an error.
func (b *binder) survive(ctx context.Context, f *flight, work func() error) (panicked bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			b.s.Metrics.Cluster.Panicked("bind")
			klog.FromContext(ctx).Error(nil, "binding a pod panicked", "pod", klog.KObj(f.object), "node", f.node, "panic", cause, "stack", string(debug.Stack()))
			panicked, err = true, fmt.Errorf("upstream's plugins panicked: %v", cause)
		}
	}()
	return false, work()
}

// prepares reports whether its bind has to wait for something.
func (f *flight) prepares() bool { return !f.reservation.Empty() || f.company != nil || f.room != nil }

// prepare waits for the volumes and devices that were set aside, for the pod and the others of its company. From then on the
// API server owes the bind.
func (b *binder) prepare(ctx context.Context, f *flight) (err error) {
	if !f.prepares() {
		return nil
	}
	defer b.ready(f, 1)
	said := false
	defer func() {
		if f.company != nil && !said { // a plugin panicked
			f.company.prepared(errors.New("upstream's plugins panicked"))
		}
	}()
	own, done := f.company.preparing(ctx)
	err = b.setAside(own, f)
	f.doubtful = err != nil && !refusedAtOnce(err) && !apierrors.IsConflict(err)
	done()
	said = true
	return f.company.agree(ctx, err)
}

// setAside writes what was set aside for the pod, once its room is there.
func (b *binder) setAside(ctx context.Context, f *flight) error {
	if err := f.awaitRoom(ctx); err != nil {
		return err
	}
	if f.reservation.Empty() {
		return nil
	}
	if err := b.fence(ctx); err != nil {
		return err
	}
	leased, end := whileHeld(ctx, b.s)
	defer end()
	if status := f.reservation.PreBind(leased); !status.IsSuccess() {
		return fmt.Errorf("prepare volumes and devices: %w", status.AsError())
	}
	return nil
}

// deliver sends the bind until its outcome is known, but not for ever.
func (b *binder) deliver(ctx context.Context, f *flight) error {
	done, err := b.caution.take(ctx, f.beside)
	if err != nil {
		return err
	}
	defer done()
	if f.beside {
		f.sent = true
		b.add(0, -1, 1)
	}
	if err := b.takeWorker(ctx); err != nil {
		return err
	}
	defer b.giveWorker()
	for try := 1; ; try++ {
		err := b.send(ctx, f)
		if err == nil || isFinal(err) || try == bindTries {
			return err
		}
		pause, _ := overloaded(err)
		if refusedAtOnce(err) {
			f.refused()
		}
		if !b.sleep(ctx, pause) {
			return err
		}
	}
}

// takeWorker waits until one more request may be under way.
func (b *binder) takeWorker(ctx context.Context) error {
	select {
	case b.workers <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *binder) giveWorker() { <-b.workers }

// sleep waits, and reports whether there is life left after that.
func (b *binder) sleep(ctx context.Context, pause time.Duration) bool {
	if pause > 0 {
		select {
		case <-ctx.Done():
		case <-b.s.Clock.After(pause):
		}
	}
	return ctx.Err() == nil
}

// errElsewhere says that somebody else bound the pod first.
var errElsewhere = errors.New("bound to another node")

// errGone says that the pod is not there any more.
var errGone = errors.New("the pod is gone")

func isFinal(err error) bool {
	return errors.Is(err, errElsewhere) || errors.Is(err, errGone) || errors.Is(err, errCalledBack)
}

// send makes one request, and finds out what it did if the answer does not say.
func (b *binder) send(ctx context.Context, f *flight) error {
	request, cancel, err := newRequest(ctx, b)
	if err != nil {
		return err
	}
	defer cancel()
	if !f.dispatch() {
		return errCalledBack
	}
	err = b.s.Client.CoreV1().Pods(f.object.Namespace).Bind(request, &v1.Binding{
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
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsTooManyRequests(err)
}

// longestPause bounds how long an API server that has too much to do is left
// alone at its wish, so that a worker is not lost to a wish for a day.
const longestPause = 30 * time.Second

// overloaded reports whether the API server did nothing since it has too much to
// do, and for how long it wants to be left alone. Budgets of disruptions refuse
// with the same status; those say so.
func overloaded(err error) (time.Duration, bool) {
	seconds, said := apierrors.SuggestsClientDelay(err)
	if !said || !apierrors.IsTooManyRequests(err) || apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		return 0, false
	}
	return min(time.Duration(seconds)*time.Second, longestPause), true
}

// firstLook is how long a request that was given up may still be on its way when
// the pod is read for the first time.
const firstLook = 500 * time.Millisecond

// lookUp finds out what became of the bind.
func (b *binder) lookUp(ctx context.Context, f *flight, cause error) error {
	pod, err := b.read(ctx, f.object, cause)
	switch {
	case err != nil:
		return err
	case pod.Spec.NodeName == f.node:
		return nil
	case pod.Spec.NodeName != "":
		return fmt.Errorf("%w, %s: %w", errElsewhere, pod.Spec.NodeName, cause)
	}
	return cause
}

// read reads the pod until the API server says what became of it after a request whose outcome is not known, as the cause says. It returns an error
// if the pod is gone, and the cause if there is no life left.
func (b *binder) read(ctx context.Context, object *v1.Pod, cause error) (*v1.Pod, error) {
	for pause := firstLook; ; pause = min(2*pause, 5*time.Second) {
		if !b.sleep(ctx, pause) {
			return nil, cause
		}
		request, cancel := context.WithTimeout(ctx, b.s.Config.BindTimeout.Duration)
		pod, err := b.s.Client.CoreV1().Pods(object.Namespace).Get(request, object.Name, metav1.GetOptions{})
		cancel()
		switch {
		case apierrors.IsNotFound(err), err == nil && pod.UID != object.UID:
			return nil, fmt.Errorf("%w: %w", errGone, cause)
		case err == nil:
			return pod, nil
		}
		klog.FromContext(ctx).V(2).Info("cannot read what became of a pod; will read again", "pod", klog.KObj(object), "cause", cause, "err", err)
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
func (s *Scheduler) bound(ctx context.Context, f *flight, err error) {
	s.subject.handling(f.object)
	delete(s.binder.rooms, f)
	if s.binder.flights[f.pod] == f {
		delete(s.binder.flights, f.pod)
	}
	profile := f.object.Spec.SchedulerName
	if errors.Is(err, errCalledBack) {
		s.world.Binds().CalledBack(f.pod)
		s.world.MarkDirty() // what was set aside for it is free again
		return
	}
	if err != nil {
		klog.FromContext(ctx).V(1).Info("a pod was not bound", "pod", klog.KObj(f.object), "node", f.node, "err", err)
		s.Metrics.Pods.Attempted(metrics.Failed, profile, s.Clock.Since(f.began))
		s.world.Binds().Failed(f.pod)
		s.world.MarkDirty() // what was set aside for it is free again
		if !isFinal(err) {  // else it is bound or gone: nothing is wrong with it
			s.explainer.failed(s, f, err)
		}
		return
	}
	s.Metrics.Pods.Attempted(metrics.Scheduled, profile, s.Clock.Since(f.began))
	s.Metrics.Pods.Bound(1+f.pod.Refusals, time.Duration(s.now()-f.pod.Ready)*time.Microsecond)
	s.world.Binds().Started(f.pod)
	s.explainer.forgetFor(s, f.object.UID)
	s.recorders[profile].scheduled(f.object, f.node, f.how)
}

func resultOf(err error) metrics.BindResult {
	switch {
	case err == nil:
		return metrics.BindBound
	case errors.Is(err, errCalledBack):
		return metrics.BindCalledBack
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
