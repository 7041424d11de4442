package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/world"
	"fairlead.dev/fairlead/sched"
)

// This file has pods leave: by the Eviction API, which honours PodDisruptionBudgets; or, where a profile overrules these to make room for
// another pod, in kube-scheduler's way, which is to say so in the pod's condition DisruptionTarget and to delete it. Moves honour budgets in either
// case, as nobody needs them. Whom to ask for and when is package world's; that a pod
// is gone is seen as of any other. Asking twice does no harm: each request names
// the pod by its uid.

// departure is one eviction, with all that its goroutine may look at.
type departure struct {
	pod    *world.Pod // to be handed back to the loop, not to be read
	object *v1.Pod
	node   string
	moves  bool
	by     *preemptor // for whom room is made; nil if that is not known
	anyhow bool       // whatever budgets say
	errand
}

// departures are the evictions that were asked for and have no outcome. They are the loop's.
type departures map[*world.Pod]*departure

// Waits reports whether the eviction of the pod waits to be sent.
func (d departures) Waits(p *world.Pod) bool { return d[p] != nil && d[p].waits() }

// CallBack takes it back, unless it has been sent by now.
func (d departures) CallBack(p *world.Pod) bool { return d[p] != nil && d[p].callBack() }

// dismiss takes back the evictions that have become needless, and asks for those whose time has
// come. Others are told for whom. Who is not bound yet is not asked: its bind is called back.
func (s *Scheduler) dismiss(ctx context.Context) {
	if notesOf(s) != nil {
		return // nobody leaves
	}
	s.world.Exits().TakeBack(s.epochs.core.Ledger(), s.epochs.core.View(), s.binder.departures)
	for _, p := range s.world.Exits().CallBack(s.binder.callBack) {
		d, _ := s.departure(p)
		s.recorderOf(d.object).evictedUnbound(d)
	}
	for _, p := range s.world.Exits().Dismiss() {
		d, by := s.departure(p)
		if by != nil {
			s.explainer.nominate(s, by)
		}
		s.binder.evict(ctx, d)
	}
	s.explainer.follow(s)
}

// departure is the eviction of a pod that was decided to leave, and the pod for which it makes room; nil if that is not known.
func (s *Scheduler) departure(p *world.Pod) (d *departure, by *world.Pod) {
	d = &departure{pod: p, object: p.Object(), node: p.Node()}
	purpose, _ := s.epochs.core.Ledger().Leaving(p.Task())
	t, serves := purpose.Serves()
	if !serves || s.epochs.core.View().Task(t).Seq != purpose.Seq { // the row is another's by now
		return d, nil
	}
	by = s.world.Of(t)
	if by == p {
		d.moves = true
		return d, nil
	}
	if by != nil {
		d.by, d.anyhow = preemptorOf(by), s.world.Exits().Overrules(p)
	}
	return d, by
}

// leave takes decisions to evict to the world.
func (s *Scheduler) leave(decisions []sched.Decision) {
	if notes := notesOf(s); notes != nil {
		spare(notes, decisions)
		return
	}
	for _, d := range decisions {
		if d.Kind == sched.Evict {
			s.world.Exits().Evict(d)
		}
	}
}

// evict sends the request and returns at once.
func (b *binder) evict(ctx context.Context, d *departure) {
	b.departures[d.pod] = d
	b.executions.begin(d, b.s.Clock.Now())
	b.all.Go(func() {
		err := b.dismiss(b.life, d)
		b.s.Metrics.Evictions.Ended(evictionResult(err))
		b.s.inbox.put(func() { b.s.dismissed(ctx, d, err) })
	})
}

// dismiss asks until it is known what came of it, but not for ever. An API server that is away has refused nothing: were others told to leave instead, those who
// were told before would leave in vain.
func (b *binder) dismiss(ctx context.Context, d *departure) error {
	if err := b.takeWorker(ctx); err != nil {
		return err
	}
	defer b.giveWorker()
	for try := 1; ; try++ {
		if !d.dispatch() {
			return errCalledBack
		}
		err := b.sendAway(ctx, d)
		pause, busy := overloaded(err)
		if err != nil && !answered(err) && b.fence(ctx) == nil {
			err = b.lookAfter(ctx, d, err)
		}
		if err == nil || answered(err) && !busy || try == bindTries || b.fence(ctx) != nil {
			return err
		}
		d.refused() // nothing was done, and it may be called back
		if busy {
			b.sleep(ctx, max(pause, firstLook))
		}
	}
}

// lookAfter finds out whether the pod was told to leave.
func (b *binder) lookAfter(ctx context.Context, d *departure, cause error) error {
	pod, err := b.read(ctx, d.object, cause)
	if err == nil && pod.DeletionTimestamp == nil {
		return cause
	}
	return err
}

