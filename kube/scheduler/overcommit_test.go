package scheduler

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Two schedulers have both placed a pod on a node that has room for one: that is counted until one of them is gone.
func TestOvercommittedNodesAreCounted(t *testing.T) {
	theirs := on(0, plainPod(2))
	theirs.Spec.SchedulerName = v1.DefaultSchedulerName
	inBubble(t, []runtime.Object{smallNode(0, 1), smallNode(1, 1), on(0, plainPod(1)), theirs, plainPod(3)}, func(b *bubble) {
		b.run()
		b.pass(2 * time.Second)
		b.create(plainPod(4)) // something has to happen for the loop to turn, and count
		b.pass(time.Second)
		if n := b.sum("fairlead_overcommitted_nodes"); n != 1 {
			b.t.Errorf("%v nodes are over-committed, want 1", n)
		}
		if err := b.api.remove(theirs.Name); err != nil {
			b.t.Fatal(err)
		}
		b.pass(2 * time.Second)
		b.create(plainPod(5))
		b.pass(time.Second)
		if n := b.sum("fairlead_overcommitted_nodes"); n != 0 {
			b.t.Errorf("%v nodes are over-committed, want none", n)
		}
	})
}
