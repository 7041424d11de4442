package queue

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
)

// bidders are the nodes on which somebody could be evicted for a shape, the one where
// that costs least first.
//
// Whom a node would lose depends on the shape alone: the least urgent until there is
// room, less those who turn out superfluous. Who asks decides only whether it may, by
// being more urgent than all of them. So a node bids once for each shape in a pass,
// and again when the pass has changed it. As the pass goes on to less urgent tasks, a
// node whose bid is too urgent for one is so for all that follow.
type bidders struct {
	occupants *occupants
	order     *nodeOrder
	victims   victims // what the chosen leave, as priority counts it
	chosen    []candidate
	looks     int64 // effort spent

	pass    uint64           // in which those are not evicted who were placed in it
	placed  []uint64         // per task row, the pass in which it was placed last
	acts    []cluster.NodeID // where this round has placed somebody, in order
	version []uint32         // per node row, how often rounds have changed it

	round   uint64 // keys are frozen for that long, and rankings and bids true
	ranking []ranking
	arena   []candidate // of the rankings
	demands []int64     // of the arena's tasks, kind by kind
	free    []int64     // by node row: what the node has to give, kind by kind, in its ranking
	lacks   []int64     // scratch: what a shape lacks
	shapes  []*bidder   // by shape
	pool    []*bidder
	used    int      // of the pool
	bids    int      // of all of them
	seen    []uint64 // per node row, the last gathering that met it
	gather  uint64
}

// mostBids bounds the memory of bids, at some 100 bytes each.
const mostBids = 1 << 20

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

// bidder is the bids for one shape.
type bidder struct {
	shape cluster.ShapeID
	round uint64
	acts  int // of the round that the bids know of
	bids  heap.Heap[bid]
	aside []bid
}

// bid is what a node would lose.
type bid struct {
	node    cluster.NodeID
	version uint32
	rank    int32
	state   bidState
	worst   urgency             // of the most urgent that would be taken, superfluous or not
	lost    [ranks]cluster.Time // sums of the slacks of the critical, by the rank of their classes
	sum     cluster.Time        // of all slacks
	score   int64               // as kube has it; the most there can be until it is known
}

// bidState is what is special about a bid.
type bidState uint8

const (
	spared  bidState = 1 << iota // nobody has to be evicted: what is leaving makes room
	weighed                      // the score is known
)

// Before puts first where nobody is lost; then the largest sums, of the most important
// class first; then the better score (specification §5).
func (b bid) Before(o bid) bool {
	if b.state&spared != o.state&spared {
		return b.state&spared != 0
	}
	if b.lost != o.lost {
		return slices.Compare(b.lost[:], o.lost[:]) > 0
	}
	if b.sum != o.sum {
		return b.sum > o.sum
	}
	return cmp.Or(cmp.Compare(o.score, b.score), cmp.Compare(b.rank, o.rank)) < 0
}

// begin begins a round, of a new pass or of the last one.
func (b *bidders) begin(s *cluster.State, pass uint64) {
	b.pass = pass
	b.round++
	b.used, b.bids = 0, 0
	b.acts, b.arena, b.demands = b.acts[:0], b.arena[:0], b.demands[:0]
	b.lacks = append(b.lacks[:0], make([]int64, len(s.Kinds()))...)
	if more := s.NodeRows() - len(b.version); more > 0 {
		b.free = append(b.free, make([]int64, more*len(s.Kinds()))...)
		b.version = append(b.version, make([]uint32, more)...)
		b.ranking = append(b.ranking, make([]ranking, more)...)
		b.seen = append(b.seen, make([]uint64, more)...)
	}
	if more := s.TaskRows() - len(b.placed); more > 0 {
		b.placed = append(b.placed, make([]uint64, more)...)
	}
	if more := s.ShapeRows() - len(b.shapes); more > 0 {
		b.shapes = append(b.shapes, make([]*bidder, more)...)
	}
}

// acted notes that the pass has placed the task on the node.
func (b *bidders) acted(t cluster.TaskID, n cluster.NodeID) {
	b.placed[t] = b.pass
	b.version[n]++
	b.acts = append(b.acts, n)
}