// sendAway sends what has the pod leave.
func (b *binder) sendAway(ctx context.Context, d *departure) error {
	request, cancel, err := newRequest(ctx, b)
	if err != nil {
		return err
	}
	defer cancel()
	how := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(d.object.UID))}
	if !d.anyhow {
		err := b.s.Client.PolicyV1().Evictions(d.object.Namespace).Evict(request, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: d.object.Namespace, Name: d.object.Name},
			DeleteOptions: &how,
		})
		b.s.Metrics.Binds.Wrote("pods/eviction", "create", outcome(err))
		return err
	}
	if err := b.reportDisrupted(request, d); err != nil {
		return err
	}
	if err := b.fence(ctx); err != nil {
		return err
	}
	err = b.s.Client.CoreV1().Pods(d.object.Namespace).Delete(request, d.object.Name, how)
	b.s.Metrics.Binds.Wrote("pods", "delete", outcome(err))
	return err
}

// reportDisrupted writes on the pod why it is about to be deleted, in kube-scheduler's words, by which owners tell that from a failure.
func (b *binder) reportDisrupted(ctx context.Context, d *departure) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": d.object.UID},
		"status": map[string]any{"conditions": []v1.PodCondition{{
			Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler,
			Message:            fmt.Sprintf("%s: preempting to accommodate a higher priority %s", d.by.pod.Spec.SchedulerName, d.by.kind),
			LastTransitionTime: metav1.NewTime(b.s.Clock.Now()), ObservedGeneration: d.object.Generation,
		}}},
	})
	if err != nil {
		panic("scheduler: a status does not marshal: " + err.Error())
	}
	_, err = b.s.Client.CoreV1().Pods(d.object.Namespace).Patch(ctx, d.object.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	b.s.Metrics.Binds.Wrote("pods/status", "patch", outcome(err))
	return err
}

// answered reports whether the error says that the pod was not evicted.
func answered(err error) bool {
	return refusedAtOnce(err) || apierrors.IsNotFound(err) || isGone(err) || apierrors.IsConflict(err)
}

// isGone reports whether the error says that the pod is not there. Without policy/v1 the API server answers each eviction with the same code, as it finds no budgets.
func isGone(err error) bool {
	answer, is := errors.AsType[*apierrors.StatusError](err)
	return errors.Is(err, errGone) || is && apierrors.IsNotFound(err) && answer.ErrStatus.Details != nil && answer.ErrStatus.Details.Kind == "pods"
}

func evictionResult(err error) metrics.EvictionResult {
	_, busy := overloaded(err)
	switch {
	case errors.Is(err, errCalledBack):
		return metrics.EvictionCalledBack
	case err == nil:
		return metrics.Evicted
	case busy:
		return metrics.EvictionError
	case apierrors.IsTooManyRequests(err):
		return metrics.EvictionRefused
	case isGone(err), apierrors.IsConflict(err):
		return metrics.EvictionGone
	}
	return metrics.EvictionError
}

// dismissed takes the outcome of a request to the world.
func (s *Scheduler) dismissed(ctx context.Context, d *departure, err error) {
	s.subject.handling(d.object)
	if s.binder.departures[d.pod] == d {
		delete(s.binder.departures, d.pod)
	}
	s.binder.executions.end(s, d, evictionResult(err))
	switch {
	case errors.Is(err, errCalledBack): // the world knows, and may have asked for the pod again
	case err == nil:
		s.recorderOf(d.object).evicted(d)
	case isGone(err): // the watch will show it
	default:
		klog.FromContext(ctx).V(1).Info("a pod was not evicted", "pod", klog.KObj(d.object), "node", d.node, "err", err)
		s.explainer.refusedByBudget(s, d, err)
		s.world.Exits().Stays(d.pod)
	}
}

// evicted reports a pod that was evicted, as kube-scheduler does.
func (r recorder) evicted(d *departure) {
	switch {
	case d.moves:
		r.Eventf(d.object, nil, v1.EventTypeNormal, "Moved", "Evicting", "Evicted from node %s so that its next pod can stand elsewhere", d.node)
	case d.by == nil:
		r.Eventf(d.object, nil, v1.EventTypeNormal, "Preempted", "Preempting", "Preempted on node %s", d.node)
	default:
		r.Eventf(d.object, d.by.object, v1.EventTypeNormal, "Preempted", "Preempting", "Preempted by %s %s on node %s", d.by.kind, d.by.uid, d.node)
	}
}

// evictedUnbound reports a pod whose bind was called back for another one, as kube-scheduler does of those that it has not bound yet.
func (r recorder) evictedUnbound(d *departure) {
	if d.by != nil {
		r.Eventf(d.object, d.by.object, v1.EventTypeNormal, "Preempted", "Preempting", "Preempted by %s %s on node %s (in fairlead-scheduler memory).", d.by.kind, d.by.uid, d.node)
	}
}

// recorderOf is whose events a pod has that leaves: those of another scheduler leave for default-scheduler's.
func (s *Scheduler) recorderOf(pod *v1.Pod) recorder {
	if r, ours := s.recorders[pod.Spec.SchedulerName]; ours {
		return r
	}
	return s.recorders[v1.DefaultSchedulerName]
}
