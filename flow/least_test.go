package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file is the slowest rival: it tries every assignment of units to slots.

// triedUnits and triedNodes are up to how many every assignment is tried.
const (
	triedUnits = 5
	triedNodes = 4
)

// route is a way of a unit: to a node, to unscheduled, to stay, or to leave its node.
type route struct {
	node      cluster.NodeID // NoNode: it takes no slot
	into      bool           // it comes by way of aggregators, and pays the curve
	cost      Cost
	most      int64 // units that may come by an arc straight from a task group
	taskGroup int32
	leave     cluster.NodeID // of a tenant that is evicted; or NoNode
}

// unit is a task that the network may send somewhere.
type unit struct {
	request   int32
	taskGroup int32
	routes    []route
}

// least is what the cheapest assignment of all units costs, one to a slot. It is not
// sought where there are too many.
func (w *network) least(s *cluster.View) (Cost, bool) {
	if s.NodeRows() > triedNodes {
		return 0, false
	}
	var units []unit
	for t := range w.members.list {
		m := &w.members.list[t]
		if m.seq == 0 || m.node == cluster.NoNode && m.terms.Tier < w.turn.tier {
			continue
		}
		if m.share < 0 { // a tenant stays for nothing, or leaves; those that leave come first
			if s.NodeLive(m.node) && !s.Overfull(m.node) && m.terms.Tier <= w.turn.tier && w.turn.covers(s, m.shape) {
				price := max(0, m.terms.Wait-m.terms.Stay)
				routes := []route{{node: cluster.NoNode, leave: cluster.NoNode}, {node: cluster.NoNode, leave: m.node, cost: price}}
				units = slices.Insert(units, 0, unit{routes: routes})
			}
			if len(units) > triedUnits {
				return 0, false
			}
			continue
		}
		if units = append(units, w.unitOf(s, cluster.TaskID(t))); len(units) > triedUnits {
			return 0, false
		}
	}
	b := assignment{w: w, s: s, units: units, taken: make([]int64, s.NodeRows()), left: make([]int64, s.NodeRows()), into: map[[2]uint32]int64{}, straight: map[[2]uint32]int64{}, best: 1 << 60}
	b.try(0, 0)
	return b.best, true
}

// unitOf lists the ways of a task, by what the model says alone.
func (w *network) unitOf(s *cluster.View, t cluster.TaskID) unit {
	m := w.members.of(t)
	taskGroup := w.shares.list[m.share].taskGroup
	u := unit{request: w.supply.groups[taskGroup].request, taskGroup: taskGroup}
	terms := w.answers.model.Terms(s, t)
	u.routes = append(u.routes, route{node: cluster.NoNode, leave: cluster.NoNode, cost: terms.Wait})
	if m.node != cluster.NoNode {
		stay := route{node: cluster.NoNode, leave: cluster.NoNode, cost: terms.Stay, most: 1 << 40}
		if w.stays.list[m.stay].shared {
			stay.node = m.node
		}
		u.routes = append(u.routes, stay)
	}
	var arcs Arcs
	w.answers.model.Out(s, t, &arcs)
	for _, a := range arcs.list {
		if a.node != cluster.NoNode {
			u.routes = append(u.routes, route{node: a.node, cost: a.cost + w.avoids(s, m.shape, a.node) + w.large(s, m.shape, a.node), most: w.room(s, u.request, a.node), taskGroup: taskGroup})
			continue
		}
		for n := range cluster.NodeID(s.NodeRows()) {
			if w.room(s, u.request, n) == 0 {
				continue
			}
			below, _ := w.answers.model.Into(s, m.shape, n)
			for cost := a.cost + w.avoids(s, m.shape, n) + w.large(s, m.shape, n); below != Nowhere; {
				if below == a.aggregator {
					u.routes = append(u.routes, route{node: n, into: true, cost: cost})
					break
				}
				if w.answers.tree == nil {
					break
				}
				above, passing := w.answers.tree.Above(s, below)
				below, cost = above, cost+passing
			}
		}
	}
	return u
}

// large is what a task pays that does not fit in free slots which are there.
func (w *network) large(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) Cost {
	if evictions := w.evictionsOn(s, n); len(evictions) > 0 && w.ports.slots(s, n) > 0 && !s.RoomNow(shape, n) {
		return evictions[0]
	}
	return 0
}

// assignment is how far units have been assigned.
type assignment struct {
	w        *network
	s        *cluster.View
	units    []unit
	taken    []int64             // slots, by node
	left     []int64             // tenants that leave, by node
	into     map[[2]uint32]int64 // units by request and node that pay the curve
	straight map[[2]uint32]int64 // units by task group and node
	best     Cost
}

func (b *assignment) try(i int, cost Cost) {
	if i == len(b.units) {
		b.best = min(b.best, cost+b.curves())
		return
	}
	u := &b.units[i]
	for _, r := range u.routes {
		if r.node == cluster.NoNode {
			if r.leave != cluster.NoNode {
				b.left[r.leave]++
			}
			b.try(i+1, cost+r.cost)
			if r.leave != cluster.NoNode {
				b.left[r.leave]--
			}
			continue
		}
		m := &b.w.ports.nodes[r.node]
		into, straight := [2]uint32{uint32(u.request), uint32(r.node)}, [2]uint32{uint32(r.taskGroup), uint32(r.node)}
		if b.taken[r.node] >= b.slots(m, r.node) ||
			r.into && b.into[into] >= b.w.room(b.s, u.request, r.node) || !r.into && b.straight[straight] >= r.most {
			continue
		}
		b.taken[r.node]++
		if r.into {
			b.into[into]++
		} else if r.most < 1<<40 {
			b.straight[straight]++
		}
		b.try(i+1, cost+r.cost)
		b.taken[r.node]--
		if r.into {
			b.into[into]--
		} else if r.most < 1<<40 {
			b.straight[straight]--
		}
	}
}

// slots is what the port of a node lets through, whether the network has it or not.
func (b *assignment) slots(m *portNode, n cluster.NodeID) int64 {
	return b.w.ports.slots(b.s, n) + m.shared - int64(len(m.evictions)) + b.left[n]
}

// curves is what units pay along curves: each node's load, and what requests pay there.
func (b *assignment) curves() (sum Cost) {
	for n, units := range b.taken {
		if b.w.answers.loaded != nil && units > 0 {
			load, instead := b.w.answers.loaded.Load(b.s, cluster.NodeID(n)), min(b.left[n], units)
			sum += total(load.upTo(units-instead, nil)) + instead*load.first()
		}
	}
	for key, units := range b.into {
		if units > 0 {
			_, curve := b.w.answers.model.Into(b.s, b.w.ranking.requests[key[0]].id.shape, cluster.NodeID(key[1]))
			sum += total(curve.upTo(units, nil))
		}
	}
	return sum
}

func total(steps []Step) (sum Cost) {
	for _, s := range steps {
		sum += s.Capacity * s.Cost
	}
	return sum
}
