package sim

import (
	"slices"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
)

// This file gives a task of a class with a level of size its range of the first kind
// (SLA classes; specs/sla-classes.md, §4): the level's third of the smallest node that is
// there when it is submitted, in whole cores where that has one for each level. Nodes
// without that kind have nothing to share, and do not count; while there are only such, a
// task keeps what the trace says that it asks for. Other kinds stay as the trace has them,
// and so does a task that brings a range of its own. Its work stays the same effort: what
// it would have done in the trace's time with the trace's cores, as a time with one core
// (SLT).

// sized is the task with the range that its class has; the task itself is left as it is.
func (b *nodes) sized(r incoming) incoming {
	level := r.promised.Size
	if level == 0 || r.Max != nil {
		return r
	}
	smallest := b.smallest()
	if smallest == 0 {
		return r
	}
	unit := max(b.kinds[0].PerUnit, 1)
	cores, per := class.Cores(smallest, unit)
	least, most := class.Bounds(level, cores)
	is := *r.Task
	is.Demand, is.Max = slices.Clone(r.Demand), slices.Clone(r.Demand)
	is.Demand[0], is.Max[0] = least*per, most*per
	if had := r.Demand[0]; had > 0 && r.Work != cluster.Never {
		is.Work = cluster.Time(wide.Product(had, int64(r.Work)).OverUp(unit))
	}
	if least == most { // the demand is fixed after all, and work is not reckoned by it
		is.Max = nil
		if is.Work != cluster.Never {
			is.Work = cluster.Time(wide.Product(unit, int64(is.Work)).OverUp(least * per))
		}
	}
	r.Task = &is
	return r
}

// smallest is what the smallest of the live nodes may hold of the first kind, of those that
// may hold any; 0 without one. That is its limit and not its capacity, as placement goes by
// the limit: with capacity over-committed to less, no node would hold the highest level.
func (b *nodes) smallest() int64 {
	if b.least == nil {
		least := int64(0)
		for i := range b.list {
			if has := b.list[i].limit[0]; b.list[i].live && has > 0 && (least == 0 || has < least) {
				least = has
			}
		}
		b.least = &least
	}
	return *b.least
}
