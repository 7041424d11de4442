package report

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// This file says of two samples whether they come from one distribution, where means are not enough: by the
// test of Kolmogorov and Smirnov, which knows of no form of the distribution.

// KolmogorovSmirnov is the largest difference of the distributions of two samples, each rising and with one value
// at least, and the probability of one as large where they come from one distribution, by the limit of large samples.
// Equal values within a sample, as of times on a coarse clock, make that probability too large.
func KolmogorovSmirnov(a, b []float64) (distance, chance float64) {
	distance = stat.KolmogorovSmirnov(a, nil, b, nil)
	n, m := float64(len(a)), float64(len(b))
	root := math.Sqrt(n * m / (n + m))
	return distance, beyond((root + 0.12 + 0.11/root) * distance) // Stephens' correction for samples that are not large
}

// beyond is the probability that Kolmogorov's distribution exceeds x.
func beyond(x float64) float64 {
	const terms = 100
	if x < 0.2 { // the series has not converged there, and is 1 to twelve digits
		return 1
	}
	sum, sign := 0.0, 1.0
	for j := 1.0; j <= terms; j++ {
		sum += sign * math.Exp(-2*j*j*x*x)
		sign = -sign
	}
	return min(1, max(0, 2*sum))
}