// of is the bids for the shape, of all nodes where somebody may be less urgent than u,
// which is at least as urgent as all that will ask from now on.
func (b *bidders) of(s *cluster.State, shape cluster.ShapeID, u urgency) *bidder {
	x := b.shapes[shape]
	if x != nil && x.shape == shape && x.round == b.round {
		for ; x.acts < len(b.acts); x.acts++ {
			if bid, ok := b.offer(s, shape, b.acts[x.acts]); ok {
				x.bids.Push(bid)
			}
		}
		return x
	}
	x = b.blank(shape)
	b.gather++
	take := func(n cluster.NodeID) {
		b.looks++
		if b.seen[n] == b.gather {
			return
		}
		b.seen[n] = b.gather
		if bid, ok := b.offer(s, shape, n); ok {
			x.bids = append(x.bids, bid)
		}
	}
	b.occupants.forLeaving(s, take)
	for _, n := range b.acts {
		take(n)
	}
	if demand := s.Shape(shape).Demand; b.occupants.below(s.Classes(), u) {
		for class := range s.Classes() {
			b.occupants.each(class, func(n cluster.NodeID) {
				if b.occupants.could(s, demand, n) {
					take(n)
				}
			})
		}
	}
	x.bids.Init()
	b.bids += len(x.bids)
	return x
}

// blank is a bidder without bids. Where there are too many bids, all before it are
// forgotten.
func (b *bidders) blank(shape cluster.ShapeID) *bidder {
	if b.bids > mostBids {
		for _, x := range b.pool[:b.used] {
			x.round = 0
		}
		b.used, b.bids = 0, 0
	}
	if b.used == len(b.pool) {
		b.pool = append(b.pool, &bidder{})
	}
	x := b.pool[b.used]
	b.used++
	x.shape, x.round, x.acts = shape, b.round, len(b.acts)
	x.bids, x.aside = x.bids[:0], x.aside[:0]
	b.shapes[shape] = x
	return x
}

// best is the node that u takes, and false if there is none. A bid is scored when it
// comes to the top: few do.
func (b *bidders) best(s *cluster.State, x *bidder, u urgency) (cluster.NodeID, bool) {
	for len(x.bids) > 0 {
		b.looks++
		top := x.bids[0]
		switch {
		case top.version != b.version[top.node] || top.state&spared == 0 && !u.before(top.worst):
			x.bids.Pop()
		case top.state&weighed == 0:
			x.bids.Pop()
			b.choose(s, x.shape, top.node)
			top.score, top.state = b.score(s, x.shape, top.node), top.state|weighed
			x.bids.Push(top)
		default:
			return top.node, true
		}
	}
	return 0, false
}

// score is how good the node would be once the chosen have left.
func (b *bidders) score(s *cluster.State, shape cluster.ShapeID, n cluster.NodeID) int64 {
	b.victims.none(s, n)
	for i := range b.chosen {
		b.victims.leaves(s, b.chosen[i].task, 1)
	}
	return kubeScoreLess(s, s.Shape(shape), n, b.victims.less)
}

// setAside takes the best bid out until restore.
func (x *bidder) setAside() { x.aside = append(x.aside, x.bids.Pop()) }

func (x *bidder) restore() {
	for _, bid := range x.aside {
		x.bids.Push(bid)
	}
	x.aside = x.aside[:0]
}

// offer is the bid of a node, and false if it would not have room even so.
func (b *bidders) offer(s *cluster.State, shape cluster.ShapeID, n cluster.NodeID) (bid, bool) {
	worst, ok := b.choose(s, shape, n)
	if !ok {
		return bid{}, false
	}
	offer := bid{node: n, version: b.version[n], rank: b.order.rank[n], worst: worst, score: math.MaxInt64}
	if len(b.chosen) == 0 {
		offer.state = spared
	}
	for i := range b.chosen {
		c := &b.chosen[i]
		if c.slack < 0 {
			offer.lost[c.level] = saturated(offer.lost[c.level], c.slack)
		}
		offer.sum = saturated(offer.sum, c.slack)
	}
	return offer, true
}

