package validation

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/experiment"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// This file reads how long the control plane took to do what was decided: from the recording of the scheduler, as a watch of pods does not show when a
// decision was made. These times the accounts of the scheduler count as starting and leaving, and the simulator is to do the same.

// latencies are those of a recording, up to a moment.
type latencies struct {
	first, again []latency   // from when a task was placed until its run was known to have begun: the first time of a request, and others
	leave        []latency   // from when a run was told to leave until it was known to be gone
	anew         []latency   // from then until its request was known to wait again; what was decided is that it leave
	began, left  []time.Time // when that was known, the first first
	decisions    int
}

// latency is how long something took that was decided at a moment, as the decision of that number.
type latency struct {
	number  int
	decided time.Time
	took    cluster.Time
}

// started is a task of a recording.
type started struct {
	attempt         uint32
	placed, evicted decision // of the attempt
	gone            latency  // its last end that was decided
	ran             bool
}

// decision is one that has not been done yet.
type decision struct {
	number int // 0: there is none
	at     cluster.Time
}

// readLatencies reads the recording in a folder up to a moment.
func readLatencies(folder string, until time.Time) (l latencies, err error) {
	files, err := recording.Files(folder)
	if err != nil {
		return l, fmt.Errorf("read what the scheduler has recorded: %w", err)
	}
	for _, file := range files {
		if err := l.read(file, until); err != nil {
			return l, err
		}
	}
	if len(l.first) == 0 {
		return l, fmt.Errorf("the scheduler has recorded no start in %s", folder)
	}
	for _, list := range [][]latency{l.first, l.again, l.leave, l.anew} {
		slices.SortFunc(list, func(a, b latency) int { return cmp.Compare(a.number, b.number) })
	}
	slices.SortFunc(l.began, time.Time.Compare)
	slices.SortFunc(l.left, time.Time.Compare)
	return l, nil
}

func (l *latencies) read(file string, until time.Time) (err error) {
	in, err := os.Open(file) //nolint:gosec // a file of the bed's own
	if err != nil {
		return fmt.Errorf("read what the scheduler has recorded: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	r, err := recording.NewReader(in, file)
	if err != nil {
		return err
	}
	defer r.Close()
	tasks := map[cluster.TaskID]*started{}
	for {
		call, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		at := r.Header().Origin.Add(time.Duration(call.At) * time.Microsecond)
		if at.After(until) {
			return nil
		}
		for _, e := range call.In {
			l.happened(tasks, e, call.At, at)
		}
		for _, d := range call.Out {
			t := tasks[d.Task]
			l.decisions++
			switch {
			case t == nil:
			case d.Kind == sched.Place:
				t.attempt, t.placed, t.evicted = d.Attempt, decision{l.decisions, call.At}, decision{}
			case d.Kind == sched.Evict && d.Attempt == t.attempt:
				t.evicted = decision{l.decisions, call.At}
			}
		}
	}
}

// happened takes in an event.
func (l *latencies) happened(tasks map[cluster.TaskID]*started, e cluster.Event, now cluster.Time, at time.Time) {
	switch e := e.(type) {
	case cluster.TaskSubmitted:
		tasks[e.Task] = &started{ran: e.Account != nil && e.Account.FirstRun != cluster.Never}
	case cluster.TaskStarted:
		t := tasks[e.Task]
		if t == nil || t.attempt != e.Attempt || t.placed.number == 0 {
			return
		}
		into := &l.again
		if !t.ran {
			into = &l.first
		}
		*into = append(*into, t.placed.done(now, at))
		l.began = append(l.began, at)
		t.placed, t.ran = decision{}, true
	case cluster.TaskLeft:
		t := tasks[e.Task]
		if t == nil || t.attempt != e.Attempt || t.evicted.number == 0 {
			return
		}
		t.gone = t.evicted.done(now, at)
		l.leave = append(l.leave, t.gone)
		l.left = append(l.left, at)
		t.evicted = decision{}
	case cluster.TaskUngated:
		if t := tasks[e.Task]; t != nil && t.gone.number > 0 {
			l.anew = append(l.anew, latency{t.gone.number, t.gone.decided, e.Waited})
			t.gone = latency{}
		}
	default: // says nothing of a start or an end
	}
}

// done is how long the decision took that is done now.
func (d decision) done(now cluster.Time, at time.Time) latency {
	took := now - d.at
	return latency{d.number, at.Add(-time.Duration(took) * time.Microsecond), took}
}

// times are how long they took.
func times(list []latency) (all []cluster.Time) {
	for _, l := range list {
		all = append(all, l.took)
	}
	return all
}

// bursts parts them by evictions, of which those are one burst that were decided no later than a span after the first of it. Times count from a moment on; half of what is between two bursts
// belongs to each, as those of a simulation come a little sooner or later. A span of 0 parts nothing.
func (l *latencies) bursts(origin time.Time, span time.Duration) (bursts []experiment.Burst) {
	if span <= 0 || len(l.leave) == 0 {
		return nil
	}
	since := func(at time.Time) cluster.Time { return cluster.Time(at.Sub(origin).Microseconds()) }
	bursts = []experiment.Burst{{}}
	began, last := l.leave[0].decided, l.leave[0].decided
	for _, e := range l.leave {
		if e.decided.Sub(began) > span {
			began = e.decided
			bursts = append(bursts, experiment.Burst{From: since(last.Add(began.Sub(last) / 2))})
		}
		last = e.decided
	}
	of := func(e latency) *experiment.Burst {
		return &bursts[max(0, sort.Search(len(bursts), func(i int) bool { return bursts[i].From > since(e.decided) })-1)]
	}
	for _, kind := range []struct {
		list []latency
		into func(*experiment.Burst) *[]cluster.Time
	}{
		{l.first, func(b *experiment.Burst) *[]cluster.Time { return &b.First }},
		{l.again, func(b *experiment.Burst) *[]cluster.Time { return &b.Again }},
		{l.leave, func(b *experiment.Burst) *[]cluster.Time { return &b.Leave }},
		{l.anew, func(b *experiment.Burst) *[]cluster.Time { return &b.Anew }},
	} {
		for _, e := range kind.list {
			into := kind.into(of(e))
			*into = append(*into, e.took)
		}
	}
	return bursts
}

// kept is for how long of an eviction and the start after it a request had a place, on average: until a watch showed that the pod was gone, and from when it
// showed that the next one had a node.
func (l *latencies) kept(began, left []time.Time) cluster.Time {
	return mean(times(l.leave)) - later(l.left, left) + later(l.began, began)
}

// later is how much later the first ones are than the others, which are the same in another's eyes, on average.
func later(ones, others []time.Time) cluster.Time {
	others = slices.SortedFunc(slices.Values(others), time.Time.Compare)
	var sum time.Duration
	n := min(len(ones), len(others))
	for i := range n {
		sum += ones[i].Sub(others[i])
	}
	return cluster.Time((sum / time.Duration(max(n, 1))).Microseconds())
}

func mean[T cluster.Time | float64](list []T) T {
	var sum T
	for _, x := range list {
		sum += x
	}
	return sum / T(max(len(list), 1))
}
