package e2e

import (
	"syscall"
	"testing"
	"time"
)

// The leader is killed in the middle of 2,000 pods. The other replica takes over
// when the lease has run out, and finishes: every pod is bound once.
func TestLeaderKilled(t *testing.T) {
	skipIfShort(t)
	c := bare(t)
	c.loseLeader(3*time.Second, syscall.SIGKILL, 2000, 400)
	c.checkRoom()
	c.checkNotTwice()
}

// A leader that is asked to stop gives its lease away when its binds are
// answered: the next one leads at once, though the lease is long.
func TestLeaderStops(t *testing.T) {
	skipIfShort(t)
	c := bare(t)
	// The test before may have left a lease of a dead leader, but a short one.
	first := c.loseLeader(time.Minute, syscall.SIGTERM, 600, 200)
	first.awaitEnd()
	c.checkRoom()
	c.checkScheduledOnce()
}

// loseLeader signals the leader of two replicas when so many of its pods are
// bound, awaits that the other leads and that it has bound them all, and returns
// the first one.
func (c *cluster) loseLeader(lease time.Duration, signal syscall.Signal, pods, bound int) *replica {
	c.t.Helper()
	first := c.run("first", lease)
	leader := c.awaitLeader(30*time.Second, "")
	c.run("second", lease)
	c.addNodes(100, "n", "20")
	// The pods come while the leader goes and nobody leads.
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.create(several(pods, "p")...)
	}()
	defer func() { <-done }()
	c.awaitBound(time.Minute, bound)
	first.signal(signal)
	began := time.Now()
	c.awaitLeader(30*time.Second, leader)
	c.t.Logf("%d pods were bound when the next leader led, %s after the signal", len(c.bound()), time.Since(began).Round(time.Millisecond))
	<-done
	c.awaitBound(2*time.Minute, pods)
	return first
}

// checkNotTwice fails if a pod was said to be scheduled twice.
func (c *cluster) checkNotTwice() {
	c.t.Helper()
	for name, events := range c.events("Scheduled") {
		if len(events) > 1 {
			c.t.Errorf("pod %s has %d events Scheduled", name, len(events))
		}
	}
}
