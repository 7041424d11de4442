package greedy

// This file is Serial: applications and their containers in the order of arrival, each on
// the node that adds least to the score, and of equal ones the first. YARN's
// scheduler of that name takes the first node on which the constraints hold, whatever the
// objective; Medea's text leaves the choice open.

func serial(r *run) { r.inTurn(r.best) }

// best looks at all nodes.
func (r *run) best(container int32) int32 {
	r.ticks += int64(len(r.nodes))
	node, _ := r.board.Best(container, r.nodes)
	return node
}
