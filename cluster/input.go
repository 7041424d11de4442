package cluster

import "fmt"

// This file is what a task reads before it can work. Where it lies is said once,
// when the task is submitted, and names nodes by their rows: whoever reports
// input gives the row of a lost node to no other node, so that a replica there
// is there again once that node is back.

// Block is a piece of a task's input, whole on each of a few nodes.
type Block struct {
	Bytes int64
	// Replicas are nodes that hold the block, in no order that matters; NoNode
	// where there are fewer. One on a node that is not live counts as nothing.
	Replicas [3]NodeID
}

// Input lists the blocks that the task reads each time it begins to run; nil if
// it reads nothing, or nobody knows what. It is not changed afterwards.
func (v *View) Input(t TaskID) []Block {
	if int(t) >= len(v.input) {
		return nil
	}
	return v.input[t]
}

// setInput notes the input of a new task. The table is as long as the last row
// that ever had some, so that tasks without cost nothing.
func (s *State) setInput(t TaskID, blocks []Block) {
	if len(blocks) > 0 {
		s.input = grown(s.input, int(t))
		s.input[t] = blocks
	}
}

// dropInput forgets the input of a task that has ended.
func (s *State) dropInput(t TaskID) {
	if int(t) < len(s.input) {
		s.input[t] = nil
	}
}

// checkInput says why nobody can read these blocks.
func checkInput(blocks []Block) error {
	total := int64(0)
	for i, b := range blocks {
		if b.Bytes < 0 || b.Bytes > MaxQuantity-total {
			return fmt.Errorf("block %d of the input has %d bytes, want 0 to %d in all", i, b.Bytes, int64(MaxQuantity))
		}
		total += b.Bytes
		for j, n := range b.Replicas {
			if n != NoNode && n >= maxRow {
				return fmt.Errorf("block %d of the input: node row %d is too large", i, n)
			}
			for _, other := range b.Replicas[:j] {
				if n != NoNode && n == other {
					return fmt.Errorf("block %d of the input names node row %d twice", i, n)
				}
			}
		}
	}
	return nil
}
