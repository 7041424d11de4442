package workload

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// table is a distribution as its quantile function: straight lines between
// knots. Drawing from it is integer arithmetic only, so that a seed means the
// same on every machine; logarithms and powers do not.
type table struct {
	chance []uint64 // of a smaller value, in 2^-32; from 0 to 2^32
	value  []int64
}

// newTable makes a table of knots (chance, value), values multiplied by unit.
// Both must not fall, and chances run from 0 to 1.
func newTable(knots [][2]float64, unit float64) (table, error) {
	if len(knots) < 2 || knots[0][0] != 0 || knots[len(knots)-1][0] != 1 {
		return table{}, fmt.Errorf("%d knots, want two or more from chance 0 to 1", len(knots))
	}
	t := table{make([]uint64, len(knots)), make([]int64, len(knots))}
	for i, k := range knots {
		t.chance[i] = uint64(math.Round(k[0] * (1 << 32)))
		t.value[i] = int64(math.Round(k[1] * unit))
		if i > 0 && (t.chance[i] <= t.chance[i-1] || t.value[i] < t.value[i-1]) {
			return table{}, fmt.Errorf("knot %d: %v does not follow %v", i, k, knots[i-1])
		}
	}
	return t, nil
}

// at returns the value that a share of u in 2^32 stays below.
func (t table) at(u uint32) int64 {
	i, found := slices.BinarySearch(t.chance, uint64(u))
	if found {
		return t.value[i]
	}
	from, width := t.chance[i-1], t.chance[i]-t.chance[i-1]
	// The product may need more than 64 bits.
	hi, lo := bits.Mul64(uint64(t.value[i]-t.value[i-1]), uint64(u)-from)
	rise, _ := bits.Div64(hi, lo, width)
	return t.value[i-1] + int64(rise)
}

// part turns a share from 0 to 1 into 2^-32, for comparison with a draw.
func part(share float64) uint64 { return uint64(math.Round(share * (1 << 32))) }
