package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/world"
)

// This file reports to people and autoscalers why a pod is not placed: as its
// condition PodScheduled and as an event, in kube-scheduler's grammar, followed
// by a sentence of our own. To find the words takes a look at every node, so
// pods queue for it, those that request the same share one look, and the loop spends
// no more than a little of each turn on it. A pod that goes on waiting is
// looked at again once in a while, as its reasons change.

const (
	explainingLasts = 10 * time.Millisecond
	explainAgain    = cluster.Minute
	// writers is how many conditions are written at the same time.
	writers = 8
)

// explainer belongs to the loop, except for what the writers share.
type explainer struct {
	queue    []*world.Pod
	queued   map[types.UID]bool
	reported map[types.UID]verdict
	again    []reminder         // the earliest first; one for each pod at most
	due      map[types.UID]bool // pods that again has
	cached   map[string]explanation
	asOf     uint64 // world's changes when the cache was filled
	writer   writer
}

// verdict is what was reported last about a pod.
type verdict struct {
	message string
	plugins sets.Set[string]
	profile string
	at      cluster.Time
}

type reminder struct {
	pod *world.Pod
	at  cluster.Time
}

type explanation struct {
	message string
	plugins sets.Set[string]
}

func newExplainer(s *Scheduler) *explainer {
	e := &explainer{queued: map[types.UID]bool{}, due: map[types.UID]bool{}, reported: map[types.UID]verdict{}, cached: map[string]explanation{}}
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

// work explains until its time is over, and reports whether there is more.
func (e *explainer) work(s *Scheduler) bool {
	now := s.now()
	for len(e.again) > 0 && e.again[0].at <= now {
		delete(e.due, e.again[0].pod.Object().UID)
		e.want([]*world.Pod{e.again[0].pod})
		e.again = e.again[1:]
	}
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

// explain reports why the pod waits, if it still does and the reason is new.
func (e *explainer) explain(s *Scheduler, p *world.Pod) {
	s.subject.handling(p.Object())
	uid := p.Object().UID
	if !s.world.Pods().Waits(p) {
		if !s.world.Pods().BacksOff(p) {
			e.forgetFor(s, uid)
		}
		return
	}
	x := e.reasons(s, p)
	last, known := e.reported[uid]
	if !e.due[uid] {
		e.due[uid] = true
		e.again = append(e.again, reminder{p, s.now() + explainAgain})
	}
	if known && (last.message == x.message || s.now() < last.at+explainAgain) {
		return
	}
	e.report(s, p, v1.PodReasonUnschedulable, x)
}

// report reports a pod as an event and a condition.
func (e *explainer) report(s *Scheduler, p *world.Pod, reason string, x explanation) {
	uid, profile := p.Object().UID, p.Object().Spec.SchedulerName
	if _, known := e.reported[uid]; !known {
		s.Metrics.Pods.Attempted(metrics.Unschedulable, profile, 0)
	}
	e.forgetFor(s, uid)
	e.reported[uid] = verdict{x.message, x.plugins, profile, s.now()}
	for plugin := range x.plugins {
		s.Metrics.Pods.AddUnschedulable(plugin, profile, 1)
	}
	s.recorders[profile].failed(p.Object(), x.message)
	e.writer.put(p.Object(), reason, x.message)
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
	e.report(s, p, reason, explanation{
		message: fmt.Sprintf("0/%d nodes are available: %s.", s.world.Counts().Nodes, status.Message()), plugins: sets.New(status.Plugin()),
	})
}

// reasons returns the words for the pod, from what was reported of its like if the
// world is still the same.
func (e *explainer) reasons(s *Scheduler, p *world.Pod) explanation {
	if p.Why != "" {
		return explanation{message: fmt.Sprintf("0/%d nodes are available: %s.", s.world.Counts().Nodes, p.Why)}
	}
	if asOf := s.world.Changes(); asOf != e.asOf {
		clear(e.cached)
		e.asOf = asOf
	}
	key := s.world.Binds().Likeness(p)
	x, ok := e.cached[key]
	if !ok {
		x = explanation{message: ownWords(s, p)}
		if fit := s.judge.Diagnose(p.Object()); fit != nil {
			x = explanation{message: fit.Error() + " " + x.message, plugins: fit.Diagnosis.UnschedulablePlugins}
		}
		e.cached[key] = x
	}
	return x
}

// ownWords is the sentence that we add.
func ownWords(s *Scheduler, p *world.Pod) string {
	switch task := p.Task(); {
	case p.Stage == world.Waiting && s.epochs.reserved(task):
		n := s.epochs.core.View().Task(task).Node
		return fmt.Sprintf("Fairlead: node %s is kept for it until others have left.", s.epochs.core.View().NodeSpec(n).Name)
	case p.Stage == world.Waiting:
		return "Fairlead: " + s.epochs.core.Why(p.Task()).Text(s.world.Columns().Meanings()) + "."
	}
	if n := s.world.Columns().Uncounted(p); n != "" {
		return fmt.Sprintf("Fairlead: more resources and host ports are in use than are counted, %s among them; pods that ask for it are placed one at a time.", n)
	}
	return "Fairlead: its nodes depend on other pods, volumes or devices; it is tried again when any of these change."
}

// failed reports that a bind went wrong.
func (e *explainer) failed(f flight, err error) {
	e.writer.put(f.object, v1.PodReasonSchedulerError, fmt.Sprintf("binding to node %s failed: %v", f.node, err))
}

// forgetFor drops what was reported about a pod that does not wait any more.
func (e *explainer) forgetFor(s *Scheduler, uid types.UID) {
	if last, ok := e.reported[uid]; ok {
		for plugin := range last.plugins {
			s.Metrics.Pods.AddUnschedulable(plugin, last.profile, -1)
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

// writer writes conditions. What is put about a pod replaces what has not been
// written about it yet.
type writer struct {
	mu      sync.Mutex
	pending map[types.UID]condition
	writing map[types.UID]bool
	order   []types.UID
	wake    *sync.Cond
	stopped bool
}

type condition struct {
	pod             *v1.Pod
	reason, message string
}

func (w *writer) start(s *Scheduler) {
	w.pending, w.writing, w.wake = map[types.UID]condition{}, map[types.UID]bool{}, sync.NewCond(&w.mu)
	for range writers {
		go func() {
			for c, ok := w.next(); ok; c, ok = w.next() {
				if !c.write(s) {
					// It is reported again when the pod is next looked at.
					s.inbox.put(func() { s.explainer.forgetFor(s, c.pod.UID) })
				}
				w.wrote(c.pod.UID)
			}
		}()
	}
}

func (w *writer) put(pod *v1.Pod, reason, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, waits := w.pending[pod.UID]; !waits {
		w.order = append(w.order, pod.UID)
	}
	w.pending[pod.UID] = condition{pod, reason, message}
	w.wake.Signal()
}

func (w *writer) next() (condition, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.stopped {
		if len(w.order) == 0 {
			w.wake.Wait()
			continue
		}
		uid := w.order[0]
		w.order = w.order[1:]
		c, wanted := w.pending[uid]
		if !wanted {
			continue
		}
		if w.writing[uid] { // an older one is on its way; wrote puts it back
			continue
		}
		delete(w.pending, uid)
		w.writing[uid] = true
		return c, true
	}
	return condition{}, false
}

// wrote lets the next condition of the pod be written.
func (w *writer) wrote(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.writing, uid)
	if _, waits := w.pending[uid]; waits {
		w.order = append(w.order, uid)
		w.wake.Signal()
	}
}

// drop takes back what has not been written about a pod that is to be bound.
func (w *writer) drop(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.pending, uid)
}

func (w *writer) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.wake.Broadcast()
}

// write sets the pod's condition, unless it says the same already, and reports
// whether that needs no repetition. The API server refuses it if the pod has
// changed since: it may be bound by now.
func (c *condition) write(s *Scheduler) bool {
	for _, has := range c.pod.Status.Conditions {
		if has.Type == v1.PodScheduled && has.Status == v1.ConditionFalse && has.Reason == c.reason && has.Message == c.message {
			return true
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": c.pod.UID, "resourceVersion": c.pod.ResourceVersion},
		"status": map[string]any{"conditions": []v1.PodCondition{{
			Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: c.reason, Message: c.message,
			LastTransitionTime: metav1.NewTime(s.Clock.Now()), ObservedGeneration: c.pod.Generation,
		}}},
	})
	if err != nil {
		panic(fmt.Sprintf("scheduler: a condition does not marshal: %v", err))
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Config.BindTimeout.Duration)
	defer cancel()
	_, err = s.Client.CoreV1().Pods(c.pod.Namespace).Patch(ctx, c.pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	s.Metrics.Binds.Wrote("pods/status", "patch", outcome(err))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		klog.Background().V(1).Info("cannot write why a pod waits", "pod", klog.KObj(c.pod), "err", err)
	}
	return err == nil || apierrors.IsNotFound(err)
}
