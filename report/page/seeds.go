package page

import (
	"math"
	"slices"
)

// Seeds: one experiment run with several seeds is drawn as the mean of its
// runs and the band between the quartiles, as FGD (USENIX ATC 2023) draws it.

// overSeeds returns the mean of lines on one grid and, where there are several
// lines, the first and third quartile at each point; low and high are nil
// otherwise.
func overSeeds(lines []values) (mean, low, high values) {
	if len(lines) == 0 {
		return nil, nil, nil
	}
	if len(lines) == 1 {
		return lines[0], nil, nil
	}
	n := len(lines[0])
	mean, low, high = make(values, n), make(values, n), make(values, n)
	for i := range n {
		var here []float64
		for _, l := range lines {
			if !math.IsNaN(l[i]) {
				here = append(here, l[i])
			}
		}
		slices.Sort(here)
		sum := 0.0
		for _, v := range here {
			sum += v
		}
		mean[i] = sum / float64(len(here)) // NaN where there is nothing
		low[i], high[i] = quantile(here, 0.25), quantile(here, 0.75)
	}
	return mean, low, high
}

// quantile interpolates between the sorted values, as R's and NumPy's default
// does. It is NaN where there are none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	place := q * float64(len(sorted)-1)
	below := int(place)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + float64((sorted[above]-sorted[below])*(place-float64(below)))
}
