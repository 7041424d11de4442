// Package wide is numbers of 128 bits, at least 0: sums of amounts, and amounts × time,
// exactly, where 64 bits are too few for a month of a cluster.
package wide

import (
	"math"
	"math/bits"
	"slices"
)

// Number is a number from 0 to 2^128 − 1. The zero value is 0.
type Number struct{ high, low uint64 }

// Of is a number that is at least 0.
func Of(n int64) Number { return Number{low: uint64(n)} }

// Product is the product of two numbers that are at least 0, such as an amount and how
// long it lasts.
func Product(a, b int64) Number {
	high, low := bits.Mul64(uint64(a), uint64(b))
	return Number{high, low}
}

// Plus is the sum of two.
func (a Number) Plus(b Number) Number {
	low, carry := bits.Add64(a.low, b.low, 0)
	return Number{a.high + b.high + carry, low}
}

// Minus is by how much a is more than b; 0 if it is not.
func (a Number) Minus(b Number) Number {
	if a.high < b.high || a.high == b.high && a.low < b.low {
		return Number{}
	}
	low, borrow := bits.Sub64(a.low, b.low, 0)
	return Number{a.high - b.high - borrow, low}
}

// Over is the number divided by another one, which is above 0, and whether something was
// left over; math.MaxInt64 where the quotient is larger than that.
func (a Number) Over(by int64) (quotient int64, rest bool) {
	if a.high >= uint64(by) {
		return math.MaxInt64, false
	}
	q, r := bits.Div64(a.high, a.low, uint64(by))
	if q >= math.MaxInt64 {
		return math.MaxInt64, false
	}
	return int64(q), r > 0
}

// Times is the number times another one, which is at least 0, and the largest number where that is more.
func (a Number) Times(by int64) Number {
	over, high := bits.Mul64(a.high, uint64(by))
	carry, low := bits.Mul64(a.low, uint64(by))
	high, more := bits.Add64(high, carry, 0)
	if over > 0 || more > 0 {
		return Number{math.MaxUint64, math.MaxUint64}
	}
	return Number{high, low}
}

// OverUp is the number divided by each of others, which are above 0, rounded up once: dividing twice and rounding up each time is
// the same as dividing by the product. It is math.MaxInt64 where that is more.
func (a Number) OverUp(by ...int64) int64 {
	for _, b := range by {
		high, rest := uint64(0), a.high
		if rest >= uint64(b) { // most numbers are small, and a division takes long
			high, rest = bits.Div64(0, rest, uint64(b))
		}
		low, rest := bits.Div64(rest, a.low, uint64(b))
		a = Number{high, low}
		if rest > 0 {
			a = a.Plus(Number{low: 1})
		}
	}
	if a.high > 0 || a.low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(a.low)
}

// Scaled is the number times each of some, and divided by each of others, which are above
// 0, rounded down once: dividing twice and rounding down each time is the same as dividing
// by the product. It is math.MaxInt64 where that is more.
func (a Number) Scaled(by []int64, over ...int64) int64 {
	words := append(make([]uint64, 0, 8), a.low, a.high) // the lowest first
	for _, b := range by {
		carry := uint64(0)
		for i, word := range words {
			high, low := bits.Mul64(word, uint64(b))
			low, more := bits.Add64(low, carry, 0)
			words[i], carry = low, high+more
		}
		if carry > 0 {
			words = append(words, carry)
		}
	}
	for _, o := range over {
		rest := uint64(0)
		for i, word := range slices.Backward(words) {
			if rest > 0 || word > 0 { // most numbers are small, and a division takes long
				words[i], rest = bits.Div64(rest, word, uint64(o))
			}
		}
	}
	if words[0] > math.MaxInt64 || slices.Max(words[1:]) > 0 {
		return math.MaxInt64
	}
	return int64(words[0])
}

// Float is about the same as a float.
func (a Number) Float() float64 { return float64(float64(a.high)*(1<<64)) + float64(a.low) }
