package validation

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// This file reads how long the control plane took to do what was decided: from the recording of the scheduler, as a watch of pods does not show when a
// decision was made. These times the accounts of the scheduler count as starting and leaving, and the simulator is to do the same.

// latencies are those of a recording, up to a moment.
type latencies struct {
	first, again []cluster.Time // from when a task was placed until its run was known to have begun: the first time of a request, and others
	leave        []cluster.Time // from when a run was told to leave until it was known to be gone
	began, left  []time.Time    // when that was known, the first first
}

// started is a task of a recording.
type started struct {
	attempt         uint32
	placed, evicted cluster.Time // when that was decided of the attempt; Never if it was not
	ran             bool
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
			switch {
			case t == nil:
			case d.Kind == sched.Place:
				t.attempt, t.placed, t.evicted = d.Attempt, call.At, cluster.Never
			case d.Kind == sched.Evict && d.Attempt == t.attempt:
				t.evicted = call.At
			}
		}
	}
}

// happened takes in an event.
func (l *latencies) happened(tasks map[cluster.TaskID]*started, e cluster.Event, now cluster.Time, at time.Time) {
	switch e := e.(type) {
	case cluster.TaskSubmitted:
		tasks[e.Task] = &started{placed: cluster.Never, evicted: cluster.Never, ran: e.Account != nil && e.Account.FirstRun != cluster.Never}
	case cluster.TaskStarted:
		t := tasks[e.Task]
		if t == nil || t.attempt != e.Attempt || t.placed == cluster.Never {
			return
		}
		into := &l.again
		if !t.ran {
			into = &l.first
		}
		*into = append(*into, now-t.placed)
		l.began = append(l.began, at)
		t.placed, t.ran = cluster.Never, true
	case cluster.TaskLeft:
		t := tasks[e.Task]
		if t == nil || t.attempt != e.Attempt || t.evicted == cluster.Never {
			return
		}
		l.leave = append(l.leave, now-t.evicted)
		l.left = append(l.left, at)
		t.evicted = cluster.Never
	default: // says nothing of a start or an end
	}
}

// kept is for how long of an eviction and the start after it a request had a place, on average: until a watch showed that the pod was gone, and from when it
// showed that the next one had a node.
func (l *latencies) kept(began, left []time.Time) cluster.Time {
	return mean(l.leave) - later(l.left, left) + later(l.began, began)
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
