package flow

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file bounds what tasks could gain by places for which there is not enough room:
// a knapsack of vectors on each node, relaxed twice.
//
// First, each request has a worth y, whatever it is. A unit that gains g has g - y of it
// anywhere, and y from the node where it is; so all gain at most
//
//	Σ max(0, g - y)  +  Σ over nodes of the most worth that fits on the node.
//
// Second, the kinds of resources are mixed into one by weights. If a unit of a request
// is worth at most t for each part of the mix that it needs, the worth that fits on a
// node is at most t times what the node has of the mix; the least of that over several
// mixes counts, each time among the requests of which at least one fits. The worths come
// from the same with all nodes in one, where a knapsack whose tasks may be cut is filled
// by gain for size: what the last one gains for its size is the price of the mix, and a
// request is worth what it needs at that price. (A Lagrangian bound whose multipliers
// are not improved step by step: the mixes are tried instead.)
//
// All is in integers: sizes are rounded down, and rooms and worths up.

// knapsack is scratch.
type knapsack struct {
	room  []Cost   // by kind, of all nodes
	mixes [][]Cost // weights by kind
	size  [][]Cost // by mix and request: what a unit needs of all that there is
	left  [][]Cost // by mix and node: what it has
	fits  []bool   // by node and request
	price [][]Cost // by mix and request: worth for size
	worth []Cost
	items []item
}

// item is units of a request that gain as much.
type item struct {
	gain
	request int // -1: of none that counts
}

const (
	// sizeBits are the binary digits of all that there is of a kind, and of a price.
	sizeBits = 40
	// mixParts is into how many parts two kinds are mixed.
	mixParts = 8
	// mostMixes and mostMixing bound the work.
	mostMixes  = 64
	mostMixing = 1 << 24
)

// most is what the gains come to at most on the nodes that the requests compete for,
// and false if that cannot be said.
func (k *knapsack) most(b *gains, c *contention) (Cost, bool) {
	kinds, requests, nodes := c.in.Kinds, len(c.requests), len(c.nodes)
	if nodes == 0 || !k.addUp(c) {
		return 0, false
	}
	k.items = k.items[:0]
	for _, a := range b.alone {
		request := slices.Index(c.requests, a.request)
		if a.straight {
			request = -1 // its nodes may be others
		}
		for _, g := range b.list[a.from:a.to] {
			k.items = append(k.items, item{g, request})
		}
	}
	k.mix(kinds)
	k.measure(c)
	best, found := Cost(0), false
	mixes := len(k.mixes)
	if work := mixes * mixes * nodes * requests; work > mostMixing {
		mixes = max(1, mostMixing/(len(k.mixes)*nodes*requests))
	}
	for m := range mixes {
		if !k.appraise(m) {
			continue
		}
		if most := k.gains(nodes); !found || most < best {
			best, found = most, true
		}
	}
	return best, found
}

// addUp adds up the room of each kind.
func (k *knapsack) addUp(c *contention) bool {
	k.room = append(k.room[:0], make([]Cost, c.in.Kinds)...)
	for i, r := range c.in.Room {
		if sum := &k.room[i%c.in.Kinds]; r > 0 {
			if *sum > math.MaxInt64-r {
				return false
			}
			*sum += r
		}
	}
	return true
}

// mix lists the mixes: each two kinds of which there is any in several proportions,
// and each alone.
func (k *knapsack) mix(kinds int) {
	k.mixes = k.mixes[:0]
	add := func(x, y int, part Cost) {
		if len(k.mixes) < mostMixes {
			weights := make([]Cost, kinds)
			weights[x] += mixParts - part
			weights[y] += part
			k.mixes = append(k.mixes, weights)
		}
	}
	for x := range kinds {
		for y := range x {
			if k.room[x] > 0 && k.room[y] > 0 {
				for _, part := range [...]Cost{4, 2, 6, 1, 3, 5, 7} {
					add(x, y, part)
				}
			}
		}
	}
	for x := range kinds {
		if k.room[x] > 0 {
			add(x, x, 0)
		}
	}
}

