package app

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/kube/config"
)

// Leader election.
//
// One replica holds a Lease and schedules. The promise is that nobody binds
// without holding it, which asks for an order at the end: a graceful stop
// first ends the scheduler, while the lease is still being renewed, and then
// gives the lease away, so that the next replica need not wait for it to run
// out. A lease that was lost ends the process at once. Work is given two contexts:
// one ends with the wish to stop, the other, the term, with the lease, and carries
// every request that only a leader may send. So nothing leaves, and what is under
// way is cancelled, even while the process takes a moment to end.
//
// client-go can give the lease away itself (ReleaseOnCancel), but does so
// before it tells the work that its term is over, also after the lease was
// lost, and without looking whether the lease has another holder by then. So
// that is off, and release below does it when the work has ended.
//
// A leader that wakes from a freeze and finds another holder would also be left
// to retry for a whole renew deadline, while both schedule. attentive ends its
// term on the first look.

// watchdogTolerance is how long a leader may go on beyond its lease, without
// having noticed that it could not renew, until it counts as dead.
const watchdogTolerance = 20 * time.Second

// releaseAttempts is how often a release is tried. The last renewal may still
// be under way and arrive in between.
const releaseAttempts = 3

type election struct {
	settings config.LeaderElection
	lock     resourcelock.Interface // nil if there is no election
	watchdog *leaderelection.HealthzAdaptor
	renewed  atomic.Pointer[time.Time] // when the request began by which the lease was last renewed
}

// newElection has a client of its own, so that renewals do not queue behind
// binds, and one whose requests time out early enough to try again.
func newElection(settings config.LeaderElection, to *rest.Config, identity string) (*election, error) {
	e := &election{settings: settings}
	if !settings.LeaderElect {
		return e, nil
	}
	lock, err := resourcelock.NewFromKubeconfig(settings.ResourceLock, settings.ResourceNamespace, settings.ResourceName,
		resourcelock.ResourceLockConfig{Identity: identity}, to, settings.RenewDeadline.Duration)
	if err != nil {
		return nil, fmt.Errorf("cannot use the lease %s/%s: %w", settings.ResourceNamespace, settings.ResourceName, err)
	}
	e.lock = lock
	e.watchdog = leaderelection.NewLeaderHealthzAdaptor(watchdogTolerance)
	return e, nil
}

// checks fail when this process should be killed.
func (e *election) checks() []healthz.HealthChecker {
	if e.lock == nil {
		return nil
	}
	return []healthz.HealthChecker{e.watchdog}
}

// lead runs the work while this process is the leader, or at once if there is
// no election. It returns what the work returns, nil if stop ended before this
// process led, or an error if the lease was lost.
func (e *election) lead(stop context.Context, work func(ctx, lease context.Context) error) error {
	if e.lock == nil {
		return work(stop, context.WithoutCancel(stop))
	}
	candidacy, resign := context.WithCancel(context.WithoutCancel(stop))
	defer resign()
	var decided atomic.Bool // whether the work runs or never will
	context.AfterFunc(stop, func() {
		if decided.CompareAndSwap(false, true) {
			resign()
		}
	})
	var leading, usurped atomic.Bool
	outcome := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: attentive{e.lock, func() {
			if leading.Load() {
				usurped.Store(true)
				resign()
			}
		}, &e.renewed},
		LeaseDuration: e.settings.LeaseDuration.Duration,
		RenewDeadline: e.settings.RenewDeadline.Duration,
		RetryPeriod:   e.settings.RetryPeriod.Duration,
		WatchDog:      e.watchdog,
		Name:          e.settings.ResourceName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(term context.Context) {
				if !decided.CompareAndSwap(false, true) {
					return
				}
				leading.Store(true)
				err := during(term, stop, work)
				if term.Err() == nil { // else the lease is lost, whatever the work says
					outcome <- err
					resign()
				}
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("cannot take part in the election: %w", err)
	}
	e.watchdog.SetLeaderElection(elector)
	elector.Run(candidacy)
	if candidacy.Err() == nil || usurped.Load() {
		return fmt.Errorf("lost the lease %s: another replica may be scheduling by now, so this one ends at once", e.lock.Describe())
	}
	e.release(context.WithoutCancel(stop))
	select {
	case err := <-outcome:
		return err
	default:
		return nil
	}
}

// holds says until when the lease is this process's by the clock, zero if that has no end, or why it is not. Another may take it as soon as it
// has seen it unchanged for its duration, so that is counted from before the request that
// renewed it. A process that was frozen, or a machine, finds out by itself in this way, while
// its elector still has to get a turn. Where a machine was stopped its monotonic clock may have
// been too, so the wall clock counts as well.
func (e *election) holds() (until time.Time, err error) {
	if e.lock == nil {
		return time.Time{}, nil
	}
	renewed := e.renewed.Load()
	if renewed == nil {
		return time.Time{}, fmt.Errorf("this process does not hold the lease %s", e.lock.Describe())
	}
	now, lasts := time.Now(), e.settings.LeaseDuration.Truncate(time.Second) // as a Lease counts
	if ago := max(now.Sub(*renewed), now.Round(0).Sub(renewed.Round(0))); ago >= lasts {
		return time.Time{}, fmt.Errorf("the lease %s was last renewed %s ago and lasts %s: another replica may be scheduling by now", e.lock.Describe(), ago, lasts)
	}
	return renewed.Add(lasts), nil
}

// leads reports whether this process holds the lease.
func (e *election) leads() bool {
	_, err := e.holds()
	return err == nil
}

// attentive is a lock that tells when somebody else holds it, and when it was renewed.
type attentive struct {
	resourcelock.Interface
	foreign func()
	renewed *atomic.Pointer[time.Time]
}

// Create makes the lease.
func (a attentive) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return a.renewing(func() error { return a.Interface.Create(ctx, record) })
}

// Update renews the lease, or takes it.
func (a attentive) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return a.renewing(func() error { return a.Interface.Update(ctx, record) })
}

// renewing notes when a request began that succeeded.
func (a attentive) renewing(request func() error) error {
	began := time.Now()
	err := request()
	if err == nil {
		a.renewed.Store(&began)
	}
	return err
}

// Get is the lease as it stands.
func (a attentive) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := a.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != "" && record.HolderIdentity != a.Identity() {
		a.foreign()
	}
	return record, raw, err
}

// during runs the work until the term, which is the lease's, or stop ends.
func during(term, stop context.Context, work func(ctx, lease context.Context) error) error {
	working, cease := context.WithCancel(term)
	defer cease()
	defer context.AfterFunc(stop, cease)()
	return work(working, term)
}

// release gives the lease away if it is ours. A failure delays the next leader
// until the lease has run out, and harms nothing else.
func (e *election) release(ctx context.Context) {
	logger := klog.FromContext(ctx)
	ctx, cancel := context.WithTimeout(ctx, e.settings.RetryPeriod.Duration)
	defer cancel()
	for range releaseAttempts {
		record, _, err := e.lock.Get(ctx)
		if err == nil {
			if record.HolderIdentity != e.lock.Identity() {
				return
			}
			now := metav1.Now()
			err = e.lock.Update(ctx, resourcelock.LeaderElectionRecord{
				LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
			})
		}
		switch {
		case err == nil:
			logger.Info("Gave the lease away", "lease", e.lock.Describe())
			return
		case !errors.IsConflict(err):
			logger.Error(err, "Could not give the lease away; the next leader waits until it has run out", "lease", e.lock.Describe())
			return
		}
	}
}
