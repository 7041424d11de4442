package fleet

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// This file makes a plan cheaper. Each round takes some nodes back, those that hold the least for their price and some by
// chance, lets the others take of their tasks what they have room for, and buys nodes for the rest anew, by worths that
// are changed a little by chance. What is no cheaper is undone (Shaw, large neighbourhood search; Schrimpf et al., ruin and
// recreate). Rounds are counted in ticks, so that the plan is the same on every machine.

// Rounds end when so many in a row have made nothing cheaper, or at so many ticks.
const (
	patience        = 1000
	patiencePerNode = 10
	mostTicks       = 60_000_000
)

// improve makes the plan cheaper.
func (s *solver) improve() {
	for i := range s.bins {
		s.shrink(i)
	}
	chance := rand.New(rand.NewPCG(1, 1))
	worth := s.worth
	s.costs, s.value = s.first, slices.Clone(worth)
	for idle := 0; idle < patience+patiencePerNode*len(s.bins) && s.ticks < mostTicks && len(s.bins) > 1; idle++ {
		for t := range worth {
			s.value[t] = worth[t] * (1 + 0.1*(chance.Float64()-0.5))
		}
		if s.round(chance) {
			idle = 0
		}
	}
}

// shrink replaces a node by one of the cheapest offer that holds the same.
func (s *solver) shrink(i int) {
	b := s.bins[i]
	best := b
	for o := range s.p.Offers {
		if s.stock[o] == 0 || s.p.Offers[o].Price >= s.p.Offers[best.offer].Price {
			continue
		}
		if smaller, ok := s.refill(o, b.holds); ok {
			best = smaller
		}
	}
	if best != b {
		s.restock(b.offer, 1)
		s.restock(best.offer, -1)
		s.bins[i] = best
	}
}

func (s *solver) restock(o, nodes int) {
	if s.stock[o] >= 0 {
		s.stock[o] += nodes
	}
}

// ratio is how much a node holds for its price.
func (s *solver) ratio(b *bin) float64 {
	worth := 0.0
	for _, h := range b.holds {
		worth += float64(float64(h.Count) * s.value[h.Tasks])
	}
	return worth / float64(s.p.Offers[b.offer].Price)
}

// round takes some nodes back and buys others, if that is no dearer; it reports whether it is cheaper.
func (s *solver) round(chance *rand.Rand) bool {
	were, count, stock := slices.Clone(s.bins), slices.Clone(s.count), slices.Clone(s.stock)
	before := s.uneven()
	back := s.choose(chance)
	price := int64(0)
	var rest []*bin
	for i, b := range s.bins {
		if !back[i] {
			rest = append(rest, b)
			continue
		}
		price += s.p.Offers[b.offer].Price
		s.restock(b.offer, 1)
		for _, h := range b.holds {
			s.count[h.Tasks] += h.Count
		}
	}
	s.bins = rest
	first := len(rest)
	s.insert(chance)
	s.buyAll()
	for i := first; i < len(s.bins); i++ {
		s.shrink(i)
		price -= s.p.Offers[s.bins[i].offer].Price
	}
	left := slices.ContainsFunc(s.count, func(n int) bool { return n > 0 }) && !slices.Equal(s.count, count)
	if price < 0 || price == 0 && s.uneven() < before || left {
		s.bins, s.count, s.stock = were, count, stock
		return false
	}
	return price > 0
}

// uneven is how unevenly nodes are filled, the more the better: of plans at one price, that is nearer to a cheaper one of which
// some nodes are nearly empty.
func (s *solver) uneven() float64 {
	sum := 0.0
	for _, b := range s.bins {
		if b.worth == 0 {
			for _, h := range b.holds {
				b.worth += float64(float64(h.Count) * s.worth[h.Tasks])
			}
		}
		sum += float64(b.worth*b.worth) / float64(s.p.Offers[b.offer].Price)
	}
	return sum
}

// choose says which nodes to take back: of a few by chance those that hold the least for their price.
func (s *solver) choose(chance *rand.Rand) []bool {
	back := make([]bool, len(s.bins))
	many := 2 + chance.IntN(8)
	if chance.IntN(4) == 0 {
		many += chance.IntN(64)
	}
	for range min(many, len(s.bins)/2) {
		worst := chance.IntN(len(s.bins))
		for range chance.IntN(6) {
			if i := chance.IntN(len(s.bins)); s.ratio(s.bins[i]) < s.ratio(s.bins[worst]) {
				worst = i
			}
		}
		back[worst] = true
	}
	return back
}

// insert lets nodes that there are take what they have room for, the most worth first.
func (s *solver) insert(chance *rand.Rand) {
	var tasks []int
	for t, n := range s.count {
		if n > 0 {
			tasks = append(tasks, t)
		}
	}
	slices.SortStableFunc(tasks, func(a, b int) int { return cmp.Compare(s.value[b], s.value[a]) })
	from := chance.IntN(max(len(s.bins), 1))
	for _, t := range tasks {
		for i := 0; i < min(len(s.bins), mostLooked) && s.count[t] > 0; i++ {
			at := (from + i) % len(s.bins)
			if !s.takes(s.bins[at], t) {
				continue
			}
			own := s.bins[at].clone()
			own.worth = 0
			for s.count[t] > 0 && s.takes(own, t) {
				s.add(own, t)
				s.count[t]--
			}
			s.bins[at] = own
		}
	}
}

// mostLooked is how many nodes are asked for one task.
const mostLooked = 100

// buyAll buys nodes for all tasks that have none, at the worths as they are.
func (s *solver) buyAll() {
	best := s.candidates()
	for o := s.pick(best); o >= 0; o = s.pick(best) {
		b := best[o].bin
		for range s.times(b) {
			s.buy(b)
		}
		for i := range best {
			best[i].fresh = false
		}
	}
}

// plan is what has been bought.
func (s *solver) plan() Plan {
	p := Plan{Bound: s.bound, Left: make([]int, len(s.p.Tasks)), Ticks: s.ticks}
	for _, b := range s.bins {
		p.Nodes = append(p.Nodes, Node{b.offer, b.holds})
		p.Price += s.p.Offers[b.offer].Price
	}
	for t := range s.p.Tasks {
		p.Left[t] = s.p.Tasks[t].Count
	}
	for _, n := range p.Nodes {
		for _, h := range n.Holds {
			p.Left[h.Tasks] -= h.Count
		}
	}
	if slices.ContainsFunc(s.count, func(n int) bool { return n > 0 }) { // offers are bought up: the bound is of what has a node
		held := make([]int, len(p.Left))
		for t, left := range p.Left {
			held[t] = s.p.Tasks[t].Count - left
		}
		clear(s.prices.extra)
		s.prices.ascend(held, 0, s.steps)
		p.Bound = s.prices.best
	}
	p.Bound = s.whole(p.Bound)
	return p
}

// whole is the bound as a price that nodes can have: all are multiples of what divides the prices of all offers.
func (s *solver) whole(bound float64) float64 {
	step := int64(0)
	for o := range s.p.Offers {
		for a := s.p.Offers[o].Price; a != 0; {
			step, a = a, step%a
		}
	}
	if step == 0 {
		return bound
	}
	return math.Ceil(bound/float64(step)-1e-6) * float64(step)
}
