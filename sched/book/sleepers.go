package book

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// sleepers are the groups that sleep, and some that did.
type sleepers[T any] struct {
	list  []*Group[T] // in the order in which they fell asleep
	least floor       // of what they ask for
	near  []cluster.NodeID
	most  cluster.Vector // of all nodes in near, kind by kind
	room  cluster.Vector // scratch
}

// floor is, kind by kind, at most what any of those asks for that it stands for; empty it
// stands for nobody.
type floor []int64

// with is the floor that stands for one more, in the memory of f.
func (f floor) with(demand cluster.Vector) floor {
	if len(f) == 0 {
		return append(f, demand...)
	}
	for k, q := range demand {
		f[k] = min(f[k], q)
	}
	return f
}

// Sleep lets the group wait until Wake finds that it could fit.
func (w *Waiting[T]) Sleep(s *cluster.View, g *Group[T]) {
	g.asleep, g.stands = true, false
	if !g.listed {
		g.listed = true
		w.list = append(w.list, g)
		w.least = w.least.with(s.Shape(g.Shape).Demand)
	}
}

// Wake calls wake for the sleeping groups that may fit by now: those that fit, as fits says, on a node
// that changed or that came into their own set, and those whose constraints count otherwise. It
// returns how many looks that took.
func (w *Waiting[T]) Wake(s *cluster.View, c *sched.Changed, fits func(*Group[T], cluster.NodeID) bool, wake func(*Group[T])) int64 {
	if len(w.list) == 0 {
		return 0
	}
	looks := int64(len(c.Nodes))
	w.approach(s, c.Nodes)
	if len(w.near) == 0 && len(c.Members) == 0 && len(c.Constrained) == 0 {
		return looks
	}
	look := func(g *Group[T], n cluster.NodeID) bool {
		looks++
		return fits(g, n)
	}
	list := w.list
	w.list, w.least = list[:0], w.least[:0]
	for _, g := range list {
		g.listed = false
		if !g.asleep {
			continue
		}
		shape := s.Shape(g.Shape)
		_, recounted := slices.BinarySearch(c.Constrained, g.Shape)
		if recounted ||
			len(w.near) > 0 && shape.Demand.Fits(w.most) && slices.ContainsFunc(w.near, func(n cluster.NodeID) bool { return look(g, n) }) ||
			slices.ContainsFunc(c.MembersOf(shape.Eligible), func(m sched.Member) bool { return look(g, m.Node) }) {
			g.asleep = false
			wake(g)
		} else {
			w.Sleep(s, g)
		}
	}
	clear(list[len(w.list):])
	return looks
}

// approach notes which of the nodes could have room for one of the sleepers, as far as can be said
// without looking at each.
func (w *Waiting[T]) approach(s *cluster.View, nodes []cluster.NodeID) {
	w.near, w.most = w.near[:0], append(w.most[:0], make(cluster.Vector, len(s.Kinds()))...)
	for _, n := range nodes {
		if !s.NodeLive(n) {
			continue
		}
		if w.room = w.Room.Of(s, n, w.room); !cluster.Vector(w.least).Fits(w.room) {
			continue
		}
		if w.Evicts != nil && !w.Evicts(s, n) {
			if w.room = Freed.Of(s, n, w.room); !cluster.Vector(w.least).Fits(w.room) {
				continue
			}
		}
		w.near = append(w.near, n)
		for k, q := range w.room {
			w.most[k] = max(w.most[k], q)
		}
	}
}
