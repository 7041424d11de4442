package greedy

import (
	"math"

	"fairlead.dev/fairlead/constraint"
)

// This file is Serial: applications and their containers in the order of arrival, each on
// the node that adds least to the score, and of equal ones the first. YARN's
// scheduler of that name takes the first node on which the constraints hold, whatever the
// objective; Medea's text leaves the choice open.

func serial(r *run) { r.inTurn(r.best) }

// best looks at all nodes.
func (r *run) best(container int32) int32 {
	node, least, leastStrain := constraint.Nowhere, int64(math.MaxInt64), int64(math.MaxInt64)
	for n := range int32(len(r.problem.Nodes)) {
		if !r.board.Fits(container, n) {
			continue
		}
		score, strain := r.board.Delta(container, n)
		if strain < leastStrain || strain == leastStrain && score < least {
			node, least, leastStrain = n, score, strain
		}
	}
	r.ticks += int64(len(r.problem.Nodes))
	return node
}
