package queue

import (
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// Rules make a policy that places one task after the other: who comes first, which node is
// best, and whether others have to leave. What is left out is the plainest there is. Whoever
// writes a policy of this kind elsewhere needs nothing else of this package.
type Rules struct {
	Order   Order        // FirstCome if nil
	Score   Score        // AnyScore if nil
	Devices DeviceChoice // commit chooses if nil
	// Preempts lets a task that has no place evict tasks of lower priority.
	Preempts bool
}

// New makes the policy. Of the options it takes the tie-break and the seed.
func (r Rules) New(o Options) sched.Policy { return r.greedy(o, nil) }

// greedy makes it for the policies of this package, of which some measure by what they have seen.
func (r Rules) greedy(o Options, by measure) *greedy {
	if r.Order == nil {
		r.Order = FirstCome
	}
	if r.Score == nil {
		r.Score = AnyScore
	}
	g := &greedy{score: r.Score, devices: r.Devices, measure: by, table: book.NewIndexes(o.Ties, o.Seed)}
	g.order, g.work = r.Order, &g.table.Ticks
	if r.Preempts {
		g.victims, g.waiting.Room = &victims{}, book.Whole
	}
	return g
}
