package flow

import (
	"fmt"
	"math"

	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/mcmf"
)

// This file finds what one unit more, or one less, at a node of the network would
// change: the shortest paths to the sink, or from it, in the residual network of the
// last solution. The solver's prices say the same only within bounds, where several
// prices prove the flow; here they only serve to make all lengths positive, so that
// Dijkstra's algorithm finds the paths.

// direction is that of paths.
type direction bool

const (
	toSink   direction = true  // what a unit more at a node costs
	fromSink direction = false // the negative of what a unit less saves
)

// nowhere is the distance of nodes that no path leads to.
const nowhere = math.MaxInt64

// distances are those of all nodes of the graph.
func (r *routing) distances(d direction) []Cost {
	w := r.net
	reduced := make([]Cost, w.graph.NodeBound())
	for v := range reduced {
		reduced[v] = nowhere
	}
	var queue heap.Heap[distance]
	relax := func(from distance, next mcmf.Node, cost Cost) {
		tail, head := from.node, next
		if d == toSink {
			tail, head = next, from.node
		}
		length := cost - r.solver.Price(tail) + r.solver.Price(head)
		if length < 0 {
			panic(fmt.Sprintf("flow: the solution's prices do not prove it: an arc of the residual network has length %d", length))
		}
		if from.length+length < reduced[next] {
			reduced[next] = from.length + length
			queue.Push(distance{reduced[next], next})
		}
	}
	reduced[w.graph.sink] = 0
	queue.Push(distance{0, w.graph.sink})
	for len(queue) > 0 {
		at := queue.Pop()
		if at.length > reduced[at.node] {
			continue
		}
		for a := range w.graph.Entering(at.node) {
			if cost, ok := r.residual(a, d == toSink); ok {
				relax(at, w.graph.Arc(a).From, cost)
			}
		}
		for a := range w.graph.Leaving(at.node) {
			if cost, ok := r.residual(a, d == fromSink); ok {
				relax(at, w.graph.Arc(a).To, cost)
			}
		}
	}
	for v, length := range reduced {
		if length == nowhere {
			continue
		}
		along := r.solver.Price(w.graph.sink) - r.solver.Price(mcmf.Node(v))
		if d == toSink {
			along = -along
		}
		reduced[v] = length + along
	}
	return reduced
}

// distance is how far a node is, by what is known.
type distance struct {
	length Cost
	node   mcmf.Node
}

// Before orders by length, then by node.
func (a distance) Before(b distance) bool {
	if a.length != b.length {
		return a.length < b.length
	}
	return a.node < b.node
}
