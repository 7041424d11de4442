package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file turns flow beyond the free slots of a node into evictions: which tenants
// leave, for whom, and which of those who come need nobody to leave. The flow only says
// how many pass; what it cannot say is that a tenant's room may hold two who come, and
// that who gains nothing is not to evict anybody.

// evict notes the tenants that have to leave for those who come: of equal price the
// latest submitted. Who comes and gains nothing by it, as the flow does not tell from who
// gains, stays waiting.
func (p *Policy) evict(s *cluster.View) {
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
			pl.moves = append(pl.moves, move{task: t, taskGroup: noTaskGroup, from: n, to: cluster.NoNode})
		}
		p.letIn(s, n, comers, evicted)
	}
	pl.moves = slices.DeleteFunc(pl.moves, func(m move) bool { return m.from == m.to })
}

// letIn lets those who come take the free slots of a node, but for as many as are
// evicted: who does not fit in these, then the last of the others.
func (p *Policy) letIn(s *cluster.View, n cluster.NodeID, comers []int32, evicted int) {
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
func (p *Policy) evicted(s *cluster.View, n cluster.NodeID, comers []int32) (rest []int32, count int) {
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

// postponePreemptors puts off all for which somebody has to leave, while others find a
// place for which nobody has to. Where several requests ask, nodes have more room than
// their slots show, and the next solve may know a place without victims.
func (pl *placer) postponePreemptors() {
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
	s, mark := t.View(), t.Mark()
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
