package report

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// This file says of two samples whether their means differ, and whether they are the same for all
// purposes. These are two questions: with many samples a difference is found that means nothing, and
// with few one is missed that does. The first is answered by Welch's t-test, the second by two
// one-sided tests (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987).

// Contrast is the difference of the means of two samples that do not belong together.
type Contrast struct{ of estimate }

// Contrasted is the mean of other less that of base; each has at least one value.
func Contrasted(base, other []float64) Contrast { return Contrast{welchDifference(base, other)} }

// Difference is the difference, and where the true one lies with a confidence of 95 %.
func (c Contrast) Difference() Interval { return c.of.around() }

// Chance is the probability that a difference as large as this comes about where there is none, by
// Welch's t-test; 1 where a sample is of one value.
func (c Contrast) Chance() float64 { return c.of.chance() }

// Apart is the probability that a difference as small as this comes about where the means are the bound
// apart, or more: below 5 % they are equivalent. It is 1 where a sample is of one value.
func (c Contrast) Apart(bound float64) float64 {
	inside := bound - math.Abs(c.of.mean)
	switch {
	case !c.of.known():
		return 1
	case c.of.deviation > 0: // of the two tests the one that is nearer to failing
		return distuv.StudentsT{Sigma: 1, Nu: c.of.freedom}.Survival(inside / c.of.deviation)
	case inside > 0:
		return 0
	}
	return 1
}
