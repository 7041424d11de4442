package app

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/kube/config"
)

// lease is a Lease in memory, as an API server keeps it, which can go out of
// reach and refuse the update that follows a read by another.
type lease struct {
	mu       sync.Mutex
	record   *resourcelock.LeaderElectionRecord
	revision int
	down     bool
	hang     chan struct{} // if any, requests wait until it is closed
	releases int
}

func (l *lease) holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record == nil {
		return ""
	}
	return l.record.HolderIdentity
}

// take makes another the holder, as if it had found the lease run out.
func (l *lease) take(holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revision++
	l.record = &resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 3600}
}

func (l *lease) setDown() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
}

// lock is how one replica sees the lease.
type lock struct {
	*lease
	identity string
	seen     int
}

var errDown = errors.New("the API server is out of reach")

// wait is a request on its way. It does not honour contexts, as a client of old
// connections may not.
func (l *lease) wait() {
	l.mu.Lock()
	hang := l.hang
	l.mu.Unlock()
	if hang != nil {
		<-hang
	}
}

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, nil, errDown
	}
	if l.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "fairlead-scheduler")
	}
	l.seen = l.revision
	record := *l.record
	return &record, []byte(record.HolderIdentity + record.RenewTime.String()), nil
}

func (l *lock) Create(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record = &record
	l.revision++
	l.seen = l.revision
	return nil
}

func (l *lock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return errDown
	}
	if l.seen != l.revision {
		return apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "fairlead-scheduler", errors.New("changed"))
	}
	if record.HolderIdentity == "" {
		l.releases++
	}
	l.record = &record
	l.revision++
	l.seen = l.revision
	return nil
}

func (l *lock) RecordEvent(string) {}
func (l *lock) Identity() string   { return l.identity }
func (l *lock) Describe() string   { return "kube-system/fairlead-scheduler" }

// replica is an election with the default settings over the lease.
func replica(t *testing.T, l *lease, identity string) *election {
	t.Helper()
	return &election{
		settings: config.Default().LeaderElection,
		lock:     &lock{lease: l, identity: identity},
		watchdog: leaderelection.NewLeaderHealthzAdaptor(watchdogTolerance),
	}
}

// scripted is a scheduler that is synced after a while, and that answers binds
// for a while after it was told to stop.
type scripted struct {
	syncsAt  time.Time
	drain    time.Duration
	fails    error
	mu       sync.Mutex
	running  bool
	started  bool
	draining func() // called when it was told to stop and still has binds
	unleased bool   // its lease ended
	stuck    error
}

func (s *scripted) Start(context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = true
}

func (s *scripted) Unlisted() []string {
	if time.Now().Before(s.syncsAt) {
		return []string{"*v1.Pod"}
	}
	return nil
}

func (s *scripted) isRunning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

func (s *scripted) set(running bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = running
}

func (s *scripted) Stuck() error { return s.stuck }

func (s *scripted) SetClasses(*class.Table) {}

// lostLease reports whether it was told that nothing may be sent any more.
func (s *scripted) lostLease() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unleased
}

func (s *scripted) Run(ctx, lease context.Context) error {
	context.AfterFunc(lease, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unleased = true
	})
	if s.fails != nil {
		return s.fails
	}
	s.set(true)
	defer s.set(false)
	<-ctx.Done()
	time.Sleep(s.drain / 2)
	if s.draining != nil {
		s.draining()
	}
	time.Sleep(s.drain - s.drain/2)
	return nil
}
