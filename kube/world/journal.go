package world

import "fairlead.dev/fairlead/cluster"

// journal keeps what happened: the time that it happens at, the events that the core has
// yet to take, in order, and how many changes there were. Time never goes back, and an event
// is taken once. All other parts write into the one journal, so that the order of events is
// that in which things happened.
type journal struct {
	now     cluster.Time
	events  []cluster.Event
	changes uint64 // grows with everything that may let a pod with a query through
}

func (j *journal) advance(now cluster.Time) { j.now = max(j.now, now) }

func (j *journal) emit(e cluster.Event) { j.events = append(j.events, e) }

// take returns the events since it was last called. The slice is valid until
// the next one is appended.
func (j *journal) take() []cluster.Event {
	events := j.events
	j.events = j.events[len(j.events):]
	if cap(j.events) < 64 {
		j.events = nil
	}
	return events
}
