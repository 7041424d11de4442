package pack

import (
	"math/bits"
	"slices"
)

// The packing of specification firmament §7.4, step 3: again and again a node
// takes a task of the class with the best
//
//	value/effort × (alignment/size + 0.15·size)
//
// among those that have tasks left and fit.
//
//	effort     the share of everything that all nodes have left: Σ demand/Σ room
//	size       Σ demand, each kind in units of the most that any node has left
//	alignment  Σ demand·room of this node, in these units: a task that needs most
//	           of what the node has most of goes first
//
// All is integers. Values are shifted as far as the largest of them allows before
// they are divided, the second factor is a multiple of 2⁻²⁰, and the product of
// the two is exact, in 128 bits.
//
// Each node has a bit for each class that may still fit, which is cleared for
// good when the class does not. So a look at a class ends in a task that is packed,
// or was one of the fitting classes when one was, or clears a bit. Where a node
// looks exactly as the one before it did when it chose, it chooses the same
// without a look: in a fresh cluster of equal nodes that is nearly always.

// Packer packs. The zero value is ready; it keeps its memory from one Pack to the
// next, and nothing else.
type Packer struct {
	in    *Input
	out   *Packing
	nodes int
	class []class
	need  []int64  // Input.Demand in units
	unit  []int64  // per kind, the most that any node has left
	room  []int64  // what the nodes have left by now, as Input.Room
	words int      // of 64 classes
	may   []uint64 // per node, a bit for each class that may still fit
	open  []uint64 // a bit for each class with tasks left
	some  []bool   // per node, whether any class fitted at first
	picks []pick
	last  []int32 // per node, the last of its picks, or none
	turn  []int32 // nodes that may take another task
	share []int64 // of one node, its room in units
	total []int64 // per kind, what all nodes have left
	twin  twin
	types table
}

// class is what the packer knows of a class: all but the demand.
type class struct {
	worth uint64 // value/effort
	size  uint64
}

// pick is one task on a node.
type pick struct {
	class    int32
	previous int32 // of the same node, or none
}

const none = -1

// twin is the last node that chose, as it was before that.
type twin struct {
	room   []int64
	may    []uint64
	choice int
}

// Binary digits behind the point: of demand and room in units, of the score's
// second factor, and of an effort.
const (
	unitBits   = 16
	scoreBits  = 20
	effortBits = 40
)

// Pack packs the input into out, and replaces what was in there.
func (p *Packer) Pack(in *Input, out *Packing) {
	p.in, p.out = in, out
	p.nodes = 0
	if in.Kinds > 0 {
		p.nodes = len(in.Room) / in.Kinds
	}
	out.Ticks = 0
	out.kinds = in.Kinds
	out.left = append(out.left[:0], in.Count...)
	p.measure()
	p.admit()
	p.fill()
	p.list()
	p.cut()
	p.in, p.out = nil, nil
}

// demand is what a task of the class needs.
func (p *Packer) demand(c int) []int64 {
	return p.in.Demand[c*p.in.Kinds : (c+1)*p.in.Kinds]
}

// left is what the node has left by now.
func (p *Packer) left(n int) []int64 {
	return p.room[n*p.in.Kinds : (n+1)*p.in.Kinds]
}

// measure takes over the room of the nodes, and computes what does not change
// while packing: units, efforts, sizes.
func (p *Packer) measure() {
	kinds := p.in.Kinds
	p.room = grow(p.room, len(p.in.Room))
	p.unit, p.total, p.share = grow(p.unit, kinds), grow(p.total, kinds), grow(p.share, kinds)
	clear(p.unit)
	clear(p.total)
	for i, q := range p.in.Room {
		q = max(q, 0) // what a task does not need is no obstacle
		p.room[i] = q
		p.unit[i%kinds] = max(p.unit[i%kinds], q)
		p.total[i%kinds] += q
	}
	most := int64(1)
	for _, v := range p.in.Value {
		most = max(most, v)
	}
	shift := bits.LeadingZeros64(uint64(most)) - 1
	p.class = grow(p.class, len(p.in.Count))
	p.need = grow(p.need, len(p.in.Demand))
	for c := range p.class {
		effort, size := int64(0), int64(0)
		for k, q := range p.demand(c) {
			need := fraction(q, p.unit[k], unitBits)
			p.need[c*kinds+k] = need
			size += need
			effort += fraction(q, p.total[k], effortBits)
		}
		worth := max(p.in.Value[c], 0) << shift / max(effort, 1)
		p.class[c] = class{worth: uint64(worth), size: uint64(size)}
	}
}

