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
	const lease = 3 * time.Second
	first := c.run("first", lease)
	leader := c.awaitLeader(30*time.Second, "")
	c.run("second", lease)
	c.addNodes(100, "n", "20")
	// The pods come while the leader dies and nobody leads.
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.create(several(2000, "p")...)
	}()
	defer func() { <-done }()
	c.awaitBound(time.Minute, 400)
	first.signal(syscall.SIGKILL)
	began := time.Now()
	c.awaitLeader(30*time.Second, leader)
	t.Logf("%d pods were bound when the next leader led, %s after the kill", len(c.bound()), time.Since(began).Round(time.Millisecond))
	<-done
	c.awaitBound(2*time.Minute, 2000)
	c.checkRoom()
	c.checkNotTwice()
}

// A leader that is asked to stop gives its lease away when its binds are
// answered: the next one leads at once, though the lease is long.
func TestLeaderStops(t *testing.T) {
	skipIfShort(t)
	c := bare(t)
	const lease = time.Minute
	// The test before may have left a lease of a dead leader, but a short one.
	first := c.run("first", lease)
	leader := c.awaitLeader(30*time.Second, "")
	c.run("second", lease)
	c.addNodes(100, "n", "20")
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.create(several(600, "p")...)
	}()
	defer func() { <-done }()
	c.awaitBound(time.Minute, 200)
	first.signal(syscall.SIGTERM)
	began := time.Now()
	c.awaitLeader(20*time.Second, leader)
	t.Logf("the next leader led %s after the wish to stop", time.Since(began).Round(time.Millisecond))
	first.awaitEnd()
	<-done
	c.awaitBound(time.Minute, 600)
	c.checkRoom()
	c.checkScheduledOnce()
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
