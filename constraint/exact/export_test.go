package exact

// Fix holds the placement, and which applications are placed, to these values; all that is counted
// stays free.
func (m *Model) Fix(values []float64) {
	for _, c := range append(append([]int32(nil), m.column...), m.placed...) {
		if c != absent {
			m.Lower[c], m.Upper[c] = values[c], values[c]
		}
	}
}
