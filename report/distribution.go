package report

import (
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Distribution sums up many durations, in seconds. Mean and Max are exact, the
// quantiles within 0.5 %.
type Distribution struct {
	Mean Number `json:"mean"`
	P50  Number `json:"p50"`
	P90  Number `json:"p90"`
	P99  Number `json:"p99"`
	Max  Number `json:"max"`
}

// Distribution sums up h. It returns nil when h is empty: there is no median
// of nothing, and Run leaves out what is nil.
func (h *Histogram) Distribution() *Distribution {
	if h.count == 0 {
		return nil
	}
	return &Distribution{
		Mean: Seconds(h.Mean()),
		P50:  Seconds(h.Quantile(0.50)),
		P90:  Seconds(h.Quantile(0.90)),
		P99:  Seconds(h.Quantile(0.99)),
		Max:  Seconds(h.Max()),
	}
}

// Availability sums up how available the tasks of a class were. A task's
// availability is the fraction, from 0 to 1, of its life in which it ran.
type Availability struct {
	Mean Number `json:"mean"`
	Min  Number `json:"min"`
	P50  Number `json:"p50"`
	Max  Number `json:"max"`
}

// wholeLife is the unit in which Availabilities count: a task that never ran
// was away for so many parts of its life.
const wholeLife = 1e9

// Availabilities counts the availability of tasks in fixed memory. The zero
// value is ready to use. What it counts is the share of the life in which a
// task did not run, because promises are made about the third nine: the
// histogram's error of 0.5 % is then one of the part that is missing, which
// tells 0.999 from 0.997.
type Availabilities struct{ away Histogram }

// Add counts a task that ran for some part of its life. A life that took no
// time says nothing, and is not counted.
func (a *Availabilities) Add(running, life cluster.Time) {
	if life <= 0 {
		return
	}
	away := float64(life-running) / float64(life)
	a.away.Add(cluster.Time(math.Round(float64(away * wholeLife))))
}

// Summary sums up what was counted: mean, smallest and largest exactly. It
// returns nil if that is nothing.
func (a *Availabilities) Summary() *Availability {
	n := a.away.Count()
	if n == 0 {
		return nil
	}
	share := func(away cluster.Time) Number { return Number(float64(wholeLife-away) / wholeLife) }
	// The task in the middle counted from the least available one. The half
	// keeps Quantile from rounding up to the task after it.
	middle := n + 1 - nearestRank(0.5, n)
	return &Availability{
		Mean: share(a.away.Mean()),
		Min:  share(a.away.Max()),
		P50:  share(a.away.Quantile((float64(middle) - 0.5) / float64(n))),
		Max:  share(a.away.Quantile(0)),
	}
}

// Curve is the cumulative distribution of availability, from its smallest value to the
// largest, in steps as Histogram.Curve has them. Each point is true: so many tasks had no
// more. It returns nil if nothing was counted.
func (a *Availabilities) Curve() Curve {
	var curve Curve
	below, kept := 0, 0.0
	for b, n := range slices.Backward(a.away.buckets) {
		if n == 0 {
			continue
		}
		below += n
		share := float64(below) / float64(a.away.count)
		if len(curve) > 0 && share-kept < leastRise && below < a.away.count {
			continue
		}
		kept = share
		least, _ := rangeOf(b)
		// As it is in JSON: what is the same there is one point.
		value := Number(math.Round(float64(1e6*float64(wholeLife-max(least, a.away.min)))/wholeLife) / 1e6)
		if last := len(curve) - 1; last >= 0 && curve[last][0] == value {
			curve = curve[:last]
		}
		curve = append(curve, [2]Number{value, Number(share)})
	}
	return curve
}
