package scheduler

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/world"
)

// This file is about events that made no sense to the core. They are mistakes of
// ours; each was left out, so the core may be wrong about the cluster from here
// on. What it decided with them is dropped, and a new one takes its place: the
// first time at once, and then after pauses, as what led to the mistake may well
// stand in the cluster still, and all that is known is reported to a new core. While
// it pauses the loop takes in what happens, and decides nothing.

const (
	// firstMistakePause is the pause before a second new core, doubled up to
	// longestMistakePause. A core that served for twice that begins the count anew.
	firstMistakePause   = cluster.Second
	longestMistakePause = cluster.Minute
)

// mistakes paces new cores.
type mistakes struct {
	inRow  int
	latest cluster.Time
	broken bool         // the present core made one
	until  cluster.Time // when a broken core is replaced
}

// made takes in a mistake of the present core.
func (m *mistakes) made(now cluster.Time) {
	if now-m.latest > 2*longestMistakePause {
		m.inRow = 0
	}
	pause := cluster.Time(0)
	if m.inRow > 0 {
		pause = world.Backoff{Initial: firstMistakePause, Max: longestMistakePause}.After(m.inRow)
	}
	m.inRow++
	m.latest, m.broken, m.until = now, true, now+pause
}

// complain gives up a core that did not understand what happened. It returns when
// that is to be replaced.
func (m *mistakes) complain(ctx context.Context, now cluster.Time, err error) cluster.Time {
	m.made(now)
	klog.FromContext(ctx).Error(err, "the core did not understand what happened; a new one will begin",
		"mistakesInARow", m.inRow, "after", time.Duration(m.until-m.latest)*time.Microsecond)
	return m.until
}
