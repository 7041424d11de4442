package scheduler

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/world"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/shadow"
)

// This file is a scheduler in mode shadow: it watches the pods of another scheduler, decides for them, carries nothing out, and reports how the two differ. What a shadow's world is, package shadow says, and
// world/noted.go how decisions are noted. All that is done otherwise here is that no bind and no eviction is sent (binder.bind, dismiss, leave), no status is written (writer) and no event (startEvents); the
// only thing that a shadow writes is its lease. It stands in the way of nobody: where it is slow, or wrong, the other scheduler does not notice.
//
// The comparison follows the calls on the core that the recording has, so that a replay of that says the same.

// mostDays is how many days that are over are kept.
const mostDays = 7

// shadowing is what a shadow keeps beside what any scheduler does; nil of one that schedules. It belongs to the loop, and outlives its panics.
type shadowing struct {
	s          *Scheduler
	comparison *shadow.Comparison
	asks       chan chan *shadow.Report
	days       []shadow.Day // that are over, the latest first
	midnight   time.Time    // when the present one is
	counted    shadow.Sums  // that the metrics have
	changed    bool         // something happened since
}

// newShadowing is nil unless the configuration asks for a shadow.
func newShadowing(s *Scheduler) *shadowing {
	if !s.Config.Shadow() {
		return nil
	}
	var names []string
	for _, p := range s.Config.Profiles {
		names = append(names, p.SchedulerName)
	}
	h := &shadowing{s: s, comparison: shadow.New(s.began, names...), asks: make(chan chan *shadow.Report), midnight: midnightAfter(s.began)}
	h.comparison.Adds = h.name
	return h
}

// midnightAfter is the next midnight, by UTC.
func midnightAfter(t time.Time) time.Time {
	return t.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
}

// name adds to a difference what no recording has: which pod it is, and why it was not placed.
func (h *shadowing) name(t cluster.TaskID, d *shadow.Difference) {
	p := h.s.world.Of(t)
	if p == nil {
		return
	}
	d.Namespace, d.Pod = p.Object().Namespace, p.Object().Name
	if d.Kind == shadow.Unplaced {
		d.Why = h.s.explainer.reported[p.Object().UID].message
	}
}

// follow takes in a call on the core, which has been made.
func (h *shadowing) follow(core *recording.Recorder, call shadow.Call) {
	if h == nil {
		return
	}
	h.changed = h.changed || len(call.In)+len(call.Out) > 0
	call.View, call.Rounds, call.Undecided = core.View(), core.Counts().Rounds, core.Undecided
	for _, o := range h.comparison.Follow(&call) {
		if o.Same || o.Kind == shadow.OtherNode {
			h.s.Metrics.Shadow.Compared(float64(o.Ours.Latency), float64(o.Theirs.Latency))
		}
	}
}

// due brings the sums to the metrics, and ends the day at midnight. It is called about once a second, if anything happens.
func (h *shadowing) due(ctx context.Context) {
	if h == nil {
		return
	}
	h.changed = false
	now := h.comparison.Sums()
	h.s.Metrics.Shadow.Count(metrics.Shadowed{
		Same: now.Same - h.counted.Same, Different: now.Different - h.counted.Different, Unplaced: now.Unplaced - h.counted.Unplaced, Earlier: now.Earlier - h.counted.Earlier,
		Ours: sideSince(&now.Ours, &h.counted.Ours), Theirs: sideSince(&now.Theirs, &h.counted.Theirs),
	})
	h.counted = now
	if clock := h.s.Clock.Now(); !clock.Before(h.midnight) {
		day := h.comparison.Cut(h.s.now())
		h.days = append([]shadow.Day{day}, h.days[:min(len(h.days), mostDays-1)]...)
		h.midnight = midnightAfter(clock)
		logDay(ctx, "The shadow's day", &day)
	}
}

// sideSince is what one of the two did since that was counted.
func sideSince(now, counted *shadow.Side) metrics.ShadowSide {
	return metrics.ShadowSide{
		Opened: now.NodesOpened - counted.NodesOpened, Hard: now.HardViolated - counted.HardViolated, Soft: now.SoftViolated - counted.SoftViolated, Victims: now.Victims - counted.Victims,
	}
}

