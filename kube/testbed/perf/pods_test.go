package perf

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestPods: which pods a barrier counts, and which a measurement.
func TestPods(t *testing.T) {
	p := newPods()
	see := func(namespace, name, kind, node, reason string, gone bool) {
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name), Labels: map[string]string{"type": kind}}}
		object.Spec.NodeName = node
		if reason != "" {
			object.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Reason: reason, Message: "no room"}}
		}
		p.see(object, gone)
	}
	see("a", "early", "x", "n1", "", false)
	since := time.Now()
	see("a", "waits", "x", "", "", false)
	see("a", "tried", "x", "", "Unschedulable", false)
	see("a", "other", "y", "", "", false)
	see("b", "elsewhere", "x", "n1", "", false)
	see("a", "bound", "x", "", "", false)
	see("a", "bound", "x", "n2", "", false)
	see("a", "gone", "x", "n2", "", false)
	see("a", "gone", "x", "n2", "", true)
	x := group{[]string{"a"}, map[string]string{"type": "x"}}
	if got, want := p.count(x), (tally{bound: 2, attempted: 1, waiting: "a/waits ()"}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	if got := p.count(group{namespaces: []string{"a", "b"}}); got.bound != 3 || got.attempted != 1 {
		t.Errorf("counted %+v of both namespaces, want 3 bound and 1 attempted", got)
	}
	list, elapsed := p.latencies(x, since)
	if len(list) != 2 || elapsed <= 0 || list[0] <= 0 {
		t.Errorf("measured %v in %v; want that which was bound since, and that which is gone", list, elapsed)
	}
	if names := p.named(x); len(names) != 4 {
		t.Errorf("there are %q, want 4", names)
	}
	if names := p.boundIn("a"); len(names) != 2 {
		t.Errorf("bound are %q, want 2", names)
	}
	// A status that was replaced says nothing of an attempt any more.
	see("a", "tried", "x", "", "", false)
	if got := p.count(x); got.attempted != 0 {
		t.Errorf("counted %+v after the status was replaced", got)
	}
}
