package queue

import (
	"cmp"
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
	seq  cluster.Seq
	task cluster.TaskID
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
	spared  bool                // nobody has to be evicted: what is leaving makes room
	worst   urgency             // of the most urgent that would be taken, superfluous or not
	lost    [ranks]cluster.Time // sums of the slacks of the critical, by the rank of their classes
	sum     cluster.Time        // of all slacks
	score   int64               // as kube has it
}

// Before puts first where nobody is lost; then the largest sums, of the most important
// class first; then the better score (specification §5).
func (b bid) Before(o bid) bool {
	if b.spared != o.spared {
		return b.spared
	}
	return cmp.Or(slices.Compare(o.lost[:], b.lost[:]), cmp.Compare(o.sum, b.sum), cmp.Compare(o.score, b.score), cmp.Compare(b.rank, o.rank)) < 0
}

// begin begins a round, of a new pass or of the last one.
func (b *bidders) begin(s *cluster.State, pass uint64) {
	b.pass = pass
	b.round++
	b.used, b.bids = 0, 0
	b.acts, b.arena = b.acts[:0], b.arena[:0]
	if more := s.NodeRows() - len(b.version); more > 0 {
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

// best is the node that u takes, and false if there is none.
func (b *bidders) best(x *bidder, u urgency) (cluster.NodeID, bool) {
	for len(x.bids) > 0 {
		b.looks++
		top := &x.bids[0]
		if top.version == b.version[top.node] && (top.spared || u.before(top.worst)) {
			return top.node, true
		}
		x.bids.Pop()
	}
	return 0, false
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
	offer := bid{
		node: n, version: b.version[n], rank: b.order.rank[n], spared: len(b.chosen) == 0, worst: worst,
		score: kubeScoreLess(s, s.Shape(shape), n, b.victims.less),
	}
	for i := range b.chosen {
		c := &b.chosen[i]
		if c.slack < 0 {
			lost := &offer.lost[b.victims.rank[s.Task(c.task).Class]]
			*lost = saturated(*lost, c.slack)
		}
		offer.sum = saturated(offer.sum, c.slack)
	}
	return offer, true
}

// choose fills in who would be evicted on the node: the least urgent until the shape
// fits, less those who turn out superfluous, the most urgent first. It returns the
// urgency of the most urgent among the former.
func (b *bidders) choose(s *cluster.State, shape cluster.ShapeID, n cluster.NodeID) (worst urgency, ok bool) {
	b.chosen = b.chosen[:0]
	if !s.NodeLive(n) || !s.Eligible(s.Shape(shape).Eligible, n) {
		return worst, false
	}
	v := &b.victims
	v.none(s, n)
	if v.enough(s, shape, n) {
		return worst, true
	}
	for _, c := range b.rank(s, n) {
		b.looks++
		b.chosen = append(b.chosen, c)
		v.leaves(s, c.task, 1)
		if v.enough(s, shape, n) {
			b.spare(s, shape, n)
			return c.urgency, true
		}
	}
	return worst, false
}

// spare takes out whom the task does not need gone, the most urgent first.
func (b *bidders) spare(s *cluster.State, shape cluster.ShapeID, n cluster.NodeID) {
	v := &b.victims
	for i := len(b.chosen) - 2; i >= 0; i-- { // the last one is needed
		v.leaves(s, b.chosen[i].task, -1)
		if v.enough(s, shape, n) {
			b.chosen = slices.Delete(b.chosen, i, i+1)
		} else {
			v.leaves(s, b.chosen[i].task, 1)
		}
	}
}

// rank is who may be evicted on the node, the least urgent first.
func (b *bidders) rank(s *cluster.State, n cluster.NodeID) []candidate {
	r := &b.ranking[n]
	if r.round == b.round && r.version == b.version[n] {
		return b.arena[r.from:r.to]
	}
	from := len(b.arena)
	for _, t := range s.TasksOn(n) {
		task := s.Task(t)
		if !evictable(s, task) || b.placed[t] == b.pass {
			continue
		}
		class := &s.Classes()[task.Class]
		if mayEver(class) && class.MayLeave(task.Account.At(s.Now(), task.Phase)) {
			b.arena = append(b.arena, candidate{urgencyOf(s, task), task.Seq, t})
		}
	}
	*r = ranking{b.round, b.version[n], int32(from), int32(len(b.arena))}
	slices.SortFunc(b.arena[from:], func(a, b candidate) int {
		return cmp.Or(b.compare(a.urgency), cmp.Compare(b.seq, a.seq))
	})
	return b.arena[from:]
}
