package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/evict"
)

// This file knows the tenants of each node: running tasks that may be stopped. Those that
// may not go elsewhere at once, which is the rule, are no units of the network: a tenant
// whose place everybody could have who asks (yields) is a step of the arc from the port to
// the sink, at the price of evicting it. So a unit that passes the port beyond the free
// slots evicts somebody, the cheapest first (evict.go), and a hundred thousand tasks at
// work cost the solver nothing while nobody needs their place.
//
// Those that may move (MayMove, in rounds with Options.Moves) are units, with a task group and a
// stay (members.go); as tenants they are listed for victims.go alone.

// tenants are those of each node, ranked by tier, then by what evicting them costs.
type tenants struct {
	evict.Occupants
	members *members
	journal *journal
	kinds   [][]tenantKind // by shape
}

// rank is the evict.Rule by which members that run are tenants.
func (z *tenants) rank(_ *cluster.View, c *evict.Candidate) bool {
	if int(c.Task) >= len(z.members.list) {
		return false // it is another lane's
	}
	m := z.members.of(c.Task)
	if m.seq == 0 || m.node == cluster.NoNode {
		return false
	}
	c.Rank, c.Price = int64(m.terms.Tier), evicting(&m.terms)
	return true
}

// of are the tenants of a node.
func (z *tenants) of(s *cluster.View, n cluster.NodeID) []evict.Candidate {
	if z.members.running == 0 {
		return nil
	}
	return z.On(s, n)
}

// evicting is what a running task would be the worse for leaving. No task is stopped
// for the sake of its own price alone.
func evicting(t *Terms) Cost { return max(0, t.Wait-t.Stay) }

// shareTenants counts those whose place everybody could have, and what it costs to
// evict them.
func (p *ports) shareTenants(s *cluster.View, n cluster.NodeID) {
	m := &p.nodes[n]
	m.evictions = m.evictions[:0]
	if !s.NodeLive(n) || s.Overfull(n) {
		return
	}
	members, list := p.tenants.members, p.tenants.of(s, n)
	for i := range list {
		if t := &list[i]; i == 0 || t.Shape != list[i-1].Shape || t.Rank != list[i-1].Rank {
			p.meet(s, t.Shape, t.Rank, n)
		}
		if members.stays.any() && members.of(list[i].Task).stay >= 0 {
			continue // it is a unit
		}
		p.turn.effort.looks++
		if p.yields(s, &list[i]) {
			m.evictions = append(m.evictions, list[i].Price)
		}
	}
	slices.Sort(m.evictions)
	m.shared += int64(len(m.evictions))
}

// yields reports whether a tenant may have to leave for whoever asks now: everybody who
// does could have its place, and is of no lower tier. One whom a budget guards is left to victims.go, which counts what that can spare.
func (p *ports) yields(s *cluster.View, t *evict.Candidate) bool {
	return len(cluster.GuardsOf(s, t.Task)) == 0 && p.kindShares(s, t.Shape, t.Rank)
}

// cheapest is the price of evicting the cheapest tenant that shares; unreached if there
// is none.
func (m *portNode) cheapest() Cost {
	if len(m.evictions) == 0 {
		return unreached
	}
	return m.evictions[0]
}

// toStop is what a place on the node costs a request at least for the sake of who has
// to leave.
func (p *ports) toStop(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) Cost {
	if m := &p.nodes[n]; len(m.evictions) > 0 && !s.RoomNow(shape, n) {
		return m.evictions[0]
	}
	return 0
}

// surcharge is what the arc of a request into the port asks for who has to leave, where
// the port has free slots, which do not ask, and the request does not fit in them. (If
// others take these slots, the port asks as well: so much too much.)
func (p *ports) surcharge(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) Cost {
	if p.nodes[n].slots == 0 {
		return 0
	}
	return p.toStop(s, shape, n)
}

// passing appends what units cost that pass a node one after the other: what each adds
// to the load, and beyond so many that find room what it is to evict. It says how many
// are evicted then.
func (p *ports) passing(n cluster.NodeID, load Curve, room, units int64, list []Step) (steps []Step, evicted int) {
	evictions := p.nodes[n].evictions
	if len(evictions) == 0 {
		return load.upTo(units, list), 0
	}
	p.free = load.upTo(min(room, units), p.free[:0])
	free, first := p.free, load.first() // who takes a place leaves the load as it is
	for units > 0 {
		switch {
		case len(free) > 0 && (evicted == len(evictions) || free[0].Cost <= first+evictions[evicted]):
			take := min(free[0].Capacity, units)
			list, units = appendStep(list, take, free[0].Cost), units-take
			if free[0].Capacity -= take; free[0].Capacity == 0 {
				free = free[1:]
			}
		case evicted < len(evictions):
			list, units = appendStep(list, 1, first+evictions[evicted]), units-1
			evicted++
		default:
			return list, evicted
		}
	}
	return list, evicted
}

// appendStep appends units to a curve.
func appendStep(list []Step, units int64, cost Cost) []Step {
	if n := len(list); n > 0 && list[n-1].Cost == cost {
		list[n-1].Capacity += units
		return list
	}
	if units == 0 {
		return list
	}
	return append(list, Step{Capacity: units, Cost: cost})
}
