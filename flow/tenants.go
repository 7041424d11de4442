package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file knows the tenants of each node: running tasks that may be stopped. Where
// they may not go elsewhere at once, which is the rule, they are no units of the
// network: a tenant whose place everybody could have who asks (yields) is a
// step of the arc from the port to the sink, at the price of evicting it. So a unit that
// passes the port beyond the free slots evicts somebody, the cheapest first, and a
// hundred thousand tasks at work cost the solver nothing while nobody needs their place.
//
// Where tasks may move (Options.Moves), they are units, with a class and a stay
// (members.go); tenants are then listed for victims.go alone.

// lodge lists a task among the tenants of its node, by submission.
func (w *network) lodge(t cluster.TaskID, n cluster.NodeID) {
	m := w.machine(n)
	at, _ := slices.BinarySearchFunc(m.tenants, w.members[t].seq, func(o cluster.TaskID, seq cluster.Seq) int {
		return cmp.Compare(w.members[o].seq, seq)
	})
	m.tenants = slices.Insert(m.tenants, at, t)
	w.noteRoom(n)
}

// vacate takes it off the list.
func (w *network) vacate(t cluster.TaskID, n cluster.NodeID) {
	m := w.machine(n)
	at := slices.Index(m.tenants, t)
	m.tenants = slices.Delete(m.tenants, at, at+1)
	w.noteRoom(n)
}

// tellTenant brings the network up to date with a running task that may be stopped.
func (w *network) tellTenant(task *cluster.Task, t cluster.TaskID, terms Terms) {
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
	w.lodge(t, task.Node)
}

// evicting is what a running task would be the worse for leaving. No task is stopped
// for the sake of its own price alone.
func evicting(t *Terms) Cost { return max(0, t.Wait-t.Stay) }

