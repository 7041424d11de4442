package mcmf

import (
	"math"
	"math/bits"
)

// Cost scaling (Goldberg, "An efficient implementation of a scaling minimum-cost
// flow algorithm", Journal of Algorithms 1997; Bunnagel, Korte, Vygen 1998;
// Kiraly, Kovacs, "Efficient implementations of minimum-cost flow algorithms",
// 2012).
//
// A flow keeps to epsilon if no link with room has a reduced cost below -epsilon.
// Costs are whole; times n+1, a flow that keeps to one is optimal. So begin with
// an epsilon that any flow keeps to, and in each phase divide it, and mend the
// flow: send all over links that are now a gain, which makes excess and deficits,
// and bring these together again by push-relabel. A node with excess sends it over
// links of negative reduced cost; where it has none its price rises until it has.
// O(n^2 m log(nC)) in theory, and in practice nearly the same time whatever the
// contention, which makes it the solver for graphs on which the others fail.
//
//   - Price refinement: before a phase, seek prices with which the flow as it is
//     keeps to the new epsilon. Distances over links of negative reduced cost come
//     from one depth-first search, as they make no cycle, those over others from a
//     queue; repeat. On a cycle give up.
//   - Price update: as soon as there were as many relabels as nodes, set prices by
//     distances to the nearest deficit. It also finds units that have no way there:
//     the proof that a graph is infeasible.
//   - Partial augment: units go along a path of up to four links at once. The
//     search for it relabels dead ends before units are there, which is what push
//     look-ahead does for paths of one.
//   - One round of a node's links serves both the search for a link to send over
//     and, if there is none, the new price.
//
// Different from the sources: the links of a node are kept in three runs by where
// they have room, see hub. The search looks at links with room only, and the
// searches against the arrows, which updates and refinement do, at those whose
// way back has room, with no look at the way back, which is somewhere else in
// memory. A send moves links, but there are some forty looks to a send. On
// unit capacities that leaves half of all links, and nearly none of a hub's.
// Epsilon is a power of two, so distances are shifts. And no shortest paths are
// needed at the end to make prices whole, see unscale.
//
// Measured on hot80-1250, hot105-1250 and quincy80-1250 (18,175 nodes, 135,557
// arcs; millions of ticks; one core shared, so that seconds vary by half):
//
//	as it is                          11.6  11.5   8.3
//	links in order of arcs            32.7  46.3  26.0 (paths of 3)
//	without refinement                15.1  21.1  15.0
//	without price updates             12.8  15.5  10.0
//	without both                      26.1  42.7  20.9
//	paths of 1, 2, 8 links            11.2  11.3   8.8; 11.7 10.8 8.8; 11.5 12.5 9.2
//	epsilon by 2, 4, 8, 32, 64        21.6  14.1   9.8  12.9 17.5 (hot80)
//	refinement in 2, 4, 16 rounds     14.6  11.6  11.6 (hot80)
//
// Of paths, four links were the best on NETGEN (13.6 against 17.0 of one). A
// bucket for each distance instead of the queue by digits is as fast from scratch,
// but takes three to six times as long from an earlier solution, as distances
// are great there.
// Arc fixing was not tried, as the runs leave little of it.
//
// A warm start takes over flow and prices and begins with the greatest violation
// that is left, after the nodes that nothing enters have been settled. That is
// what counts: ten changes of 15,000 tasks take 0.3 million ticks then, and 12
// without, as from scratch; 500 take 1 to 3.5.

// scalingOptions are what benchmarks vary.
type scalingOptions struct {
	alpha   uint // epsilon falls by this power of two from phase to phase
	length  int  // links that a path has at most; 1 is push-relabel
	rounds  int  // of price refinement; 0 is none
	updates bool // global price updates
	local   bool // a warm start begins with the last epsilon
}

func bestScaling() scalingOptions {
	return scalingOptions{alpha: 4, length: 4, rounds: 8, updates: true}
}

