package queue

import (
	"cmp"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
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
	seen    []uint64 // per node row, the last gathering that met it
	gather  uint64
	latest  []int32 // per node row, 1 + the place of its last act in acts
	ties    []int   // scratch
	offers  [2]bid  // scratch: what two nodes would lose, to be compared
}

// mostBidLeaves bounds the memory of bids, at some 9 bytes each.
const mostBidLeaves = 1 << 24

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

// bidder is the bids for one shape: an index over the nodes, in the order in which
// ties are broken.
type bidder struct {
	shape cluster.ShapeID
	round uint64
	acts  int // of the round that the bids know of
	bids  *index
	job   cluster.JobID    // whose tasks cannot go where bids are set aside
	aside []cluster.NodeID // where bids are
}

// bid is what a node would lose.
type bid struct {
	lost []cluster.Time // sums of the slacks of the critical, by the rank of their classes
	sum  cluster.Time   // of all slacks
}

// The numbers of bids stand in bands, each of so many numbers: a bid that takes no
// critical task in the highest, and then by the most important class of those it takes.
const (
	bandBits = 60
	band     = int64(1) << bandBits
	bands    = 7             // below zero
	nobody   = math.MaxInt64 // nobody has to be evicted: what is leaving makes room
)

// number orders bids, the larger the better, as far as a number can: by the most
// important class that loses critical tasks, and by how much, or by the sum of all
// slacks if none does. Sums of those that have all the slack there is are alike, and so
// is what is lost of classes for which there is no band.
func (b *bid) number() int64 {
	for i, lost := range b.lost {
		switch {
		case lost < 0 && i >= bands-1 && len(b.lost) > bands:
			return -1
		case lost < 0:
			return int64(max(lost, -cluster.Time(band-1))) - int64(bands-1-i)*band
		}
	}
	return int64(min(b.sum, cluster.Time(band-1)))
}

// compare is positive where a is the better bid (specification §5).
func (b *bid) compare(o *bid) int {
	return cmp.Or(slices.Compare(b.lost, o.lost), cmp.Compare(b.sum, o.sum))
}

