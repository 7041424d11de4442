package greedy

import "fairlead.dev/fairlead/constraint"

// This file is YARN without constraints: nodes ask for work in turn, as they send their
// heartbeats, and the next container in the order of arrival goes to the next node that has
// room. Soft constraints are not looked at.

func yarn(r *run) {
	next, nodes := int32(0), int32(len(r.problem.Nodes))
	r.inTurn(func(container int32) int32 {
		for range nodes {
			n := next
			next = (next + 1) % nodes
			r.ticks++
			if r.board.Fits(container, n) {
				return n
			}
		}
		return constraint.Nowhere
	})
}
