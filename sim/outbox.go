package sim

import "fairlead.dev/fairlead/cluster"

// This file keeps what happened until the core is told of it: the events, in order, and which
// tasks they are the end of, whose rows and accounts are needed until the core has heard.
// Where the world is hostile, outcomes come late or twice.

// outbox is what the core has to be told next.
type outbox struct {
	faults *Faults
	dice   dice
	kernel *kernel

	events []cluster.Event
	ended  []ending // the tasks of which that is the end
}

// ending is a task that ended since the core was last told.
type ending struct {
	task cluster.TaskID
	why  cause
}

// cause is why a task ended.
type cause uint8

const (
	byItself   cause = iota // it has done its work, or failed
	killed                  // its user ended it
	superseded              // another copy of it has finished
)

func (o *outbox) emit(e cluster.Event) { o.events = append(o.events, e) }

// report emits an outcome to the core: now, or late, and now and then twice. It
// reports whether the core does not know yet.
func (o *outbox) report(e cluster.Event) (late bool) {
	if o.dice.falls(o.faults.Twice) {
		o.kernel.set(timer{at: o.kernel.now + o.dice.about(cluster.Minute), kind: reported, report: e})
	}
	if o.dice.falls(o.faults.Late) {
		o.kernel.set(timer{at: o.kernel.now + o.dice.about(o.faults.grace()), kind: reported, report: e})
		return true
	}
	o.emit(e)
	return false
}

// end emits the end of a task.
func (o *outbox) end(e cluster.TaskEnded, why cause) {
	o.emit(e)
	o.ended = append(o.ended, ending{e.Task, why})
}

// ends reports whether the task has ended in this moment already.
func (o *outbox) ends(task cluster.TaskID) bool {
	for _, e := range o.ended {
		if e.task == task {
			return true
		}
	}
	return false
}

func (o *outbox) empty() bool { return len(o.events) == 0 && len(o.ended) == 0 }

// take hands over what is in it, and leaves it empty.
func (o *outbox) take() (events []cluster.Event, ended []ending) {
	events, ended = o.events, o.ended
	o.events, o.ended = nil, nil
	return events, ended
}

// reuse gives the memory of what was taken back. What is new since then stays.
func (o *outbox) reuse(events []cluster.Event, ended []ending) {
	o.events = append(events[:0], o.events...)
	o.ended = append(ended[:0], o.ended...)
}
