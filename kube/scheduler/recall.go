package scheduler

import (
	"context"
	"errors"
	"sync/atomic"

	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/kube/world"
)

// This file calls back what was decided and is not sent yet, of which there is one way: an errand is unsent until the goroutine that carries it is about to make its
// request, and whoever changes that first has its way. An eviction is called back when nobody waits for the room any more, a bind when another scheduler takes
// the room, or another pod is to have it (evict.go). A bind may be long under way before it is sent, be it that many are queued, that its volumes and devices are being prepared, or that the API server has too much to do.

// errand is a request on its way to the API server.
type errand struct{ state atomic.Uint32 }

// The states of an errand. Until it is sent, the loop may call it back.
const (
	unsent uint32 = iota
	sent
	calledBack
)

// errCalledBack says that the request was called back and not sent.
var errCalledBack = errors.New("called back")

// waits reports whether the request may still be called back.
func (e *errand) waits() bool { return e.state.Load() == unsent }

// callBack calls the request back, unless it is sent by now.
func (e *errand) callBack() bool { return e.state.CompareAndSwap(unsent, calledBack) }

// dispatch reports whether the request is to be made, which nobody calls back from then on.
func (e *errand) dispatch() bool {
	return e.state.CompareAndSwap(unsent, sent) || e.state.Load() == sent
}

// refused takes in that the API server did nothing, so that the request may be called back until it is sent again.
func (e *errand) refused() { e.state.CompareAndSwap(sent, unsent) }

// isCalledBack reports whether the request was called back.
func (e *errand) isCalledBack() bool { return e.state.Load() == calledBack }

// cautious is how many binds are sent at a time while other schedulers place on the same nodes: what was sent is not called back, so the fewer
// the better. An API server that is near has as much to do with these.
const cautious = 8

// sentBeside is how many binds of pods that a round beside the core has placed are sent at a time. They come many at once, after a second or some, and those
// of all other pods would have to wait in the API server until it is done with them.
const sentBeside = 2

// caution keeps the number of binds that are sent at a time low while that is called for, and of those that rounds beside the core have planned always.
type caution struct {
	called         atomic.Bool
	tokens, beside chan struct{} // one for each bind that was sent with caution
}

func newCaution() *caution {
	return &caution{tokens: make(chan struct{}, cautious), beside: make(chan struct{}, sentBeside)}
}

// take waits until one more bind may be sent. What it returns is to be called when the bind has its outcome.
func (c *caution) take(ctx context.Context, beside bool) (done func(), err error) {
	tokens := c.tokens
	switch {
	case beside:
		tokens = c.beside
	case !c.called.Load():
		return func() {}, nil
	}
	select {
	case tokens <- struct{}{}:
		return func() { <-tokens }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// recall yields to other schedulers where these have taken the room of pods whose binds have not been sent.
func (s *Scheduler) recall(ctx context.Context) {
	if notesOf(s) != nil {
		return // there is nothing to call back
	}
	_, before := s.world.Binds().Contest().LeftAlone()
	s.world.Binds().Contest().Yield(s.binder.callBack)
	names, times := s.world.Binds().Contest().LeftAlone()
	s.binder.caution.called.Store(len(names) > 0)
	if times > before {
		klog.FromContext(ctx).V(1).Info("another scheduler took room that pods were to have; such nodes are left to it for a while", "nodes", names)
	}
}

// callBack calls back the bind of the pod, and reports whether it was not sent.
func (b *binder) callBack(p *world.Pod) bool {
	f := b.flights[p]
	if f == nil || !f.callBack() {
		return false
	}
	f.cancel() // whatever it waits for
	return true
}

// reportContests says loudly that another scheduler places on the same nodes, when that begins anew.
func (t *tally) reportContests(s *Scheduler) {
	names, times := s.world.Binds().Contest().LeftAlone()
	s.Metrics.Cluster.SetContested(len(names))
	if times > t.contests && !t.contested {
		klog.Background().Error(nil, "another scheduler places on the same nodes, and took room that pods were to have: binds were called back, and such nodes are left to it for a while; two schedulers have to share the nodes out",
			"nodes", len(names), "first", names[:min(len(names), mostReported)])
	}
	t.contests, t.contested = times, len(names) > 0
}
