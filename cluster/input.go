package cluster

import "fmt"

// This file is what the world says of a task once, when it is submitted: what it reads before it can
// work, and how long it will run, if anybody knows. Where input lies names nodes by their rows: whoever reports
// input gives the row of a lost node to no other node, so that a replica there
// is there again once that node is back.

// Block is a piece of a task's input, whole on each of a few nodes.
type Block struct {
	Bytes int64
	// Replicas are nodes that hold the block, in no order that matters; NoNode
	// where there are fewer. One on a node that is not live counts as nothing.
	Replicas [3]NodeID
}

// brought is what was said of a task.
type brought struct {
	input []Block
	lasts Time // 0: nobody has said
}

// Input lists the blocks that the task reads each time it begins to run; nil if
// it reads nothing, or nobody knows what. It is not changed afterwards.
func (v *View) Input(t TaskID) []Block { return said(v, t).input }

// Lasts is how long a run of the task will work, as whoever submitted it has said: Never if it does not
// end by itself, and 0 where nobody has said. Nothing holds the task to that.
func Lasts(v *View, t TaskID) Time { return said(v, t).lasts }

// said is what was said of the task.
func said(v *View, t TaskID) brought {
	if int(t) >= len(v.brought) {
		return brought{}
	}
	return v.brought[t]
}

// setBrought notes what is said of a task. The table is as long as the last row of which
// anything ever was, so that others cost nothing.
func (s *State) setBrought(t TaskID, b brought) {
	if len(b.input) == 0 {
		b.input = nil
	}
	if b.input != nil || b.lasts != 0 {
		s.brought = grown(s.brought, int(t))
	}
	if int(t) < len(s.brought) {
		s.brought[t] = b
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

// checkLasts says why no run can last so long.
func checkLasts(lasts Time) error {
	if lasts < 0 {
		return fmt.Errorf("a run lasts %v, want 0 or more", lasts)
	}
	return nil
}