// scaling is the state of cost scaling. Costs and prices are those of the graph
// times nodes+1.
type scaling struct {
	r       *residual
	m       *meter
	options scalingOptions

	hubs   []hub
	price  []int64
	halves []half
	room   []int64 // by id; the way back of id is id^1
	place  []int32 // where a half is now, by id

	shift    uint    // epsilon is 1<<shift
	relabels int     // since the last price update
	queue    ring    // nodes with excess, first come, first served
	path     []int32 // ids

	rank  []int32 // of price updates and refinement: distance in epsilons
	state []uint8
	ranks radixQueue
	stack []int32
}

// hub is a node but for its price. Its halves are three runs: those with room to
// send only, from first to both; to send and to take back, to back; to take back
// only, to first of the next node.
type hub struct {
	excess                     int64
	first, both, back, current int32
}

// half is a link without its room.
type half struct {
	head, id int32
	cost     int64
}

// radixQueue is a queue of nodes by a key, for searches in which no key is below
// the last one taken (radix heap: Ahuja, Mehlhorn, Orlin, Tarjan 1990). A key is
// six digits of six bits. It stands in the bucket of the first digit in which it
// differs from the last key taken, and moves on to a lower one only when it may be
// next. Keys that are near each other, as most are, are in a bucket each.
type radixQueue struct {
	last    int32
	full    [6]uint64 // buckets that are not empty, by digit
	buckets [6][64][]entry
}

type entry struct{ node, key int32 }

func (q *radixQueue) reset() {
	for level := range q.full {
		for ; q.full[level] != 0; q.full[level] &= q.full[level] - 1 {
			b := &q.buckets[level][bits.TrailingZeros64(q.full[level])]
			*b = (*b)[:0]
		}
	}
	q.last = 0
}

func (q *radixQueue) push(e entry) {
	level := 0
	if d := e.key ^ q.last; d >= 64 {
		level = (bits.Len32(uint32(d)) - 1) / 6
	}
	digit := e.key >> (6 * level) & 63
	q.full[level] |= 1 << digit
	b := &q.buckets[level][digit]
	*b = append(*b, e)
}

func (q *radixQueue) pop() (e entry, ok bool) {
	for q.full[0] == 0 {
		level := 1
		for q.full[level] == 0 {
			if level++; level == len(q.full) {
				return entry{}, false
			}
		}
		digit := bits.TrailingZeros64(q.full[level])
		q.full[level] &^= 1 << digit
		shift := 6 * level
		q.last = q.last>>(shift+6)<<(shift+6) | int32(digit)<<shift
		bucket := q.buckets[level][digit]
		for _, e := range bucket {
			q.push(e) // To a lower level, as this digit is now the same.
		}
		q.buckets[level][digit] = bucket[:0]
	}
	digit := bits.TrailingZeros64(q.full[0])
	b := &q.buckets[0][digit]
	end := len(*b) - 1
	e = (*b)[end]
	if *b = (*b)[:end]; end == 0 {
		q.full[0] &^= 1 << digit
	}
	q.last = e.key
	return e, true
}

const (
	unseen = iota
	open
	done
)

// mostScaled is the bound of a scaled price, with which no reduced cost
// overflows; mostRank is that of distances.
const (
	mostScaled = 1 << 61
	mostRank   = 1 << 30
)

// costScaling solves from scratch.
func costScaling(g *Graph, volume int64, m *meter) solution {
	return costScalingWith(g, newResidual(g, volume), nil, newScaling(m, bestScaling()))
}

// costScalingFrom solves from the flow and prices of an earlier solution, of a
// graph that has changed a little since.
func costScalingFrom(g *Graph, volume int64, start solution, m *meter) solution {
	r := newResidual(g, volume)
	return costScalingWith(g, r, r.resume(start, mostPrice/int64(r.nodes()+1)), newScaling(m, bestScaling()))
}

func newScaling(m *meter, o scalingOptions) *scaling { return &scaling{m: m, options: o} }

