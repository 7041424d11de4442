package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// This file writes the status of pods that wait, which is the condition PodScheduled and the node that is
// nominated for them, and conditions of other objects (conditions.go). It does so on goroutines of its own, one request for a pod at a time.

// writers is how many pods' statuses are written at the same time.
const writers = 8

// writer writes conditions. What is put about a pod replaces what has not been
// written about it yet.
type writer struct {
	mu      sync.Mutex
	pending map[types.UID]condition
	writing map[types.UID]bool
	order   []types.UID
	wake    *sync.Cond
	stopped bool
	mute    bool // in a shadow, which says nothing of pods
}

// condition is what is to be written of a pod, or of another object.
type condition struct {
	pod *v1.Pod
	// object and told are of another object; nothing else is said then.
	object *conditioned
	told   stand
	// written is an account of a workload, or what is said of a constraint, or to whom a class is kept; nothing else is said then.
	written written
	// reason and message are those of PodScheduled, which stays as it is without a reason.
	reason, message string
	// nominated is the node to be nominated, empty for none; nil leaves it as it is.
	nominated *string
}

// written is what one request writes as a whole.
type written interface {
	key() types.UID        // by which one follows the other
	write(*Scheduler) bool // reports whether that needs no repetition
	unwritten(*Scheduler)  // has it said again
}

func (w *writer) start(s *Scheduler) {
	w.pending, w.writing, w.wake = map[types.UID]condition{}, map[types.UID]bool{}, sync.NewCond(&w.mu)
	for range writers {
		go func() {
			for c, ok := w.next(); ok; c, ok = w.next() {
				done := c.write(s)
				if !done || c.nominated != nil {
					s.inbox.put(func() { s.explainer.wrote(s, c, done) })
				}
				w.wrote(c.of())
			}
		}()
	}
}

func (w *writer) put(c condition) {
	if w.mute {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before, waits := w.pending[c.of()]
	if !waits {
		w.order = append(w.order, c.of())
	}
	if c.nominated == nil {
		c.nominated = before.nominated
	}
	if c.reason == "" {
		c.reason, c.message = before.reason, before.message
	}
	w.pending[c.of()] = c
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

// write sets the pod's condition, unless it says the same already, and its nominated node, and
// reports whether that needs no repetition. The API server refuses what says more than that no node
// is nominated if the pod has changed since: it may be bound by now.
func (c *condition) write(s *Scheduler) bool {
	if c.object != nil {
		return c.object.write(s, c.told)
	}
	if c.written != nil {
		return c.written.write(s)
	}
	meta, status := map[string]any{"uid": c.pod.UID}, map[string]any{}
	if c.reason != "" && !c.said() {
		status["conditions"] = []v1.PodCondition{{
			Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: c.reason, Message: c.message,
			LastTransitionTime: metav1.NewTime(s.Clock.Now()), ObservedGeneration: c.pod.Generation,
		}}
		meta["resourceVersion"] = c.pod.ResourceVersion
	}
	switch {
	case c.nominated == nil:
	case *c.nominated == "":
		status["nominatedNodeName"] = nil
	default:
		status["nominatedNodeName"] = *c.nominated
		meta["resourceVersion"] = c.pod.ResourceVersion
	}
	if len(status) == 0 {
		return true
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta, "status": status})
	if err != nil {
		panic(fmt.Sprintf("scheduler: a status does not marshal: %v", err))
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

// of is the uid of what it is written of.
func (c *condition) of() types.UID {
	if c.object != nil {
		return c.object.GetUID()
	}
	if c.written != nil {
		return c.written.key()
	}
	return c.pod.UID
}

// said reports whether the pod's condition says the same already.
func (c *condition) said() bool {
	for _, has := range c.pod.Status.Conditions {
		if has.Type == v1.PodScheduled && has.Status == v1.ConditionFalse && has.Reason == c.reason && has.Message == c.message {
			return true
		}
	}
	return false
}
