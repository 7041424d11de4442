package queue

import "fairlead.dev/fairlead/cluster"

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
	choice    choice // by whose rounds bids are true

	shapes []*bidder // by shape
	pool   []*bidder
	used   int // of the pool

	acts   []cluster.NodeID // where this round has placed somebody, in order
	latest []int32          // per node row, 1 + the place of its last act in acts
	seen   []uint64         // per node row, the last gathering that met it
	gather uint64
	ties   []int  // scratch
	offers [2]bid // scratch: what two nodes would lose, to be compared
}

// mostBidLeaves bounds the memory of bids, at some 9 bytes each.
const mostBidLeaves = 1 << 24

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

// The numbers of bids stand in bands, each of so many numbers: a bid that takes no
// critical task in the highest, and then by the most important class of those it takes.
const (
	bandBits = 60
	band     = int64(1) << bandBits
	bands    = 7 // below zero
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

// begin begins a round, of a new pass or of the last one.
func (b *bidders) begin(s *cluster.View, pass uint64) {
	b.choice.begin(s, pass)
	b.used = 0
	b.acts = b.acts[:0]
	if more := s.NodeRows() - len(b.seen); more > 0 {
		b.seen = append(b.seen, make([]uint64, more)...)
		b.latest = append(b.latest, make([]int32, more)...)
	}
	if more := s.ShapeRows() - len(b.shapes); more > 0 {
		b.shapes = append(b.shapes, make([]*bidder, more)...)
	}
}

// acted notes that the pass has placed the task on the node.
func (b *bidders) acted(t cluster.TaskID, n cluster.NodeID) {
	b.choice.acted(t, n)
	b.acts = append(b.acts, n)
	b.latest[n] = int32(len(b.acts))
}

// of is the bids for the shape, of all nodes where somebody may be less urgent than u,
// which is at least as urgent as all that will ask from now on.
func (b *bidders) of(s *cluster.View, shape cluster.ShapeID, u urgency) *bidder {
	x := b.shapes[shape]
	if x != nil && x.shape == shape && x.round == b.choice.round {
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
		b.choice.looks++
		if b.seen[n] != b.gather {
			b.seen[n] = b.gather
			leaves[b.order.rank[n]] = b.offer(s, shape, n)
		}
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
	x.shape, x.round, x.acts, x.job, x.aside = shape, b.choice.round, len(b.acts), noJob, x.aside[:0]
	b.shapes[shape] = x
	return x
}

// best is the node that u takes, and false if there is none.
func (b *bidders) best(s *cluster.View, x *bidder, u urgency) (cluster.NodeID, bool) {
	for {
		b.choice.looks++
		rank, ok := x.bids.top(nil)
		if !ok {
			return 0, false
		}
		n := b.order.at[rank]
		worst, _ := b.choice.choose(s, x.shape, n)
		if !u.before(worst) {
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
func (b *bidders) among(s *cluster.View, x *bidder, u urgency) (on cluster.NodeID, found bool) {
	most, offer := &b.offers[0], &b.offers[1]
	var score int64
	for _, rank := range b.ties {
		n := b.order.at[rank]
		worst, _ := b.choice.choose(s, x.shape, n)
		if !u.before(worst) {
			x.bids.set(rank, none)
			continue
		}
		b.choice.price(offer)
		if order := offer.compare(most); found && order <= 0 {
			if order < 0 || b.choice.score(s, x.shape, n) <= score {
				continue
			}
		}
		on, found, score = n, true, b.choice.score(s, x.shape, n)
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
func (b *bidders) setAsideAll(s *cluster.View, x *bidder, t cluster.TaskID) {
	for rank, n := range b.order.at {
		if x.bids.best[0][rank] != none && s.Crowded(t, n) {
			b.setAside(x, n)
		}
	}
	b.choice.looks += int64(len(b.order.at))
}

// restoreFor puts back what was set aside for another job.
func (b *bidders) restoreFor(s *cluster.View, x *bidder, job cluster.JobID) {
	if x.job != job {
		for _, n := range x.aside {
			x.bids.set(int(b.order.rank[n]), b.offer(s, x.shape, n))
		}
		x.aside = x.aside[:0]
	}
	x.job = job
}

// offer is the number of a node's bid; none if the shape would not fit even so, or needs
// nobody evicted: what refuses it there is no lack of room.
func (b *bidders) offer(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) int64 {
	if _, ok := b.choice.choose(s, shape, n); !ok || len(b.choice.chosen) == 0 {
		return none
	}
	offer := &b.offers[0]
	b.choice.price(offer)
	number := offer.number()
	if number == band-1 {
		// All who lose somebody who was promised nothing are alike, but for the score.
		number = band/2 + b.choice.score(s, shape, n)
	}
	return number
}