// costScalingWith solves what the residual network still lacks, from prices by its
// nodes; nil: from scratch.
func costScalingWith(g *Graph, r *residual, price []int64, s *scaling) solution {
	fits := s.build(r)
	warm := fits && price != nil
	if fits {
		s.startAt(price)
	}
	if warm && s.shift > 60 { // Prices are so far off that epsilon may overflow.
		warm = false
		clear(s.price)
		s.startAt(nil)
	}
	refine := warm && s.options.rounds > 0
	if warm && s.options.local {
		s.shift = 0
	}
	for again := fits; again; again = s.shift > 0 {
		if !warm {
			s.shift -= min(s.shift, s.options.alpha)
		}
		bad, status := s.phase(refine)
		if status != Optimal {
			s.store()
			if status == Infeasible {
				return r.infeasible(bad)
			}
			return r.solution(g, status, nil)
		}
		warm, refine = false, s.options.rounds > 0
	}
	if !fits {
		return r.solution(g, Overflow, nil)
	}
	s.unscale()
	s.store()
	return r.solution(g, Optimal, s.price)
}

// build takes the residual network over. It is false if sums of rooms may
// overflow.
func (s *scaling) build(r *residual) bool {
	n := r.nodes()
	s.r = r
	if !r.summable() {
		return false
	}
	s.hubs = make([]hub, n+1)
	s.halves = make([]half, len(r.links))
	s.room, s.place = make([]int64, len(r.links)), make([]int32, len(r.links))
	s.price, s.queue = make([]int64, n), newRing(n)
	s.rank, s.state = make([]int32, n), make([]uint8, n)
	scale := s.scale()
	for k, i := range r.forward {
		for _, id := range [2]int{2 * k, 2*k + 1} {
			l := &r.links[i]
			s.halves[i] = half{head: l.head, id: int32(id), cost: l.cost * scale}
			s.room[id], s.place[id] = l.room, i
			i = l.mate
		}
	}
	for v := range int32(n) {
		end := r.first[v+1]
		s.hubs[v] = hub{excess: r.excess[v], first: r.first[v], both: end, back: end}
		for i := end - 1; i >= r.first[v]; i-- {
			s.sort(&s.hubs[v], s.halves[i].id)
		}
	}
	s.hubs[n].first = int32(len(r.links))
	return true
}

func (s *scaling) scale() int64 { return int64(s.r.nodes() + 1) }

// startAt sets prices, and epsilon to a power of two that is no less than any
// violation; or without prices, any cost.
func (s *scaling) startAt(price []int64) {
	for v, p := range price {
		s.price[v] = p * s.scale()
	}
	least := int64(0)
	for v := range s.price {
		h := &s.hubs[v]
		for i := h.first; price == nil && i < s.hubs[v+1].first; i++ {
			least = min(least, s.halves[i].cost)
		}
		for i := h.first; i < h.back; i++ {
			least = min(least, s.halves[i].cost-s.price[v]+s.price[s.halves[i].head])
		}
	}
	s.shift = uint(bits.Len64(uint64(-least)))
}

// phase makes the flow feasible again, and keep to epsilon. Where refining prices
// is enough for the latter, no flow need be undone.
func (s *scaling) phase(refine bool) (bad int32, status Status) {
	if !refine || !s.refinePrices() {
		s.saturate()
	}
	for v := range s.price {
		s.hubs[v].current = 0
		if s.hubs[v].excess > 0 {
			s.queue.push(int32(v))
		}
	}
	s.relabels = len(s.price)
	for s.queue.waiting > 0 {
		if s.relabels >= len(s.price) {
			s.relabels = 0
			if bad, status := s.updatePrices(); status != Optimal {
				return bad, status
			}
		}
		v := s.queue.pop()
		if s.hubs[v].excess <= 0 {
			continue
		}
		ticks, fine := s.discharge(v)
		if !fine {
			return s.hopeless(v)
		}
		if !s.m.spend(ticks) {
			return None, s.m.ended
		}
	}
	return None, Optimal
}

// hopeless tells whether a node whose price is out of bounds has no way to a
// deficit, or numbers are too big.
func (s *scaling) hopeless(v int32) (bad int32, status Status) {
	s.store()
	if s.r.excess[v] > 0 && s.r.stuck(v) != nil {
		return v, Infeasible
	}
	return None, Overflow
}

