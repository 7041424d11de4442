package trace

import "fairlead.dev/fairlead/cluster"

// Slots replaces the kinds of src by the one kind "slots": each node offers n,
// each task takes one. Quincy and the slot-based policies of Firmament know no
// other resource, and a trace that is over-committed in its own kinds fits. What
// was measured on nodes, in other kinds, is left out.
func Slots(src Source, n int64) Source {
	return &slotted{Source: src, offer: cluster.Vector{n}, take: cluster.Vector{1}}
}

type slotted struct {
	Source
	offer, take cluster.Vector
}

// Kinds is the one kind, slots.
func (s *slotted) Kinds() []cluster.Kind {
	return []cluster.Kind{{Name: "slots", Unit: "slots", PerUnit: 1}}
}

// Next fills in the next record, in slots.
func (s *slotted) Next(r *Record) error {
	if err := s.Source.Next(r); err != nil {
		return err
	}
	switch r.What {
	case NodeUsed:
		return s.Next(r)
	case NodeAdded, NodeChanged:
		r.Node.Capacity = s.offer
	case TaskSubmitted:
		r.Task.Demand, r.Task.Max = s.take, nil
	case NodeLost, TaskKilled, ConstraintAdded, ConstraintRemoved, BudgetAdded:
	}
	return nil
}
