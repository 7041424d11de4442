package google2011

import (
	"cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// This file turns task events into the records of tasks, in two passes: the
// first finds out how each life ends, the second makes the records.

type tasks struct {
	events      table[taskEvent]
	lives       lives
	works       *works
	constraints *constraints
	demand      [2]int64 // of the latest record

	// snapshot holds what was submitted at time 0, by the number of its life,
	// until all rows of time 0 are read: only then is it known what runs. The
	// tasks before shown are emitted.
	snapshot []snapshotTask
	shown    int
}

type snapshotTask struct {
	taskEvent
	ending
	running, gone bool
}

// measure is the first pass. It reads all task events and fills in w and
// counts.
func measure(files []string, skips *trace.Skips, w *works, counts *Counts) error {
	events := taskTable(files, skips, names{})
	defer func() { _ = events.close() }() // opened for reading
	lives := lives{alive: map[taskKey]life{}}
	for {
		if err := events.next(); err != nil {
			return err
		}
		if events.time == cluster.Never {
			counts.Lives, counts.Strays = lives.begun, lives.strays
			return nil
		}
		e := &events.head
		counts.Events[e.what]++
		counts.LastTaskEvent = events.time
		if effect, task := lives.apply(events.time, e); effect == ends {
			if err := w.set(task.number, ending{work: events.time - task.since, fails: e.what == fail}); err != nil {
				return err
			}
		}
	}
}

// start reads the first rows of the second pass, and all of the snapshot.
func (t *tasks) start() error {
	if err := t.constraints.table.next(); err != nil {
		return err
	}
	if err := t.events.next(); err != nil {
		return err
	}
	for t.events.time == 0 {
		if err := t.snap(); err != nil {
			return err
		}
	}
	return t.constraints.upTo(0)
}

// snap adds the row at the head to the snapshot, and takes it off.
func (t *tasks) snap() error {
	e := &t.events.head
	effect, task := t.lives.apply(0, e)
	switch effect {
	case begins:
		end, err := t.works.next()
		if err != nil {
			return err
		}
		t.snapshot = append(t.snapshot, snapshotTask{taskEvent: *e, ending: end})
	case placed:
		t.snapshot[task.number].taskEvent = *e
		t.snapshot[task.number].running = true
	case killed:
		t.snapshot[task.number].gone = true
	case nothing, ends:
	}
	return t.events.next()
}

// time is when the next record or row happens.
func (t *tasks) time() cluster.Time {
	if t.shown < len(t.snapshot) {
		return 0
	}
	return t.events.time
}

// next emits a task of the snapshot, or takes a row off the table. It reports
// whether that made a record, which is then in r.
func (t *tasks) next(r *trace.Record) (bool, error) {
	*r = trace.Record{Time: t.time()}
	if t.shown < len(t.snapshot) {
		task := &t.snapshot[t.shown]
		t.shown++
		t.describe(r, &task.taskEvent, task.ending)
		if task.running {
			r.Task.Running, r.Task.OnNode = true, task.machine
		}
		return !task.gone, nil
	}
	t.snapshot = nil
	if err := t.constraints.upTo(r.Time); err != nil {
		return false, err
	}
	e := &t.events.head
	effect, _ := t.lives.apply(r.Time, e)
	switch effect {
	case begins:
		end, err := t.works.next()
		if err != nil {
			return false, err
		}
		t.describe(r, e, end)
	case killed:
		r.What = trace.TaskKilled
		r.Task.Job, r.Task.Index = e.job, e.index
		t.constraints.take(e.taskKey)
	case nothing, placed, ends:
		t.constraints.take(e.taskKey)
	}
	made := r.What != 0
	return made, t.events.next()
}

// describe makes r the submission of the task.
func (t *tasks) describe(r *trace.Record, e *taskEvent, end ending) {
	t.demand = e.demand
	r.What = trace.TaskSubmitted
	r.Task = trace.Task{
		Job:          e.job,
		Index:        e.index,
		User:         e.user,
		Class:        e.class,
		Priority:     e.priority,
		Demand:       t.demand[:],
		PerNode:      e.perNode,
		Requirements: t.constraints.take(e.taskKey),
		Work:         end.work,
		Fails:        end.fails,
	}
}

func (t *tasks) close() error {
	return cmp.Or(t.events.close(), t.constraints.table.close(), t.works.Close())
}
