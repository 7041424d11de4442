package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const grace = 20 * time.Second

// live begins the life of a replica. It returns what stops it, and a channel
// that tells how it ended.
func live(s runner, e *election) (stop context.CancelFunc, ended chan error) {
	ctx, stop := context.WithCancel(context.Background())
	ended = make(chan error, 1)
	go func() { ended <- schedule(ctx, s, e, none, grace) }()
	return stop, ended
}

// A graceful stop waits for the binds in flight while it holds the lease, and
// then gives it away, so that the next replica leads within a retry period.
func TestStopHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		first := &scripted{drain: 12 * time.Second} // longer than a renew deadline
		first.draining = func() {
			if got := l.holder(); got != "first" {
				t.Errorf("with binds in flight the holder is %q, expected first", got)
			}
			if first.lostLease() {
				t.Error("binds in flight are cancelled although the lease is held")
			}
		}
		stopFirst, firstEnded := live(first, replica(t, l, "first"))
		time.Sleep(time.Second)
		second := &scripted{}
		stopSecond, secondEnded := live(second, replica(t, l, "second"))
		time.Sleep(time.Minute)
		if !first.isRunning() || second.isRunning() {
			t.Fatalf("running: first %t, second %t; expected the first alone", first.isRunning(), second.isRunning())
		}
		stopFirst()
		if err := <-firstEnded; err != nil {
			t.Errorf("a graceful stop ended with %v", err)
		}
		if l.releases != 1 {
			t.Errorf("the lease was given away %d times, expected once", l.releases)
		}
		time.Sleep(5 * time.Second) // a retry period with its jitter, and not a lease
		if !second.isRunning() {
			t.Error("the second does not lead 5s after the first gave the lease away")
		}
		stopSecond()
		<-secondEnded
	})
}

// A leader that cannot renew ends with a sentence, has stopped its scheduler
// before another may lead, and does not give away what may no longer be its own.
func TestLostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		s := &scripted{}
		e := replica(t, l, "first")
		stop, ended := live(s, e)
		defer stop()
		time.Sleep(time.Minute)
		l.setDown()
		down := time.Now()
		err := <-ended
		if err == nil || !strings.Contains(err.Error(), "lost the lease kube-system/fairlead-scheduler") {
			t.Errorf("ended with %v, expected that the lease is lost", err)
		}
		synctest.Wait()
		if took := time.Since(down); took >= e.settings.LeaseDuration.Duration || s.isRunning() {
			t.Errorf("after %s the scheduler runs: %t; expected its end before the lease ran out", took, s.isRunning())
		}
		if l.releases != 0 {
			t.Error("a lost lease was given away")
		}
		if !s.lostLease() {
			t.Error("binds may leave without a lease")
		}
	})
}

// A process that was frozen while another took the lease must not give the
// other's lease away when it is told to stop.
func TestForeignLeaseIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		stop, ended := live(&scripted{}, replica(t, l, "first"))
		time.Sleep(time.Minute + time.Millisecond)
		l.take("other")
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := l.holder(); got != "other" {
			t.Errorf("the holder is %q, expected other", got)
		}
	})
}

// A leader that finds another holder ends within a retry period, not after the
// renew deadline, because both schedule until then.
func TestUsurped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		s := &scripted{}
		e := replica(t, l, "first")
		stop, ended := live(s, e)
		defer stop()
		time.Sleep(time.Minute + time.Millisecond)
		l.take("other")
		taken := time.Now()
		err := <-ended
		if err == nil || !strings.Contains(err.Error(), "lost the lease") {
			t.Errorf("ended with %v, expected that the lease is lost", err)
		}
		synctest.Wait()
		if took := time.Since(taken); took > e.settings.RetryPeriod.Duration || s.isRunning() {
			t.Errorf("%s after the lease was taken the scheduler runs: %t", took, s.isRunning())
		}
		if got := l.holder(); got != "other" {
			t.Errorf("the holder is %q, expected other", got)
		}
		if !s.lostLease() {
			t.Error("binds may leave although another leads")
		}
	})
}

// A replica that stands by stops without having led.
func TestStopWhileStandingBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		l.take("other")
		s := &scripted{}
		stop, ended := live(s, replica(t, l, "second"))
		time.Sleep(time.Minute)
		if s.isRunning() {
			t.Error("runs without the lease")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := l.holder(); got != "other" {
			t.Errorf("the holder is %q, expected other", got)
		}
	})
}

// Whoever knows nothing yet does not stand for election.
func TestNoElectionBeforeSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		s := &scripted{syncsAt: time.Now().Add(time.Minute)}
		stop, ended := live(s, replica(t, l, "first"))
		time.Sleep(50 * time.Second)
		if got := l.holder(); got != "" {
			t.Errorf("%s holds the lease before its informers have listed", got)
		}
		time.Sleep(11 * time.Second)
		if !s.isRunning() {
			t.Error("does not run after its informers have listed")
		}
		stop()
		<-ended
	})
}

