package evict

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file finds the set of candidates that is the cheapest to evict, and of equally
// cheap ones the smallest. That is a knapsack to be covered in several dimensions, solved
// by branch and bound: the best value for its price is taken first, so that the first
// set found is the greedy one, and each set found is relieved of whom it does not
// need. The search looks at a bounded number of sets. Among few candidates it ends
// before that, and the set is the cheapest; otherwise it is at most as dear as the greedy
// one.

// mostSets bounds the sets that are looked at on a node, beside those on the way to
// the first: enough to compare all of eight tasks.
const mostSets = 512

// leastSum is the memory of a search. Positions are in list.
type leastSum struct {
	list   []valued
	rest   []int64 // by position and kind: what those from there on have
	least  []int64 // by position: the cheapest of them
	chosen []int32
	sets   int     // that may still be looked at
	kept   []int32 // scratch: of a set that was found
	best   []int32
	total  int64 // of the best; math.MaxInt64 if there is none
}

// valued is a candidate and what it has.
type valued struct {
	Candidate
	cover   int64 // how much of what is lacking
	devices cluster.DeviceSet
}

// leastSum chooses by LeastSum.
func (x *Search) leastSum(candidates []Candidate) (sum int64, ok bool) {
	m := &x.sum
	m.list, m.chosen, m.best, m.total = m.list[:0], m.chosen[:0], m.best[:0], math.MaxInt64
	for i := range candidates {
		if cover := x.Cover(&candidates[i]); cover > 0 {
			m.list = append(m.list, valued{candidates[i], cover, x.s.Task(candidates[i].Task).Devices})
		}
	}
	slices.SortFunc(m.list, func(a, b valued) int {
		return cmp.Or(cmp.Compare(a.Price*b.cover, b.Price*a.cover), cmp.Compare(a.Price, b.Price), cmp.Compare(a.Shape, b.Shape), cmp.Compare(b.Seq, a.Seq))
	})
	m.sumUp(len(x.lacks))
	m.sets = mostSets + len(m.list)
	x.extend(0, 0)
	x.Sets, x.Proven = int64(mostSets+len(m.list)-m.sets), m.sets > 0
	for _, i := range m.best {
		x.Victims = append(x.Victims, m.list[i].Candidate)
	}
	return m.total, m.total < math.MaxInt64
}

// sumUp adds up what those have that come later in the list.
func (m *leastSum) sumUp(kinds int) {
	length := len(m.list)
	m.rest = slices.Grow(m.rest[:0], (length+1)*kinds)[:(length+1)*kinds]
	m.least = slices.Grow(m.least[:0], length+1)[:length+1]
	clear(m.rest[length*kinds:])
	m.least[length] = math.MaxInt64
	for i := length - 1; i >= 0; i-- {
		for k := range kinds {
			m.rest[i*kinds+k] = m.rest[(i+1)*kinds+k] + m.list[i].demand[k]
		}
		m.least[i] = min(m.least[i+1], m.list[i].Price)
	}
}

// extend extends what is chosen, at this price so far, by victims from a position on.
func (x *Search) extend(from int, total int64) {
	m := &x.sum
	if x.deficit.Met() {
		x.settle(total)
		return
	}
	if from == len(m.list) || m.sets == 0 || !x.promises(from, total) {
		return
	}
	m.sets--
	v := &m.list[from]
	x.leave(&v.Candidate, 1)
	m.chosen = append(m.chosen, int32(from))
	x.extend(from+1, total+v.Price)
	m.chosen = m.chosen[:len(m.chosen)-1]
	x.leave(&v.Candidate, -1)
	next := from + 1
	for next < len(m.list) && v.alike(&m.list[next]) {
		next++
	}
	x.extend(next, total)
}

// alike reports whether one of the two is as good as the other.
func (v *valued) alike(o *valued) bool {
	return v.Shape == o.Shape && v.Price == o.Price && v.devices == o.devices && slices.Equal(v.demand, o.demand)
}

// promises reports whether victims from a position on could make a better set.
func (x *Search) promises(from int, total int64) bool {
	m := &x.sum
	if total += m.least[from]; total > m.total || total == m.total && len(m.chosen)+1 >= len(m.best) {
		return false
	}
	for k, lack := range x.lacks {
		if lack > 0 && lack > m.rest[from*len(x.lacks)+k] {
			return false
		}
	}
	return true
}

// settle keeps what is chosen, but for whom it does not need, the dearest first.
func (x *Search) settle(total int64) {
	m := &x.sum
	m.kept = append(m.kept[:0], m.chosen...)
	slices.SortFunc(m.kept, func(a, b int32) int {
		return cmp.Or(cmp.Compare(m.list[b].Price, m.list[a].Price), cmp.Compare(a, b))
	})
	needed := m.kept[:0]
	for _, i := range m.kept {
		v := &m.list[i].Candidate
		if x.leave(v, -1); x.deficit.Met() {
			total -= v.Price
			continue
		}
		x.leave(v, 1)
		needed = append(needed, i)
	}
	if total < m.total || total == m.total && len(needed) < len(m.best) {
		m.total, m.best = total, append(m.best[:0], needed...)
	}
	for _, i := range m.chosen { // as it was
		if !slices.Contains(needed, i) {
			x.leave(&m.list[i].Candidate, 1)
		}
	}
}
