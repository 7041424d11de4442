package flow

import (
	"cmp"
	"math/bits"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file chooses on one node whom to stop so that a task fits: the set of running
// tasks that is the cheapest to evict, and of equally cheap ones the smallest. That is
// a knapsack to be covered in several dimensions, solved by branch and bound: the best
// value for its price is taken first, so that the first set found is the greedy one,
// and each set found is relieved of whom it does not need. The search looks at a
// bounded number of sets. On nodes with few tasks it ends before that, and the set is
// the cheapest; otherwise it is at most as dear as the greedy one. Where pairs decide
// (Ranker), the greedy set by price alone is the best there is.

// mostSets bounds the sets that are looked at on a node, beside those on the way to
// the first: enough to compare all of eight tasks.
const mostSets = 512

// victim is a running task that could be stopped.
type victim struct {
	task    cluster.TaskID
	seq     cluster.Seq
	shape   cluster.ShapeID
	price   Cost
	cover   int64 // how much of what is missing it has, in all kinds together
	demand  cluster.Vector
	devices cluster.DeviceSet
	share   int64 // of each of the devices
}

// chooser is the memory of a search.
type chooser struct {
	list    []victim
	missing []int64 // by kind: what the task lacks with those gone that are chosen
	rest    []int64 // by position and kind: what the victims from there on have
	least   []Cost  // by position: the cheapest of them

	need  cluster.DeviceNeed
	size  int64                     // of a device
	free  [cluster.MaxDevices]int64 // of each device, with those gone that are chosen
	count int                       // of devices

	chosen []int32 // positions in list
	sets   int     // that may still be looked at
	kept   []int32 // scratch: of a set that was found
	best   []int32
	total  Cost // of the best; unreached if there is none

	rates []Cost   // by node: of each kind, and one more (ratesOf)
	rated []uint64 // by node: when, as network.latest
}

// choose finds whom to stop, and what that costs. Tasks of a higher tier are left
// alone. It is false where even all the others do not make enough room.
func (c *chooser) choose(w *network, s *cluster.View, shape cluster.ShapeID, tier int32, n cluster.NodeID) (Cost, bool) {
	c.list, c.chosen, c.best, c.total = c.list[:0], c.chosen[:0], c.best[:0], unreached
	if c.lack(s, shape, n); c.enough() {
		c.total = 0
		return 0, true
	}
	for _, t := range w.machines[n].tenants {
		if w.members[t].terms.Tier <= tier && !s.Releases(t).Refused() {
			c.add(w, s, t)
		}
	}
	if len(c.list) == 0 {
		return 0, false
	}
	if w.ranks {
		c.leastUrgent()
		return c.total, c.total < unreached
	}
	slices.SortFunc(c.list, func(a, b victim) int {
		return cmp.Or(cmp.Compare(a.price*b.cover, b.price*a.cover), cmp.Compare(a.price, b.price), cmp.Compare(a.shape, b.shape), cmp.Compare(b.seq, a.seq))
	})
	c.sum()
	c.sets = mostSets + len(c.list)
	c.search(0, 0)
	w.looks += int64(mostSets+len(c.list)-c.sets) / looksPerTick
	return c.total, c.total < unreached
}

// leastUrgent chooses where pairs decide (Ranker): the least urgent go first, until the
// task fits, and of these the most urgent stay who need not go. The price is that of the
// most urgent who goes; no other set has a lower one.
func (c *chooser) leastUrgent() {
	slices.SortFunc(c.list, func(a, b victim) int {
		return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(b.cover, a.cover), cmp.Compare(b.seq, a.seq))
	})
	for i := range c.list {
		if c.enough() {
			break
		}
		c.leave(&c.list[i], 1)
		c.chosen = append(c.chosen, int32(i))
	}
	if !c.enough() {
		return
	}
	c.total = 0
	for _, i := range slices.Backward(c.chosen) {
		if c.leave(&c.list[i], -1); c.enough() {
			continue
		}
		c.leave(&c.list[i], 1)
		c.best = append(c.best, i)
		c.total = max(c.total, c.list[i].price)
	}
}