// saturate sends all it can over halves of negative reduced cost.
func (s *scaling) saturate() {
	s.m.spend(int64(len(s.halves)))
	for v := range int32(len(s.price)) {
		p, h := s.price[v], &s.hubs[v]
		for i := h.first; i < h.back; {
			if a := s.halves[i]; a.cost-p+s.price[a.head] < 0 {
				s.send(v, a.head, a.id, s.room[a.id]) // Another half takes its place.
			} else {
				i++
			}
		}
	}
}

// discharge sends the excess of a node on, by paths of few halves of negative
// reduced cost, and raises prices where there are none.
func (s *scaling) discharge(start int32) (ticks int64, fine bool) {
	epsilon := int64(1) << s.shift
	path, tip := s.path[:0], start
	for {
		h := &s.hubs[tip]
		if len(path) == s.options.length || len(path) > 0 && h.excess < 0 {
			s.augment(start, path)
			if s.hubs[start].excess <= 0 {
				return ticks, true
			}
			path, tip = path[:0], start
			continue
		}
		out := s.halves[h.first:h.back]
		best, at, looked := s.cheapest(out, int(h.current), s.price[tip])
		ticks += int64(looked)
		if at >= 0 {
			h.current = int32(at)
			if best < s.price[tip] {
				path = append(path, out[at].id)
				tip = out[at].head
				continue
			}
		}
		s.relabels++
		from := tip
		if k := len(path) - 1; k >= 0 {
			// Nothing was sent to this node, so its way back may have no room; it
			// counts as if it were.
			from = s.halves[s.place[path[k]^1]].head
			best = min(best, s.price[from]-s.halves[s.place[path[k]]].cost)
			path = path[:k]
		} else if at < 0 {
			return ticks, false
		}
		s.price[tip] = best + epsilon
		if s.price[tip] > mostScaled {
			return ticks, false
		}
		if tip = from; len(path) == 0 && s.relabels >= len(s.price) {
			s.queue.push(start)
			return ticks, true
		}
	}
}

// cheapest finds the first half, from the current one round, whose cost and
// price at its head are below a price; or if there is none, the least. Thus one
// round serves both the search and the new price.
func (s *scaling) cheapest(out []half, current int, below int64) (best int64, at, looked int) {
	best, at = math.MaxInt64, -1
	current = min(current, len(out))
	price := s.price
	for i := current; i < len(out); i++ {
		if c := out[i].cost + price[out[i].head]; c < best {
			best, at = c, i
			if c < below {
				return best, at, i - current + 1
			}
		}
	}
	for i := range out[:current] {
		if c := out[i].cost + price[out[i].head]; c < best {
			best, at = c, i
			if c < below {
				break
			}
		}
	}
	return best, at, len(out)
}

// augment sends what it can over each half of a path.
func (s *scaling) augment(v int32, path []int32) {
	for k, id := range path {
		w := s.halves[s.place[id]].head
		s.send(v, w, id, min(s.room[id], s.hubs[v].excess))
		if k > 0 && s.hubs[v].excess > 0 {
			s.queue.push(v)
		}
		v = w
	}
	if s.hubs[v].excess > 0 {
		s.queue.push(v)
	}
}

// send moves units from u over a half to v.
func (s *scaling) send(u, v, id int32, units int64) {
	back := s.room[id^1]
	s.room[id] -= units
	s.room[id^1] = back + units
	s.hubs[u].excess -= units
	s.hubs[v].excess += units
	if back == 0 || s.room[id] == 0 {
		s.sort(&s.hubs[u], id)
		s.sort(&s.hubs[v], id^1)
	}
}

// sort moves a half of a node to the run that its room tells.
func (s *scaling) sort(h *hub, id int32) {
	i := s.place[id]
	from, to := s.room[id] > 0, s.room[id^1] > 0
	if (!from || to) && i < h.both {
		h.both--
		i = s.swap(i, h.both)
	}
	if !from && i < h.back {
		h.back--
		s.swap(i, h.back)
		return
	}
	if from && i >= h.back {
		i = s.swap(i, h.back)
		h.back++
	}
	if from && !to && i >= h.both {
		s.swap(i, h.both)
		h.both++
	}
}

