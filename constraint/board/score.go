package board

import (
	"math"
	"math/bits"
	"slices"

	"fairlead.dev/fairlead/constraint"
)

// This file adds up the parts of the score that are not constraints: applications, moves,
// and what becomes of nodes. The fullest node is the root of a tournament among all nodes:
// a change is played again on the way up, nothing else.

// tally counts what an objective weighs.
type tally struct {
	unplaced, loose, moved, fragmented, used int64 // as constraint.Parts

	dearer int64 // by how many quarters the first three are

	weights  constraint.Objective
	capacity []int64 // by node and kind
	start    []int32 // the room's
	app      []int32 // by container
	size     []int32 // by application
	deployed []bool
	placed   []int32 // by application
	on       []int32 // containers, by node
	peaks    []int64 // the tournament: 1 is the root, the nodes are the last half
}

// nodeState is what the score asks of one node.
type nodeState struct {
	fragmented bool
	peak       int64
}

func newTally(p *constraint.Problem) tally {
	t := tally{
		weights: p.Objective, size: make([]int32, len(p.Applications)), deployed: make([]bool, len(p.Applications)),
		placed: make([]int32, len(p.Applications)), on: make([]int32, len(p.Nodes)),
	}
	t.weights.Least = slices.Clone(p.Objective.Least)
	for n := range p.Nodes {
		t.capacity = append(t.capacity, p.Nodes[n].Capacity...)
	}
	for i := range p.Applications {
		t.size[i] = p.Applications[i].End - p.Applications[i].First
		t.deployed[i] = p.Applications[i].Deployed
	}
	for c := range p.Containers {
		t.app = append(t.app, p.Shapes[p.Containers[c].Shape].Application)
	}
	return t
}

// open begins to count with the containers that are on nodes now.
func (t *tally) open(r *room) {
	t.start = r.start
	for app, size := range t.size {
		if t.deployed[app] {
			t.loose += int64(size - t.placed[app])
		} else if t.placed[app] < size {
			t.unplaced++
		}
	}
	for _, n := range r.start {
		if n != constraint.Nowhere {
			if t.on[n] == 0 {
				t.used++
			}
			t.on[n]++
		}
	}
	if t.weights.Peak > 0 {
		t.peaks = make([]int64, 2*max(len(t.on), 1))
	}
	for n := range t.on {
		s := t.state(r, int32(n), nil)
		if s.fragmented {
			t.fragmented++
		}
		t.crown(int32(n), s.peak)
	}
}

// state is the node's, with what the needs would take of it besides.
func (t *tally) state(r *room, node int32, needs []need) nodeState {
	var s nodeState
	if t.weights.Least == nil && t.weights.Peak == 0 {
		return s
	}
	at := node * r.kinds
	for k := range r.kinds {
		left, capacity := r.free[at+k], t.capacity[at+k]
		for _, n := range needs {
			if n.kind == k {
				left -= n.quantity
			}
		}
		if int(k) < len(t.weights.Least) && left < t.weights.Least[k] {
			s.fragmented = true
		}
		if capacity > 0 && t.weights.Peak > 0 {
			s.peak = max(s.peak, shareOf(t.weights.Peak, max(capacity-left, 0), capacity))
		}
	}
	return s
}

// put notes that the container came to the node.
func (t *tally) put(container, node int32) {
	if t.on[node] == 0 {
		t.used++
	}
	t.on[node]++
	if t.start[container] == node {
		t.moved--
	}
	app := t.app[container]
	t.placed[app]++
	switch {
	case t.deployed[app]:
		t.loose--
	case t.placed[app] == t.size[app]:
		t.unplaced--
	}
}

// take notes that the container left the node.
func (t *tally) take(container, node int32) {
	t.on[node]--
	if t.on[node] == 0 {
		t.used--
	}
	if t.start[container] == node {
		t.moved++
	}
	app := t.app[container]
	switch {
	case t.deployed[app]:
		t.loose++
	case t.placed[app] == t.size[app]:
		t.unplaced++
	}
	t.placed[app]--
}

