package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/evict"
)

// This file turns flow beyond the free slots of a node into evictions: which tenants
// leave, for whom, and which of those who come need nobody to leave. The flow only says
// how many pass; what it cannot say is that a tenant's room may hold two who come, and
// that who gains nothing is not to evict anybody.

// evict notes the tenants that have to leave for those who come: of equal price the
// latest submitted. Who comes and gains nothing by it, as the flow does not tell from who
// gains, stays waiting.
func (p *placer) evict(s *cluster.View) {
	w := p.net
	p.comers = p.comers[:0]
	for i, m := range p.moves {
		if m.to != cluster.NoNode && len(w.ports.nodes[m.to].evictions) > 0 {
			p.comers = append(p.comers, int32(i))
		}
	}
	to := func(i int32) cluster.NodeID { return p.moves[i].to }
	slices.SortStableFunc(p.comers, func(a, b int32) int { return cmp.Compare(to(a), to(b)) })
	for from, end := 0, 0; from < len(p.comers); from = end {
		n := to(p.comers[from])
		for end = from; end < len(p.comers) && to(p.comers[end]) == n; {
			end++
		}
		p.leavers = p.leavers[:0]
		for _, t := range w.tenants.of(s, n) {
			if w.ports.yields(s, &t) {
				p.leavers = append(p.leavers, t)
			}
		}
		slices.SortFunc(p.leavers, func(a, b evict.Candidate) int {
			return cmp.Or(cmp.Compare(a.Price, b.Price), cmp.Compare(b.Seq, a.Seq))
		})
		freed := p.freed(n)
		comers, evicted := p.evicted(s, n, freed, p.comers[from:end])
		for _, t := range p.leavers[:evicted] {
			p.moves = append(p.moves, move{task: t.Task, taskGroup: noTaskGroup, from: n, to: cluster.NoNode})
		}
		if freed == 0 {
			p.letIn(s, n, comers, evicted)
		}
	}
	p.moves = slices.DeleteFunc(p.moves, func(m move) bool { return m.from == m.to })
}

// freed is how many units leave a node, whose places others then have.
func (p *placer) freed(n cluster.NodeID) (units int64) {
	if !p.net.stays.any() {
		return 0
	}
	for _, m := range p.moves {
		if m.from == n && !m.evicts() {
			units++
		}
	}
	return units
}

// letIn lets those who come take the free slots of a node, but for as many as are
// evicted: who does not fit in these, then the last of the others.
func (p *placer) letIn(s *cluster.View, n cluster.NodeID, comers []int32, evicted int) {
	moves := p.moves
	for _, wantsLarge := range [2]bool{true, false} {
		for _, i := range slices.Backward(comers) {
			m := &moves[i]
			if large := !s.RoomNow(p.net.members.of(m.task).shape, n); large != wantsLarge {
				continue
			}
			if m.free = evicted == 0; !m.free {
				evicted--
			}
		}
	}
}

// evicted is how many tenants leave a node for those who come: as many as pass beyond
// the free slots and those that units leave, and one for each that does not fit in these. Who comes and gains nothing
// by it, or is not to have anybody evicted, is to go nowhere, and is left out of the list.
func (p *placer) evicted(s *cluster.View, n cluster.NodeID, freed int64, comers []int32) (rest []int32, count int) {
	w := p.net
	load, _ := w.answers.load(s, n)
	room := w.ports.nodes[n].slots + freed
	var steps []Step
	for len(comers) > 0 {
		var beyond int
		steps, beyond = w.ports.passing(n, load, room, int64(len(comers)), w.ports.steps[:0])
		w.ports.steps = steps
		last, large, useless := steps[len(steps)-1].Cost, 0, -1
		for at, i := range comers {
			m := &p.moves[i]
			isLarge := !s.RoomNow(w.members.of(m.task).shape, n)
			if isLarge {
				large++
			}
			gains := w.members.of(m.task).terms.Wait > m.cost+last && !p.evictsNobody(s, m)
			if (beyond > 0 || isLarge) && m.from == cluster.NoNode && !gains {
				useless = at
			}
		}
		if useless < 0 {
			return comers, min(max(beyond, large), len(w.ports.nodes[n].evictions))
		}
		p.moves[comers[useless]].to = cluster.NoNode
		comers = slices.Delete(comers, useless, useless+1)
	}
	return comers, 0
}

// evictsNobody reports whether nobody is to leave for the task that moves.
func (p *placer) evictsNobody(s *cluster.View, m *move) bool {
	return cluster.EvictsNobody(s, p.net.members.of(m.task).shape)
}

// forbidden reports whether somebody for whom nobody is to leave comes to a node that others of the bundle leave. The way by which it
// came is closed until the node changes.
func (p *placer) forbidden(s *cluster.View, bundle []move) (is bool) {
	for i := range bundle {
		m := &bundle[i]
		if m.to == cluster.NoNode || !p.evictsNobody(s, m) || !slices.ContainsFunc(bundle, func(o move) bool { return o.from == m.to }) {
			continue
		}
		p.net.avoid(s, m.task, m.to, cluster.Refusal{})
		is = true
	}
	return is
}

// spare leaves out of a bundle whom it does not need to leave, the dearest first. In the
// flow one leaves for each who comes beyond the free slots; where those who come are
// smaller, or have room that the slots did not show, fewer may do.
func (p *placer) spare(t *sched.Trial, bundle []move, leaving int) []move {
	for i := leaving - 1; i >= 0; i-- {
		if bundle[i].evicts() && p.fitsWithout(t, bundle, i) {
			bundle = slices.Delete(bundle, i, i+1)
		}
	}
	return bundle
}

// fitsWithout reports whether a bundle could be done if one of those who leave stayed.
func (p *placer) fitsWithout(t *sched.Trial, bundle []move, stays int) bool {
	mark := t.Mark()
	defer t.Rollback(mark)
	p.net.answers.effort.looks += int64(len(bundle))
	_, r := p.net.try(t, bundle, stays)
	return !r.Refused()
}
