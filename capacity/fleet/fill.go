package fleet

import (
	"cmp"
	"math"
	"slices"
)

// This file fills nodes: each step fills a node of every offer that could be the best, by what tasks are worth, and buys the
// one that holds the most for its price, as often as there are tasks for it. What a node of an offer can hold
// falls as tasks become fewer, so that an offer is looked at again only when what it held the last time would be the best.

// How tasks are chosen for a node, each of which is the best for some.
type taste uint8

const (
	balanced taste = iota // what is worth the most for what it takes of what is left
	largest               // the largest of what is worth its price here
	smallest              // the smallest of it
	tastes
)

// solver chooses nodes.
type solver struct {
	*shop
	prices *prices
	count  []int // of each Tasks, how many have no node
	stock  []int // of each offer, how many nodes there are yet; -1 is no limit
	bins   []*bin
	bound  float64
	value  []float64   // of each of the Tasks
	even   float64     // of evens
	worth  []float64   // the value of each of the Tasks, at first
	first  [][]float64 // costs, at first
	steps  int         // that prices take at first
	later  int         // and when tasks have become fewer
	order  [][]int     // of each offer, the Tasks by what they cost there, the most first
	costs  [][]float64 // of each offer, what each of the Tasks costs there
}

// How many steps prices take, at first and when tasks have become fewer, and in how many measures that are looked at.
const (
	firstSteps, leastSteps = 3000, 300
	laterSteps, fewSteps   = 60, 15
	firstWork, laterWork   = 600_000_000, 20_000_000
)

func newSolver(p *Problem) *solver {
	s := &solver{shop: newShop(p), prices: newPrices(p), even: evens()[0]}
	s.empty()
	work := 1 // of a step
	for _, ofTasks := range s.prices.uses {
		for _, uses := range ofTasks {
			work += len(uses)
		}
	}
	s.steps = min(max(firstWork/work, leastSteps), firstSteps)
	s.later = min(max(laterWork/work, fewSteps), laterSteps)
	s.ascend(0, s.steps)
	s.bound = s.prices.best
	s.worth = slices.Clone(s.value)
	for _, cost := range s.costs {
		s.first = append(s.first, slices.Clone(cost))
	}
	return s
}

// empty takes back all nodes.
func (s *solver) empty() {
	s.bins, s.count, s.stock = nil, make([]int, len(s.p.Tasks)), make([]int, len(s.p.Offers))
	for t := range s.p.Tasks {
		if s.somewhere(t) { // else it is left
			s.count[t] = s.p.Tasks[t].Count
		}
	}
	for o := range s.p.Offers {
		s.stock[o] = s.p.Offers[o].Most
		if s.p.Offers[o].Most == 0 {
			s.stock[o] = -1
		}
	}
}

// fillBest fills nodes by each of evens, and keeps the best: that leaves the least, for the least price.
func (s *solver) fillBest() {
	begin := s.prices.clone()
	var best solver
	for i, even := range evens() {
		s.even = even
		s.empty()
		s.prices.restore(begin)
		s.evaluate()
		s.fill()
		if left, most := s.remaining(), best.remaining(); i == 0 || left < most || left == most && s.price() < best.price() {
			best = *s
		}
	}
	s.bins, s.count, s.stock = best.bins, best.count, best.stock
}

// price is that of all nodes.
func (s *solver) price() (sum int64) {
	for _, b := range s.bins {
		sum += s.p.Offers[b.offer].Price
	}
	return sum
}

// somewhere reports whether some offer takes one of the tasks.
func (s *solver) somewhere(t int) bool {
	return slices.ContainsFunc(s.fits, func(one []bool) bool { return one[t] })
}

// candidate is a node that could be bought, and how much it holds for its price.
type candidate struct {
	*bin
	ratio float64
	fresh bool
}

// fill buys nodes until all tasks have one, or none is left.
func (s *solver) fill() {
	worth := s.remaining()
	best := s.candidates()
	for {
		o := s.pick(best)
		if o < 0 {
			return
		}
		b := best[o].bin
		for range s.times(b) {
			s.buy(b)
		}
		for i := range best {
			best[i].fresh = false
		}
		if left := s.remaining(); left < 0.8*worth {
			s.ascend(s.steps, s.later)
			best, worth = s.candidates(), s.remaining()
		}
	}
}

// remaining is what the tasks without a node are worth.
func (s *solver) remaining() float64 {
	sum := 0.0
	for t, n := range s.count {
		sum += float64(float64(n) * (s.prices.worth[t] + least))
	}
	return sum
}

// candidates orders the tasks for each offer. Nothing is known of what its node would hold.
func (s *solver) candidates() []candidate {
	all := make([]candidate, len(s.p.Offers))
	if s.order == nil {
		s.order = make([][]int, len(s.p.Offers))
	}
	var waiting []int
	for t, n := range s.count {
		if n > 0 {
			waiting = append(waiting, t)
		}
	}
	for o := range all {
		all[o].ratio = math.Inf(1)
		order, cost := s.order[o][:0], s.costs[o]
		for _, t := range waiting {
			if s.fits[o][t] {
				order = append(order, t)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cost[b], cost[a]) })
		s.order[o] = order
	}
	return all
}

