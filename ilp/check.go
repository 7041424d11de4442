package ilp

// Whether values hold, by nothing but the model. Solvers calculate in floating
// point and let rows and bounds be missed by a little; this says by how much at
// most, once for all of them.

import (
	"fmt"
	"math"
)

// Tolerance is how far a value may be from a whole number, or outside of a bound.
// A row may miss its bound by that much, and by a thousandth of it for each unit
// of what its terms are without their signs: sums over large numbers are not exact.
const Tolerance = 1e-6

// ViolationError says where values do not hold.
type ViolationError struct {
	// Row is the row that is missed, or -1 where it is a column.
	Row int
	// Column is the column whose value lies outside of its bounds, or is not
	// whole, or -1 where it is a row.
	Column       int
	Value        float64
	Lower, Upper float64
}

func (v *ViolationError) Error() string {
	switch {
	case v.Row >= 0:
		return fmt.Sprintf("row %d sums to %g, not within %g and %g", v.Row, v.Value, v.Lower, v.Upper)
	case v.Value >= v.Lower-Tolerance && v.Value <= v.Upper+Tolerance:
		return fmt.Sprintf("column %d is %g, not a whole number", v.Column, v.Value)
	default:
		return fmt.Sprintf("column %d is %g, not within %g and %g", v.Column, v.Value, v.Lower, v.Upper)
	}
}

// Check returns what the values cost, and an error unless they keep to every
// bound, row and kind: a *ViolationError that names the first that they do not. The
// model has to be valid.
func Check(m *Model, values []float64) (objective float64, err error) {
	if len(values) != m.Columns() {
		return 0, fmt.Errorf("%d values for %d columns", len(values), m.Columns())
	}
	for c, x := range values {
		// Written so that a value that is not a number is refused.
		within := x >= m.Lower[c]-Tolerance && x <= m.Upper[c]+Tolerance && !math.IsInf(x, 0)
		whole := m.Kind[c] == Continuous || math.Abs(x-math.Round(x)) <= Tolerance
		if !within || !whole {
			return 0, &ViolationError{Row: -1, Column: c, Value: x, Lower: m.Lower[c], Upper: m.Upper[c]}
		}
		objective += float64(m.Cost[c] * x)
	}
	for r := range m.Rows() {
		columns, factors := m.Row(r)
		sum, size := 0.0, 0.0
		for i, c := range columns {
			term := float64(factors[i] * values[c])
			sum += term
			size += math.Abs(term)
		}
		miss := Tolerance + float64(Tolerance/1000*size)
		if !(sum >= m.RowLower[r]-miss && sum <= m.RowUpper[r]+miss) {
			return 0, &ViolationError{Row: r, Column: -1, Value: sum, Lower: m.RowLower[r], Upper: m.RowUpper[r]}
		}
	}
	return objective, nil
}
