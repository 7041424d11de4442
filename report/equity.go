package report

import (
	"maps"
	"math/bits"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file says how equally the tasks of a class were served: the Gini coefficient of
// their availability, G = Σ|a−b| / (2n²·mean) over all pairs (QoS-driven scheduling §5;
// specification §10). 0 is all alike; towards 1 a few have all of it.
//
// Only tasks that were active at about the same time are compared. The paper does not
// say what that is; here it is those that arrived in the same hour of the run. The
// coefficients of the hours are averaged, each counted as often as it has tasks.
//
// With values in order, the sum over pairs is one over ranks: Σ|a−b| = 2·Σ(2i−n−1)·a_i.
// Up to 4,096 tasks of an hour are kept as they are, to half a billionth. Beyond that
// they are counted in bins 1/2048 wide, with the exact sum of each, and tasks of one bin
// pass for alike: that hides at most 1/(8192·mean) of the coefficient, 0.0002 where tasks
// run for most of their time. An hour takes 24 kB at most.

// Equity counts the availability of tasks by the hour in which they arrived. The zero
// value is ready to use.
type Equity struct{ hours map[cluster.Time]*hour }

// hour is the tasks that arrived in an hour.
type hour struct {
	exact []uint32 // availabilities in units of 1/wholeFine, while they are few
	bins  []bin    // otherwise
	tasks int
}

// bin is tasks of about the same availability.
type bin struct {
	tasks int32
	sum   uint64 // of their availabilities
}

const (
	wholeFine = 1 << 31
	binBits   = 20 // of a value within its bin
	mostExact = 4096
)

// Add counts a task that arrived at that moment and ran for some part of its life. A
// life that took no time says nothing, and is not counted.
func (e *Equity) Add(arrived, running, life cluster.Time) {
	if life <= 0 {
		return
	}
	if e.hours == nil {
		e.hours = map[cluster.Time]*hour{}
	}
	h := e.hours[arrived/cluster.Hour]
	if h == nil {
		h = &hour{}
		e.hours[arrived/cluster.Hour] = h
	}
	high, low := bits.Mul64(uint64(running), wholeFine)
	value, _ := bits.Div64(high, low, uint64(life))
	h.add(uint32(value))
}

func (h *hour) add(value uint32) {
	h.tasks++
	if h.bins == nil && len(h.exact) < mostExact {
		h.exact = append(h.exact, value)
		return
	}
	if h.bins == nil {
		h.bins = make([]bin, wholeFine>>binBits+1) // the last is for those that always ran
		for _, v := range h.exact {
			h.bins[v>>binBits].add(v)
		}
		h.exact = nil
	}
	h.bins[value>>binBits].add(value)
}

func (b *bin) add(value uint32) {
	b.tasks++
	b.sum += uint64(value)
}

// Gini is the mean coefficient of the hours, and 0 where there are no tasks.
func (e *Equity) Gini() Number {
	sum, tasks := 0.0, 0
	for _, at := range slices.Sorted(maps.Keys(e.hours)) {
		h := e.hours[at]
		sum += float64(float64(h.tasks) * h.gini())
		tasks += h.tasks
	}
	return Ratio(sum, float64(tasks))
}

// gini is the coefficient of the hour; where nobody ever ran, all are alike.
func (h *hour) gini() float64 {
	bins := h.bins
	if bins == nil {
		slices.Sort(h.exact)
		for _, v := range h.exact {
			bins = append(bins, bin{1, uint64(v)})
		}
	}
	ranked, total, before := 0.0, 0.0, 0
	for _, b := range bins {
		rank := 2*before + int(b.tasks) - h.tasks // summed over the bin, and divided by its tasks
		ranked += float64(float64(rank) * float64(b.sum))
		total += float64(b.sum)
		before += int(b.tasks)
	}
	return max(float64(Ratio(ranked, float64(float64(h.tasks)*total))), 0) // the last bit of a sum may say less
}
