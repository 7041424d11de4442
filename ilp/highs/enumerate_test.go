//go:build !nohighs

package highs_test

// A slow and obvious rival: every combination of whole numbers, and for each the
// corners of what is left to at most two continuous columns. All columns are bounded.

import (
	"math"
	"slices"

	"fairlead.dev/fairlead/ilp"
)

// enumerate returns the least cost, and whether there are values that hold.
func enumerate(m *ilp.Model) (best float64, feasible bool) {
	best = math.Inf(1)
	values := make([]float64, m.Columns())
	var rest []int
	var choose func(c int)
	choose = func(c int) {
		if c == m.Columns() {
			corners(m, values, rest, func() {
				if objective, err := ilp.Check(m, values); err == nil {
					best, feasible = min(best, objective), true
				}
			})
			return
		}
		if m.Kind[c] == ilp.Continuous {
			rest = append(rest, c)
			choose(c + 1)
			rest = rest[:len(rest)-1]
			return
		}
		for x := math.Ceil(m.Lower[c]); x <= m.Upper[c]; x++ {
			values[c] = x
			choose(c + 1)
		}
	}
	choose(0)
	return best, feasible
}

// corners sets the columns of rest to each point where as many bounds are met as
// there are columns in it, and calls look.
func corners(m *ilp.Model, values []float64, rest []int, look func()) {
	switch edges := borders(m, values, rest); len(rest) {
	case 0:
		look()
	case 1:
		for _, e := range edges {
			if e.factor[0] != 0 {
				values[rest[0]] = e.bound / e.factor[0]
				look()
			}
		}
	case 2:
		for i, e := range edges {
			for _, f := range edges[:i] {
				if d := e.factor[0]*f.factor[1] - e.factor[1]*f.factor[0]; d != 0 {
					values[rest[0]] = (e.bound*f.factor[1] - e.factor[1]*f.bound) / d
					values[rest[1]] = (e.factor[0]*f.bound - e.bound*f.factor[0]) / d
					look()
				}
			}
		}
	default:
		panic("more than two continuous columns")
	}
}

// border is a line on which a bound is met: factor·rest = bound.
type border struct {
	factor [2]float64
	bound  float64
}

func borders(m *ilp.Model, values []float64, rest []int) []border {
	var edges []border
	add := func(factor [2]float64, bounds ...float64) {
		for _, b := range bounds {
			if !math.IsInf(b, 0) {
				edges = append(edges, border{factor, b})
			}
		}
	}
	for i, c := range rest {
		var factor [2]float64
		factor[i] = 1
		add(factor, m.Lower[c], m.Upper[c])
	}
	for r := range m.Rows() {
		var factor [2]float64
		fixed := 0.0
		columns, factors := m.Row(r)
		for i, c := range columns {
			if at := slices.Index(rest, int(c)); at >= 0 {
				factor[at] = factors[i]
			} else {
				fixed += factors[i] * values[c]
			}
		}
		add(factor, m.RowLower[r]-fixed, m.RowUpper[r]-fixed)
	}
	return edges
}
