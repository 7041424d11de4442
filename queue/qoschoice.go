package queue

import (
	"cmp"
	"slices"
	"sort"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/evict"
)

// choice chooses who would be evicted on a node for a shape: the least urgent until
// there is room, less those who turn out superfluous (specification of QoS, §5). Somebody
// beside whom another one must stand who stays is left out.
// Urgency is frozen for a round, so that the occupants of a node are ranked once for all
// shapes, and again when the round has changed the node.
type choice struct {
	occupants evict.Occupants
	search    evict.Search
	classes   book.ClassRanks
	pass      uint64   // in which those are not evicted who were placed in it
	placed    []uint64 // per task row, the pass in which it was placed last
}

// bid is what a node would lose.
type bid struct {
	lost []cluster.Time // sums of the slacks of the critical, by the rank of their classes
	sum  cluster.Time   // of all slacks
}

// compare is positive where a is the better bid (specification §5).
func (b *bid) compare(o *bid) int {
	return cmp.Or(slices.Compare(b.lost, o.lost), cmp.Compare(b.sum, o.sum))
}

// begin begins a round, of a new pass or of the last one.
func (c *choice) begin(s *cluster.View, pass uint64) {
	if c.occupants.Rule == nil {
		c.occupants.Rule, c.classes = c.rank, book.RankClasses(s, nil)
	}
	c.occupants.ForgetAll()
	c.pass = pass
	if more := s.TaskRows() - len(c.placed); more > 0 {
		c.placed = append(c.placed, make([]uint64, more)...)
	}
}

// rank puts the least urgent first, of those who may be evicted.
func (c *choice) rank(s *cluster.View, o *evict.Candidate) bool {
	task, class := s.Task(o.Task), &s.Classes()[o.Class]
	if c.placed[o.Task] == c.pass || !mayEver(class) || !class.MayLeave(task.Account.At(s.Now(), task.Phase)) {
		return false
	}
	u := urgencyOf(s, task)
	o.Rank, o.Price = -u.rank, -int64(u.slack)
	return true
}

// acted notes that the pass has placed the task on the node.
func (c *choice) acted(t cluster.TaskID, n cluster.NodeID) {
	c.placed[t] = c.pass
	c.occupants.Forget(n)
}

// roomFreed reports whether the shape fits on the node once all that leaves has left, constraints aside.
func (c *choice) roomFreed(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) bool {
	return c.search.Begin(s, id, n) && c.search.HasRoom()
}

// choose chooses who would be evicted on the node, and returns the urgency of the most
// urgent of them. Where budgets guard some, who may be evicted for u has to be known before: those who violate none are not to be
// more urgent than it for that.
func (c *choice) choose(s *cluster.View, id cluster.ShapeID, n cluster.NodeID, u urgency) (worst urgency, ok bool) {
	if !c.search.Begin(s, id, n) || c.search.Met() {
		return worst, false // what refuses it there is no lack of room
	}
	list := c.occupants.On(s, n)
	if cluster.Guards(s) {
		list = list[:sort.Search(len(list), func(i int) bool { return !u.before(urgencyAs(&list[i])) })]
	}
	if _, ok := c.search.Choose(evict.LeastWorst, c.search.Releasable(s, list)); !ok {
		return worst, false
	}
	return urgencyAs(c.search.Last()), true
}

// urgencyAs is the urgency by which a candidate is ranked.
func urgencyAs(c *evict.Candidate) urgency { return urgency{-c.Rank, -cluster.Time(c.Price)} }

// price is what the chosen cost.
func (c *choice) price(offer *bid) {
	offer.lost, offer.sum = slices.Grow(offer.lost[:0], c.classes.Count)[:c.classes.Count], 0
	clear(offer.lost)
	for i := range slices.Backward(c.search.Victims) {
		victim := &c.search.Victims[i]
		slack := -cluster.Time(victim.Price)
		if slack < 0 {
			level := &offer.lost[c.classes.Of[victim.Class]]
			*level = saturated(*level, slack)
		}
		offer.sum = saturated(offer.sum, slack)
	}
}

// score is how good the node would be once the chosen have left.
func (c *choice) score(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) int64 {
	return kubeScoreLess(s, s.Shape(shape), n, c.search.Gone(s, n))
}
