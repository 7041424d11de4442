package sim

import (
	"fmt"
	"sort"

	"fairlead.dev/fairlead/cluster"
)

// Overheads are samples of how long an allocation takes: Hot where the task
// ran on the node before, Cold elsewhere, First for a task that never ran, where
// that differs from Cold; Leave of how long a run works on that was told to leave; and Anew
// of how long it takes then until its task waits again, as somebody has to make it anew.
// Each allocation, and each eviction, draws one; an empty list is no time at all.
type Overheads struct{ Hot, Cold, First, Leave, Anew []cluster.Time }

// LaterOverheads are those of what is decided from a moment on. They are not drawn by chance but taken in their order, and from the beginning again after the
// last: what a control plane is asked at once it does one after the other, or all together, which chance would tear apart.
type LaterOverheads struct {
	From cluster.Time
	Overheads
}

// Add adds a sample to the list of that name, hot, cold or first.
func (o *Overheads) Add(name string, t cluster.Time) error {
	switch name {
	case "hot":
		o.Hot = append(o.Hot, t)
	case "cold":
		o.Cold = append(o.Cold, t)
	case "first":
		o.First = append(o.First, t)
	default:
		return fmt.Errorf("overhead %q, want hot, cold or first", name)
	}
	return nil
}

// overhead is one of the lists.
type overhead int

const (
	hotStart overhead = iota
	coldStart
	firstStart
	leavesAfter
	comesAnew
	overheadCount
)

func (o *Overheads) of(kind overhead) []cluster.Time {
	return [overheadCount][]cluster.Time{o.Hot, o.Cold, o.First, o.Leave, o.Anew}[kind]
}

// overheads are those of a run.
type overheads struct {
	world *World
	dice  dice
	begun int                // how many of World.Later
	taken [overheadCount]int // of the lists of the last of these
}

// at are those of what is decided now.
func (o *overheads) at(now cluster.Time) *Overheads {
	later := o.world.Later
	if begun := sort.Search(len(later), func(i int) bool { return later[i].From > now }); begun != o.begun {
		o.begun, o.taken = begun, [overheadCount]int{}
	}
	if o.begun == 0 {
		return &o.world.Overheads
	}
	return &later[o.begun-1].Overheads
}

// next is how long it takes what is decided now.
func (o *overheads) next(now cluster.Time, kind overhead) cluster.Time {
	list := o.at(now).of(kind)
	if o.begun == 0 || len(list) == 0 {
		return o.dice.sample(list)
	}
	took := list[o.taken[kind]%len(list)]
	o.taken[kind]++
	return took
}
