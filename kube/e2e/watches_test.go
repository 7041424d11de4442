package e2e

import (
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The watch of pods says nothing for a while, in the middle of a batch. Our own
// binds count all the same, so that what is placed without sight fits; pods that
// come and go meanwhile are dealt with when the watch is back.
func TestWatchStalls(t *testing.T) {
	skipIfShort(t)
	c := bare(t)
	c.addNodes(10, "n", "20")
	pods := newSluice()
	c.start(settings{faults: changingWatches("pods", func(b io.ReadCloser) io.ReadCloser { return stalling{b, pods} })})
	c.create(several(20, "before")...)
	c.awaitBound(30*time.Second, 20)

	batch := several(100, "amid")
	c.create(batch[:50]...)
	c.await(30*time.Second, func() string {
		if bound := len(c.bound()); bound < 30 {
			return fmt.Sprintf("%d pods bound, want the batch under way", bound)
		}
		return ""
	})
	resume := pods.stall()
	defer resume()
	c.create(batch[50:]...)
	now := int64(0)
	for i := range 10 {
		c.must(c.client.CoreV1().Pods(c.namespace).Delete(t.Context(), fmt.Sprintf("before-%d", i), metav1.DeleteOptions{GracePeriodSeconds: &now}))
	}
	time.Sleep(normally(15*time.Second, time.Minute)) // The fault lasts that long.
	c.checkRoom()
	resume()
	c.awaitBound(30*time.Second, 110)
	// What the deleted pods left is room again.
	c.create(several(100, "after")...)
	c.awaitBound(30*time.Second, 200)
	c.checkRoom()
	c.checkScheduledOnce()
}

// Every watch is late by a little and tells again, now and then, what it told
// before: of pods before their bind, of pods that are gone. Old news change
// nothing.
func TestWatchesReplay(t *testing.T) {
	c := bare(t)
	c.addNodes(10, "n", "10")
	var again atomic.Int64
	change := func(b io.ReadCloser) io.ReadCloser {
		return newReplaying(late{b, 5 * time.Millisecond}, func(events int) { again.Add(int64(events)) })
	}
	faults := changingWatches("pods", change)
	c.start(settings{json: true, faults: faults})
	c.create(several(10, "first", hostPort(80))...)
	c.create(several(50, "gone")...)
	c.awaitBound(time.Minute, 60)
	now := int64(0)
	c.must(c.client.CoreV1().Pods(c.namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}))
	c.create(several(10, "second", hostPort(80))...)
	c.create(several(120, "more")...)
	c.awaitBound(time.Minute, 100)
	c.awaitBound(time.Minute, 10, func(p *v1.Pod) bool { return len(p.Spec.Containers[0].Ports) > 0 })
	c.checkRoom()
	c.checkScheduledOnce()
	if again.Load() < 100 {
		t.Errorf("only %d events were told again", again.Load())
	}
}
