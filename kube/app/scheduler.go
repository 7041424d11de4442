package app

import (
	"context"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/kube/scheduler"
)

// runner is the scheduler as this command sees it.
type runner interface {
	// Start starts the informers, which end with the context, and returns.
	Start(context.Context)
	// Unlisted are the types of objects that the informers have not listed yet, by name.
	Unlisted() []string
	// Run decides and binds until ctx ends, and returns when binds in flight are
	// answered. Only the leader may call it. Once the lease ends it sends nothing.
	Run(ctx, lease context.Context) error
	// SetClasses says what is promised to whom from now on; nil is nothing to anybody.
	SetClasses(table *class.Table)
	// Stuck says since when the scheduler is stuck, nil if it is not.
	Stuck() error
}

// schedulerMaker makes a scheduler. Tests have one of their own.
type schedulerMaker func(context.Context, scheduler.Options) (runner, error)

// newScheduler makes the scheduler that runs in clusters.
func newScheduler(ctx context.Context, o scheduler.Options) (runner, error) {
	return scheduler.New(ctx, o)
}
