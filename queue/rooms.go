package queue

import "fairlead.dev/fairlead/cluster"

// rooms finds nodes that have room for a demand: a binary tree over the node
// rows, whose inner rows hold, kind by kind, the most that any node below has
// left. A subtree that lacks some kind holds no node that fits. With freed, a
// node has what is leaving it, too.
//
// Cost: a changed node costs at most log₂ n rows; the next node that fits
// log₂ n where one kind decides, more where one node has the one kind and its
// neighbour the other.
type rooms struct {
	kinds  int
	leaves int     // a power of two
	most   []int64 // row 1 is the root; -1 where there is no node
	looks  int64   // rows looked at
	freed  bool
}

// learn takes in changed nodes.
func (r *rooms) learn(s *cluster.View, nodes []cluster.NodeID) {
	if s.NodeRows() > r.leaves || r.kinds != len(s.Kinds()) {
		*r = rooms{kinds: len(s.Kinds()), leaves: max(2*r.leaves, 8), looks: r.looks, freed: r.freed}
		for r.leaves < s.NodeRows() {
			r.leaves *= 2
		}
		r.most = make([]int64, 2*r.leaves*r.kinds)
		for i := range r.most {
			r.most[i] = -1
		}
		for n := range s.NodeRows() {
			r.set(s, cluster.NodeID(n))
		}
		return
	}
	for _, n := range nodes {
		r.set(s, n)
	}
}

func (r *rooms) row(i int) []int64 { return r.most[i*r.kinds : (i+1)*r.kinds] }

// set looks at one node again.
func (r *rooms) set(s *cluster.View, n cluster.NodeID) {
	i := r.leaves + int(n)
	leaf := r.row(i)
	if s.NodeLive(n) {
		limit, used, leaving := s.Limit(n), s.Used(n), s.LeavingDemand(n)
		for k := range leaf {
			leaf[k] = limit[k] - used[k]
			if r.freed {
				leaf[k] += leaving[k]
			}
			leaf[k] = max(leaf[k], 0)
		}
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

// next returns the first node, from the given row on and around, that has room
// for the demand and that takes accepts.
func (r *rooms) next(demand cluster.Vector, from int, takes func(cluster.NodeID) bool) (cluster.NodeID, bool) {
	if r.leaves == 0 {
		return 0, false
	}
	search := roomSearch{rooms: r, demand: demand, takes: takes, from: from, to: r.leaves}
	n, ok := search.below(1, 0, r.leaves)
	if !ok {
		search.from, search.to = 0, from
		n, ok = search.below(1, 0, r.leaves)
	}
	return cluster.NodeID(n), ok
}

// roomSearch looks for the first fitting node of rows from to to.
type roomSearch struct {
	*rooms
	demand   cluster.Vector
	takes    func(cluster.NodeID) bool
	from, to int
}

// below searches the subtree of row i, which stands over span nodes from
// first on.
func (r *roomSearch) below(i, first, span int) (int, bool) {
	if first+span <= r.from || first >= r.to {
		return 0, false
	}
	r.looks++
	for k, most := range r.row(i) {
		if r.demand[k] > most {
			return 0, false
		}
	}
	if span == 1 {
		return first, r.takes(cluster.NodeID(first))
	}
	span /= 2
	if n, ok := r.below(2*i, first, span); ok {
		return n, true
	}
	return r.below(2*i+1, first+span, span)
}
