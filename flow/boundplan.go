package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file adds up what a plan costs by the prices of the moment when its turn began.

// value adds up plans.
type value struct {
	net        *network
	actions    []sched.Action
	arcs       Arcs
	into, load []Step
}

// planned is what the tier's plan costs, and false if tasks that ran were touched. What
// was tried in the round is undone and done again. There may be bundles of other tiers.
func (b *value) planned(r *round, severalTiers bool) (Cost, bool) {
	b.actions = b.actions[:0]
	for i := r.from; i < r.out.Bundles(); i++ {
		for _, a := range r.out.Bundle(i) {
			if a.Kind != sched.Place {
				return 0, false
			}
			b.actions = append(b.actions, a)
		}
	}
	b.net.supply.settle()
	left := b.net.supply.left(true)
	if len(b.actions) == 0 {
		return left, true
	}
	r.trial.Rollback(r.mark)
	placed, ok := b.placed(r.trial.View(), severalTiers)
	for i := r.from; i < r.out.Bundles(); i++ {
		for _, a := range r.out.Bundle(i) {
			if r.trial.Try(a).Refused() {
				panic("flow: what was done once is refused the second time")
			}
		}
	}
	return left + placed, ok
}

// placed is what the placements cost, node by node, in the state before them, and false
// if the model wants one of them no more.
func (b *value) placed(s *cluster.View, severalTiers bool) (sum Cost, ok bool) {
	w := b.net
	if severalTiers {
		b.actions = slices.DeleteFunc(b.actions, func(a sched.Action) bool { return w.answers.model.Terms(s, a.Task).Tier != w.turn.tier })
	}
	job := func(a sched.Action) cluster.JobID {
		if task := s.Task(a.Task); s.Shape(task.Shape).PerNode > 0 {
			return task.Job
		}
		return noJob
	}
	alike := func(x, y sched.Action) int {
		return cmp.Or(cmp.Compare(x.Node, y.Node), cmp.Compare(s.Task(x.Task).Shape, s.Task(y.Task).Shape), cmp.Compare(job(x), job(y)))
	}
	slices.SortStableFunc(b.actions, alike)
	sum = b.loads(s)
	for from, to := 0, 0; from < len(b.actions); from = to {
		first := b.actions[from]
		for to = from; to < len(b.actions) && alike(first, b.actions[to]) == 0; {
			to++
		}
		shape := s.Task(first.Task).Shape
		below, curve := w.answers.model.Into(s, shape, first.Node)
		b.into = append(b.into[:0], w.answers.withUnmet(s, shape, first.Node, curve)...)
		through := int64(0) // units that came by way of an aggregator
		for _, a := range b.actions[from:to] {
			cost, direct, ok := b.way(s, a, below, Curve(b.into).at(through+1))
			if !ok {
				return 0, false
			}
			sum += cost
			if !direct {
				through++
			}
		}
	}
	return sum, true
}

// loads is what the placements, sorted by node, add to the loads of the nodes.
func (b *value) loads(s *cluster.View) (sum Cost) {
	w := b.net
	if w.answers.loaded == nil {
		return 0
	}
	there := int64(0) // units on the node so far
	for i, a := range b.actions {
		if i == 0 || b.actions[i-1].Node != a.Node {
			there = 0
			b.load = append(b.load[:0], w.answers.loaded.Load(s, a.Node)...)
		}
		there++
		sum += Curve(b.load).at(there)
	}
	return sum
}

// way is the cheapest way of a task to its node, which stands below an aggregator and
// costs so much there; or straight.
func (b *value) way(s *cluster.View, a sched.Action, below Aggregator, into Cost) (cost Cost, direct, found bool) {
	w := b.net
	b.arcs.list = b.arcs.list[:0]
	w.answers.model.Out(s, a.Task, &b.arcs)
	better := func(c Cost, straight bool) {
		if !found || c < cost {
			cost, direct, found = c, straight, true
		}
	}
	for _, arc := range b.arcs.list {
		if arc.node == a.Node {
			better(arc.cost+w.answers.unmet(s, s.Task(a.Task).Shape, a.Node), true)
		}
	}
	down := Cost(0)
	for range len(w.ranking.groups) + 1 { // no way is longer, unless the model goes in circles
		if below == Nowhere {
			break
		}
		for _, arc := range b.arcs.list {
			if arc.node == cluster.NoNode && arc.aggregator == below {
				better(arc.cost+down+into, false)
			}
		}
		if w.answers.tree == nil {
			break
		}
		above, passing := w.answers.tree.Above(s, below)
		below, down = above, down+passing
	}
	return cost, direct, found
}

// at is what the unit of a number costs, counted from 1.
func (c Curve) at(unit int64) (cost Cost) {
	for _, step := range c {
		cost = step.Cost
		if unit -= step.Capacity; unit <= 0 {
			return cost
		}
	}
	return cost
}
