package testbed

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// tracker notes when each pod of a load was created and when it was bound, or said to fit nowhere.
type tracker struct {
	want int // pods of the load

	mu    sync.Mutex
	sent  map[string]time.Time // by name; when the create request was sent, if the load sends it
	seen  milestone            // the watcher has heard of the pod
	bound milestone            // and that it has a node
	unfit milestone            // or that a scheduler found none for it
}

// milestone is something that all pods go through.
type milestone struct {
	verb    string
	at      map[string]time.Time // by name of the pod
	reached chan struct{}        // closed when all pods have
}

func newTracker(want int) *tracker {
	return &tracker{
		want:  want,
		sent:  map[string]time.Time{},
		seen:  milestone{"seen", map[string]time.Time{}, make(chan struct{})},
		bound: milestone{"bound", map[string]time.Time{}, make(chan struct{})},
		unfit: milestone{"said to fit nowhere", map[string]time.Time{}, make(chan struct{})},
	}
}

// send notes that a pod is about to be created.
func (t *tracker) send(pod string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent[pod] = time.Now()
}

// watch observes the pods of a label until the context ends.
func (t *tracker) watch(ctx context.Context, client kubernetes.Interface, selector string) error {
	return FollowPods(ctx, client.CoreV1().Pods(metav1.NamespaceDefault), selector, func(pod *corev1.Pod, gone bool) {
		if !gone {
			t.observe(pod)
		}
	})
}

func (t *tracker) observe(pod *corev1.Pod) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen.note(pod.Name, now, t.want)
	if pod.Spec.NodeName != "" {
		t.bound.note(pod.Name, now, t.want)
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			t.unfit.note(pod.Name, now, t.want)
		}
	}
}

// note keeps the first time for each pod.
func (m milestone) note(pod string, now time.Time, want int) {
	if _, ok := m.at[pod]; ok {
		return
	}
	m.at[pod] = now
	if len(m.at) == want {
		close(m.reached)
	}
}

// created is when a pod was sent or, if a controller did that, first seen.
// Requires the lock.
func (t *tracker) created(pod string) time.Time {
	if sent, ok := t.sent[pod]; ok {
		return sent
	}
	return t.seen.at[pod]
}

// await waits for a milestone, as long as it comes nearer.
func (t *tracker) await(ctx context.Context, m milestone) error {
	count := func() int {
		t.mu.Lock()
		defer t.mu.Unlock()
		return len(m.at)
	}
	last, since := count(), time.Now()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-m.reached:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("test bed: %d of %d pods were %s: %w", count(), t.want, m.verb, context.Cause(ctx))
		case <-ticker.C:
		}
		if n := count(); n != last {
			last, since = n, time.Now()
		} else if time.Since(since) > stalled {
			return fmt.Errorf("test bed: %d of %d pods were %s, and none for %s; "+
				"look at the scheduler's log, and whether the nodes have room", n, t.want, m.verb, stalled)
		}
	}
}
