package search

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/board"
)

// This file tries: what an idea takes off the board is noted, so that the plan can be had
// back. A plan is kept if it is no worse than the one before, surcharges and all: one that is as
// good may lead further.

type trial struct {
	board *board.Board
	ticks int64
	score int64 // of the plan that is kept
	undo  []place

	charged int64 // the score with surcharges
	fell    int64 // when that fell last, in ticks

	best     plan  // of the leg
	slack    int64 // by how much worse than the best a plan may be that is kept
	recorded int64 // when the best was found, in ticks
}

// place is where a container was.
type place struct {
	container, node int32
	devices         cluster.DeviceSet
}

// take takes a container off, which may be on no node. An idea takes each at most once.
func (t *trial) take(c int32) {
	n := t.board.At(c)
	t.undo = append(t.undo, place{c, n, t.board.Devices(c)})
	if n != constraint.Nowhere {
		t.board.Take(c)
	}
	t.ticks += changeTicks
}

// taken reports whether the idea took the container.
func (t *trial) taken(c int32) bool {
	return slices.ContainsFunc(t.undo, func(u place) bool { return u.container == c })
}

// put puts a container that was taken on a node.
func (t *trial) put(c, n int32) {
	t.board.Put(c, n)
	t.ticks += changeTicks
}

// changeTicks is how many looks a change of the board is worth.
const changeTicks = 8

// judge keeps the plan on the board or returns to the one before.
func (t *trial) judge(tried bool) {
	if !tried || t.board.Excess() > 0 || !t.bearable() {
		t.back()
	}
	t.keep()
	if t.score < t.best.score {
		t.record()
	}
}

// bearable reports whether the plan on the board is good enough to be kept.
func (t *trial) bearable() bool {
	score := t.board.Score()
	return score+t.board.Surcharges() <= t.charged || score <= t.best.score+t.slack
}

// plan is a whole plan.
type plan struct {
	places []place
	score  int64
}

// copy makes it the same as the other.
func (p *plan) copy(o *plan) {
	p.places = append(p.places[:0], o.places...)
	p.score = o.score
}

// record makes the plan on the board the best.
func (t *trial) record() {
	t.best.places = t.best.places[:0]
	for c, n := range t.board.Assignment() {
		t.best.places = append(t.best.places, place{int32(c), n, t.board.Devices(int32(c))})
	}
	t.best.score = t.score
	t.recorded = t.ticks
}

// recall returns to the best plan.
func (t *trial) recall() {
	for _, at := range t.best.places {
		if at.node != t.board.At(at.container) || at.devices != t.board.Devices(at.container) {
			t.take(at.container)
		}
	}
	for _, at := range t.best.places {
		if t.board.At(at.container) != at.node {
			t.board.Restore(at.container, at.node, at.devices)
		}
	}
	t.keep()
}

// back returns to the plan before.
func (t *trial) back() {
	for _, u := range t.undo {
		if t.board.At(u.container) != constraint.Nowhere {
			t.board.Take(u.container)
		}
	}
	for _, u := range t.undo {
		if u.node != constraint.Nowhere {
			t.board.Restore(u.container, u.node, u.devices)
		}
	}
	t.ticks += int64(len(t.undo)) * changeTicks
}

// keep makes the plan on the board the one to return to.
func (t *trial) keep() {
	t.score, t.undo = t.board.Score(), t.undo[:0]
	charged := t.score + t.board.Surcharges()
	if charged < t.charged {
		t.fell = t.ticks
	}
	t.charged = charged
}