// admit notes which classes each node could take, and which have tasks.
func (p *Packer) admit() {
	classes := len(p.class)
	p.words = (classes + 63) / 64
	p.open = grow(p.open, p.words)
	p.may = grow(p.may, p.nodes*p.words)
	p.some = grow(p.some, p.nodes)
	clear(p.open)
	clear(p.may)
	for c, n := range p.in.Count {
		if n > 0 && p.in.Value[c] > 0 {
			p.open[c/64] |= 1 << (c % 64)
		}
	}
	for n := range p.nodes {
		may, room := p.may[n*p.words:(n+1)*p.words], p.left(n)
		p.some[n] = false
		for c := range classes {
			if p.open[c/64]>>(c%64)&1 == 0 || !fits(p.demand(c), room) || p.in.Most != nil && p.in.Most(c, n) <= 0 {
				continue
			}
			may[c/64] |= 1 << (c % 64)
			p.some[n] = true
		}
	}
}

// fill packs until no node can take another task.
func (p *Packer) fill() {
	p.picks = p.picks[:0]
	p.last = grow(p.last, p.nodes)
	for n := range p.last {
		p.last[n] = none
	}
	p.twin.choice = none
	p.turn = p.turn[:0]
	for n := range p.nodes {
		taking := true
		for p.in.Consolidate && taking {
			taking = p.take(n)
		}
		if taking {
			p.turn = append(p.turn, int32(n))
		}
	}
	for len(p.turn) > 0 {
		still := p.turn[:0]
		for _, n := range p.turn {
			if p.take(int(n)) {
				still = append(still, n)
			}
		}
		p.turn = still
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
	p.picks = append(p.picks, pick{class: int32(c), previous: p.last[n]})
	p.last[n] = int32(len(p.picks) - 1)
	if p.in.Most != nil && p.taken(n, c) >= p.in.Most(c, n) {
		p.may[n*p.words+c/64] &^= 1 << (c % 64)
	}
	return true
}

// taken is how many tasks of the class are packed on the node.
func (p *Packer) taken(n, c int) int {
	count := 0
	for i := p.last[n]; i != none; i = p.picks[i].previous {
		if p.picks[i].class == int32(c) {
			count++
		}
	}
	return count
}

// choose returns the best class for one more task on the node, or none.
func (p *Packer) choose(n int) int {
	may, room := p.may[n*p.words:(n+1)*p.words], p.left(n)
	t := &p.twin
	if t.choice != none && p.out.left[t.choice] > 0 && slices.Equal(room, t.room) && slices.Equal(may, t.may) {
		// Since then other classes may have run out of tasks, but not the best.
		p.out.Ticks++
		return t.choice
	}
	t.room, t.may = append(t.room[:0], room...), append(t.may[:0], may...)
	for k, q := range room {
		p.share[k] = fraction(q, p.unit[k], unitBits)
	}
	t.choice = none
	var high, low uint64
	for w, open := range p.open {
		for set := may[w] & open; set != 0; set &= set - 1 {
			p.out.Ticks++
			bit := bits.TrailingZeros64(set)
			c := w*64 + bit
			if !fits(p.demand(c), room) {
				may[w] &^= 1 << bit
				continue
			}
			if h, l := p.score(c); t.choice == none || h > high || h == high && l > low {
				t.choice, high, low = c, h, l
			}
		}
	}
	return t.choice
}

// score is what one more task of the class is worth to the node of share.
func (p *Packer) score(c int) (high, low uint64) {
	alignment, size := uint64(0), p.class[c].size
	for k, need := range p.need[c*p.in.Kinds : (c+1)*p.in.Kinds] {
		alignment += uint64(need*p.share[k]) >> unitBits
	}
	const more = scoreBits - unitBits
	second := size << more * 3 / 20
	if size > 0 {
		second += alignment << scoreBits / size
	}
	return bits.Mul64(p.class[c].worth, second)
}

// fraction is part/whole in fixed point, rounded down, and at most 1.
func fraction(part, whole int64, binary uint) int64 {
	switch {
	case part <= 0:
		return 0
	case part >= whole:
		return 1 << binary
	}
	high, low := bits.Mul64(uint64(part), 1<<binary)
	q, _ := bits.Div64(high, low, uint64(whole))
	return int64(q)
}

// fits reports whether a task fits into room.
func fits(demand, room []int64) bool {
	for k, q := range demand {
		if q > room[k] {
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
