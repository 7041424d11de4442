package trace

import (
	"fmt"
	"math/bits"

	"fairlead.dev/fairlead/cluster"
)

// Scale gives a source that measures in shares of the largest node the kinds of others: each
// quantity becomes that share of what the largest node has, by kind. What a task asks for is
// rounded up, what a node has down. What was measured on nodes, and what tasks typically ask
// for, is left out.
func Scale(src Source, kinds []cluster.Kind, largest cluster.Vector) (Source, error) {
	shares := src.Kinds()
	if len(kinds) != len(shares) || len(largest) != len(shares) {
		return nil, fmt.Errorf("the source has %d kinds, and %d are to stand in their place", len(shares), len(kinds))
	}
	if err := cluster.CheckKinds(kinds); err != nil {
		return nil, err
	}
	return &scaled{Source: src, shares: shares, kinds: kinds, largest: largest}, nil
}

type scaled struct {
	Source
	shares, kinds []cluster.Kind
	largest       cluster.Vector
	vectors       [2]cluster.Vector // demand or capacity, and the most of a task
}

// Kinds are those in the place of the source's own.
func (s *scaled) Kinds() []cluster.Kind { return s.kinds }

// Next fills in the next record, in the new kinds.
func (s *scaled) Next(r *Record) error {
	if err := s.Source.Next(r); err != nil {
		return err
	}
	var err error
	switch r.What {
	case NodeUsed:
		return s.Next(r)
	case NodeAdded, NodeChanged:
		r.Node.Capacity, err = s.scale(0, r.Node.Capacity, 0)
	case TaskSubmitted:
		if r.Task.Demand, err = s.scale(0, r.Task.Demand, 1); err == nil && r.Task.Max != nil {
			r.Task.Max, err = s.scale(1, r.Task.Max, 1)
		}
	case NodeLost, TaskKilled, ConstraintAdded, ConstraintRemoved, BudgetAdded:
	}
	return err
}

// scale is the vector in the new kinds; up is 1 to round up.
func (s *scaled) scale(which int, v cluster.Vector, up uint64) (cluster.Vector, error) {
	all := append(s.vectors[which][:0], v...)
	s.vectors[which] = all
	for k, q := range all {
		one := uint64(s.shares[k].PerUnit)
		high, low := bits.Mul64(uint64(q), uint64(s.largest[k]))
		low, carry := bits.Add64(low, up*(one-1), 0)
		if high += carry; high >= one {
			return nil, fmt.Errorf("%d of %s are too many once the largest node has %s %s: more than 2^63", q, s.kinds[k].Name, s.kinds[k].Format(s.largest[k]), s.kinds[k].Unit)
		}
		quotient, _ := bits.Div64(high, low, one)
		all[k] = int64(min(quotient, uint64(cluster.MaxQuantity)))
	}
	return all, nil
}
