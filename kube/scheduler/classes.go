package scheduler

import (
	"context"
	"sync/atomic"

	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/world"
)

// This file takes a changed table of classes to the core. It reaches the core as events
// between two rounds, like everything that happens: accounts count on, and a recording
// replays. The table outlives a panic, and a replica that does not lead keeps it for the
// time when it does.

// promises is the table of classes that is to hold. Anybody may set it, the loop takes it.
type promises struct {
	wanted  atomic.Pointer[class.Table]
	changed chan struct{} // holds a token while the loop may have one to take
	taken   *class.Table  // that the world has
	refused *class.Table  // that was logged to wait for rows
}

// want sets the table; nil is the one that promises nothing.
func (p *promises) want(table *class.Table) {
	if table == nil {
		table = world.NoClasses()
	}
	p.wanted.Store(table)
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// SetClasses says what is promised to whom from now on; nil is nothing to anybody. Any
// goroutine may, at any time. The table must not be changed afterwards.
func (s *Scheduler) SetClasses(table *class.Table) { s.promises.want(table) }

// promise takes the wanted table to the world. One for which the core has no rows, beside
// the classes that pods still have, waits until these are gone.
func (s *Scheduler) promise(ctx context.Context) {
	p := &s.promises
	table := p.wanted.Load()
	switch {
	case table == p.taken:
	case s.world.SetClasses(table):
		p.taken, p.refused = table, nil
		s.Metrics.Cluster.Promised(true)
		klog.FromContext(ctx).Info("The classes have changed", "classes", table.Names())
	case table != p.refused:
		p.refused = table
		s.Metrics.Cluster.Promised(false)
		klog.FromContext(ctx).Error(nil, "Too many classes beside those that pods still have; those before hold until these pods are gone",
			"classes", len(table.Classes), "atMost", cluster.MaxClasses)
	}
}
