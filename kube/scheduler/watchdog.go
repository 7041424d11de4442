package scheduler

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// This file tells whether the loop is stuck. A loop that waits since nothing
// happens is not; one whose turn does not end is, and nobody else would notice: its
// lease is renewed, and its informers go on.

// turnsLast is how long a turn may take until the loop counts as stuck. Turns take
// milliseconds, and the first core of the largest cluster takes seconds.
const turnsLast = time.Minute

// watchdog knows since when the present turn lasts. The loop sets it, anybody asks.
type watchdog struct {
	mu    sync.Mutex
	since time.Time // zero between turns
}

// watch takes in that a turn begins. The returned function is called at its end.
func (d *watchdog) watch(now time.Time) (end func()) {
	d.set(now)
	return func() { d.set(time.Time{}) }
}

func (d *watchdog) set(since time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since = since
}

// stuck says since when, by the clock, the loop is stuck; it is nil if it is not.
func (d *watchdog) stuck(by clock.PassiveClock) error {
	d.mu.Lock()
	since := d.since
	d.mu.Unlock()
	if lasts := by.Since(since); !since.IsZero() && lasts > turnsLast {
		return fmt.Errorf("the loop is stuck: a turn of it began at %s, %s ago, and may take %s; this process has to be started anew",
			since.UTC().Format(time.RFC3339), lasts.Round(time.Second), turnsLast)
	}
	return nil
}

// Stuck says since when the loop is stuck; it is nil if it is not. Who is told so
// should end the process, so that another leads. Any goroutine may ask.
func (s *Scheduler) Stuck() error { return s.watchdog.stuck(s.Clock) }