// begin begins a round, of a new pass or of the last one.
func (b *bidders) begin(s *cluster.State, pass uint64) {
	b.pass = pass
	b.round++
	b.used = 0
	b.acts, b.arena, b.demands = b.acts[:0], b.arena[:0], b.demands[:0]
	b.lacks = append(b.lacks[:0], make([]int64, len(s.Kinds()))...)
	if more := s.NodeRows() - len(b.version); more > 0 {
		b.free = append(b.free, make([]int64, more*len(s.Kinds()))...)
		b.version = append(b.version, make([]uint32, more)...)
		b.ranking = append(b.ranking, make([]ranking, more)...)
		b.seen = append(b.seen, make([]uint64, more)...)
		b.latest = append(b.latest, make([]int32, more)...)
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
	b.latest[n] = int32(len(b.acts))
}

// of is the bids for the shape, of all nodes where somebody may be less urgent than u,
// which is at least as urgent as all that will ask from now on.
func (b *bidders) of(s *cluster.State, shape cluster.ShapeID, u urgency) *bidder {
	x := b.shapes[shape]
	if x != nil && x.shape == shape && x.round == b.round {
		for ; x.acts < len(b.acts); x.acts++ {
			if n := b.acts[x.acts]; b.latest[n] == int32(x.acts+1) { // it does not act again further on
				x.bids.set(int(b.order.rank[n]), b.offer(s, shape, n))
			}
		}
		return x
	}
	x = b.blank(shape)
	b.gather++
	leaves := x.bids.best[0]
	take := func(n cluster.NodeID) {
		b.looks++
		if b.seen[n] != b.gather {
			b.seen[n] = b.gather
			leaves[b.order.rank[n]] = b.offer(s, shape, n)
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
	x.bids.joinAll()
	return x
}

// blank is a bidder without bids. Where there are too many, all before it are
// forgotten.
func (b *bidders) blank(shape cluster.ShapeID) *bidder {
	size := len(b.order.at)
	if (b.used+1)*size > mostBidLeaves && b.used > 0 {
		for _, x := range b.pool[:b.used] {
			x.round = 0
		}
		b.used = 0
	}
	if b.used == len(b.pool) {
		b.pool = append(b.pool, &bidder{})
	}
	x := b.pool[b.used]
	b.used++
	if x.bids == nil || len(x.bids.best[0]) < size {
		x.bids = newIndex(size, Lowest)
	}
	leaves := x.bids.best[0]
	for i := range leaves {
		leaves[i] = none
	}
	x.shape, x.round, x.acts, x.job, x.aside = shape, b.round, len(b.acts), noJob, x.aside[:0]
	b.shapes[shape] = x
	return x
}

// best is the node that u takes, and false if there is none.
func (b *bidders) best(s *cluster.State, x *bidder, u urgency) (cluster.NodeID, bool) {
	for {
		b.looks++
		rank, ok := x.bids.top(nil)
		if !ok {
			return 0, false
		}
		n := b.order.at[rank]
		worst, _ := b.choose(s, x.shape, n)
		if len(b.chosen) > 0 && !u.before(worst) {
			x.bids.set(rank, none) // nor will it do for whoever comes next
			continue
		}
		number := x.bids.best[0][rank]
		b.ties = b.ties[:0]
		x.bids.atLeast(number, len(x.bids.best)-1, 0, func(leaf int) { b.ties = append(b.ties, leaf) })
		if len(b.ties) == 1 {
			return n, true
		}
		if n, ok := b.among(s, x, u); ok {
			return n, true
		}
	}
}

// among is the best of the nodes whose bids have the same number, and false if u may
// take none of them.
func (b *bidders) among(s *cluster.State, x *bidder, u urgency) (on cluster.NodeID, found bool) {
	most, offer := &b.offers[0], &b.offers[1]
	var score int64
	for _, rank := range b.ties {
		n := b.order.at[rank]
		worst, _ := b.choose(s, x.shape, n)
		if len(b.chosen) > 0 && !u.before(worst) {
			x.bids.set(rank, none)
			continue
		}
		b.price(offer)
		if order := offer.compare(most); found && order <= 0 {
			if order < 0 || b.score(s, x.shape, n) <= score {
				continue
			}
		}
		on, found, score = n, true, b.score(s, x.shape, n)
		most, offer = offer, most
	}
	return on, found
}

// setAside takes the node's bid out for tasks of the job. Within a pass a node that has
// too many of a job's tasks keeps them, as those that are told to leave are still there.
func (b *bidders) setAside(x *bidder, n cluster.NodeID) {
	x.bids.set(int(b.order.rank[n]), none)
	x.aside = append(x.aside, n)
}

// setAsideAll takes out the bids of all nodes that have too many tasks of the task's job.
// They are looked for together, as one by one each would first have to be the best.
func (b *bidders) setAsideAll(s *cluster.State, x *bidder, t cluster.TaskID) {
	for rank, n := range b.order.at {
		if x.bids.best[0][rank] != none && s.Crowded(t, n) {
			b.setAside(x, n)
		}
	}
	b.looks += int64(len(b.order.at))
}

// restoreFor puts back what was set aside for another job.
func (b *bidders) restoreFor(s *cluster.State, x *bidder, job cluster.JobID) {
	if x.job != job {
		for _, n := range x.aside {
			x.bids.set(int(b.order.rank[n]), b.offer(s, x.shape, n))
		}
		x.aside = x.aside[:0]
	}
	x.job = job
}

// score is how good the node would be once the chosen have left.
func (b *bidders) score(s *cluster.State, shape cluster.ShapeID, n cluster.NodeID) int64 {
	b.victims.none(s, n)
	for i := range b.chosen {
		b.victims.leaves(s, b.chosen[i].task, 1)
	}
	return kubeScoreLess(s, s.Shape(shape), n, b.victims.less)
}

// offer is the number of a node's bid; none if the shape would not fit even so.
func (b *bidders) offer(s *cluster.State, shape cluster.ShapeID, n cluster.NodeID) int64 {
	if _, ok := b.choose(s, shape, n); !ok {
		return none
	}
	if len(b.chosen) == 0 {
		return nobody
	}
	offer := &b.offers[0]
	b.price(offer)
	number := offer.number()
	if number == band-1 {
		// All who lose somebody who was promised nothing are alike, but for the score.
		number = band/2 + b.score(s, shape, n)
	}
	return number
}

// price is what the chosen cost.
func (b *bidders) price(offer *bid) {
	offer.lost, offer.sum = slices.Grow(offer.lost[:0], b.victims.ranked)[:b.victims.ranked], 0
	clear(offer.lost)
	for i := range b.chosen {
		c := &b.chosen[i]
		if c.slack < 0 {
			offer.lost[c.level] = saturated(offer.lost[c.level], c.slack)
		}
		offer.sum = saturated(offer.sum, c.slack)
	}
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