// atLeast is less than choose would find, or the same, without a search: what is
// missing of each kind costs no less than at the best rate of all who run there, and
// no less than the cheapest of them.
func (c *chooser) atLeast(w *network, s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (Cost, bool) {
	if c.lack(s, shape, n); c.enough() {
		return 0, true
	}
	rates := c.ratesOf(w, s, n)
	bound := rates[len(c.missing)]
	for k, lack := range c.missing {
		switch {
		case lack <= 0:
		case rates[k] == unreached:
			return 0, false // nobody there has any of it
		case !w.ranks:
			bound = max(bound, times(rates[k], lack))
		}
	}
	return bound, bound < unreached
}

// rateBits is the number of binary digits behind the point of a rate, so that the
// highest rate is below unreached.
const rateBits = 18

// times is a quantity at a rate, rounded down.
func times(rate Cost, quantity int64) Cost {
	hi, lo := bits.Mul64(uint64(rate), uint64(quantity))
	if hi >= 1<<(rateBits-4) {
		return unreached
	}
	return Cost(hi<<(64-rateBits) | lo>>rateBits)
}

// ratesOf are the prices at which a node could be had from those who run there: for
// each kind the best rate, of any, and then the price of the cheapest of them.
func (c *chooser) ratesOf(w *network, s *cluster.View, n cluster.NodeID) []Cost {
	width := len(c.missing) + 1
	for len(c.rated) < len(w.machines) {
		c.rated = append(c.rated, never)
		for range width {
			c.rates = append(c.rates, 0)
		}
	}
	rates := c.rates[int(n)*width : (int(n)+1)*width]
	if c.rated[n] == w.latest[n] {
		return rates
	}
	c.rated[n] = w.latest[n]
	for k := range rates {
		rates[k] = unreached
	}
	for _, t := range w.machines[n].tenants {
		price := evicting(&w.members[t].terms)
		rates[width-1] = min(rates[width-1], price)
		for k, q := range s.Demand(t) {
			if q > 0 {
				rates[k] = min(rates[k], price<<rateBits/q)
			}
		}
	}
	return rates
}

// lack begins a search: nobody is gone but who is leaving already.
func (c *chooser) lack(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) {
	limit, used, leaving := s.Limit(n), s.Used(n), s.LeavingDemand(n)
	c.missing = c.missing[:0]
	for k, q := range s.Shape(shape).Demand {
		if q > 0 {
			q -= limit[k] - used[k] + leaving[k]
		}
		c.missing = append(c.missing, q)
	}
	if c.need = s.DeviceNeed(shape); c.need.Count > 0 {
		devices := s.Devices(n)
		c.count, c.size = len(devices), s.DeviceLimit(n)
		for i, d := range devices {
			c.free[i] = c.size - d.Used + d.Leaving
		}
	}
}

// add lists a task if it has something of what is missing.
func (c *chooser) add(w *network, s *cluster.View, t cluster.TaskID) {
	const scale = 12 // so that a price times a cover is an int64
	task, terms := s.Task(t), &w.members[t].terms
	v := victim{task: t, seq: task.Seq, shape: task.Shape, price: evicting(terms), demand: s.Demand(t)}
	for k, lack := range c.missing {
		if lack > 0 {
			v.cover += min(cluster.Fraction(v.demand[k], lack), 1<<cluster.FractionBits)
		}
	}
	if c.need.Count > 0 {
		v.devices, v.share = task.Devices, s.DeviceNeed(task.Shape).Share
		v.cover += cluster.Fraction(int64(v.devices.Count()), int64(max(v.devices.Count(), c.need.Count)))
	}
	if v.cover > 0 {
		v.cover = max(1, v.cover>>scale)
		c.list = append(c.list, v)
	}
}

// sum adds up what those have that come later in the list.
func (c *chooser) sum() {
	kinds, length := len(c.missing), len(c.list)
	c.rest = slices.Grow(c.rest[:0], (length+1)*kinds)[:(length+1)*kinds]
	c.least = slices.Grow(c.least[:0], length+1)[:length+1]
	clear(c.rest[length*kinds:])
	c.least[length] = unreached
	for i := length - 1; i >= 0; i-- {
		for k := range kinds {
			c.rest[i*kinds+k] = c.rest[(i+1)*kinds+k] + c.list[i].demand[k]
		}
		c.least[i] = min(c.least[i+1], c.list[i].price)
	}
}

// search extends what is chosen, at this price so far, by victims from a position on.
func (c *chooser) search(from int, total Cost) {
	if c.enough() {
		c.settle(total)
		return
	}
	if from == len(c.list) || c.sets == 0 || !c.promises(from, total) {
		return
	}
	c.sets--
	v := &c.list[from]
	c.leave(v, 1)
	c.chosen = append(c.chosen, int32(from))
	c.search(from+1, total+v.price)
	c.chosen = c.chosen[:len(c.chosen)-1]
	c.leave(v, -1)
	next := from + 1
	for next < len(c.list) && v.alike(&c.list[next]) {
		next++
	}
	c.search(next, total)
}

// alike reports whether one of the two is as good as the other.
func (v *victim) alike(o *victim) bool {
	return v.shape == o.shape && v.price == o.price && v.devices == o.devices && slices.Equal(v.demand, o.demand)
}

// promises reports whether victims from a position on could make a better set.
func (c *chooser) promises(from int, total Cost) bool {
	if total += c.least[from]; total > c.total || total == c.total && len(c.chosen)+1 >= len(c.best) {
		return false
	}
	kinds := len(c.missing)
	for k, lack := range c.missing {
		if lack > 0 && lack > c.rest[from*kinds+k] {
			return false
		}
	}
	return true
}

// settle keeps what is chosen, but for whom it does not need, the dearest first.
func (c *chooser) settle(total Cost) {
	c.kept = append(c.kept[:0], c.chosen...)
	kept := c.kept
	slices.SortFunc(kept, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.list[b].price, c.list[a].price), cmp.Compare(a, b))
	})
	needed := kept[:0]
	for _, i := range kept {
		if c.leave(&c.list[i], -1); c.enough() {
			total -= c.list[i].price
			continue
		}
		c.leave(&c.list[i], 1)
		needed = append(needed, i)
	}
	if total < c.total || total == c.total && len(needed) < len(c.best) {
		c.total, c.best = total, append(c.best[:0], needed...)
	}
	for _, i := range c.chosen { // as it was
		if !slices.Contains(needed, i) {
			c.leave(&c.list[i], 1)
		}
	}
}

// leave lets a victim be gone, or with the sign -1 be there again.
func (c *chooser) leave(v *victim, sign int64) {
	for k, q := range v.demand {
		c.missing[k] -= sign * q
	}
	for set := v.devices; set != 0; set &= set - 1 {
		c.free[bits.TrailingZeros64(uint64(set))] += sign * v.share
	}
}

// enough reports whether the task fits with those gone that are chosen.
func (c *chooser) enough() bool {
	for _, lack := range c.missing {
		if lack > 0 {
			return false
		}
	}
	enough := 0
	for i := 0; enough < c.need.Count && i < c.count; i++ {
		if c.free[i] >= c.need.Share {
			enough++
		}
	}
	return enough >= c.need.Count
}
