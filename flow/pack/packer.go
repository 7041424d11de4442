package pack

import (
	"math"
	"math/bits"
	"slices"
)

// The packing of specification firmament §7.4, steps 3 and 6: again and again a
// node takes a task of the group with the largest
//
//	bid × (1 + 0.15·size) / effort
//
// among those that have tasks left and fit.
//
//	size    Σ demand, each kind in units of the most that any node has left
//	effort  what the task takes of what this node has left: the sum of the shares
//	        of all kinds, and the largest of them once more
//	bid     a price of the task group, at most Input.Price
//
// Bids begin in proportion to price × size: then the large go first, and the small
// fill the gaps, which is best as long as everything fits. A task group of which tasks
// are left over bids more the next time, by four fifths of the share that was left.
// If not everything can fit, the bids of what is left rise until they are the prices,
// and what is cheap for its size is given up. In the dual of the problem (tasks in
// fractions, one room for all) a task group has a multiplier, and price minus multiplier
// is its bid: the price itself where tasks are left, less where all are placed.
//
// Tried and dropped, on instances as in §7.5 at loads of 0.95 and 1.10, eight of nodes
// of one size and eight of many: the effort and the alignment of the specification,
// measured by what all nodes have left (the best of six packings leaves 1.1 times as
// many tasks at 1.10); bids that begin at the price and rise without limit, as there
// (1.4 times as many); the sum of the shares alone, or the largest alone (the one
// leaves more at 0.95 where sizes differ, the other where they do not).
//
// All is integers: demand and room are rounded down to 2⁻²⁴ of a unit, the reciprocal
// of the room to 2⁻³² of its least value; the rest is exact, in products of 128 bits.
//
// Each node has a bit for each task group that may still fit, which is cleared for
// good when the task group does not. So all looks are at task groups that fit when a task
// is packed, or clear a bit. Where a node looks exactly as the one that chose before it,
// it chooses the same without a look: among equal nodes that is nearly always.

// Packer packs. The zero value is ready. It keeps its memory from one Begin to the
// next, but nothing else that matters to it.
type Packer struct {
	in     *Input
	out    *Packing
	nodes  int
	groups []taskGroup
	need   []int64  // Input.Demand in units
	unit   []int64  // per kind, the most that any node has left
	room   []int64  // what the nodes have left by now, as Input.Room
	words  int      // of 64 task groups
	first  []uint64 // per node, a bit for each task group that fits at first
	may    []uint64 // the same for those that may still fit
	open   []uint64 // a bit for each task group with tasks left
	over   []int32  // per task group, the tasks that the last packing left
	picks  []pick
	last   []int32 // per node, the last of its picks, or none
	turn   turn
	per    []uint64 // of one node, the share of its room that is one part of a unit
	twin   twin
	types  table
}

// taskGroup is what the packer knows of a task group: all but the demand.
type taskGroup struct {
	fits       bool  // on some node; the rest is 0 if not, but for the size
	price, bid int64 // in the unit in which the largest price is just below 1<<40
	size       int64
	worth      uint64 // bid × (1 + 0.15·size)
}

// pick is one task on a node.
type pick struct {
	group    int32
	previous int32 // of the same node, or none
}

const none = -1

// turn is the nodes that take one task each, one after the other.
type turn struct {
	nodes []int32 // that may take another one: of those before at, the first kept
	at    int     // whose turn it is
	kept  int
}

// twin is the last node that chose, as it was before that.
type twin struct {
	room   []int64
	may    []uint64
	choice int
}

// Binary digits: behind the point of demand and room in units, of a share of a room,
// and of a size where it is multiplied by a bid; and of a bid.
const (
	unitBits  = 24
	shareBits = 56
	sizeBits  = 16
	bidBits   = 40
)

// Begin begins to pack the input into out, and replaces what was in there.
func (p *Packer) Begin(in *Input, out *Packing) {
	p.in, p.out = in, out
	p.measure()
	p.admit()
	p.offer()
	p.begin()
}

// Rebid begins to pack the input of the last packing again, into the same or another Packing,
// with higher bids for the task groups of which that left tasks over; the input must not have
// changed. Once no bid can rise it reports false, and leaves out as it is.
//
// Which of the packings is the best, the flow through their slots has to say. What the
// flow leaves does not teach bids: it gives slots to small tasks by itself, and what is
// left is at its price already (on the instances above a quarter more tasks waited).
func (p *Packer) Rebid(out *Packing) bool {
	some := false
	for i := range p.groups {
		if c := &p.groups[i]; c.bid < c.price && p.over[i] > 0 {
			c.raise(p.over[i], p.in.Count[i])
			some = true
		}
	}
	if some {
		p.out = out
		p.begin()
	}
	return some
}

