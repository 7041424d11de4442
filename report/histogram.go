package report

import (
	"fmt"
	"math"
	"math/bits"

	"fairlead.dev/fairlead/cluster"
)

// The buckets of a Histogram are exact below exactBelow; above, every power of
// two is cut into subBuckets of equal width. The middle of a bucket is then at
// most half a width, 1/(2*subBuckets) = 0.4 %, away from any value in it.
// HDR Histogram does the same with a chosen number of digits; we need one
// precision only, and so no configuration.
const (
	exactBits  = 8
	exactBelow = 1 << exactBits
	subBuckets = exactBelow / 2
)

// Histogram counts durations so that quantiles can be asked for, with an error
// of at most 0.5 % of the value, in memory that does not grow with the number
// of samples: less than 100 kB, and less when the values are small. Count, sum,
// smallest and largest value are exact. The zero value is ready to use.
type Histogram struct {
	count    int
	min, max cluster.Time
	// The sum has 128 bits: a hundred million responses of a day in
	// microseconds do not fit into 64.
	sumHigh, sumLow uint64
	// buckets reaches as far as the largest value so far.
	buckets []int
}

// Add counts v once. It panics when v is negative: durations are not.
func (h *Histogram) Add(v cluster.Time) {
	if v < 0 {
		panic(fmt.Sprintf("report: a histogram was given the negative duration %d", v))
	}
	if h.count == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.count++
	h.addSum(0, uint64(v))
	b := bucketOf(v)
	h.reach(b + 1)
	h.buckets[b]++
}

// Merge counts everything in h that was counted in other, which stays as it is.
func (h *Histogram) Merge(other *Histogram) {
	if other.count == 0 {
		return
	}
	if h.count == 0 || other.min < h.min {
		h.min = other.min
	}
	h.max = max(h.max, other.max)
	h.count += other.count
	h.addSum(other.sumHigh, other.sumLow)
	h.reach(len(other.buckets))
	for b, n := range other.buckets {
		h.buckets[b] += n
	}
}

// Count returns how many values were added.
func (h *Histogram) Count() int { return h.count }

// Max returns the largest value, or 0 if there is none.
func (h *Histogram) Max() cluster.Time { return h.max }

// Mean returns the mean, rounded down to a microsecond, or 0 if there are no
// values.
func (h *Histogram) Mean() cluster.Time {
	if h.count == 0 {
		return 0
	}
	// No value exceeds 63 bits, so neither does their mean.
	mean, _ := bits.Div64(h.sumHigh, h.sumLow, uint64(h.count))
	return cluster.Time(mean)
}

// Quantile returns the value that a share q of the values does not exceed: by
// nearest rank, so that 0 asks for the smallest and 1 for the largest. It
// returns 0 if there are no values.
func (h *Histogram) Quantile(q float64) cluster.Time {
	if h.count == 0 {
		return 0
	}
	rank := nearestRank(q, h.count)
	below := 0
	for b, n := range h.buckets {
		below += n
		if below >= rank {
			return min(max(middleOf(b), h.min), h.max)
		}
	}
	panic(fmt.Sprintf("report: a histogram of %d values has only %d in its buckets", h.count, below))
}

// addSum adds a number of 128 bits to the sum.
func (h *Histogram) addSum(high, low uint64) {
	var carry uint64
	h.sumLow, carry = bits.Add64(h.sumLow, low, 0)
	h.sumHigh += high + carry
}

// reach makes room for n buckets.
func (h *Histogram) reach(n int) {
	if n > len(h.buckets) {
		h.buckets = append(h.buckets, make([]int, n-len(h.buckets))...)
	}
}

// nearestRank returns the place, counted from 1, of the q-quantile among n
// sorted values.
func nearestRank(q float64, n int) int {
	return min(max(int(math.Ceil(q*float64(n))), 1), n)
}

// bucketOf returns the bucket that counts v.
func bucketOf(v cluster.Time) int {
	if v < exactBelow {
		return int(v)
	}
	// octave numbers the powers of two from the first inexact one; shift
	// leaves the leading bit of v and those that number the sub-bucket.
	octave := bits.Len64(uint64(v)) - 1 - exactBits
	shift := octave + 1
	return exactBelow + octave*subBuckets + int(v>>shift) - subBuckets
}

// rangeOf returns the smallest and the largest value that bucket b counts.
func rangeOf(b int) (low, high cluster.Time) {
	if b < exactBelow {
		return cluster.Time(b), cluster.Time(b)
	}
	octave, sub := (b-exactBelow)/subBuckets, (b-exactBelow)%subBuckets
	shift := octave + 1
	low = cluster.Time(subBuckets+sub) << shift
	return low, low + (1<<shift - 1)
}

// middleOf returns the value in the middle of bucket b.
func middleOf(b int) cluster.Time {
	low, high := rangeOf(b)
	return low + (high-low)/2
}
