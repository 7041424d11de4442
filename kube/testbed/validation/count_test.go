package validation

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestCount: a request runs while it has a pod on a node, whatever pod and whatever node, and waits at all other times.
func TestCount(t *testing.T) {
	c, began := newCounter(), time.Unix(0, 0)
	see := func(at int, request, uid, node string, gone bool) {
		c.see(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{requestLabel: request}, UID: types.UID(uid)}, Spec: corev1.PodSpec{NodeName: node},
		}, gone, began.Add(time.Duration(at)*time.Second))
	}
	see(0, "a", "a1", "", false)
	see(1, "a", "a1", "n", false)
	see(2, "a", "a1", "n", false) // it has changed
	see(2, "b", "b1", "", false)
	see(5, "a", "a1", "n", true)
	see(5, "a", "a2", "", false)
	see(7, "b", "b1", "n", false) // two seconds after its place was free
	see(8, "a", "a2", "", true)   // it waited, and another one does
	see(8, "a", "a3", "", false)
	see(9, "b", "b1", "n", true)
	see(10, "a", "a3", "n", false)
	until := began.Add(12 * time.Second)
	a, b := c.requests["a"], c.requests["b"]
	if got := a.availability(until); got != 6.0/12 || a.preemptions != 1 {
		t.Errorf("a had %v, and %d preemptions; want 6 of 12 s, and one", got, a.preemptions)
	}
	if got := b.availability(until); got != 2.0/10 || b.preemptions != 1 {
		t.Errorf("b had %v, and %d preemptions; want 2 of 10 s, and one", got, b.preemptions)
	}
	c.left = nil
	for _, at := range []int{0, 50, 140, 300, 310} {
		c.left = append(c.left, began.Add(time.Duration(at)*time.Millisecond))
	}
	if bursts := c.bursts(); !slices.Equal(bursts, []time.Duration{300 * time.Millisecond}) {
		t.Errorf("bursts are %v apart", bursts)
	}
	if names := c.came(); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("%v came", names)
	}
}
