package mcmf

import "math/bits"

// This file knows, without looking at the whole graph, whether it is hopeless:
// supplies that do not sum to zero, bounds that cross, numbers with which exact
// arithmetic in int64 could fail.

// totals of a graph are kept up to date by each change.
type totals struct {
	supply  sum
	volume  sum // see Graph.examine
	crossed int // arcs with Lower above Capacity
	// costliest is no less than the magnitude of any cost.
	costliest int64
	bounded   int // arcs with Lower other than zero
	curved    int // arcs with a curve
}

// plain reports whether every arc is such that a leaf may have it.
func (t *totals) plain() bool {
	return t.bounded == 0 && t.curved == 0 && t.costliest <= mostSlotCost
}

func (t *totals) addSupply(supply, sign int64) {
	t.supply.add(supply, sign)
	t.volume.add(magnitude(supply), sign)
}

func (t *totals) addArc(row *Ends, steps []Step, sign int64) {
	if row.Lower != 0 {
		t.bounded += int(sign)
	}
	if row.Lower > row.Capacity {
		t.crossed += int(sign)
		return
	}
	t.volume.add(magnitude(row.Lower), sign)
	t.costliest = max(t.costliest, magnitude(row.Cost))
	switch {
	case steps != nil:
		t.curved += int(sign)
		t.costliest = max(t.costliest, magnitude(steps[len(steps)-1].Cost))
		for _, step := range steps {
			if step.Cost < 0 || row.Lower < 0 {
				t.volume.add(step.Capacity, sign)
			}
		}
	case row.Cost < 0 || row.Lower < 0:
		t.volume.add(row.Capacity, sign)
		t.volume.add(row.Lower, -sign)
	}
}

// examine finds what makes a graph hopeless before any search. Else it is
// Optimal, with a volume that the flow on no arc of some optimal flow exceeds,
// beyond its lower bound: flow is made of paths, of which there are no more than
// supplies and lower bounds, and of cycles, each with an arc on which flow is a
// gain. So "no limit" may be written as any great capacity, where the cost is not
// negative and the lower bound neither.
func (g *Graph) examine() (status Status, crossed Arc, volume int64) {
	if g.totals.crossed > 0 {
		for a := range g.arcs {
			if row := &g.arcs[a]; row.From != None && row.Lower > row.Capacity {
				return Infeasible, Arc(a), 0
			}
		}
	}
	if total, fits := g.totals.supply.int64(); !fits || total != 0 {
		return Unbalanced, None, 0
	}
	if g.tooDear() {
		g.findCostliest()
		if g.tooDear() {
			return Overflow, None, 0
		}
	}
	volume, fits := g.totals.volume.int64()
	if !fits || volume > mostVolume {
		return Overflow, None, 0
	}
	return Optimal, None, volume
}

// tooDear reports whether prices could overflow: a price is at most the cost of
// a path, and is added to another and to a cost.
func (g *Graph) tooDear() bool {
	high, low := bits.Mul64(uint64(len(g.nodes)-len(g.freeNodes)+1), uint64(g.totals.costliest))
	return high != 0 || low > mostPrice
}

// findCostliest looks at all costs, as those of removed arcs were kept.
func (g *Graph) findCostliest() {
	g.totals.costliest = 0
	for a := range g.arcs {
		if row := &g.arcs[a]; row.From != None {
			g.totals.costliest = max(g.totals.costliest, magnitude(row.Cost))
			if steps := g.curves.of(Arc(a)); steps != nil {
				g.totals.costliest = max(g.totals.costliest, magnitude(steps[len(steps)-1].Cost))
			}
		}
	}
}

// Bounds below which nothing in this package overflows an int64: of a price,
// and of the flow on an arc or through a node.
const (
	mostPrice  = 1 << 60
	mostVolume = 1 << 60
)

// sum adds products exactly, in 128 bits.
type sum struct {
	high int64
	low  uint64
}

func (s *sum) add(x, y int64) {
	high, low := bits.Mul64(uint64(x), uint64(y))
	// Of two's complement factors, the unsigned product is too big by these.
	if x < 0 {
		high -= uint64(y)
	}
	if y < 0 {
		high -= uint64(x)
	}
	var carry uint64
	s.low, carry = bits.Add64(s.low, low, 0)
	s.high += int64(high) + int64(carry)
}

// addFlow adds what flow on an arc costs.
func (s *sum) addFlow(row *Ends, steps []Step, flow int64) {
	if steps == nil {
		s.add(flow, row.Cost)
		return
	}
	s.addCurve(steps, flow, 1)
}

// addCurve adds sign times what flow along a curve costs; below zero units cost
// what those of the first step do.
func (s *sum) addCurve(steps []Step, flow, sign int64) {
	if flow < 0 {
		s.add(sign*flow, steps[0].Cost)
		return
	}
	for _, step := range steps {
		units := min(flow, step.Capacity)
		s.add(sign*units, step.Cost)
		flow -= units
	}
}

// addSum adds another sum, or takes it away.
func (s *sum) addSum(other sum, sign int64) {
	if sign < 0 {
		other.low = -other.low
		other.high = ^other.high
		if other.low == 0 {
			other.high++
		}
	}
	var carry uint64
	s.low, carry = bits.Add64(s.low, other.low, 0)
	s.high += other.high + int64(carry)
}

// int64 is the sum, unless it does not fit.
func (s *sum) int64() (int64, bool) {
	x := int64(s.low)
	return x, s.high == x>>63
}

// magnitude is |x|, and the greatest int64 for the least.
func magnitude(x int64) int64 {
	if x < 0 {
		return -max(x, -1<<63+1)
	}
	return x
}
