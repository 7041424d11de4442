package queue

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// bidders are the nodes on which somebody could be evicted for a shape, the one where
// that costs least first.
//
// Whom a node would lose depends on the shape alone: the least urgent until there is
// room, less those who turn out superfluous. Who asks decides only whether it may, by
// being more urgent than all of them. So a node bids once for each shape in a round,
// and again when the round has changed it. As the round goes on to less urgent tasks, a
// node whose bid is too urgent for one is so for all that follow.
type bidders struct {
	lessUrgent *lessUrgent
	choice     choice
	bids       book.Indexes     // of the round
	ties       []cluster.NodeID // scratch
	offers     [2]bid           // scratch: what two nodes would lose, to be compared
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
func (b *bidders) begin(s *cluster.View, c *sched.Changed, pass uint64) {
	b.choice.begin(s, pass)
	b.bids.Clear()
	b.bids.Learn(s, c)
}

// acted notes that the pass has placed the task on the node.
func (b *bidders) acted(t cluster.TaskID, n cluster.NodeID) {
	b.choice.acted(t, n)
	b.bids.Journal.Note(n)
}

// of is the bids for the shape, of all nodes where somebody may be less urgent than u,
// which is at least as urgent as all that will ask from now on.
func (b *bidders) of(s *cluster.View, shape cluster.ShapeID, u urgency) *book.ShapeIndex {
	some := b.lessUrgent.below(s.Classes(), u)
	return b.bids.Sync(s, book.IndexID{Shape: shape}, func(n cluster.NodeID) int64 {
		if !some || !b.lessUrgent.could(s, s.Shape(shape).Demand, n) {
			return book.None
		}
		return b.offer(s, shape, n, u)
	})
}

// best is the node that u takes, and false if there is none.
func (b *bidders) best(s *cluster.View, x *book.ShapeIndex, shape cluster.ShapeID, u urgency) (cluster.NodeID, bool) {
	for {
		if _, ok := b.bids.Top(x); !ok {
			return 0, false
		}
		b.ties = b.ties[:0]
		x.AtLeast(x.Most(), func(rank int) { b.ties = append(b.ties, b.bids.Order.At[rank]) })
		if n, ok := b.among(s, x, shape, u); ok {
			return n, true
		}
	}
}

// among is the best of the nodes whose bids have the same number, and false if u may
// take none of them.
func (b *bidders) among(s *cluster.View, x *book.ShapeIndex, shape cluster.ShapeID, u urgency) (on cluster.NodeID, found bool) {
	most, offer := &b.offers[0], &b.offers[1]
	var score int64
	if cluster.Guards(s) && b.lower(s, x, shape, u) {
		return 0, false // others may be the best now
	}
	for _, n := range b.ties {
		worst, ok := b.choice.choose(s, shape, n, u) // not ok where somebody must stay by now for whom the round placed elsewhere
		if !ok || !u.before(worst) {
			x.Set(int(b.bids.Order.Rank[n]), book.None) // nor will it do for whoever comes next
			continue
		}
		if len(b.ties) == 1 {
			return n, true
		}
		b.choice.price(offer)
		if order := offer.compare(most); found && order <= 0 {
			if order < 0 || b.choice.score(s, shape, n) <= score {
				continue
			}
		}
		on, found, score = n, true, b.choice.score(s, shape, n)
		most, offer = offer, most
	}
	return on, found
}

// lower takes in that some of the nodes whose bids have the same number lose more than that for u, for the sake of budgets: fewer
// may be evicted for it than for who asked before, and the pass may have evicted who was the last to be spared. It reports whether some do.
func (b *bidders) lower(s *cluster.View, x *book.ShapeIndex, shape cluster.ShapeID, u urgency) (some bool) {
	most := x.Most()
	for _, n := range b.ties {
		if number := b.offer(s, shape, n, u); number < most {
			x.Set(int(b.bids.Order.Rank[n]), number)
			some = true
		}
	}
	return some
}

// hideAll takes out the bids of all nodes that have too many tasks of the task's job.
// They are looked for together, as one by one each would first have to be the best. Within
// a pass such a node keeps them, as those that are told to leave are still there.
func (b *bidders) hideAll(s *cluster.View, x *book.ShapeIndex, t cluster.TaskID) {
	for rank, n := range b.bids.Order.At {
		if x.Leaves()[rank] != book.None && s.Crowded(t, n) {
			b.bids.Hide(x, n)
		}
	}
	b.bids.Ticks += int64(len(b.bids.Order.At))
}

// offer is the number of a node's bid; none if it makes none.
func (b *bidders) offer(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID, u urgency) int64 {
	if _, ok := b.choice.choose(s, shape, n, u); !ok {
		return book.None
	}
	offer := &b.offers[0]
	b.choice.price(offer)
	number := offer.number()
	if number == band-1 {
		// All who lose somebody who was promised nothing are alike, but for the score.
		number = band/2 + b.choice.score(s, shape, n)
	}
	return worseBid(number, b.choice.search.Violations)
}

// worseBid is the number of a bid by which so many violate a budget: below all by which fewer do, be it by as little as the last of its digits.
func worseBid(number int64, violations int) int64 {
	const most, bits = 31, 8
	if violations == 0 {
		return number
	}
	return number>>bits - (bands+1)*(band>>bits) - bands*band - int64(min(violations, most)-1)<<(bandBits-5)
}