// wake is when due is to be called although nothing happens.
func (h *shadowing) wake() cluster.Time {
	if h == nil {
		return cluster.Never
	}
	wake := h.s.tally.at + countEvery
	if !h.changed {
		wake = max(wake, cluster.Time(h.midnight.Sub(h.s.began)/time.Microsecond))
	}
	return wake
}

// asked is where the loop is asked for a report; nil of none that is a shadow.
func (h *shadowing) asked() <-chan chan *shadow.Report {
	if h == nil {
		return nil
	}
	return h.asks
}

// report is what is known by now.
func (h *shadowing) report() *shadow.Report {
	r := h.comparison.Report()
	r.Days = append(r.Days, h.days...)
	return r
}

// end logs what was summed up of the day that is not over.
func (h *shadowing) end(ctx context.Context) {
	if h != nil {
		day := h.comparison.Cut(h.s.now())
		logDay(ctx, "The shadow's day, up to the end", &day)
	}
}

// logDay writes a day into the log, as one line.
func logDay(ctx context.Context, what string, day *shadow.Day) {
	values := []any{
		"since", day.Since, "until", day.Until, "decided", day.Sums.Decided, "bound", day.Sums.Bound, "same", day.Sums.Same, "different", day.Sums.Different,
		"unplaced", day.Sums.Unplaced, "earlier", day.Sums.Earlier, "refused", day.Sums.Refused,
	}
	for _, side := range []struct {
		name string
		*shadow.Side
	}{{"ours", &day.Sums.Ours}, {"theirs", &day.Sums.Theirs}} {
		if l := side.Latency; l != nil {
			values = append(values, side.name+"LatencyP50", float64(l.P50), side.name+"LatencyP99", float64(l.P99))
		}
		values = append(values, side.name+"Fill", float64(side.Fill), side.name+"NodesOpened", side.NodesOpened, side.name+"HardViolated", side.HardViolated,
			side.name+"SoftViolated", side.SoftViolated, side.name+"Victims", side.Victims)
	}
	klog.FromContext(ctx).Info(what, values...)
}

// ErrNoShadow says that the scheduler is none, and ErrNotLeading that this replica does not lead, or is busy.
var (
	ErrNoShadow   = errors.New("no profile is in mode shadow, so that there is nothing to compare")
	ErrNotLeading = errors.New("this replica does not lead, or its loop is busy; ask the one that holds the lease, or again")
)

// Shadow is how the decisions of a scheduler that is a shadow differ from what the other scheduler does. Any goroutine may ask.
func Shadow(ctx context.Context, s *Scheduler) (*shadow.Report, error) {
	h := s.epochs.shadow
	if h == nil {
		return nil, ErrNoShadow
	}
	answer := make(chan *shadow.Report, 1)
	select {
	case h.asks <- answer:
		return <-answer, nil
	case <-ctx.Done():
		return nil, ErrNotLeading
	}
}

// notesOf takes the decisions of a shadow; nil of a scheduler that carries them out.
func notesOf(s *Scheduler) *world.Notes { return s.world.Binds().Notes() }

// reportCarriedOut has a call on the core, and so the recording, state when decisions could have been carried out, which is when binds would be sent.
func reportCarriedOut(ctx context.Context, s *Scheduler) {
	began := s.Clock.Now()
	decisions, err := s.epochs.observe(s.now(), nil)
	if err != nil {
		s.epochs.mistakes.complain(ctx, s.now(), err)
		return
	}
	s.carryOut(ctx, decisions, began)
}

// spare takes decisions to evict to a shadow's world.
func spare(notes *world.Notes, decisions []sched.Decision) {
	for _, d := range decisions {
		if d.Kind == sched.Evict {
			notes.Spare(d)
		}
	}
}

// withoutHints drops of pods that are watched which node the other scheduler has nominated: a shadow is not to be told what the other one has decided.
func withoutHints(strip cache.TransformFunc, watched func(schedulerName string) bool) cache.TransformFunc {
	return func(object any) (any, error) {
		object, err := strip(object)
		if p, is := object.(*v1.Pod); is && watched(p.Spec.SchedulerName) {
			p.Status.NominatedNodeName = ""
		}
		return object, err
	}
}
