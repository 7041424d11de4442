package scheduler

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/klog/v2"
)

// This file keeps the pods of a gang together while volumes and devices are prepared for them. No bind is sent for any before all are prepared; where that
// fails for one, none is bound, and devices that were allocated for the others are given back.

// company is pods of a gang for which one turn decided. A nil company is that of a pod by itself.
type company struct {
	pods      int
	mu        sync.Mutex
	lacks     int           // how many have not said how their preparation ended
	settled   chan struct{} // closed when all are prepared, or one has failed
	isSettled bool
	failed    error
	ends      []context.CancelFunc // end the preparations for which nobody waits any more then
	outcomes  []func()             // how the binds of a company that failed ended
}

func newCompany(pods int) *company {
	return &company{pods: pods, lacks: pods, settled: make(chan struct{})}
}

// preparing is a context in which one of the pods is prepared for: it ends when another one has failed.
func (c *company) preparing(ctx context.Context) (context.Context, func()) {
	if c == nil {
		return ctx, func() {}
	}
	own, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ends = append(c.ends, cancel); c.isSettled {
		cancel()
	}
	return own, cancel
}

// agree takes in how the preparation for one of the pods ended, and waits until it is known of the others. It returns why the pod is not to be bound.
func (c *company) agree(ctx context.Context, err error) error {
	if c == nil {
		return err
	}
	if first := c.prepared(err); first {
		return err
	}
	select {
	case <-c.settled:
	case <-ctx.Done(): // it was called back, or the scheduler stops: the others are not to be bound without it
		c.giveUp(ctx.Err())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return fmt.Errorf("another pod of its gang could not be prepared for: %w", c.failed)
	}
	return ctx.Err()
}

// prepared takes in how the preparation for one of the pods ended, and reports whether it is the first that has failed.
func (c *company) prepared(err error) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lacks--
	if err != nil || c.lacks == 0 {
		return c.settle(err)
	}
	return false
}

// giveUp has the company fail, if it is not settled by now.
func (c *company) giveUp(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(err)
}

// settle ends the waiting, and reports whether the company fails by that.
func (c *company) settle(err error) (fails bool) {
	if c.isSettled {
		return false
	}
	c.isSettled, c.failed = true, err
	close(c.settled)
	for _, end := range c.ends {
		end()
	}
	return err != nil
}

// together hands over how the bind of one of the pods ended. Where the company failed, nothing is reported of any pod until all that was set aside for each is
// given back, and of all at once then: whoever is reported first could else be decided for again while what the others hold still counts as theirs.
func (c *company) together(outcome func(), put func(func())) {
	if c == nil || !c.hasFailed() {
		put(outcome)
		return
	}
	c.mu.Lock()
	c.outcomes = append(c.outcomes, outcome)
	all := c.outcomes
	c.mu.Unlock()
	if len(all) == c.pods {
		put(func() {
			for _, outcome := range all {
				outcome()
			}
		})
	}
}

// hasFailed reports whether one of the pods could not be prepared for.
func (c *company) hasFailed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed != nil
}

// giveBack gives back what was set aside for a pod that is not bound; if its gang is not, devices that were allocated for it as well.
func (b *binder) giveBack(ctx context.Context, f *flight) {
	if f.company == nil || !f.unprepared {
		f.reservation.Unreserve(ctx)
		return
	}
	if f.doubtful { // what it was writing may still be on its way
		b.sleep(ctx, firstLook)
	}
	if b.fence(ctx) != nil {
		f.reservation.Unreserve(ctx)
		return
	}
	if err := f.reservation.Release(ctx); err != nil {
		klog.FromContext(ctx).V(1).Info("cannot give back devices of a pod whose gang was not bound; its claims keep them until it is placed", "pod", klog.KObj(f.object), "err", err)
	}
}