func (s *scaling) swap(i, j int32) int32 {
	if i != j {
		s.halves[i], s.halves[j] = s.halves[j], s.halves[i]
		s.place[s.halves[i].id], s.place[s.halves[j].id] = i, j
	}
	return j
}

// updatePrices lowers the price of each node by how much nearer it is to a
// deficit than the farthest node with excess, in epsilons.
func (s *scaling) updatePrices() (bad int32, status Status) {
	if !s.options.updates {
		return s.unreached()
	}
	s.ranks.reset()
	active := 0
	for v := range s.rank {
		s.rank[v], s.state[v] = math.MaxInt32, unseen
		if e := s.hubs[v].excess; e < 0 {
			s.file(int32(v), 0, 0)
		} else if e > 0 {
			active++
		}
	}
	last, ticks := int32(0), int64(0)
	for v := s.next(0); v != None && active > 0; v = s.next(0) {
		last = s.rank[v]
		if s.hubs[v].excess > 0 {
			active--
		}
		ticks += s.relaxInto(v, 0)
	}
	s.m.spend(ticks)
	for v, d := range s.rank {
		s.hubs[v].current = 0
		if d < last {
			if s.price[v] -= int64(last-d) << s.shift; s.price[v] < -mostScaled {
				return None, Overflow
			}
		}
	}
	if active > 0 {
		return s.unreached()
	}
	return None, Optimal
}

// unreached looks for a node with excess that cannot reach a deficit.
func (s *scaling) unreached() (bad int32, status Status) {
	clear(s.state)
	s.stack = s.stack[:0]
	for v := range s.price {
		if s.hubs[v].excess < 0 {
			s.state[v] = done
			s.stack = append(s.stack, int32(v))
		}
	}
	for len(s.stack) > 0 {
		v := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		for _, a := range s.halves[s.hubs[v].both:s.hubs[v+1].first] {
			if s.state[a.head] != done {
				s.state[a.head] = done
				s.stack = append(s.stack, a.head)
			}
		}
	}
	for v, state := range s.state {
		if state != done && s.hubs[v].excess > 0 {
			return int32(v), Infeasible
		}
	}
	return None, Optimal
}

// relaxInto passes the rank of a node on to those that can send to it. Buckets
// start at a rank.
func (s *scaling) relaxInto(v, start int32) (ticks int64) {
	p, d := s.price[v], s.rank[v]
	into := s.halves[s.hubs[v].both:s.hubs[v+1].first]
	most := s.farthest()
	for i := range into {
		a := &into[i]
		if s.rank[a.head] <= d || s.state[a.head] == done {
			continue
		}
		// Links of negative reduced cost have been dealt with: before a price
		// update there are none below -epsilon, and order has gone along them.
		c := p - a.cost - s.price[a.head]
		if k := int64(d) + max(c>>s.shift+1, 0); k < int64(s.rank[a.head]) && k < most {
			s.file(a.head, int32(k), start)
		}
	}
	return int64(len(into))
}

// farthest is a rank at which prices cannot overflow. Nodes farther away are
// taken to be there, which is allowed: distances cut off still keep to epsilon.
func (s *scaling) farthest() int64 { return min(mostRank, int64(1)<<60>>s.shift) }

// file puts a node into the queue of ranks, which begin at start. What it leaves
// there of a higher rank is passed over later.
func (s *scaling) file(v, rank, start int32) {
	s.rank[v] = rank
	s.ranks.push(entry{node: v, key: rank - start})
}

// next takes a node of the lowest rank from the queue, or None.
func (s *scaling) next(start int32) int32 {
	for {
		e, ok := s.ranks.pop()
		if !ok {
			return None
		}
		if s.rank[e.node]-start == e.key && s.state[e.node] != done {
			s.state[e.node] = done
			return e.node
		}
	}
}

