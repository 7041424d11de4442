package report

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// The statistics of a comparison: Student's t intervals of a mean, of paired
// differences, and of the difference of two means whose spreads differ (Welch,
// Biometrika 34, 1947), and Holm's procedure (Scandinavian Journal of
// Statistics 6, 1979), which keeps many tests at once from finding differences
// by chance. All are textbook; gonum knows Student's distribution. They take
// samples to be drawn independently from something near to a normal
// distribution, which means over thousands of tasks are and maxima are not.

// confidence is how often an interval made this way holds the true value, and
// 1 - confidence how often a comparison may find at least one difference where
// there is none.
const confidence = 0.95

// Interval is the mean of samples, and where the true mean lies with a
// confidence of 95 %. With less than two samples nothing is known of the
// spread, and Low and High are the Mean.
type Interval struct {
	Mean Number `json:"mean"`
	Low  Number `json:"low"`
	High Number `json:"high"`
	// N is the number of samples. For a difference it is that of the pairs, or
	// of the samples of the smaller side.
	N int `json:"n"`
}

// Known reports whether Low and High say anything.
func (i Interval) Known() bool { return i.N >= 2 }

// Half is half the width of the interval.
func (i Interval) Half() Number { return (i.High - i.Low) / 2 }

// Holds reports whether x lies within the interval.
func (i Interval) Holds(x Number) bool { return i.Low <= x && x <= i.High }

// MeanOf is the mean of samples; there must be at least one.
func MeanOf(samples []float64) Interval { return meanOf(samples).around() }

// PairedDifference is the mean of other - base, of samples of which those at the same
// place belong together. There must be as many of both, and at least one.
func PairedDifference(base, other []float64) Interval {
	return pairedDifference(base, other).around()
}

// estimate is a mean as it was measured: its standard error, and the degrees of
// freedom with which that is known. No degrees of freedom mean that it is not.
type estimate struct {
	mean, deviation, freedom float64
	n                        int
}

// meanOf estimates the mean of what samples were drawn from. There must be at
// least one.
func meanOf(samples []float64) estimate {
	n := float64(len(samples))
	mean := sum(samples) / n
	e := estimate{mean: mean, freedom: n - 1, n: len(samples)}
	if len(samples) < 2 || constant(samples) {
		return e
	}
	squares := 0.0
	for _, x := range samples {
		squares += float64((x - mean) * (x - mean))
	}
	e.deviation = math.Sqrt(squares / e.freedom / n)
	return e
}

// around is the mean of an estimate, with its interval.
func (e estimate) around() Interval {
	half := e.half()
	return Interval{Mean: Number(e.mean), Low: Number(e.mean - half), High: Number(e.mean + half), N: e.n}
}

// pairedDifference estimates other - base from samples of which those at the
// same place belong together.
func pairedDifference(base, other []float64) estimate {
	differences := make([]float64, len(base))
	for i := range base {
		differences[i] = other[i] - base[i]
	}
	return meanOf(differences)
}

// welchDifference estimates other - base from samples that do not belong
// together and may spread differently.
func welchDifference(base, other []float64) estimate {
	b, o := meanOf(base), meanOf(other)
	e := estimate{mean: o.mean - b.mean, n: min(b.n, o.n), deviation: math.Hypot(b.deviation, o.deviation)}
	switch {
	case e.n < 2: // one side's spread is not known
	case e.deviation == 0:
		e.freedom = float64(b.n + o.n - 2)
	default:
		// Welch and Satterthwaite, in shares of the variance: the fourth powers
		// of small deviations would vanish.
		ofBase, ofOther := b.deviation/e.deviation, o.deviation/e.deviation
		e.freedom = 1 / (math.Pow(ofBase, 4)/b.freedom + math.Pow(ofOther, 4)/o.freedom)
	}
	return e
}

// known reports whether the spread is known.
func (e estimate) known() bool { return e.n >= 2 }

// half is half the width of the interval around the mean.
func (e estimate) half() float64 {
	if !e.known() || e.deviation == 0 {
		return 0
	}
	return e.deviation * studentQuantile(e.freedom, (1+confidence)/2)
}

// chance is the probability that a difference this far from 0 comes about where
// there is none. It is 1 if the spread is not known.
func (e estimate) chance() float64 {
	switch {
	case !e.known() || e.mean == 0:
		return 1
	case e.deviation == 0:
		// The same in all n samples: if it were as often above 0 as below, they
		// would be on one side so often (the sign test).
		return math.Pow(2, 1-float64(e.n))
	}
	student := distuv.StudentsT{Sigma: 1, Nu: e.freedom}
	return 2 * student.Survival(math.Abs(e.mean)/e.deviation)
}

// studentQuantile is the q-quantile of Student's t distribution.
func studentQuantile(freedom, q float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(q)
}

// holm returns which of several differences are more than chance: going from
// the least chance to the greatest, each is held against a limit that is
// divided by the number of those left, and the first to fail ends it. The
// probability of one or more mistakes is then at most 1 - confidence, however
// the differences depend on each other.
func holm(chances []float64) []bool {
	order := make([]int, len(chances))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if chances[a] < chances[b] {
			return -1
		}
		if chances[a] > chances[b] {
			return 1
		}
		return a - b
	})
	found := make([]bool, len(chances))
	for rank, i := range order {
		if chances[i] > (1-confidence)/float64(len(chances)-rank) {
			break
		}
		found[i] = true
	}
	return found
}

func sum(samples []float64) float64 {
	total := 0.0
	for _, x := range samples {
		total += x
	}
	return total
}

// constant reports whether all samples are the same.
func constant(samples []float64) bool {
	return !slices.ContainsFunc(samples, func(x float64) bool { return x != samples[0] })
}
