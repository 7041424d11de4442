package google2019

import (
	"errors"
	"io"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/spill"
	"fairlead.dev/fairlead/sim/trace"
)

// This file turns instance events into the records of tasks, in two passes over the sorted rows: the first finds out how
// each life ends, the second makes the records.

type tasks struct {
	options     Options
	sorted      *spill.Sorter
	in          *spill.Reader
	texts       spill.Texts
	lives       lives
	endings     endings
	collections *collections
	demand      [2]int64 // of the latest record
	counts      counts

	time cluster.Time // of the event that comes next; cluster.Never after the last
	head instanceEvent

	// snapshot holds what was submitted at time 0, by the number of its life, until all rows of time 0 are read: only then is
	// it known what runs. The tasks before shown are emitted.
	snapshot []snapshotTask
	shown    int
}

// counts is what was left out.
type counts struct {
	allocs  int // instances of alloc sets
	inside  int // tasks in allocs
	nowhere int // that ran at time 0, on no machine that is known
	strays  int
	last    cluster.Time // of the last event
}

type snapshotTask struct {
	instanceEvent
	ending
	gone bool
}

// load reads the table.
func (t *tasks) load(files []string, skips *trace.Skips) error {
	var e instanceEvent
	var b []byte
	err := load(instanceTable(), files, skips, func(r *row) error {
		at, kind := r.instance(&e)
		if r.err != nil || at == afterTheEnd {
			return nil
		}
		t.counts.last = max(t.counts.last, cluster.Time(at))
		switch {
		case kind == allocRow && t.options.OpenAllocs:
			t.counts.allocs += first(&e)
			return nil
		case kind == insideAlloc && !t.options.OpenAllocs:
			t.counts.inside += first(&e)
			return nil
		}
		b = e.append(b[:0], at)
		return t.sorted.Add(at, e.what, b)
	})
	return err
}

// first is 1 of the event that begins a life.
func first(e *instanceEvent) int {
	if e.what == submit {
		return 1
	}
	return 0
}

// measure is the first pass.
func (t *tasks) measure() error {
	if err := t.begin(); err != nil {
		return err
	}
	for t.time != cluster.Never {
		if effect, one := t.lives.apply(t.time, &t.head); effect == ends {
			if err := t.endings.set(one.number, ending{work: t.time - one.since, fails: t.head.what == fail}); err != nil {
				return err
			}
		}
		if err := t.advance(); err != nil {
			return err
		}
	}
	t.counts.strays = t.lives.strays
	return nil
}

// begin begins a pass.
func (t *tasks) begin() (err error) {
	t.lives = lives{alive: map[instanceKey]life{}}
	if t.in, err = t.sorted.Read(); err != nil {
		return err
	}
	return t.advance()
}

func (t *tasks) advance() error {
	at, record, err := t.in.Next()
	if errors.Is(err, io.EOF) {
		t.time = cluster.Never
		return nil
	}
	if err == nil {
		t.time = cluster.Time(at)
		t.head.read(record, at, &t.texts)
	}
	return err
}

// start begins the second pass, and reads all of the snapshot.
func (t *tasks) start() error {
	if err := t.begin(); err != nil {
		return err
	}
	for t.time == 0 {
		if err := t.snap(); err != nil {
			return err
		}
	}
	return t.collections.upTo(0)
}

// snap adds the event at the head to the snapshot, and takes the next one.
func (t *tasks) snap() error {
	effect, one := t.lives.apply(0, &t.head)
	own := t.head
	own.requirements = slices.Clone(own.requirements)
	switch effect {
	case begins:
		end, err := t.endings.next()
		if err != nil {
			return err
		}
		own.machine = 0
		t.snapshot = append(t.snapshot, snapshotTask{instanceEvent: own, ending: end})
	case placed:
		if own.machine < 1 {
			t.counts.nowhere++
		}
		t.snapshot[one.number].instanceEvent = own
	case updated:
		own.machine = t.snapshot[one.number].machine
		t.snapshot[one.number].instanceEvent = own
	case killed, ends:
		t.snapshot[one.number].gone = true
	case evicted:
		t.snapshot[one.number].machine = 0
	case nothingNew:
	}
	return t.advance()
}

// next emits a task of the snapshot, or takes an event. It reports whether that made a record, which is then in r.
func (t *tasks) next(r *trace.Record) (bool, error) {
	*r = trace.Record{Time: t.when()}
	if t.shown < len(t.snapshot) {
		one := &t.snapshot[t.shown]
		t.shown++
		t.describe(r, &one.instanceEvent, one.ending)
		if one.machine > 0 {
			r.Task.Running, r.Task.OnNode = true, uint64(one.machine)
		}
		return !one.gone, nil
	}
	t.snapshot = nil
	t.shown = 0
	if err := t.collections.upTo(r.Time); err != nil {
		return false, err
	}
	effect, _ := t.lives.apply(r.Time, &t.head)
	switch effect {
	case begins:
		end, err := t.endings.next()
		if err != nil {
			return false, err
		}
		t.describe(r, &t.head, end)
	case killed:
		r.What = trace.TaskKilled
		r.Task.Job, r.Task.Index = t.head.collection, t.head.index
	case nothingNew, placed, evicted, updated, ends:
	}
	return r.What != 0, t.advance()
}

// when is the time of the next record or event.
func (t *tasks) when() cluster.Time {
	if t.shown < len(t.snapshot) {
		return 0
	}
	return t.time
}

// describe makes r the submission of the task.
func (t *tasks) describe(r *trace.Record, e *instanceEvent, end ending) {
	t.demand = e.demand
	of := t.collections.alive[e.collection]
	r.What = trace.TaskSubmitted
	r.Task = trace.Task{
		Job: e.collection, Index: e.index, User: of.user, Class: e.class, Priority: e.priority, Demand: t.demand[:],
		PerNode: of.perNode, Work: end.work, Fails: end.fails,
	}
	if len(e.requirements) > 0 {
		r.Task.Requirements = slices.Clone(e.requirements) // the next event is read into these
	}
	if !t.options.OwnPriorities {
		r.Task.Priority = tier(e.priority)
	}
}

// tier is the priority of 2011 of a tier of 2019.
func tier(priority int32) int32 {
	for _, t := range []struct{ from, of2011 int32 }{{360, 11}, {120, 9}, {116, 8}, {100, 2}} {
		if priority >= t.from {
			return t.of2011
		}
	}
	return 0
}
