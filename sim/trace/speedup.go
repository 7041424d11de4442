package trace

import (
	"fmt"
	"math"

	"fairlead.dev/fairlead/cluster"
)

// Speedup replays src factor times as fast: moments, deadlines and work are divided by
// factor, to the nearest microsecond, as in the evaluation of Firmament
// (OSDI'16). Machines thus see the same load, and the scheduler more events a
// second. The order of records stays; rounding may bring a task and a node
// that came after it to the same moment. A factor below 1 slows down. The
// factor must be positive and finite.
func Speedup(src Source, factor float64) Source {
	if !(factor > 0) || math.IsInf(factor, 1) {
		panic(fmt.Sprintf("trace: a speed-up of %v; want a positive number", factor))
	}
	return &faster{Source: src, factor: factor}
}

type faster struct {
	Source
	factor float64
	due    []Due // of the last task; scratch
}

// Next fills in the next record, earlier.
func (f *faster) Next(r *Record) error {
	if err := f.Source.Next(r); err != nil {
		return err
	}
	r.Time = f.scale(r.Time)
	if r.What == TaskSubmitted && r.Task.Work > 0 {
		// Work stays work: it does not round to nothing.
		r.Task.Work = max(f.scale(r.Task.Work), 1)
	}
	if r.What == TaskSubmitted && len(r.Task.Due) > 0 {
		r.Task.Due = f.sooner(r.Task.Due)
	}
	return nil
}

// sooner is when a job is due. What the source holds stays as it is, as several tasks may share it; of moments that
// become one the first is left, which is worth the most.
func (f *faster) sooner(due []Due) []Due {
	f.due = f.due[:0]
	last := cluster.Time(0)
	for _, d := range due {
		if d.Within = max(f.scale(d.Within), 1); d.Within > last {
			f.due = append(f.due, d)
			last = d.Within
		}
	}
	return f.due
}

// scale leaves what never happens where it is, and lets what a slow-down
// pushes out of range never happen.
func (f *faster) scale(t cluster.Time) cluster.Time {
	scaled := math.Round(float64(t) / f.factor)
	if t == cluster.Never || scaled >= math.MaxInt64 {
		return cluster.Never
	}
	return cluster.Time(scaled)
}