// choose fills in who would be evicted on the node: the least urgent until the shape
// fits, less those who turn out superfluous, the most urgent first. It returns the
// urgency of the most urgent among the former.
func (b *bidders) choose(s *cluster.State, id cluster.ShapeID, n cluster.NodeID) (worst urgency, ok bool) {
	b.chosen = b.chosen[:0]
	shape := s.Shape(id)
	if !s.NodeLive(n) || !s.Eligible(shape.Eligible, n) {
		return worst, false
	}
	if s.DeviceNeed(id).Count > 0 {
		return b.chooseDevices(s, id, n)
	}
	r, kinds := b.rank(s, n), len(b.lacks)
	free := b.free[int(n)*kinds : (int(n)+1)*kinds]
	for k, need := range shape.Demand {
		b.lacks[k] = need - free[k]
		if need == 0 {
			b.lacks[k] = math.MinInt64 / 2 // whatever the node lacks of it
		}
	}
	last := r.from
	for ; !b.enough(); last++ {
		if last == r.to {
			return worst, false
		}
		b.leaves(last, -1)
	}
	if last == r.from {
		return worst, true
	}
	last--
	b.chosen = append(b.chosen, b.arena[last])
	for i := last - 1; i >= r.from; i-- {
		if b.leaves(i, 1); !b.enough() {
			b.leaves(i, -1)
			b.chosen = append(b.chosen, b.arena[i])
		}
	}
	slices.Reverse(b.chosen)
	return b.arena[last].urgency, true
}

// enough reports whether nothing lacks any more.
func (b *bidders) enough() bool {
	for _, q := range b.lacks {
		if q > 0 {
			return false
		}
	}
	return true
}

// leaves adds the demand of candidate i, so many times, to what lacks.
func (b *bidders) leaves(i int32, times int64) {
	kinds := len(b.lacks)
	for k, q := range b.demands[int(i)*kinds : (int(i)+1)*kinds] {
		b.lacks[k] += times * q
	}
}

// chooseDevices is choose for a shape that asks for devices, which do not add up.
func (b *bidders) chooseDevices(s *cluster.State, shape cluster.ShapeID, n cluster.NodeID) (worst urgency, ok bool) {
	v := &b.victims
	v.none(s, n)
	if v.enough(s, shape, n) {
		return worst, true
	}
	r := b.rank(s, n)
	last := r.from
	for ; !v.enough(s, shape, n); last++ {
		if last == r.to {
			return worst, false
		}
		v.leaves(s, b.arena[last].task, 1)
	}
	last--
	b.chosen = append(b.chosen, b.arena[last])
	for i := last - 1; i >= r.from; i-- {
		if v.leaves(s, b.arena[i].task, -1); !v.enough(s, shape, n) {
			v.leaves(s, b.arena[i].task, 1)
			b.chosen = append(b.chosen, b.arena[i])
		}
	}
	slices.Reverse(b.chosen)
	return b.arena[last].urgency, true
}

// rank is who may be evicted on the node, the least urgent first, with what they ask
// for and what the node has to give without them.
func (b *bidders) rank(s *cluster.State, n cluster.NodeID) ranking {
	r := &b.ranking[n]
	if r.round == b.round && r.version == b.version[n] {
		return *r
	}
	from := len(b.arena)
	for _, t := range s.TasksOn(n) {
		task := s.Task(t)
		if !evictable(s, task) || b.placed[t] == b.pass {
			continue
		}
		class := &s.Classes()[task.Class]
		if mayEver(class) && class.MayLeave(task.Account.At(s.Now(), task.Phase)) {
			b.arena = append(b.arena, candidate{urgencyOf(s, task), task.Seq, t, b.victims.rank[task.Class]})
		}
	}
	b.looks += int64(len(b.arena) - from)
	slices.SortFunc(b.arena[from:], func(a, b candidate) int {
		return cmp.Or(b.compare(a.urgency), cmp.Compare(b.seq, a.seq))
	})
	for i := range b.arena[from:] {
		b.demands = append(b.demands, s.Demand(b.arena[from+i].task)...)
	}
	limit, used, leaving := s.Limit(n), s.Used(n), s.LeavingDemand(n)
	for k := range limit {
		b.free[int(n)*len(limit)+k] = limit[k] - used[k] + leaving[k]
	}
	*r = ranking{b.round, b.version[n], int32(from), int32(len(b.arena))}
	return *r
}