// updateTenants counts those whose place everybody could have, and what it costs to
// evict them.
func (w *network) updateTenants(s *cluster.State, n cluster.NodeID) {
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
func (w *network) yields(s *cluster.State, t cluster.TaskID) bool {
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
func (w *network) toStop(s *cluster.State, q int32, n cluster.NodeID) Cost {
	if m := &w.machines[n]; len(m.evictions) > 0 && !s.RoomNow(w.requests[q].id.shape, n) {
		return m.evictions[0]
	}
	return 0
}

// surcharge is what the arc of a request into the port asks for who has to leave, where
// the port has free slots, which do not ask, and the request does not fit in them. (If
// others take these slots, the port asks as well: so much too much.)
func (w *network) surcharge(s *cluster.State, q int32, n cluster.NodeID) Cost {
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

// evict notes the tenants that have to leave for those who come: of equal price the
// latest submitted. Who comes and gains nothing by it, as the flow does not tell from who
// gains, stays waiting.
func (p *Policy) evict(s *cluster.State) {
	w, pl := p.net, &p.placer
	pl.comers = pl.comers[:0]
	for i, m := range pl.moves {
		if len(w.machines[m.to].evictions) > 0 {
			pl.comers = append(pl.comers, int32(i))
		}
	}
	to := func(i int32) cluster.NodeID { return pl.moves[i].to }
	slices.SortStableFunc(pl.comers, func(a, b int32) int { return cmp.Compare(to(a), to(b)) })
	for from, end := 0, 0; from < len(pl.comers); from = end {
		n := to(pl.comers[from])
		for end = from; end < len(pl.comers) && to(pl.comers[end]) == n; {
			end++
		}
		pl.tasks = pl.tasks[:0]
		for _, t := range w.machines[n].tenants {
			if w.yields(s, t) {
				pl.tasks = append(pl.tasks, t)
			}
		}
		slices.SortFunc(pl.tasks, func(a, b cluster.TaskID) int {
			x, y := &w.members[a], &w.members[b]
			return cmp.Or(cmp.Compare(evicting(&x.terms), evicting(&y.terms)), cmp.Compare(y.seq, x.seq))
		})
		comers, evicted := p.evicted(s, n, pl.comers[from:end])
		for _, t := range pl.tasks[:evicted] {
			pl.moves = append(pl.moves, move{task: t, class: noClass, from: n, to: cluster.NoNode})
		}
		p.letIn(s, n, comers, evicted)
	}
	pl.moves = slices.DeleteFunc(pl.moves, func(m move) bool { return m.from == m.to })
}

// letIn lets those who come take the free slots of a node, but for as many as are
// evicted: who does not fit in these, then the last of the others.
func (p *Policy) letIn(s *cluster.State, n cluster.NodeID, comers []int32, evicted int) {
	moves := p.placer.moves
	for _, wantsLarge := range [2]bool{true, false} {
		for _, i := range slices.Backward(comers) {
			m := &moves[i]
			if large := !s.RoomNow(p.net.members[m.task].shape, n); large != wantsLarge {
				continue
			}
			if m.free = evicted == 0; !m.free {
				evicted--
			}
		}
	}
}

// evicted is how many tenants leave a node for those who come: as many as pass beyond
// the free slots, and one for each that does not fit in these. Who comes and gains nothing
// by it is to go nowhere, and is left out of the list.
func (p *Policy) evicted(s *cluster.State, n cluster.NodeID, comers []int32) (rest []int32, count int) {
	w, pl := p.net, &p.placer
	load, _ := w.loadOf(s, n)
	for len(comers) > 0 {
		var beyond int
		w.steps, beyond = w.passing(n, load, w.machines[n].slots, int64(len(comers)), w.steps[:0])
		last, large, useless := w.steps[len(w.steps)-1].Cost, 0, -1
		for at, i := range comers {
			m := &pl.moves[i]
			isLarge := !s.RoomNow(w.members[m.task].shape, n)
			if isLarge {
				large++
			}
			if (beyond > 0 || isLarge) && w.members[m.task].terms.Wait <= m.cost+last {
				useless = at
			}
		}
		if useless < 0 {
			return comers, min(max(beyond, large), len(w.machines[n].evictions))
		}
		pl.moves[comers[useless]].to = cluster.NoNode
		comers = slices.Delete(comers, useless, useless+1)
	}
	return comers, 0
}

// patient puts off all for which somebody has to leave, while others find a place for
// which nobody has to. Where several requests ask, nodes have more room than their slots
// show, and the next solve may know a place without victims.
func (pl *placer) patient() {
	if pl.left == nil {
		pl.left, pl.at = map[cluster.NodeID]bool{}, map[cluster.NodeID]int32{}
	}
	clear(pl.left)
	for _, m := range pl.moves {
		pl.left[m.from] = m.from != cluster.NoNode
	}
	leaves := func(m move) bool { return pl.left[m.from] || pl.left[m.to] && !m.free }
	if slices.ContainsFunc(pl.moves, func(m move) bool { return !leaves(m) }) {
		pl.moves = slices.DeleteFunc(pl.moves, leaves)
	}
}

// spare leaves out of a bundle whom it does not need to leave, the dearest first. In the
// flow one leaves for each who comes beyond the free slots; where those who come are
// smaller, or have room that the slots did not show, fewer may do.
func (p *Policy) spare(t *sched.Trial, bundle []move, leaving int) []move {
	if p.net.moves {
		return bundle // each is a unit, and where it went counts
	}
	for i := leaving - 1; i >= 0; i-- {
		if p.fitsWithout(t, bundle, i) {
			bundle = slices.Delete(bundle, i, i+1)
		}
	}
	return bundle
}

// fitsWithout reports whether a bundle could be done if one of those who leave stayed.
func (p *Policy) fitsWithout(t *sched.Trial, bundle []move, stays int) bool {
	s, mark := t.State(), t.Mark()
	defer t.Rollback(mark)
	p.net.looks += int64(len(bundle))
	for i, m := range bundle {
		a := sched.Action{Kind: sched.Place, Task: m.task, Attempt: s.Task(m.task).Attempt, Node: m.to}
		if m.from != cluster.NoNode {
			a.Kind, a.Node = sched.Evict, 0
		}
		if i != stays && t.Try(a).Refused() {
			return false
		}
	}
	return true
}