// The wait for binds is bounded, and the lease then runs out by itself: who
// takes it over at once could meet the binds still in flight.
func TestBindsNeverAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		stop, ended := live(&scripted{drain: grace + time.Second}, replica(t, l, "first"))
		time.Sleep(time.Minute)
		stop()
		began := time.Now()
		err := <-ended
		if err == nil || !strings.Contains(err.Error(), "not answered 20s after the wish to stop") {
			t.Errorf("ended with %v, expected a complaint about binds", err)
		}
		if time.Since(began) != grace || l.holder() != "first" {
			t.Errorf("ended after %s with holder %q, expected %s and first", time.Since(began), l.holder(), grace)
		}
		time.Sleep(time.Minute) // lets the abandoned scheduler end, for synctest's sake
	})
}

// A scheduler that fails ends the process and gives the lease away.
func TestSchedulerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		broken := errors.New("broken")
		stop, ended := live(&scripted{fails: broken}, replica(t, l, "first"))
		defer stop()
		if err := <-ended; !errors.Is(err, broken) {
			t.Errorf("ended with %v, expected broken", err)
		}
		if l.holder() != "" {
			t.Error("keeps the lease though nothing runs")
		}
	})
}

// Without an election the scheduler runs at once, and ending unasked is an error.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{}
		stop, ended := live(s, &election{})
		synctest.Wait()
		if !s.isRunning() {
			t.Error("does not run")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if err := schedule(t.Context(), quitter{}, &election{}, none, grace); err == nil || !strings.Contains(err.Error(), "ended by itself") {
		t.Errorf("got %v, expected that the scheduler ended by itself", err)
	}
}

// none is what of the types the server does not serve.
func none([]string) error { return nil }

// A replica that waits for what the server does not serve ends and says what it is.
func TestWaitsForNothingAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := &scripted{syncsAt: time.Now().Add(time.Minute)}
		ended := make(chan error, 1)
		go func() {
			ended <- schedule(t.Context(), waits, &election{}, func(types []string) error { return fmt.Errorf("no %v", types) }, grace)
		}()
		time.Sleep(reportUnlisted + time.Second)
		select {
		case err := <-ended:
			if err == nil || err.Error() != "no [*v1.Pod]" {
				t.Errorf("it ended with: %v", err)
			}
		default:
			t.Fatal("it waits on")
		}
	})
}

type quitter struct{ runner }

func (quitter) Unlisted() []string                         { return nil }
func (quitter) Run(context.Context, context.Context) error { return nil }

// The watchdog speaks when a leader hangs so that it cannot even notice the
// loss of its lease. It only can if it knows the elector.
func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{hang: make(chan struct{})}
		close(l.hang)
		e := replica(t, l, "first")
		stop, ended := live(&scripted{}, e)
		defer stop()
		time.Sleep(time.Minute)
		if err := e.watchdog.Check(nil); err != nil {
			t.Errorf("a healthy leader: %v", err)
		}
		l.mu.Lock()
		l.hang = make(chan struct{})
		l.mu.Unlock()
		time.Sleep(e.settings.LeaseDuration.Duration + watchdogTolerance + time.Second)
		if err := e.watchdog.Check(nil); err == nil {
			t.Error("says nothing about a leader that hangs")
		}
		close(l.hang)
		stop()
		<-ended
	})
}

// A leader holds its lease by the clock for as long as it renews it, and not a moment longer,
// even if its elector has not noticed. A wall clock that has gone on while the process stood
// still counts.
func TestHoldsByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{hang: make(chan struct{})}
		close(l.hang)
		s, e := &scripted{}, replica(t, l, "first")
		if _, err := e.holds(); err == nil {
			t.Error("holds a lease before it leads")
		}
		stop, ended := live(s, e)
		defer stop()
		for range 100 {
			time.Sleep(time.Second)
			if until, err := e.holds(); err != nil || time.Until(until) <= e.settings.LeaseDuration.Duration-e.settings.RenewDeadline.Duration || time.Until(until) > e.settings.LeaseDuration.Duration {
				t.Fatalf("a healthy leader for another %s: %v", time.Until(until), err)
			}
		}
		l.mu.Lock()
		l.hang = make(chan struct{}) // as if nothing went on but the clock
		l.mu.Unlock()
		time.Sleep(e.settings.LeaseDuration.Duration + time.Second)
		if _, err := e.holds(); err == nil || !strings.Contains(err.Error(), "was last renewed") {
			t.Errorf("beyond its lease: %v", err)
		}
		if s.lostLease() {
			t.Error("the elector has noticed, so that this shows nothing")
		}
		close(l.hang)
		time.Sleep(3 * time.Second)
		if _, err := e.holds(); err != nil {
			t.Errorf("a lease that was renewed after all: %v", err)
		}
		ago := time.Now().Add(-e.settings.LeaseDuration.Duration).Round(0)
		e.renewed.Store(&ago)
		if _, err := e.holds(); err == nil {
			t.Error("the wall clock does not count")
		}
		stop()
		<-ended
	})
	if _, err := (&election{}).holds(); err != nil {
		t.Errorf("without an election: %v", err)
	}
}
