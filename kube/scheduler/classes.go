package scheduler

import (
	"context"
	"sync/atomic"

	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/classes"
)

// This file takes changed classes to the core: those of the configuration, or where that has none those of the ServiceClasses. They reach the core as events
// between two rounds, like everything that happens: accounts count on, and a recording
// replays. They outlive a panic, and a replica that does not lead keeps them for the
// time when it does.

// promises are what is to hold. Anybody may set what is configured, the loop takes it.
type promises struct {
	configured atomic.Pointer[class.Table] // nil if the configuration has no table
	changed    chan struct{}               // holds a token while the loop may have one to take

	// The rest is the loop's.
	open    *classes.Promises // of what is configured, or nothing
	served  *classes.Promises // of the ServiceClasses; nil where they are not read
	taken   *classes.Promises // that the world has
	refused *classes.Promises // that were logged to wait for rows
}

// configure sets the table of the configuration; nil is that it has none.
func (p *promises) configure(table *class.Table) {
	p.configured.Store(table)
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// wanted is what is to hold, the same as long as it is the same.
func (p *promises) wanted() *classes.Promises {
	table := p.configured.Load()
	if table == nil && p.served != nil {
		return p.served
	}
	if p.open == nil || p.open.Table != table && (table != nil || !p.open.Nothing()) {
		p.open = classes.Open(table)
	}
	return p.open
}

// SetClasses says what the configuration promises to whom from now on; nil is nothing to anybody,
// unless there are ServiceClasses. Any goroutine may, at any time. The table must not be changed afterwards.
func (s *Scheduler) SetClasses(table *class.Table) { s.promises.configure(table) }

// promise takes what is wanted to the world. Where the core has no rows for it, beside
// the classes that pods still have, it waits until these are gone.
func (s *Scheduler) promise(ctx context.Context) {
	p := &s.promises
	configured := p.configured.Load() != nil
	if c := s.intake.serviceClasses; c != nil && (c.changed || c.overruled != configured) {
		if now := c.read(ctx, configured); p.served == nil || !p.served.Same(now) {
			p.served = now
		}
	}
	wanted := p.wanted()
	if wanted == p.taken {
		return
	}
	if wanted.Nothing() && p.taken.Nothing() {
		p.taken = wanted
		return
	}
	held, ok := s.world.Promise(wanted)
	s.subject.handling(nil)
	switch {
	case ok:
		p.taken, p.refused = wanted, nil
		s.explainer.want(held)
		s.Metrics.Cluster.Promised(true)
		klog.FromContext(ctx).Info("The classes have changed", "classes", wanted.Names())
	case wanted != p.refused:
		p.refused = wanted
		s.Metrics.Cluster.Promised(false)
		klog.FromContext(ctx).Error(nil, "Too many classes beside those that pods still have; those before hold until these pods are gone",
			"classes", len(wanted.Classes), "atMost", cluster.MaxClasses)
	}
}
