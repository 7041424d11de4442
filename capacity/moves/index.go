package moves

import "math"

// This file finds the first node, in a fixed order, that has room for a demand. It is a binary tree over the
// order, in one array: each branch holds, kind by kind, the most that any node below it has left. A branch that lacks some kind
// has no node below it that would do; of one that does not, it is looked at, as what it has of different
// kinds may lie on different nodes. So a search costs log n where nodes are alike, and n at worst.

// closed is what is left of a node to which nobody comes.
const closed = math.MinInt64

// index is the tree: branch i has the branches 2i and 2i+1 below it, and the leaves are the last half.
type index struct {
	kinds  int
	leaves int // a power of two
	left   []int64
}

// found says what to make of a node that has the room.
type found uint8

const (
	next found = iota // it will not do
	take
	stop // none will
)

func newIndex(nodes, kinds int) index {
	leaves := 1
	for leaves < nodes {
		leaves *= 2
	}
	x := index{kinds: kinds, leaves: leaves, left: make([]int64, 2*leaves*kinds)}
	for i := range x.left {
		x.left[i] = closed
	}
	return x
}

func (x *index) branch(i int) []int64 { return x.left[i*x.kinds : (i+1)*x.kinds] }

// leaf is what is left of the node that comes so far in the order; who writes to it calls update, or build after all
// of them.
func (x *index) leaf(i int) []int64 { return x.branch(x.leaves + i) }

func (x *index) build() {
	for i := x.leaves - 1; i > 0; i-- {
		x.gather(i)
	}
}

// update brings the branches above a leaf up to date.
func (x *index) update(i int) {
	for i = (x.leaves + i) / 2; i > 0; i /= 2 {
		if !x.gather(i) {
			return
		}
	}
}

// gather computes a branch, and reports whether it has changed.
func (x *index) gather(i int) bool {
	to, a, b := x.branch(i), x.branch(2*i), x.branch(2*i+1)
	changed := false
	for k := range to {
		if most := max(a[k], b[k]); to[k] != most {
			to[k], changed = most, true
		}
	}
	return changed
}

// find is the first that has the demand left, and that is taken when it is asked for; -1 if there is none.
func (x *index) find(demand []int64, ask func(i int) found) int {
	for i := 1; i < 2*x.leaves; {
		if x.has(i, demand) {
			if i < x.leaves {
				i *= 2
				continue
			}
			switch ask(i - x.leaves) {
			case take:
				return i - x.leaves
			case stop:
				return -1
			case next:
			}
		}
		for i&1 == 1 { // up to where there is a branch to the right
			i /= 2
		}
		if i == 0 {
			return -1
		}
		i++
	}
	return -1
}

// has reports whether a branch has the demand left of each kind by itself. What is not demanded may be lacking, but a
// closed branch takes nobody.
func (x *index) has(i int, demand []int64) bool {
	for k, left := range x.branch(i) {
		if q := demand[k]; left == closed || q > left && q > 0 {
			return false
		}
	}
	return true
}
