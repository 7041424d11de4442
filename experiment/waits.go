package experiment

import (
	"bytes"
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// This file measures how long batch tasks wait for their first place, as Firmament
// does: of those that come after the start, where what waits at the start is a
// backlog of the trace's own, and without production work.

// production is the least priority of Google's production tasks.
const production = 9

// waits looks at the records that go into a simulation, and at the placements that
// come out.
type waits struct {
	trace.Source
	// since is when tasks were submitted that have had no place, by job and index.
	// Placements come late, in blocks; by then a task may have been submitted again.
	since   map[[2]uint64][]cluster.Time
	took    report.Histogram
	pending []byte // the beginning of a line
	err     error
}

// Next notes when a task is submitted.
func (w *waits) Next(r *trace.Record) error {
	err := w.Source.Next(r)
	if err != nil {
		return err
	}
	if r.What == trace.TaskSubmitted && r.Time > 0 && !r.Task.Running && r.Task.Priority < production {
		task := [2]uint64{r.Task.Job, uint64(r.Task.Index)}
		w.since[task] = append(w.since[task], r.Time)
	}
	return nil
}

// Write takes in lines in the columns of Google's task_events, of which it needs
// time, job, task and event.
func (w *waits) Write(text []byte) (int, error) {
	w.pending = append(w.pending, text...)
	for {
		line, rest, whole := bytes.Cut(w.pending, []byte{'\n'})
		if !whole {
			return len(text), w.err
		}
		w.take(line)
		w.pending = rest
	}
}

func (w *waits) take(line []byte) {
	const time, job, index, event, columns = 0, 2, 3, 5, 13
	const placed = "1"
	fields := bytes.Split(line, []byte{','})
	if len(fields) != columns {
		w.err = fmt.Errorf("a placement has %d columns, want %d: %s", len(fields), columns, line)
		return
	}
	var at cluster.Time
	var task [2]uint64
	for _, v := range []struct {
		field int
		into  any
	}{{time, &at}, {job, &task[0]}, {index, &task[1]}} {
		if _, err := fmt.Sscan(string(fields[v.field]), v.into); err != nil {
			w.err = fmt.Errorf("column %d of a placement: %w: %s", v.field+1, err, line)
			return
		}
	}
	if string(fields[event]) != placed {
		return
	}
	since := w.since[task]
	before := 0 // submissions before this placement: the last of them is what it is for
	for before < len(since) && since[before] <= at {
		before++
	}
	switch {
	case before == 0: // evicted, and placed again
		return
	case before == len(since):
		delete(w.since, task)
	default:
		w.since[task] = since[before:]
	}
	w.took.Add(at - since[before-1])
}