// Run packs what Begin or Rebid began, and reports whether it came to its end. A budget above
// 0 limits the ticks, but for those of a node; then the next Run goes on, and comes to the same.
func (p *Packer) Run(budget int64) bool {
	limit := int64(math.MaxInt64)
	if budget > 0 {
		limit = p.out.Ticks + budget
	}
	for t := &p.turn; len(t.nodes) > 0; {
		for ; t.at < len(t.nodes); t.at++ {
			if p.out.Ticks >= limit {
				return false
			}
			n := t.nodes[t.at]
			taking := p.take(int(n))
			for p.in.Consolidate && taking {
				taking = p.take(int(n))
			}
			if taking {
				t.nodes[t.kept] = n
				t.kept++
			}
		}
		*t = turn{nodes: t.nodes[:t.kept]}
	}
	p.over = append(p.over[:0], p.out.left...)
	p.list()
	p.cut()
	return true
}

// raise raises the bid by four fifths of the share that was left, but not above the
// price.
func (c *taskGroup) raise(left, count int32) {
	high, low := bits.Mul64(uint64(c.bid*4/5), uint64(left))
	more, _ := bits.Div64(high, low, uint64(count))
	c.set(min(c.bid+max(int64(more), 1), c.price))
}

func (c *taskGroup) set(bid int64) {
	c.bid = bid
	size := min(c.size>>(unitBits-sizeBits), 16<<sizeBits)
	c.worth = uint64(bid) * uint64(20<<sizeBits+3*size)
}

// demand is what a task of the group needs.
func (p *Packer) demand(c int) []int64 {
	return p.in.Demand[c*p.in.Kinds : (c+1)*p.in.Kinds]
}

// left is what the node has left by now.
func (p *Packer) left(n int) []int64 {
	return p.room[n*p.in.Kinds : (n+1)*p.in.Kinds]
}

// measure computes what does not change while packing: units, sizes, the first bids.
func (p *Packer) measure() {
	kinds := p.in.Kinds
	p.nodes = len(p.in.Room) / max(kinds, 1)
	p.unit = grow(p.unit, kinds)
	clear(p.unit)
	for i, q := range p.in.Room {
		p.unit[i%kinds] = max(p.unit[i%kinds], q)
	}
	p.groups = grow(p.groups, len(p.in.Count))
	p.need = grow(p.need, len(p.in.Demand))
	for c := range p.groups {
		size := int64(0)
		for k, q := range p.demand(c) {
			need := fraction(q, p.unit[k])
			p.need[c*kinds+k] = need
			size += need
		}
		p.groups[c] = taskGroup{size: size}
	}
}

// admit notes which task groups fit on each node, and which anywhere.
func (p *Packer) admit() {
	p.words = (len(p.groups) + 63) / 64
	p.first = grow(p.first, p.nodes*p.words)
	clear(p.first)
	for n := range p.nodes {
		for c, count := range p.in.Count {
			if count > 0 && p.in.Price[c] > 0 && fits(p.demand(c), p.in.Room[n*p.in.Kinds:]) && (p.in.Most == nil || p.in.Most(c, n) > 0) {
				p.first[n*p.words+c/64] |= 1 << (c % 64)
				p.groups[c].fits = true
			}
		}
	}
}

// offer makes the first bids. Prices are shifted until the largest fills its digits.
func (p *Packer) offer() {
	price, largest := int64(1), int64(1)
	for c := range p.groups {
		if p.groups[c].fits {
			price, largest = max(price, p.in.Price[c]), max(largest, p.groups[c].size)
		}
	}
	shift := max(bits.LeadingZeros64(uint64(price))-(64-bidBits), 0)
	for i := range p.groups {
		c := &p.groups[i]
		if !c.fits {
			continue
		}
		c.price = min(p.in.Price[i], MaxPrice-1) << shift
		high, low := bits.Mul64(uint64(c.price), uint64(c.size))
		bid, _ := bits.Div64(high, low, uint64(largest))
		c.set(max(int64(bid), 1))
	}
}

