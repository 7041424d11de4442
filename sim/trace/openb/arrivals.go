package openb

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is the order in which pods arrive. As FGD has it: shuffle the list,
// then append random copies until the next would pass a share of the cluster's
// GPUs. Where the list passes it already, it is cut there. Pods without GPUs
// weigh nothing. Chance is PCG (math/rand/v2) seeded with the run's seed: first
// it shuffles, and then it draws a pod of the whole list for each copy, with
// replacement.

// stream keeps this chance apart from other uses of the same seed.
const stream = 0x6f70656e62 // "openb"

// arrivals gives out the pods of a list, each a second after the one before
// unless the list is timed.
type arrivals struct {
	timed  bool
	order  []int // places in the list; what comes after them are copies
	given  int
	copies []int // how many copies of each pod were given
	random *rand.Rand
	room   int64 // thousandths of GPUs that may still be asked for
	over   bool
}

// arrange decides on the order of the list.
func (s *Source) arrange(o Options) (arrivals, error) {
	a := arrivals{
		timed: o.Timed, room: math.MaxInt64,
		random: rand.New(rand.NewPCG(o.Seed, stream)), //nolint:gosec // chance is wanted, not secrecy
	}
	a.order = make([]int, len(s.pods))
	for i := range a.order {
		a.order[i] = i
	}
	if o.Timed {
		slices.SortStableFunc(a.order, func(i, j int) int { return cmp.Compare(s.pods[i].at, s.pods[j].at) })
	}
	if o.Shuffle {
		a.random.Shuffle(len(a.order), func(i, j int) { a.order[i], a.order[j] = a.order[j], a.order[i] })
	}
	if o.Inflate == 0 {
		return a, nil
	}
	a.copies = make([]int, len(s.pods))
	a.room = int64(math.Round(o.Inflate * float64(s.gpus())))
	for _, p := range s.pods {
		if p.task.Demand[gpu] > 0 {
			return a, nil
		}
	}
	return a, errors.New("no pod asks for GPUs, so copies of them never add up to a load: leave out inflate")
}

// gpus returns the GPUs of all nodes, in thousandths.
func (s *Source) gpus() int64 {
	sum := int64(0)
	for _, n := range s.nodes {
		sum += n.Capacity[gpu]
	}
	return sum
}

// next returns the next pod to arrive, and when.
func (a *arrivals) next(pods []pod) (at cluster.Time, task trace.Task, ok bool) {
	listed := a.given < len(a.order)
	if a.over || !listed && a.copies == nil {
		return 0, task, false
	}
	var i int
	if listed {
		i = a.order[a.given]
	} else {
		i = a.random.IntN(len(pods))
	}
	at, task = pods[i].at, pods[i].task
	if task.Demand[gpu] > a.room {
		a.over = true
		return 0, task, false
	}
	a.room -= task.Demand[gpu]
	a.given++
	if !a.timed {
		at = cluster.Time(a.given) * cluster.Second
	}
	if !listed {
		a.copies[i]++
		task.Name = fmt.Sprintf("%s-copy-%d", task.Name, a.copies[i])
		task.Job = uint64(a.given - 1)
	}
	return at, task, true
}
