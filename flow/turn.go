package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/book"
)

// turn is whose turn it is: of the tasks that wait those of a tier and of all above it,
// and who may move with them.
type turn struct {
	tier   int32
	active []int32     // task groups with tasks that wait
	asking []int32     // requests with units, in order of rows: what slots are for
	asks   []requestID // what these ask

	number   uint32     // of times that asking was found out
	covering []covering // by shape
	effort   *effort
}

// covering is whether every request that asked in a turn would fit where a task of a
// shape was.
type covering struct {
	turn uint32
	all  bool
}

// covers reports whether every request that asks would fit where a task of the
// shape was.
func (u *turn) covers(s *cluster.View, shape cluster.ShapeID) bool {
	u.covering = book.Grown(u.covering, shape, covering{})
	c := &u.covering[shape]
	if c.turn != u.number {
		demand := s.Shape(shape).Demand
		*c = covering{u.number, !slices.ContainsFunc(u.asks, func(id requestID) bool {
			return id.shape != shape && !s.Shape(id.shape).Demand.Fits(demand)
		})}
		u.effort.looks += int64(len(u.asks))
	}
	return c.all
}
