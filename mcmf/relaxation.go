package mcmf

import (
	"math"
	"slices"
)

// Relaxation (Bertsekas, Tseng, "Relaxation methods for minimum cost ordinary
// and generalized network flow problems", Operations Research 1988), with the
// arc prioritisation of Firmament (Gog et al., OSDI 2016, section 5.3).
//
// It keeps prices and a flow that fit each other: no link with room has a
// negative reduced cost. Supplies and demands are not met at first. From a node
// with excess it grows a set of nodes along balanced links, those of reduced cost
// zero. At each step there are three ways on:
//
//   - The set has more excess than its balanced links can carry away (an
//     ascent). Then all of these are filled, and the prices of the set rise
//     until another link is balanced: a higher price is a better one, by the
//     excess that stays, whatever the flow.
//   - A balanced link leads to a deficit: units are sent there.
//   - Else the set takes in the head of a balanced link.
//
// Its strength is that an ascent looks at a few nodes only, most often at one,
// which has a fast path here: no set is kept for it. It is the quickest solver
// where no two units want the same room, and slow where many do, as sets then
// grow large and are thrown away after each step (Firmament, figures 8 and 9).
// O(n^2 m C U^2) in theory.
//
// Firmament's change: a balanced link to a deficit goes to the front of those to
// be taken up, so that the search is depth first where that ends it. It is a
// switch, for benchmarks: ticks fall from 155 to 85 million on hot80-1250, from
// 410 to 289 on hot105-1250, and from 366 to 295 on load spreading.
//
// Measured (CPU s): quincy80-1250 0.03, where cost scaling takes 0.13; hot80-1250
// 0.33 against 0.15, hot105-1250 1.9 against 0.14; NETGEN-8 of 16,384 nodes 38
// against 0.3, so it is no general solver as it stands. From an earlier solution
// with 10 tasks of 15,000 changed 0.01, with 500 changed 0.03 to 0.2; without
// settle (residual.go) that was 0.4 to 30. Going on with another node after each
// step, in turn, was dropped: on infeasible graphs prices then climbed far more.
//
// Different from the source: no line search along a direction of ascent beyond
// the next balanced link but for single nodes, where it is the next ascent. And
// the source asks for feasible graphs: on others prices may climb without end, so
// it is asked now and then whether a cut shows by now (doubt).

// relaxing is the state of relaxation.
type relaxing struct {
	r          *residual
	m          *meter
	prioritise bool

	price    []int64
	waiting  ring // nodes with excess
	ticks    int64
	patience int64 // ticks until it is asked whether the graph is infeasible

	// The set that grows now.
	set     []int32
	in      []int32 // number of the set that a node was taken into last
	by      []int32 // link that it was taken in by
	number  int32
	fringe  []int32
	urgent  int32 // a balanced link to a deficit, or None
	excess  int64 // of the set
	leaving int64 // room of balanced links that leave it
}

// relaxation solves from scratch.
func relaxation(g *Graph, volume int64, m *meter) solution {
	return relaxationWith(g, newResidual(g, volume), nil, newRelaxing(m, true))
}

// relaxationFrom solves from the flow and prices of an earlier solution, of a
// graph that has changed a little since.
func relaxationFrom(g *Graph, volume int64, start solution, m *meter) solution {
	r := newResidual(g, volume)
	return relaxationWith(g, r, r.resume(start, mostPrice), newRelaxing(m, true))
}

func newRelaxing(m *meter, prioritise bool) *relaxing {
	return &relaxing{m: m, prioritise: prioritise}
}

// relaxationWith solves what the residual network still lacks, from prices by its
// nodes; nil: from zero.
func relaxationWith(g *Graph, r *residual, price []int64, x *relaxing) solution {
	if !r.summable() {
		return r.solution(g, Overflow, nil)
	}
	n := r.nodes()
	x.r, x.waiting = r, newRing(n)
	x.in, x.by = make([]int32, n), make([]int32, n)
	if x.price = price; price == nil {
		x.price = make([]int64, n)
	}
	r.saturate(x.price)
	for v := range int32(n) {
		if r.excess[v] > 0 {
			x.waiting.push(v)
		}
	}
	x.ticks = int64(len(r.links))
	x.patience = doubtEvery * (x.ticks + 1)
	for x.waiting.waiting > 0 {
		s := x.waiting.pop()
		for r.excess[s] > 0 {
			if x.patience -= x.ticks; x.patience < 0 {
				if cut := x.doubt(); cut != nil {
					return solution{status: Infeasible, arc: None, cut: cut, unrouted: r.unrouted()}
				}
			}
			if !x.spend() {
				return r.solution(g, x.m.ended, x.price)
			}
			status := x.ascendOne(s)
			if status == Optimal {
				status = x.grow(s)
			}
			switch status {
			case Infeasible:
				return solution{status: Infeasible, arc: None, cut: x.cut(), unrouted: r.unrouted()}
			case Overflow:
				return r.solution(g, Overflow, nil)
			default:
			}
		}
	}
	if !x.spend() {
		return r.solution(g, x.m.ended, x.price)
	}
	return r.solution(g, Optimal, x.price)
}