// change notes what became of the node's room.
func (t *tally) change(node int32, before, after nodeState) {
	if before.fragmented != after.fragmented {
		if after.fragmented {
			t.fragmented++
		} else {
			t.fragmented--
		}
	}
	t.crown(node, after.peak)
}

// crown plays the node's peak up the tournament.
func (t *tally) crown(node int32, peak int64) {
	if t.peaks == nil {
		return
	}
	at := len(t.on) + int(node)
	t.peaks[at] = peak
	for at /= 2; at > 0; at /= 2 {
		t.peaks[at] = max(t.peaks[2*at], t.peaks[2*at+1])
	}
}

// peak is the largest of all nodes.
func (t *tally) peak() int64 {
	if t.peaks == nil {
		return 0
	}
	return t.peaks[1]
}

func (t *tally) score() int64 {
	w := &t.weights
	return w.Unplaced*t.unplaced + w.Loose*t.loose + w.Moved*t.moved + w.Fragmented*t.fragmented + w.Used*t.used + t.peak()
}

// delta is what the container on the node would add to all this.
func (t *tally) delta(r *room, container, node int32) int64 {
	w := &t.weights
	sum, _ := t.ofNode(r, r.shapeOf[container], node)
	if t.start[container] == node {
		sum -= w.Moved
	}
	return sum - t.fills(container)
}

// fills is what the container, once on a node, would save because of what its application
// lacks.
func (t *tally) fills(container int32) int64 {
	app := t.app[container]
	switch {
	case t.deployed[app]:
		return t.weights.Loose
	case t.placed[app]+1 == t.size[app]:
		return t.weights.Unplaced
	}
	return 0
}

// ofNode is the part that concerns the node alone, and, where the fullest node is weighed, how full this one would
// be, in parts of fine.
func (t *tally) ofNode(r *room, shape, node int32) (cost, full int64) {
	w := &t.weights
	if t.on[node] == 0 {
		cost += w.Used
	}
	if w.Least == nil && w.Peak == 0 {
		return cost, 0
	}
	before, after := t.state(r, node, nil), t.state(r, node, r.needsOfShape(shape))
	if after.fragmented && !before.fragmented {
		cost += w.Fragmented
	}
	if w.Peak > 0 {
		full = shareOf(fine-1, min(after.peak, w.Peak), w.Peak)
	}
	return cost + max(after.peak-t.peak(), 0), full
}

// shareOf is part/whole of the weight, of numbers that are at least 0, rounded down;
// math.MaxInt64 where that is too large.
func shareOf(weight, part, whole int64) int64 {
	high, low := bits.Mul64(uint64(weight), uint64(part))
	switch {
	case high == 0:
		return int64(min(low/uint64(whole), math.MaxInt64))
	case high >= uint64(whole):
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, uint64(whole))
	return int64(min(quotient, math.MaxInt64))
}

// Score is what constraint.Evaluate says of the assignment.
func (b *Board) Score() int64 { return b.cost + b.score() }

// Parts are the parts of the score that are not constraints; the peak is left out.
func (t *tally) Parts() constraint.Parts {
	return constraint.Parts{Unplaced: t.unplaced, Loose: t.loose, Moved: t.moved, Fragmented: t.fragmented, Used: t.used}
}

// Delta is what putting the container, which is on no node, on the node would add to the
// score, and to the strain on hard constraints: an order in which fewer violations come before
// fewer misses.
func (b *Board) Delta(container, node int32) (score, strain int64) {
	score, strain = b.counts.delta(b.shapeOf[container], node)
	return score + b.tally.delta(&b.room, container, node), strain
}

// Fullest is a node of those of which the largest share is taken, where the objective weighs that; else
// Nowhere.
func (t *tally) Fullest() int32 {
	if t.peaks == nil || len(t.on) == 0 {
		return constraint.Nowhere
	}
	at := 1
	for at < len(t.on) {
		if at *= 2; t.peaks[at] != t.peaks[at/2] {
			at++
		}
	}
	return int32(at - len(t.on))
}

// Placed reports whether all containers of the application are on nodes.
func (t *tally) Placed(application int32) bool { return t.placed[application] == t.size[application] }