// refinePrices seeks prices with which the flow as it is keeps to epsilon.
func (s *scaling) refinePrices() bool {
	for range s.options.rounds {
		lowest, acyclic := s.order()
		if !acyclic || int64(-lowest) >= s.farthest() {
			return false
		}
		if lowest == 0 {
			return true
		}
		s.spread(lowest)
	}
	return false
}

// order goes depth first over halves of negative reduced cost, and sets the rank
// of each node to the shortest distance over such halves alone.
func (s *scaling) order() (lowest int32, acyclic bool) {
	clear(s.state)
	for v := range s.price {
		s.hubs[v].current = s.hubs[v].first
	}
	ticks, acyclic := int64(0), true
	for root := range int32(len(s.rank)) {
		if s.state[root] != unseen {
			continue
		}
		s.rank[root], s.state[root] = 0, open
		s.stack = append(s.stack[:0], root)
		for len(s.stack) > 0 && acyclic {
			v := s.stack[len(s.stack)-1]
			begin := s.hubs[v].current
			acyclic = s.descend(v)
			ticks += int64(s.hubs[v].current - begin)
			if s.state[v] == done {
				s.stack = s.stack[:len(s.stack)-1]
				lowest = min(lowest, s.rank[v])
			}
		}
		if !acyclic {
			break
		}
	}
	s.m.spend(ticks)
	return lowest, acyclic
}

// descend looks at the halves of a node until it finds one to a new node, or it
// is through. It is false if there is a cycle, or a distance beyond counting.
func (s *scaling) descend(v int32) bool {
	h := &s.hubs[v]
	p, d := s.price[v], int64(s.rank[v])
	for ; h.current < h.back; h.current++ {
		a := &s.halves[h.current]
		c := a.cost - p + s.price[a.head]
		if c >= 0 {
			continue
		}
		switch s.state[a.head] {
		case unseen:
			s.rank[v] = int32(d)
			s.rank[a.head], s.state[a.head] = 0, open
			s.stack = append(s.stack, a.head)
			return true // To come back to the same half.
		case open:
			return false
		default:
			d = min(d, int64(s.rank[a.head])+c>>s.shift+1)
		}
	}
	s.rank[v], s.state[v] = int32(max(d, -mostRank)), done
	return d > -mostRank
}

// spread passes ranks on over links of other reduced costs, the lowest first,
// and changes prices by them.
func (s *scaling) spread(lowest int32) {
	s.ranks.reset()
	clear(s.state)
	for v, d := range s.rank {
		if d < 0 {
			s.file(int32(v), d, lowest)
		}
	}
	ticks := int64(0)
	for v := s.next(lowest); v != None && s.rank[v] < 0; v = s.next(lowest) {
		ticks += s.relaxInto(v, lowest)
	}
	s.m.spend(ticks)
	for v, d := range s.rank {
		s.price[v] += int64(d) << s.shift
	}
}

// store puts the flow back on the links of the residual network.
func (s *scaling) store() {
	for k, i := range s.r.forward {
		l := &s.r.links[i]
		l.room, s.r.links[l.mate].room = s.room[2*k], s.room[2*k+1]
	}
	for v := range s.r.excess {
		s.r.excess[v] = s.hubs[v].excess
	}
}

// unscale turns prices that keep to an epsilon of one, of costs times n+1, into
// whole prices of the costs themselves. Among n+1 remainders there is one that
// no price has. Shifted so that it is the greatest, prices rounded down satisfy
// all links: with p = (n+1)q + r, cost - q[u] + q[v] is at least (r[u] - r[v] -
// 1) / (n+1), which is above -1 as r is below n; and it is whole.
func (s *scaling) unscale() {
	scale := s.scale()
	used := make([]bool, scale)
	for _, p := range s.price {
		used[modulo(p, scale)] = true
	}
	gap := int64(0)
	for used[gap] {
		gap++
	}
	for v, p := range s.price {
		p -= gap + 1
		s.price[v] = (p - modulo(p, scale)) / scale
	}
}

// modulo is the remainder of rounding down.
func modulo(p, scale int64) int64 {
	if p %= scale; p < 0 {
		p += scale
	}
	return p
}
