package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/scheduler"
)

// reportUnlisted is how often is said which types have not been listed.
const reportUnlisted = 10 * time.Second

// afterBinds is how much longer than a bind the scheduler may take to stop.
const afterBinds = 5 * time.Second

// run is the life of the process. It ends when ctx does, which is the wish to
// stop, or with an error.
//
// Two contexts keep the order of the end: ctx tells the scheduler to begin
// nothing new, while informers and server live on until it has finished.
func (o *options) run(ctx context.Context, c *config.SchedulerConfiguration, makeScheduler schedulerMaker) error {
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	logger := klog.FromContext(ctx)
	logger.Info("Fairlead starts", "version", version())
	for _, caution := range c.Cautions() {
		logger.Info("Take care: " + caution)
	}
	identity, err := newIdentity()
	if err != nil {
		return err
	}
	to, err := reach(c)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(to)
	if err != nil {
		return fmt.Errorf("cannot make a client of %s: %w", to.Host, err)
	}
	if err := keepApart(ctx, client, c); err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	elect, err := newElection(c.LeaderElection, to, identity)
	if err != nil {
		return err
	}
	serves, err := Adapt(ctx, client, c)
	if err != nil {
		return err
	}
	counts := metrics.New(registry)
	options := scheduler.Options{
		Client: client, Config: c, Metrics: counts, Clock: clock.RealClock{}, Identity: identity, Holds: elect.holds, Policies: o.policies, Programs: Solver,
	}
	if err := serves.Apply(&options, to); err != nil {
		return err
	}
	placer, err := makeScheduler(living, options)
	if err != nil {
		return fmt.Errorf("cannot make the scheduler: %w", err)
	}
	follows := &follower{files: o.files, load: o.configuration, promise: placer.SetClasses, counts: &counts.Configuration}
	follows.begin(c)
	serve := endpoints{
		config: follows.running.Load, registry: registry, flags: flagz.NamedFlagSetsReader{FlagSets: o.sections},
		live: append(elect.checks(), liveness(placer)), ready: readiness(ctx, placer), shadow: shadowOf(c, placer), resources: podResources(podsOf(c, placer), elect.leads),
	}
	if err := o.serve(living, serve); err != nil {
		return err
	}
	if o.configFile != "" {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGHUP)
		defer signal.Stop(asked)
		go follows.follow(living, asked)
	}
	placer.Start(living)
	absent := func(types []string) error { return absentOf(client.Discovery(), types) }
	return schedule(ctx, placer, elect, absent, c.BindTimeout.Duration+afterBinds)
}

// reach connects to the API server, by which a shadow changes nothing.
func reach(c *config.SchedulerConfiguration) (*rest.Config, error) {
	to, err := connect(c.ClientConnection)
	if err == nil && c.Shadow() {
		to.Wrap(newReadOnly)
	}
	return to, err
}

// schedule waits until the informers have listed, then runs the scheduler
// until ctx ends. The listing comes before the election: a leader that knows
// nothing would only keep another from scheduling. What the server does not serve is
// never listed: whoever began without knowing that ends, to begin anew, when absent says so.
func schedule(ctx context.Context, placer runner, elect *election, absent func(types []string) error, grace time.Duration) error {
	said := time.Now()
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		types := placer.Unlisted()
		if len(types) > 0 && time.Since(said) >= reportUnlisted {
			klog.FromContext(ctx).Info("Still waiting for lists; may the role list and watch these? (kube/deploy/rbac.yaml)", "types", types)
			said = time.Now()
			return false, absent(types)
		}
		return len(types) == 0, nil
	})
	if err == nil {
		klog.FromContext(ctx).Info("Informers have listed")
		err = bounded(ctx, grace, func() error { return elect.lead(ctx, placer.Run) })
	}
	switch {
	case ctx.Err() == nil && err == nil:
		return errors.New("the scheduler ended by itself, which it never should")
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil // it stopped as it was asked to
	default:
		return err
	}
}

// bounded runs the work to its end, but gives it only so long after ctx ended.
func bounded(ctx context.Context, grace time.Duration, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	klog.FromContext(ctx).Info("Asked to stop; waiting for binds in flight", "atMost", grace)
	select {
	case err := <-done:
		return err
	case <-time.After(grace):
		return fmt.Errorf("binds are still not answered %s after the wish to stop; ending without them, and leaving the lease to run out", grace)
	}
}
