// Package board holds an assignment of containers to nodes with everything that a solver
// asks about it: what room is left, what is violated, what it scores. Containers come and
// go one at a time, each in proportion to the number of bounds that concern it, so that
// solvers may try millions of them. What a board says is what constraint.Evaluate says of
// its assignment.
package board

import (
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

	at         constraint.Assignment
	head       []int32 // the first container on each node; Nowhere if there is none
	next, prev []int32 // of each container on its node
}

// New is a board of the problem as it is posed.
func New(p *constraint.Problem, roles *constraint.Roles) *Board {
	b := &Board{
		problem: p,
		index:   roles,
		counts:  newCounts(p, roles),
		room:    newRoom(p),
		tally:   newTally(p),
		at:      make(constraint.Assignment, len(p.Containers)),
		head:    make([]int32, len(p.Nodes)),
		next:    make([]int32, len(p.Containers)),
		prev:    make([]int32, len(p.Containers)),
	}
	b.memory = newMemory(p, roles, &b.counts)
	for n := range b.head {
		b.head[n] = constraint.Nowhere
	}
	for c := range b.at {
		b.at[c] = constraint.Nowhere
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

// At is the node that the container is on; Nowhere if on none.
func (b *Board) At(container int32) int32 { return b.at[container] }

// Assignment is the board's own; it is valid until the next change.
func (b *Board) Assignment() constraint.Assignment { return b.at }

// Devices are those that the container holds on its node.
func (b *Board) Devices(container int32) cluster.DeviceSet { return b.held[container] }

// On is the first container of the problem on the node, and Next the one after it, in no
// order that means anything; Nowhere if there is none.
func (b *Board) On(node int32) int32 { return b.head[node] }

// Next is described with On.
func (b *Board) Next(container int32) int32 { return b.next[container] }

// Placed reports whether all containers of the application are on nodes.
func (b *Board) Placed(application int32) bool {
	a := &b.problem.Applications[application]
	return b.placed[application] == a.End-a.First
}

// Fits reports whether the container, which is on no node, may go to the node: it is
// eligible, there is room, and none becomes the subject of a hard bound's violation that
// more containers could not mend. A plan that went by Fits may still violate hard minima;
// Excess says so.
func (b *Board) Fits(container, node int32) bool {
	return b.fits(container, node) && b.bearable(b.shapeOf[container], node)
}

// HasRoom is Fits without constraints: it is eligible, and there is room.
func (b *Board) HasRoom(container, node int32) bool { return b.fits(container, node) }

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

// enter adds the container to those on the node.
func (b *Board) enter(container, node int32) {
	if b.at[container] != constraint.Nowhere {
		panic("board: a container is put on a node while it is on one")
	}
	b.at[container] = node
	first := b.head[node]
	b.next[container], b.prev[container] = first, constraint.Nowhere
	if first != constraint.Nowhere {
		b.prev[first] = container
	}
	b.head[node] = container
}

// leave removes the container from those on its node, and returns that.
func (b *Board) leave(container int32) int32 {
	node := b.at[container]
	if node == constraint.Nowhere {
		panic("board: a container is taken off that is on no node")
	}
	b.at[container] = constraint.Nowhere
	next, prev := b.next[container], b.prev[container]
	if prev == constraint.Nowhere {
		b.head[node] = next
	} else {
		b.next[prev] = next
	}
	if next != constraint.Nowhere {
		b.prev[next] = prev
	}
	return node
}
