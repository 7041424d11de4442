package trace

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strconv"
)

// This file counts what a source of any length holds in memory that is bounded.

// Distinct is how many different things there are.
type Distinct struct {
	Count int
	More  bool // than Count: they were too many to be kept apart
}

// String is the number: "12", "more than 1048576".
func (d Distinct) String() string {
	if d.More {
		return "more than " + strconv.Itoa(d.Count)
	}
	return strconv.Itoa(d.Count)
}

// mostDistinct bounds what is kept apart.
const mostDistinct = 1 << 20

// distinct counts different things.
type distinct[K comparable] struct {
	seen map[K]struct{}
	more bool
}

func (d *distinct[K]) add(k K) {
	if _, known := d.seen[k]; known {
		return
	}
	if len(d.seen) == mostDistinct {
		d.more = true
		return
	}
	if d.seen == nil {
		d.seen = map[K]struct{}{}
	}
	d.seen[k] = struct{}{}
}

func (d *distinct[K]) count() Distinct { return Distinct{len(d.seen), d.more} }

// Tally is how many tasks have each of some values.
type Tally[K cmp.Ordered] struct {
	Counts []Count[K] // by value
	Others int        // tasks of values that were too many to be kept apart
}

// Count is how many tasks have a value.
type Count[K cmp.Ordered] struct {
	Of    K
	Tasks int
}

// mostTallied bounds the values that are kept apart.
const mostTallied = 1 << 12

// tally counts tasks by value.
type tally[K cmp.Ordered] struct {
	counts map[K]int
	others int
}

func (t *tally[K]) add(k K) {
	if t.counts == nil {
		t.counts = map[K]int{}
	}
	if _, known := t.counts[k]; !known && len(t.counts) == mostTallied {
		t.others++
		return
	}
	t.counts[k]++
}

func (t *tally[K]) list() Tally[K] {
	list := Tally[K]{Others: t.others}
	for _, k := range slices.Sorted(maps.Keys(t.counts)) {
		list.Counts = append(list.Counts, Count[K]{k, t.counts[k]})
	}
	return list
}

// Quantiles are of a set of numbers, within 1 %.
type Quantiles struct{ P10, P50, P90, P99, Max int64 }

// sketch counts numbers in buckets of 1/64 of a power of two. Each is shown by
// the first number that fell into it, as sizes are mostly few and round.
type sketch struct {
	buckets [64 * 64]int
	sample  [64 * 64]int64
	count   int
	max     int64
}

func (s *sketch) add(q int64) {
	b := bucket(q)
	if s.buckets[b] == 0 {
		s.sample[b] = q
	}
	s.buckets[b]++
	s.count++
	s.max = max(s.max, q)
}

// bucket is exact below 128.
func bucket(q int64) int {
	exponent := max(bits.Len64(uint64(q))-7, 0)
	return exponent<<6 + int(q>>exponent)
}

func (s *sketch) quantiles() Quantiles {
	at := func(per1000 int) int64 {
		rank := max((s.count*per1000+999)/1000, 1)
		for b, n := range s.buckets {
			if rank -= n; rank <= 0 {
				return s.sample[b]
			}
		}
		return s.max
	}
	return Quantiles{at(100), at(500), at(900), at(990), s.max}
}
