package report

import "slices"

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

// NewAvailability sums up one availability per task, in any order. It returns
// nil when there are none. It is exact, unlike a Histogram: promises are made
// about the third nine.
func NewAvailability(tasks []float64) *Availability {
	if len(tasks) == 0 {
		return nil
	}
	// The sum is taken in sorted order too, so that the order in which tasks
	// ended does not reach the last digit of the mean.
	sorted := slices.Sorted(slices.Values(tasks))
	sum := 0.0
	for _, a := range sorted {
		sum += a
	}
	return &Availability{
		Mean: Number(sum / float64(len(sorted))),
		Min:  Number(sorted[0]),
		P50:  Number(sorted[nearestRank(0.5, len(sorted))-1]),
		Max:  Number(sorted[len(sorted)-1]),
	}
}
