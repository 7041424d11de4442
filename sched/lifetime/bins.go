package lifetime

import (
	"math/bits"

	"fairlead.dev/fairlead/cluster"
)

// This file cuts ages into bins, four to each doubling: what matters of a lifetime is its order of magnitude. The first bin
// is everything below a minute, the last one everything above 2^17 minutes, which is three months.

const (
	perDoubling = 4
	doublings   = 17
	first       = cluster.Minute
)

// Bins is how many bins there are.
const Bins = perDoubling*doublings + 2

// Bin is the bin of an age or a length.
func Bin(t cluster.Time) int {
	if t < first {
		return 0
	}
	b := perDoubling*(bits.Len64(uint64(t/first))-1) + 1
	for b < Bins-1 && Start(b+1) <= t {
		b++
	}
	return min(b, Bins-1)
}

// Start is the least age in a bin.
func Start(b int) cluster.Time {
	if b == 0 {
		return 0
	}
	root := [perDoubling]int64{1 << 16, 77_936, 92_682, 110_218} // 2^16 times 2 to the power of none to three quarters
	return cluster.Time(int64(first) * root[(b-1)%perDoubling] >> 16 << ((b - 1) / perDoubling))
}
