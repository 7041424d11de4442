package queue

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/lifetime"
)

// This file is how lava fills nodes. Lifetimes are of four classes: below an hour, 10 hours, 100 hours, and longer. A node has
// the class of the first task that came to it, and is open: it is filled with tasks of that class. Once nine tenths of some kind
// are taken it recycles: the gaps that tasks leave are filled with tasks of shorter classes, so that these are gone when the
// last of those that were there is gone, who are called its stock. Then those that are there by now are its stock, and its
// class is one less: it is filled with still shorter ones, until it is empty.
//
// A node that stands for longer than its class and a tenth, from when it came to that class, was misjudged: its class is one more.
//
// Ours: a comer that finds neither kind of node goes to one of a longer class, then to any that is in use, and last to an
// empty one; the paper leaves these to its scheduler's other rules.

// classes is how many there are.
const stayClasses = 4

// fullness is the share of a kind, in hundredths, from which on a node is full.
const fullness = 90

// classOf is the class of a length.
func classOf(t cluster.Time) int {
	class := 1
	for most := cluster.Hour; class < stayClasses && t >= most; most *= 10 {
		class++
	}
	return class
}

// longest is the most that tasks of the class run, and a tenth; Never for the longest class.
func longest(class int) cluster.Time {
	most := cluster.Hour
	for range class - 1 {
		most *= 10
	}
	if class == stayClasses {
		return cluster.Never
	}
	return most + most/10
}

// phase is where a node stands.
type phase struct {
	class    int // 0: it is empty
	recycles bool
	overdue  cluster.Time // when its class was misjudged
}

// rank is the place of a node in the order in which a task looks at nodes: the smaller the better.
func (p *phase) rank(stay int) int {
	class := classOf(lifetime.Start(stay))
	switch {
	case p.class == 0:
		return stayClasses + 3
	case p.recycles && p.class > class:
		return p.class - class - 1 // one class less fits best
	case !p.recycles && p.class == class:
		return stayClasses
	case p.class > class:
		return stayClasses + 1
	}
	return stayClasses + 2
}

// phases are where all nodes stand.
type phases struct {
	nodes *lifetime.Nodes
	node  []phase
	stock []cluster.Seq // by task row, one more than the seq of a task that is of the stock of its node
}

// learn makes room for nodes that are new.
func (k *phases) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		k.node, k.stock = nil, nil
	}
	for len(k.node) < s.NodeRows() {
		k.node = append(k.node, phase{})
	}
}

// look moves a node on that has just been looked at.
func (k *phases) look(s *cluster.View, n cluster.NodeID) (again cluster.Time, another bool) {
	h := &k.node[n]
	was := *h
	k.classify(s, n, h)
	switch {
	case h.class == 0:
	case !h.recycles && filled(s, n):
		h.recycles = true
		k.take(s, n)
	case h.recycles && !k.some(s, n):
		h.enter(s.Now(), max(h.class-1, 1))
		k.take(s, n)
	}
	return h.overdue, h.class != was.class || h.recycles != was.recycles
}

// classify gives a node its first class, or another one if it was misjudged.
func (k *phases) classify(s *cluster.View, n cluster.NodeID, h *phase) {
	switch {
	case k.nodes.Tasks(n) == 0:
		*h = phase{overdue: cluster.Never}
	case h.class == 0:
		h.enter(s.Now(), classOf(k.nodes.Left(s, n)))
	case s.Now() >= h.overdue:
		h.enter(s.Now(), h.class+1)
	}
}

// enter has the node be of a class from now on.
func (p *phase) enter(now cluster.Time, class int) {
	p.class, p.overdue = class, lifetime.Later(now, longest(class))
}

// filled reports whether so much of some kind is taken that the node is full.
func filled(s *cluster.View, n cluster.NodeID) bool {
	limit, used := s.Limit(n), s.Used(n)
	for k, q := range limit {
		if q > 0 && used[k]*100 >= q*fullness {
			return true
		}
	}
	return false
}

// take has all tasks of the node be its stock.
func (k *phases) take(s *cluster.View, n cluster.NodeID) {
	for _, t := range s.TasksOn(n) {
		k.stock = book.Grown(k.stock, t, 0)
		k.stock[t] = s.Task(t).Seq + 1
	}
}

// some reports whether some of the stock is there.
func (k *phases) some(s *cluster.View, n cluster.NodeID) bool {
	for _, t := range s.TasksOn(n) {
		if int(t) < len(k.stock) && k.stock[t] == s.Task(t).Seq+1 {
			return true
		}
	}
	return false
}
