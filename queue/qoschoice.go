package queue

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// choice chooses who would be evicted on a node for a shape: the least urgent until
// there is room, less those who turn out superfluous (specification of QoS, §5).
//
// The candidates of a node are ranked once for all shapes, with what they ask for, and
// again when the round has changed the node.
type choice struct {
	victims victims     // what the chosen leave, as priority counts it
	chosen  []candidate // who was chosen last
	looks   int64       // effort spent

	round  uint64   // keys are frozen for that long, and rankings true
	pass   uint64   // in which those are not evicted who were placed in it
	placed []uint64 // per task row, the pass in which it was placed last

	ranking []ranking   // per node row
	version []uint32    // per node row, how often rounds have changed it
	arena   []candidate // of the rankings
	demands []int64     // of the arena's tasks, kind by kind
	free    []int64     // by node row: what the node has to give, kind by kind, in its ranking
	lacks   []int64     // scratch: what a shape lacks
}

// candidate is somebody who may be evicted.
type candidate struct {
	urgency
	seq   cluster.Seq
	task  cluster.TaskID
	level uint8 // the rank of its class
}

// ranking is the candidates of a node, the least urgent first, as part of the arena.
type ranking struct {
	round    uint64
	version  uint32
	from, to int32
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
	c.pass = pass
	c.round++
	c.arena, c.demands = c.arena[:0], c.demands[:0]
	c.lacks = append(c.lacks[:0], make([]int64, len(s.Kinds()))...)
	if more := s.NodeRows() - len(c.version); more > 0 {
		c.free = append(c.free, make([]int64, more*len(s.Kinds()))...)
		c.version = append(c.version, make([]uint32, more)...)
		c.ranking = append(c.ranking, make([]ranking, more)...)
	}
	if more := s.TaskRows() - len(c.placed); more > 0 {
		c.placed = append(c.placed, make([]uint64, more)...)
	}
}

// acted notes that the pass has placed the task on the node.
func (c *choice) acted(t cluster.TaskID, n cluster.NodeID) {
	c.placed[t] = c.pass
	c.version[n]++
}

// choose fills in who would be evicted on the node: the least urgent until the shape
// fits, less those who turn out superfluous, the most urgent first. It returns the
// urgency of the most urgent among the former.
func (c *choice) choose(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) (worst urgency, ok bool) {
	c.chosen = c.chosen[:0]
	shape := s.Shape(id)
	if !s.NodeLive(n) || !s.Eligible(shape.Eligible, n) {
		return worst, false
	}
	if s.DeviceNeed(id).Count > 0 {
		return c.chooseDevices(s, id, n)
	}
	r, kinds := c.rank(s, n), len(c.lacks)
	free := c.free[int(n)*kinds : (int(n)+1)*kinds]
	for k, need := range shape.Demand {
		c.lacks[k] = need - free[k]
		if need == 0 {
			c.lacks[k] = math.MinInt64 / 2 // whatever the node lacks of it
		}
	}
	last := r.from
	for ; !c.enough(); last++ {
		if last == r.to {
			return worst, false
		}
		c.leaves(last, -1)
	}
	if last == r.from {
		return worst, true
	}
	last--
	c.chosen = append(c.chosen, c.arena[last])
	for i := last - 1; i >= r.from; i-- {
		if c.leaves(i, 1); !c.enough() {
			c.leaves(i, -1)
			c.chosen = append(c.chosen, c.arena[i])
		}
	}
	slices.Reverse(c.chosen)
	return c.arena[last].urgency, true
}

// enough reports whether nothing lacks any more.
func (c *choice) enough() bool {
	for _, q := range c.lacks {
		if q > 0 {
			return false
		}
	}
	return true
}

// leaves adds the demand of candidate i, so many times, to what lacks.
func (c *choice) leaves(i int32, times int64) {
	kinds := len(c.lacks)
	for k, q := range c.demands[int(i)*kinds : (int(i)+1)*kinds] {
		c.lacks[k] += times * q
	}
}

// chooseDevices is choose for a shape that asks for devices, which do not add up.
func (c *choice) chooseDevices(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) (worst urgency, ok bool) {
	v := &c.victims
	if v.none(s, n); v.enough(s, shape, n) {
		return worst, true
	}
	r := c.rank(s, n)
	v.list = v.list[:0]
	for i := r.from; i < r.to; i++ {
		v.list = append(v.list, c.arena[i].task)
	}
	taken := v.fewest(s, shape, n)
	if taken == 0 {
		return worst, false
	}
	for i := r.from; len(c.chosen) < len(v.list); i++ {
		if c.arena[i].task == v.list[len(c.chosen)] {
			c.chosen = append(c.chosen, c.arena[i])
		}
	}
	return c.arena[int(r.from)+taken-1].urgency, true
}

// rank is who may be evicted on the node, the least urgent first, with what they ask
// for and what the node has to give without them.
func (c *choice) rank(s *cluster.View, n cluster.NodeID) ranking {
	r := &c.ranking[n]
	if r.round == c.round && r.version == c.version[n] {
		return *r
	}
	from := len(c.arena)
	for _, t := range s.TasksOn(n) {
		task := s.Task(t)
		if s.Evictable(t).Refused() || c.placed[t] == c.pass {
			continue
		}
		class := &s.Classes()[task.Class]
		if mayEver(class) && class.MayLeave(task.Account.At(s.Now(), task.Phase)) {
			c.arena = append(c.arena, candidate{urgencyOf(s, task), task.Seq, t, c.victims.rank[task.Class]})
		}
	}
	c.looks += int64(len(c.arena) - from)
	slices.SortFunc(c.arena[from:], func(a, b candidate) int {
		return cmp.Or(b.compare(a.urgency), cmp.Compare(b.seq, a.seq))
	})
	for i := range c.arena[from:] {
		c.demands = append(c.demands, s.Demand(c.arena[from+i].task)...)
	}
	limit, used, leaving := s.Limit(n), s.Used(n), s.LeavingDemand(n)
	for k := range limit {
		c.free[int(n)*len(limit)+k] = limit[k] - used[k] + leaving[k]
	}
	*r = ranking{c.round, c.version[n], int32(from), int32(len(c.arena))}
	return *r
}

// price is what the chosen cost.
func (c *choice) price(offer *bid) {
	offer.lost, offer.sum = slices.Grow(offer.lost[:0], c.victims.ranked)[:c.victims.ranked], 0
	clear(offer.lost)
	for i := range c.chosen {
		victim := &c.chosen[i]
		if victim.slack < 0 {
			offer.lost[victim.level] = saturated(offer.lost[victim.level], victim.slack)
		}
		offer.sum = saturated(offer.sum, victim.slack)
	}
}

// score is how good the node would be once the chosen have left.
func (c *choice) score(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) int64 {
	c.victims.none(s, n)
	for i := range c.chosen {
		c.victims.leaves(s, c.chosen[i].task, 1)
	}
	return kubeScoreLess(s, s.Shape(shape), n, c.victims.less)
}