// doubt is a cut if the graph is infeasible and flow shows it by now. Prices climb
// without end then, in steps that may be small: they would overflow at last, but
// long before that they have risen so far that all that leaves such a cut is full.
// It is asked so seldom that it costs little beside the rest.
func (x *relaxing) doubt() []Node {
	links := int64(len(x.r.links)) + 1
	x.ticks += links
	x.patience = doubtEvery * links
	return x.r.overfull()
}

// doubtEvery is how many looks a link go by between two doubts.
const doubtEvery = 64

func (x *relaxing) spend() bool {
	ticks := x.ticks
	x.ticks = 0
	return x.m.spend(ticks)
}

// cut is the set as nodes of the graph.
func (x *relaxing) cut() []Node {
	cut := make([]Node, 0, len(x.set))
	for _, v := range x.set {
		cut = append(cut, x.r.names[v])
	}
	slices.Sort(cut)
	return cut
}

// ascendOne raises the price of a node alone while its excess is more than its
// balanced links can carry. Some excess is left, as no ascent takes all.
func (x *relaxing) ascendOne(s int32) Status {
	r := x.r
	links := r.links[r.first[s]:r.first[s+1]]
	for {
		x.ticks += int64(len(links))
		room, next := int64(0), int64(math.MaxInt64)
		for i := range links {
			if l := &links[i]; l.room > 0 {
				if c := l.cost - x.price[s] + x.price[l.head]; c == 0 {
					room += l.room
				} else {
					next = min(next, c)
				}
			}
		}
		if r.excess[s] <= room {
			return Optimal
		}
		x.set = append(x.set[:0], s)
		if status := x.fill(next); status != Optimal {
			return status
		}
	}
}

// fill sends all it can over balanced links that leave the set, and raises its
// prices.
func (x *relaxing) fill(rise int64) Status {
	r := x.r
	x.number++
	for _, v := range x.set {
		x.in[v] = x.number
	}
	for _, v := range x.set {
		x.ticks += int64(r.first[v+1] - r.first[v])
		for i := r.first[v]; i < r.first[v+1]; i++ {
			l := &r.links[i]
			if l.room == 0 || x.in[l.head] == x.number || l.cost-x.price[v]+x.price[l.head] != 0 {
				continue
			}
			w := l.head
			r.send(v, i, l.room)
			if r.excess[w] > 0 {
				x.waiting.push(w)
			}
		}
	}
	if rise == math.MaxInt64 {
		return Infeasible
	}
	for _, v := range x.set {
		if x.price[v] += rise; x.price[v] > mostScaled {
			return Overflow
		}
		if r.excess[v] > 0 {
			x.waiting.push(v)
		}
	}
	return Optimal
}

// grow takes nodes into a set until there is an ascent or a way to a deficit.
func (x *relaxing) grow(s int32) Status {
	x.number++
	x.set, x.fringe = x.set[:0], x.fringe[:0]
	x.excess, x.leaving, x.urgent = 0, 0, None
	x.take(s, None)
	next := 0
	for {
		if x.excess > x.leaving {
			return x.fill(x.rise())
		}
		i := x.urgent
		if i == None {
			i = x.fringe[next]
			next++
		}
		v := x.r.links[i].head
		if x.in[v] == x.number {
			continue
		}
		if x.r.excess[v] < 0 {
			x.by[v] = i
			x.r.augmentBy(x.by, s, v, min(x.r.excess[s], -x.r.excess[v]))
			return Optimal
		}
		x.take(v, i)
	}
}

// take takes a node into the set.
func (x *relaxing) take(v, by int32) {
	r := x.r
	x.set = append(x.set, v)
	x.in[v], x.by[v] = x.number, by
	x.excess += r.excess[v]
	x.ticks += int64(r.first[v+1] - r.first[v])
	p := x.price[v]
	for i := r.first[v]; i < r.first[v+1]; i++ {
		l := &r.links[i]
		if l.cost-p+x.price[l.head] != 0 {
			continue
		}
		if x.in[l.head] == x.number {
			x.leaving -= r.links[l.mate].room
			continue
		}
		if l.room == 0 {
			continue
		}
		x.leaving += l.room
		if x.prioritise && r.excess[l.head] < 0 {
			x.urgent = i
		} else {
			x.fringe = append(x.fringe, i)
		}
	}
}

// rise is how far the prices of the set can rise.
func (x *relaxing) rise() int64 {
	r, least := x.r, int64(math.MaxInt64)
	for _, v := range x.set {
		x.ticks += int64(r.first[v+1] - r.first[v])
		for _, l := range r.links[r.first[v]:r.first[v+1]] {
			if l.room > 0 && x.in[l.head] != x.number {
				if c := l.cost - x.price[v] + x.price[l.head]; c > 0 {
					least = min(least, c)
				}
			}
		}
	}
	return least
}
