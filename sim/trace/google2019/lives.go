package google2019

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/spill"
)

// This file follows the lives of instances. Both passes over their events do so, and number the lives alike.

// life is one life of an instance, from SUBMIT to its end.
type life struct {
	number int          // in the order of submission
	since  cluster.Time // when it was last scheduled; -1 while it is not
}

// lives are the instances alive at some moment.
type lives struct {
	alive  map[instanceKey]life
	begun  int
	strays int // events of instances not alive, and repeated SUBMITs
}

// effect is what an event means for the replay.
type effect uint8

const (
	nothingNew effect = iota
	begins            // a life begins
	placed            // SCHEDULE: nothing either, but at time 0
	evicted           // EVICT: the same
	updated           // UPDATE: the same
	ends              // its work is done, or has failed
	killed            // it ends whatever the replay has made of it
)

// apply follows an event, and returns the life that it is about, as it was before it ended.
func (l *lives) apply(at cluster.Time, e *instanceEvent) (effect, life) {
	one, alive := l.alive[e.instanceKey]
	switch {
	case e.what == submit && !alive:
		one = life{number: l.begun, since: -1}
		l.alive[e.instanceKey] = one
		l.begun++
		return begins, one
	case !alive || e.what == submit:
		l.strays++
		return nothingNew, one
	}
	switch e.what {
	case schedule:
		one.since = at
		l.alive[e.instanceKey] = one
		return placed, one
	case evict:
		one.since = -1
		l.alive[e.instanceKey] = one
		return evicted, one
	case updatePending, updateRunning:
		return updated, one
	case fail, finish, lost:
		delete(l.alive, e.instanceKey)
		if one.since < 0 {
			return killed, one
		}
		return ends, one
	case kill:
		delete(l.alive, e.instanceKey)
		return killed, one
	}
	return nothingNew, one
}

// ending is how a life ends by itself: after this work, and perhaps by failing.
type ending struct {
	work  cluster.Time // cluster.Never if it does not
	fails bool
}

// endings holds the ending of every life by its number: 0 if it never ends, else the work plus 1, negative if it fails.
type endings struct{ *spill.Numbers }

func (w endings) set(number int, e ending) error {
	value := int64(e.work) + 1
	if e.fails {
		value = -value
	}
	return w.Set(number, value)
}

// next returns the ending of the next life, in order.
func (w endings) next() (ending, error) {
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
