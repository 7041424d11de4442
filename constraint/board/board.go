// Package board holds an assignment of containers to nodes with everything that a solver
// asks about it: what room is left, what is violated, what it scores. Containers come and
// go one at a time, each in proportion to the number of bounds that concern it, so that
// solvers may try millions of them. What a board says is what constraint.Evaluate says of
// its assignment.
package board

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// Board is an assignment that is being changed. Containers, nodes and applications are
// rows of its problem.
type Board struct {
	problem *constraint.Problem
	index   *constraint.Roles
	counts
	memory
	room
	tally
	places
}

// New is a board of the problem as it is posed.
func New(p *constraint.Problem, roles *constraint.Roles) *Board {
	b := &Board{
		problem: p,
		index:   roles,
		counts:  newCounts(p, roles),
		room:    newRoom(p),
		tally:   newTally(p),
		places:  newPlaces(p),
	}
	b.memory = newMemory(p, roles, &b.counts)
	for c := range p.Containers {
		if n := p.Containers[c].At; n != constraint.Nowhere {
			b.enter(int32(c), n)
			b.counts.change(p.Containers[c].Shape, n, 1, &b.memory)
			b.occupy(int32(c), n, p.Containers[c].Devices)
			b.placed[b.app[c]]++
		}
	}
	b.settle()
	b.open(&b.room)
	return b
}

// Problem is what the board is of.
func (b *Board) Problem() *constraint.Problem { return b.problem }

// Roles are the bounds of the problem, and who is what in them.
func (b *Board) Roles() *constraint.Roles { return b.index }

// Fits reports whether the container, which is on no node, may go to the node: it is
// eligible, there is room, and none becomes the subject of a hard bound's violation that
// more containers could not mend. A plan that went by Fits may still violate hard minima;
// Excess says so.
func (b *Board) Fits(container, node int32) bool {
	return b.HasRoom(container, node) && b.bearable(b.shapeOf[container], node)
}

// Put puts the container, which is on no node, on the node, whether it fits or not.
func (b *Board) Put(container, node int32) {
	devices, _ := b.pick(container, node)
	b.Restore(container, node, devices)
}

// Restore is Put with the devices that the container had there.
func (b *Board) Restore(container, node int32, devices cluster.DeviceSet) {
	b.enter(container, node)
	b.counts.change(b.shapeOf[container], node, 1, &b.memory)
	before := b.state(&b.room, node, nil)
	b.room.take(container, node, devices)
	b.put(container, node)
	b.tally.change(node, before, b.state(&b.room, node, nil))
}

// Take takes the container off the node that it is on.
func (b *Board) Take(container int32) {
	node := b.leave(container)
	b.counts.change(b.shapeOf[container], node, -1, &b.memory)
	before := b.state(&b.room, node, nil)
	b.give(container, node)
	b.tally.take(container, node)
	b.tally.change(node, before, b.state(&b.room, node, nil))
}

// Set makes the board's assignment a.
func (b *Board) Set(a constraint.Assignment) {
	for c, n := range a {
		if b.at[c] != n && b.at[c] != constraint.Nowhere {
			b.Take(int32(c))
		}
	}
	for c, n := range a {
		if n != b.at[c] && n == b.problem.Containers[c].At {
			b.Put(int32(c), n)
		}
	}
	for c, n := range a {
		if n != b.at[c] {
			b.Put(int32(c), n)
		}
	}
}

// places are who is where: the node of each container, and on each node a list of its containers.
type places struct {
	at         constraint.Assignment
	head       []int32 // the first container on each node; Nowhere if there is none
	next, prev []int32 // of each container on its node
}

// newPlaces has everybody on no node.
func newPlaces(p *constraint.Problem) places {
	nowhere := func(n int) []int32 { return slices.Repeat([]int32{constraint.Nowhere}, n) }
	all := len(p.Containers)
	return places{nowhere(all), nowhere(len(p.Nodes)), nowhere(all), nowhere(all)}
}

// At is the node that the container is on; Nowhere if on none.
func (p *places) At(container int32) int32 { return p.at[container] }

// Assignment is the board's own; it is valid until the next change.
func (p *places) Assignment() constraint.Assignment { return p.at }

// On is the first container of the problem on the node, and Next the one after it, in no
// order that means anything; Nowhere if there is none.
func (p *places) On(node int32) int32 { return p.head[node] }

// Next is described with On.
func (p *places) Next(container int32) int32 { return p.next[container] }

// enter adds the container to those on the node.
func (p *places) enter(container, node int32) {
	if p.at[container] != constraint.Nowhere {
		panic("board: a container is put on a node while it is on one")
	}
	p.at[container] = node
	first := p.head[node]
	p.next[container], p.prev[container] = first, constraint.Nowhere
	if first != constraint.Nowhere {
		p.prev[first] = container
	}
	p.head[node] = container
}

// leave removes the container from those on its node, and returns that.
func (p *places) leave(container int32) int32 {
	node := p.at[container]
	if node == constraint.Nowhere {
		panic("board: a container is taken off that is on no node")
	}
	p.at[container] = constraint.Nowhere
	next, prev := p.next[container], p.prev[container]
	if prev == constraint.Nowhere {
		p.head[node] = next
	} else {
		p.next[prev] = next
	}
	if next != constraint.Nowhere {
		p.prev[next] = prev
	}
	return node
}
