package book

import "fairlead.dev/fairlead/cluster"

// Room says what of a node counts as room.
type Room uint8

// What counts: what nobody uses, what nobody uses once all that leaves has left, and everything, as
// for whom may evict.
const (
	Free Room = iota
	Freed
	Whole
)

// Of is what of the node counts, kind by kind, in the memory of to.
func (r Room) Of(s *cluster.View, n cluster.NodeID, to cluster.Vector) cluster.Vector {
	limit, used, leaving := s.Limit(n), s.Used(n), s.LeavingDemand(n)
	to = to[:0]
	for k, q := range limit {
		if r != Whole {
			q -= used[k]
		}
		if r == Freed {
			q += leaving[k]
		}
		to = append(to, max(q, 0))
	}
	return to
}

// Rooms finds nodes that have room for a demand: a binary tree over the node
// rows, whose inner rows hold, kind by kind, the most that any node below has
// left. A subtree that lacks some kind holds no node that fits. The zero value is
// ready to use.
//
// Cost: a changed node costs at most log₂ n rows; the next node that fits
// log₂ n where one kind decides, more where one node has the one kind and its
// neighbour the other.
type Rooms struct {
	Room  Room
	Looks int64 // rows looked at

	kinds  int
	leaves int     // a power of two
	most   []int64 // row 1 is the root; -1 where there is no node
}

// Rows is how many node rows there are to search, not all of which need be in use.
func (r *Rooms) Rows() int { return r.leaves }

// Learn takes in changed nodes.
func (r *Rooms) Learn(s *cluster.View, nodes []cluster.NodeID) {
	if s.NodeRows() > r.leaves || r.kinds != len(s.Kinds()) {
		*r = Rooms{kinds: len(s.Kinds()), leaves: max(2*r.leaves, 8), Looks: r.Looks, Room: r.Room}
		for r.leaves < s.NodeRows() {
			r.leaves *= 2
		}
		r.most = make([]int64, 2*r.leaves*r.kinds)
		for i := range r.most {
			r.most[i] = -1
		}
		for n := range s.NodeRows() {
			r.Set(s, cluster.NodeID(n))
		}
		return
	}
	for _, n := range nodes {
		r.Set(s, n)
	}
}

func (r *Rooms) row(i int) []int64 { return r.most[i*r.kinds : (i+1)*r.kinds] }

// Set looks at one node again.
func (r *Rooms) Set(s *cluster.View, n cluster.NodeID) {
	i := r.leaves + int(n)
	leaf := r.row(i)
	if s.NodeLive(n) {
		r.Room.Of(s, n, leaf)
	} else {
		for k := range leaf {
			leaf[k] = -1
		}
	}
	for i >>= 1; i > 0; i >>= 1 {
		changed := false
		row, left, right := r.row(i), r.row(2*i), r.row(2*i+1)
		for k := range row {
			if most := max(left[k], right[k]); most != row[k] {
				row[k], changed = most, true
			}
		}
		if !changed {
			return
		}
	}
}

// Next returns the first node, from the given row on and around, that has room
// for the demand and that takes accepts.
func (r *Rooms) Next(demand cluster.Vector, from int, takes func(cluster.NodeID) bool) (cluster.NodeID, bool) {
	if r.leaves == 0 {
		return 0, false
	}
	n, ok := r.first(demand, from, r.leaves, takes)
	if !ok {
		n, ok = r.first(demand, 0, from, takes)
	}
	return cluster.NodeID(n), ok
}

// first is the first fitting node of rows from to to. It goes down into each subtree where
// there may be one, and on to the next where there is none.
func (r *Rooms) first(demand cluster.Vector, from, to int, takes func(cluster.NodeID) bool) (int, bool) {
	// Row i stands over span nodes from first on.
	for i, first, span := 1, 0, r.leaves; first < to; i++ {
		if first+span > from {
			r.Looks++
			if r.fits(demand, i) {
				if span > 1 {
					i, span = 2*i-1, span/2
					continue
				}
				if takes(cluster.NodeID(first)) {
					return first, true
				}
			}
		}
		first += span
		for ; i&1 == 1; i >>= 1 { // the last one below the row above
			span *= 2
		}
	}
	return 0, false
}

// fits reports whether a node below the row may have room.
func (r *Rooms) fits(demand cluster.Vector, i int) bool {
	row := r.row(i)
	demand = demand[:len(row)]
	for k, most := range row {
		if demand[k] > most {
			return false
		}
	}
	return true
}
