package google2011

import (
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/spill"
	"fairlead.dev/fairlead/sim/trace"
)

// This file follows the lives of tasks. Both passes over the task events do
// so, and number the lives alike.

// The task events.
const (
	submit = iota
	schedule
	evict
	fail
	finish
	kill
	lost
	updatePending
	updateRunning
	taskEvents
)

type taskKey struct {
	job   uint64
	index uint32
}

type taskEvent struct {
	taskKey
	what     uint8
	class    uint8
	perNode  int32
	priority int32
	machine  uint64 // of SCHEDULE
	user     string
	demand   [2]int64
}

func taskTable(files []string, skips *trace.Skips, names names) table[taskEvent] {
	return table[taskEvent]{fields: 13, parse: names.taskEvent, files: files, skips: skips}
}

func (n names) taskEvent(row *trace.Row, e *taskEvent) {
	e.job = row.Uint(3, "a job ID", math.MaxInt64)
	e.index = uint32(row.Uint(4, "a task index", math.MaxUint32))
	e.machine = optional(row, 5, "a machine ID", math.MaxInt64)
	e.what = uint8(row.Uint(6, "a task event from 0 (SUBMIT) to 8 (UPDATE_RUNNING)", taskEvents-1))
	if e.what == schedule && row.Empty(5) {
		row.Fail(5, "the machine on which the task is scheduled")
	}
	e.user = n.of(row.Text(7))
	e.class = uint8(optional(row, 8, "a scheduling class from 0 to 3", 3))
	e.priority = int32(row.Uint(9, "a priority", math.MaxInt32))
	e.demand[cpu] = quantity(row, 10, "a request for CPU of at least 0", trace.Up)
	e.demand[memory] = quantity(row, 11, "a request for memory of at least 0", trace.Up)
	quantity(row, 12, "a request for disk of at least 0", trace.Up)
	e.perNode = int32(optional(row, 13, "0, or 1 if the job's tasks are on different machines", 1))
}

// life is one life of a task, from SUBMIT to its end.
type life struct {
	number int          // in the order of submission
	since  cluster.Time // when it was last scheduled; -1 while it is not
}

// lives are the tasks alive at some moment.
type lives struct {
	alive  map[taskKey]life
	begun  int
	strays int // events of tasks not alive, and repeated SUBMITs
}

// effect is what an event means for the replay.
type effect uint8

const (
	nothing effect = iota
	begins         // a life begins
	placed         // SCHEDULE: nothing either, but in the snapshot
	ends           // its work is done, or has failed
	killed         // it ends whatever the replay has made of it
)

// apply follows an event, and returns the life that it is about, as it was
// before it ended.
func (l *lives) apply(at cluster.Time, e *taskEvent) (effect, life) {
	task, alive := l.alive[e.taskKey]
	if e.what == submit && !alive {
		task = life{number: l.begun, since: -1}
		l.alive[e.taskKey] = task
		l.begun++
		return begins, task
	}
	if !alive {
		l.strays++
		return nothing, task
	}
	switch e.what {
	case schedule:
		task.since = at
		l.alive[e.taskKey] = task
		return placed, task
	case evict:
		task.since = -1
		l.alive[e.taskKey] = task
	case fail, finish, lost:
		delete(l.alive, e.taskKey)
		if task.since < 0 {
			return killed, task
		}
		return ends, task
	case kill:
		delete(l.alive, e.taskKey)
		return killed, task
	}
	return nothing, task
}

// ending is how a life ends by itself: after this work, and perhaps by failing.
type ending struct {
	work  cluster.Time // cluster.Never if it does not
	fails bool
}

// works holds the ending of every life, in a file, as eight bytes at eight times
// its number: 0 if it never ends, else the work plus 1, negative if it fails.
type works struct{ *spill.Numbers }

func newWorks() (*works, error) {
	numbers, err := spill.NewNumbers()
	return &works{numbers}, err
}

func (w *works) set(number int, e ending) error {
	value := int64(e.work) + 1
	if e.fails {
		value = -value
	}
	return w.Set(number, value)
}

// next returns the ending of the next life, in order.
func (w *works) next() (ending, error) {
	value, err := w.Next()
	switch {
	case err != nil:
		return ending{}, err
	case value == 0:
		return ending{work: cluster.Never}, nil
	case value < 0:
		return ending{work: cluster.Time(-value - 1), fails: true}, nil
	}
	return ending{work: cluster.Time(value - 1)}, nil
}
