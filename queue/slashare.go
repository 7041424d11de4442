package queue

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// This file says how many cores each task of a lot is to be given, by formula (1) of the
// SLA-class paper: of the cores that are free on the nodes that it may use, its level's
// part among the levels of all that wait for nodes of that tier, itself included,
//
//	r = trunc(p·free / Σ p)
//
// in whole cores, and within its range. The cores are the cluster's first kind. What
// else a task takes is the least that it asks for.

// parts are a replica group's weight, and that of all who want cores of the tier, itself
// included.
type parts struct{ own, all int64 }

// formula is formula (1), in quantities of which per make a core. A range that does not
// begin at whole cores, as there may be fewer than levels, is not cut to whole ones.
func formula(p parts, free, per, least, most int64) int64 {
	r := int64(uint64(p.own) * uint64(free) / uint64(p.all)) // below 2^64: a weight is at most 3
	if per > 1 && least%per == 0 {
		r, most = r-r%per, most-most%per
	}
	return max(min(r, most), least)
}

// pool is the free cores of the nodes of a set. It is forgotten with the shape for which
// it was made, as the set may be another one after that.
type pool struct {
	shape  cluster.ShapeID
	free   []int64 // per node, as last counted; 0 of those that are not in the set
	total  int64
	synced uint64 // position in the journal up to which it is true
}

// count counts the node anew.
func (p *pool) count(s *cluster.View, set cluster.SetID, n cluster.NodeID) {
	p.free = book.Grown(p.free, n, 0)
	free := int64(0)
	if s.NodeLive(n) && s.Eligible(set, n) {
		free = max(s.Limit(n)[0]-s.Used(n)[0], 0)
	}
	p.total += free - p.free[n]
	p.free[n] = free
}

// sync brings the pool up to date with the nodes that changed, and returns how many it
// looked at.
func (p *pool) sync(s *cluster.View, set cluster.SetID, changed *book.Journal) int64 {
	looks := int64(0)
	if !changed.Reaches(p.synced) {
		looks = int64(s.NodeRows())
		for n := range s.NodeRows() {
			p.count(s, set, cluster.NodeID(n))
		}
	} else {
		for n := range changed.Since(p.synced) {
			p.count(s, set, n)
			looks++
		}
	}
	p.synced = changed.End()
	return looks
}

// most is the most that a lot's tasks can be given: what so many nodes as a replica group
// has copies could hold if they were empty. Without it a share that is larger than any
// node would never fit.
type most struct {
	version uint64 // of the nodes, 1 and more
	cores   int64
}

// of brings the bound up to date.
func (m *most) of(s *cluster.View, id book.ID, version uint64) int64 {
	if m.version == version {
		return m.cores
	}
	var hold []int64
	for i := range s.NodeRows() {
		if n := cluster.NodeID(i); s.FitsEmpty(id.Shape, n) {
			hold = append(hold, s.Limit(n)[0])
		}
	}
	*m = most{version: version}
	if len(hold) >= int(id.Copies) {
		slices.SortFunc(hold, func(a, b int64) int { return cmp.Compare(b, a) })
		m.cores = hold[id.Copies-1]
	}
	return m.cores
}

// nodeLimits notices when what nodes could hold changes, which is seldom, among all
// that changes on them.
type nodeLimits struct {
	version uint64
	limits  []cluster.Vector // per node; empty where there is none
}

// learn counts the version up if any limit changed, or who is in which set.
func (l *nodeLimits) learn(s *cluster.View, c *sched.Changed) {
	changed := len(c.Members) > 0
	for _, n := range c.Nodes {
		l.limits = book.Grown(l.limits, n, nil)
		var now cluster.Vector
		if s.NodeLive(n) {
			now = s.Limit(n)
		}
		if !slices.Equal(l.limits[n], now) {
			l.limits[n], changed = append(l.limits[n][:0], now...), true
		}
	}
	if changed {
		l.version++
	}
}
