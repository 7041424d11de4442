package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file knows the tenants of each node: running tasks that may be stopped. Where
// they may not go elsewhere at once, which is the rule, they are no units of the
// network: a tenant whose place everybody could have who asks (yields) is a
// step of the arc from the port to the sink, at the price of evicting it. So a unit that
// passes the port beyond the free slots evicts somebody, the cheapest first (evict.go), and
// a hundred thousand tasks at work cost the solver nothing while nobody needs their place.
//
// Where tasks may move (Options.Moves), they are units, with a task group and a stay
// (members.go); tenants are then listed for victims.go alone.

// addTenant lists a task among the tenants of its node, by submission.
func (w *network) addTenant(t cluster.TaskID, n cluster.NodeID) {
	m := w.machine(n)
	at, _ := slices.BinarySearchFunc(m.tenants, w.members[t].seq, func(o cluster.TaskID, seq cluster.Seq) int {
		return cmp.Compare(w.members[o].seq, seq)
	})
	m.tenants = slices.Insert(m.tenants, at, t)
	w.noteRoom(n)
}

// removeTenant takes it off the list.
func (w *network) removeTenant(t cluster.TaskID, n cluster.NodeID) {
	m := w.machine(n)
	at := slices.Index(m.tenants, t)
	m.tenants = slices.Delete(m.tenants, at, at+1)
	w.noteRoom(n)
}

// updateTenant brings the network up to date with a running task that may be stopped.
func (w *network) updateTenant(task *cluster.Task, t cluster.TaskID, terms Terms) {
	m := &w.members[t]
	if m.seq == task.Seq+1 && m.shape == task.Shape && m.node == task.Node {
		before, tier := evicting(&m.terms), m.terms.Tier
		m.terms = terms
		switch price := evicting(&terms); {
		case price < before || terms.Tier != tier:
			w.noteRoom(m.node) // for those who would have to evict it
		case price > before:
			w.refresh(m.node)
		}
		return
	}
	w.leave(t)
	*m = member{seq: task.Seq + 1, shape: task.Shape, terms: terms, share: -1, stay: -1, node: task.Node}
	w.addTenant(t, task.Node)
}

// evicting is what a running task would be the worse for leaving. No task is stopped
// for the sake of its own price alone.
func evicting(t *Terms) Cost { return max(0, t.Wait-t.Stay) }

// updateTenants counts those whose place everybody could have, and what it costs to
// evict them.
func (w *network) updateTenants(s *cluster.View, n cluster.NodeID) {
	m := &w.machines[n]
	m.evictions = m.evictions[:0]
	if !s.NodeLive(n) || s.Overfull(n) {
		return
	}
	w.looks += int64(len(m.tenants))
	for _, t := range m.tenants {
		if w.yields(s, t) {
			m.evictions = append(m.evictions, evicting(&w.members[t].terms))
		}
	}
	slices.Sort(m.evictions)
	m.shared = int64(len(m.evictions))
}

// yields reports whether a tenant may have to leave for whoever asks now: everybody who
// does could have its place, and is of no lower tier.
func (w *network) yields(s *cluster.View, t cluster.TaskID) bool {
	m := &w.members[t]
	return m.terms.Tier <= w.tier && w.covers(s, m.shape)
}

// cheapest is the price of evicting the cheapest tenant that shares; unreached if there
// is none.
func (m *machine) cheapest() Cost {
	if len(m.evictions) == 0 {
		return unreached
	}
	return m.evictions[0]
}

// toStop is what a place on the node costs a request at least for the sake of who has
// to leave.
func (w *network) toStop(s *cluster.View, q int32, n cluster.NodeID) Cost {
	if m := &w.machines[n]; len(m.evictions) > 0 && !s.RoomNow(w.requests[q].id.shape, n) {
		return m.evictions[0]
	}
	return 0
}

// surcharge is what the arc of a request into the port asks for who has to leave, where
// the port has free slots, which do not ask, and the request does not fit in them. (If
// others take these slots, the port asks as well: so much too much.)
func (w *network) surcharge(s *cluster.View, q int32, n cluster.NodeID) Cost {
	if w.machines[n].slots == 0 {
		return 0
	}
	return w.toStop(s, q, n)
}

// passing appends what units cost that pass a node one after the other: what each adds
// to the load, and beyond so many that find room what it is to evict. It says how many
// are evicted then.
func (w *network) passing(n cluster.NodeID, load Curve, room, units int64, list []Step) (steps []Step, evicted int) {
	evictions := w.machines[n].evictions
	if len(evictions) == 0 {
		return load.upTo(units, list), 0
	}
	w.free = load.upTo(min(room, units), w.free[:0])
	free, first := w.free, load.first() // who takes a place leaves the load as it is
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