// begin begins to pack at the bids as they are.
func (p *Packer) begin() {
	p.out.Ticks = 0
	p.out.kinds = p.in.Kinds
	p.out.left = append(p.out.left[:0], p.in.Count...)
	p.may = append(p.may[:0], p.first...)
	p.open = grow(p.open, p.words)
	clear(p.open)
	for c, n := range p.in.Count {
		if n > 0 {
			p.open[c/64] |= 1 << (c % 64)
		}
	}
	p.room = append(p.room[:0], p.in.Room...)
	for i, q := range p.room {
		p.room[i] = max(q, 0)
	}
	p.per = grow(p.per, p.in.Kinds)
	p.picks, p.last, p.twin.choice = p.picks[:0], grow(p.last, p.nodes), none
	p.turn = turn{nodes: p.turn.nodes[:0]}
	for n := range p.nodes {
		p.last[n] = none
		p.turn.nodes = append(p.turn.nodes, int32(n))
	}
}

// take packs one task more onto the node, and reports whether any fitted.
func (p *Packer) take(n int) bool {
	c := p.choose(n)
	if c == none {
		return false
	}
	room := p.left(n)
	for k, q := range p.demand(c) {
		room[k] -= q
	}
	if p.out.left[c]--; p.out.left[c] == 0 {
		p.open[c/64] &^= 1 << (c % 64)
	}
	p.picks = append(p.picks, pick{group: int32(c), previous: p.last[n]})
	p.last[n] = int32(len(p.picks) - 1)
	if p.in.Most != nil && p.taken(n, c) >= p.in.Most(c, n) {
		p.may[n*p.words+c/64] &^= 1 << (c % 64)
	}
	return true
}

// taken is how many tasks of the group are packed on the node.
func (p *Packer) taken(n, c int) int {
	count := 0
	for i := p.last[n]; i != none; i = p.picks[i].previous {
		if p.picks[i].group == int32(c) {
			count++
		}
	}
	return count
}

// choose returns the best task group for one more task on the node, or none.
func (p *Packer) choose(n int) int {
	may, room := p.may[n*p.words:(n+1)*p.words], p.left(n)
	t := &p.twin
	if t.choice != none && p.out.left[t.choice] > 0 && slices.Equal(room, t.room) && slices.Equal(may, t.may) {
		// Since then other task groups may have run out of tasks, but not the best.
		p.out.Ticks++
		return t.choice
	}
	t.room, t.may = append(t.room[:0], room...), append(t.may[:0], may...)
	for k, q := range room {
		p.per[k] = 1 << shareBits / uint64(max(fraction(q, p.unit[k]), 1))
	}
	t.choice = none
	var worth, effort uint64 // of the best so far
	for w, open := range p.open {
		for set := may[w] & open; set != 0; set &= set - 1 {
			p.out.Ticks++
			bit := bits.TrailingZeros64(set)
			c := w*64 + bit
			e, fits := p.effort(c, room)
			if !fits {
				may[w] &^= 1 << bit
				continue
			}
			if mine := p.groups[c].worth; t.choice == none || less(worth, e, mine, effort) {
				t.choice, worth, effort = c, mine, e
			}
		}
	}
	return t.choice
}

// effort is what a task of the group takes of the room of the node of per, or false
// if it does not fit.
func (p *Packer) effort(c int, room []int64) (effort uint64, fits bool) {
	sum, largest := uint64(0), uint64(0)
	base := c * len(room)
	demand, need, per := p.in.Demand[base:base+len(room)], p.need[base:base+len(room)], p.per[:len(room)]
	for k, left := range room {
		if demand[k] > left {
			return 0, false
		}
		share := uint64(need[k]) * per[k]
		sum += share
		largest = max(largest, share)
	}
	return sum + largest, true
}

// less reports whether a·b is less than c·d.
func less(a, b, c, d uint64) bool {
	high, low := bits.Mul64(a, b)
	otherHigh, otherLow := bits.Mul64(c, d)
	return high < otherHigh || high == otherHigh && low < otherLow
}

// fraction is part/whole in units, rounded down, and at most 1.
func fraction(part, whole int64) int64 {
	switch {
	case part <= 0:
		return 0
	case part >= whole:
		return 1 << unitBits
	}
	high, low := bits.Mul64(uint64(part), 1<<unitBits)
	q, _ := bits.Div64(high, low, uint64(whole))
	return int64(q)
}

// fits reports whether a task fits into room; what it does not need is no obstacle.
func fits(demand, room []int64) bool {
	for k, q := range demand {
		if q > room[k] && q > 0 {
			return false
		}
	}
	return true
}

// grow returns a slice of the length, with the memory of s if that suffices. What
// is in it is of no use.
func grow[T any](s []T, length int) []T {
	return slices.Grow(s[:0], length)[:length]
}