// evens are which part of a task's value is not its worth, but how much it takes, in the mean, of what all tasks without a node
// ask for. A kind that is not scarce as long as all tasks are there is worth nothing, and nodes would be filled with those that need
// little of it, until nothing else is left. What is best depends on the tasks, so each is tried; the first is for changes.
func evens() []float64 { return []float64{0.1, 0.3, 0.55} }

// ascend finds what tasks are worth, what they cost on each offer, and by what value nodes are filled.
func (s *solver) ascend(from, steps int) {
	s.prices.ascend(s.count, from, steps)
	s.evaluate()
}

// evaluate finds what tasks cost, and their value.
func (s *solver) evaluate() {
	if s.costs == nil {
		s.costs = make([][]float64, len(s.p.Offers))
		for o := range s.costs {
			s.costs[o] = make([]float64, len(s.p.Tasks))
		}
	}
	for o, cost := range s.costs {
		for t := range cost {
			cost[t] = 0
			for _, u := range s.prices.uses[o][t] {
				cost[t] += float64(s.prices.weight[o][u.measure] * u.part)
			}
			cost[t] *= float64(s.p.Offers[o].Price)
		}
	}
	total, asked, kinds := s.remaining(), make([]float64, len(s.p.Kinds)), 0
	for t, n := range s.count {
		for k, q := range s.p.Tasks[t].Demand {
			asked[k] += float64(q) * float64(n)
		}
	}
	for _, q := range asked {
		if q > 0 {
			kinds++
		}
	}
	s.value = make([]float64, len(s.p.Tasks))
	for t := range s.value {
		part := 0.0
		for k, q := range s.p.Tasks[t].Demand {
			if q > 0 && asked[k] > 0 {
				part += float64(q) / asked[k] / float64(kinds)
			}
		}
		s.value[t] = float64((1-s.even)*s.prices.worth[t]) + float64(s.even*total*part) + least
	}
}

// pick is the offer whose node holds the most for its price; -1 if none holds anything.
func (s *solver) pick(all []candidate) int {
	for {
		best := -1
		for o := range all {
			if s.stock[o] != 0 && all[o].ratio > 0 && (best < 0 || all[o].ratio > all[best].ratio) {
				best = o
			}
		}
		if best < 0 || all[best].fresh {
			return best
		}
		all[best] = s.best(best)
	}
}

// least is what a task is worth that asks for nothing of worth, so that it finds a node, too.
const least = 1e-6

// best is the best node of the offer, by any taste.
func (s *solver) best(o int) candidate {
	most := candidate{fresh: true}
	for how := range tastes {
		b := s.node(o)
		s.stuff(b, how)
		worth := 0.0
		for _, h := range b.holds {
			worth += float64(float64(h.Count) * s.value[h.Tasks])
		}
		if ratio := worth / float64(s.p.Offers[o].Price); ratio > most.ratio {
			most.bin, most.ratio = b, ratio
		}
	}
	return most
}

// stuff fills a bin with tasks that have no node. Tasks that are worth their price on this offer come first, then
// whatever fits.
func (s *solver) stuff(b *bin, how taste) {
	left := map[int]int{}
	has := func(t int) int {
		n, known := left[t]
		if !known {
			n = s.count[t]
		}
		return n
	}
	put := func(t int) {
		left[t] = has(t) - 1
		s.add(b, t)
	}
	order := s.order[b.offer]
	for _, part := range []float64{0.97, 0.8, 0} {
		var own []int
		for _, t := range order {
			if has(t) > 0 && s.prices.worth[t] >= float64(part*s.costs[b.offer][t]) && s.takes(b, t) {
				own = append(own, t)
			}
		}
		switch how {
		case balanced:
			for {
				t := s.balance(b, own, has)
				if t < 0 {
					break
				}
				put(t)
			}
			continue
		case smallest:
			slices.Reverse(own)
		case largest, tastes:
		}
		for _, t := range own {
			for has(t) > 0 && s.takes(b, t) {
				put(t)
			}
		}
	}
}

// balance is the task that is worth the most for what it takes of what is left; -1 if none fits.
func (s *solver) balance(b *bin, own []int, has func(int) int) int {
	best, score := -1, 0.0
	for _, t := range own {
		if has(t) == 0 || !s.takes(b, t) {
			continue
		}
		part := 0.0
		for k, q := range s.p.Tasks[t].Demand {
			if q > 0 {
				part += float64(q) / float64(b.left[k])
			}
		}
		if x := s.value[t] / (part + 0.02); best < 0 || x > score {
			best, score = t, x
		}
	}
	return best
}

// times is how often the bin can be bought as it is.
func (s *solver) times(b *bin) int {
	n := math.MaxInt
	for _, h := range b.holds {
		n = min(n, s.count[h.Tasks]/h.Count)
	}
	if s.stock[b.offer] >= 0 {
		n = min(n, s.stock[b.offer])
	}
	return n
}

// buy buys a node that is filled as the bin.
func (s *solver) buy(b *bin) {
	own := b.clone()
	for _, h := range b.holds {
		s.count[h.Tasks] -= h.Count
	}
	s.restock(b.offer, -1)
	s.bins = append(s.bins, own)
}