// measure says what requests need and nodes have of each mix, and who fits where.
func (k *knapsack) measure(c *contention) {
	kinds, requests := c.in.Kinds, len(c.requests)
	k.size, k.left, k.fits = k.size[:0], k.left[:0], k.fits[:0]
	for _, weights := range k.mixes {
		size, left := make([]Cost, requests), make([]Cost, len(c.nodes))
		for i, d := range c.in.Demand {
			if weight := weights[i%kinds]; weight > 0 && d > 0 {
				size[i/kinds] += weight * scaled(min(d, k.room[i%kinds]), 1<<sizeBits, k.room[i%kinds], false)
			}
		}
		for i, r := range c.in.Room {
			if weight := weights[i%kinds]; weight > 0 && r > 0 {
				left[i/kinds] += weight * scaled(r, 1<<sizeBits, k.room[i%kinds], true)
			}
		}
		k.size, k.left = append(k.size, size), append(k.left, left)
	}
	for n := range c.nodes {
		room := cluster.Vector(c.in.Room[n*kinds : (n+1)*kinds])
		for q := range requests {
			k.fits = append(k.fits, cluster.Vector(c.in.Demand[q*kinds:(q+1)*kinds]).Fits(room))
		}
	}
}

// appraise gives each request the worth that it has at the price of a mix, and reports
// whether there is a price: whether not all of them fit together.
func (k *knapsack) appraise(m int) bool {
	size := k.size[m]
	needs := func(i item) Cost {
		if i.request < 0 {
			return 0
		}
		return size[i.request]
	}
	slices.SortStableFunc(k.items, func(a, b item) int { return compareProducts(b.cost, needs(a), a.cost, needs(b)) })
	left := Cost(mixParts) << sizeBits
	last := -1
	for i, it := range k.items {
		need := needs(it)
		if need == 0 {
			continue
		}
		if last = i; left/need < it.units {
			break
		}
		if left -= need * it.units; i == len(k.items)-1 {
			return false
		}
	}
	if last < 0 {
		return false
	}
	at := k.items[last]
	k.worth = k.worth[:0]
	for _, s := range size {
		k.worth = append(k.worth, scaled(s, at.cost, needs(at), false))
	}
	k.price = k.price[:0]
	for _, size := range k.size {
		price := make([]Cost, len(size))
		for q, s := range size {
			price[q] = scaled(k.worth[q], 1<<sizeBits, s, true)
		}
		k.price = append(k.price, price)
	}
	return true
}

// gains is what all gain at most, where requests are worth what they are.
func (k *knapsack) gains(nodes int) (sum Cost) {
	for _, i := range k.items {
		over := i.cost
		if i.request >= 0 {
			over = max(0, over-k.worth[i.request])
		}
		sum += min(i.units*over, unreached-sum)
	}
	requests := len(k.worth)
	for n := range nodes {
		fits, least := k.fits[n*requests:(n+1)*requests], Cost(math.MaxInt64)
		for m, price := range k.price {
			dearest := Cost(0)
			for q, p := range price {
				if fits[q] {
					dearest = max(dearest, p)
				}
			}
			if dearest < math.MaxInt64 { // else somebody needs nothing of the mix
				least = min(least, scaled(k.left[m][n], dearest, 1<<sizeBits, true))
			}
		}
		sum += min(least, unreached-sum)
	}
	return sum
}

// scaled is a·b/c, which are not negative, rounded up or down, and at most the largest
// number there is; that is also what it is for a c of 0, unless a·b is 0.
func scaled(a, b, c int64, up bool) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high == 0 && low == 0 {
		return 0
	}
	if c == 0 || high >= uint64(c) {
		return math.MaxInt64
	}
	quotient, rest := bits.Div64(high, low, uint64(c))
	if up && rest > 0 {
		quotient++
	}
	return int64(min(quotient, math.MaxInt64))
}

// compareProducts compares a·b with c·d, of numbers that are not negative.
func compareProducts(a, b, c, d int64) int {
	high, low := bits.Mul64(uint64(a), uint64(b))
	otherHigh, otherLow := bits.Mul64(uint64(c), uint64(d))
	return cmp.Or(cmp.Compare(high, otherHigh), cmp.Compare(low, otherLow))
}
