package trace

import "fairlead.dev/fairlead/cluster"

// Tiers gives nodes of src that have no tier one, in the order in which they join: the
// first parts[0] of them the highest, the next parts[1] the one below, and so on, again
// and again. A node that changes, or is lost and returns, keeps its tier. There is a part
// for each level, and not all are 0.
func Tiers(src Source, parts []int) Source {
	t := &tiered{Source: src, given: map[uint64]int32{}}
	for i, n := range parts {
		for range n {
			t.turns = append(t.turns, int32(cluster.Levels-i))
		}
	}
	return t
}

type tiered struct {
	Source
	turns []int32
	given map[uint64]int32 // by node
}

// Next fills in the next record, with a tier if it is of a node.
func (t *tiered) Next(r *Record) error {
	if err := t.Source.Next(r); err != nil {
		return err
	}
	if r.What != NodeAdded && r.What != NodeChanged || r.Node.Tier != 0 {
		return nil
	}
	tier, known := t.given[r.Node.ID]
	if !known {
		tier = t.turns[len(t.given)%len(t.turns)]
		t.given[r.Node.ID] = tier
	}
	r.Node.Tier = tier
	return nil
}
