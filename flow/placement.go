package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/evict"
)

// This file turns flow into bundles. A unit that leaves a task group by way of
// aggregators is followed to its port; units of a task group are interchangeable, so
// that whose it is, is chosen here: of those that wait, the dearest to leave
// waiting; of those that run on a node where fewer stay, the latest submitted.

// placer is where the units of the task groups went, and what comes of it.
type placer struct {
	net        *network
	routing    *routing
	most       int // tasks that a round may move
	walks      walks
	components components

	moves      []move
	free       []place      // scratch: where units of a task group went
	tasks      []book.Entry // scratch: whose they are
	taskGroups []int32      // scratch: whose units are looked at
	comers     []int32      // scratch: moves to nodes with tenants
	leavers    []evict.Candidate
	unsettled  []int32 // task groups whose flow was not made true
}

func newPlacer(r *routing, most int) placer {
	return placer{
		net: r.net, routing: r, most: most,
		walks: walks{routing: r}, components: components{left: map[cluster.NodeID]bool{}, at: map[cluster.NodeID]int32{}},
	}
}

// move is what becomes of a task: from NoNode it waits, to NoNode it is evicted.
type move struct {
	task      cluster.TaskID
	taskGroup int32 // noTaskGroup of a tenant that has none
	from, to  cluster.NodeID
	cost      Cost // of the way of a task that waits to the port
	free      bool // it comes to a free slot, whoever leaves the node
}

const noTaskGroup int32 = -1

// evicts reports whether it is a tenant that leaves, which is no unit.
func (m *move) evicts() bool { return m.from != cluster.NoNode && m.taskGroup == noTaskGroup }

// place makes a plan of the flow, and reports how many tasks were placed, and how
// many would have been but for a refusal. Where the flow is not whole, nothing
// that runs is touched.
func (p *placer) place(r *round, whole bool) (placed, refused int) {
	w := p.net
	p.moves = p.moves[:0]
	p.walks.begin()
	for _, row := range p.placing(whole) {
		p.settle(row, whole)
	}
	if whole {
		p.evict(r.trial.View())
		if len(w.turn.asking) > 1 {
			p.moves = p.components.postponePreemptors(p.moves)
		}
	}
	w.answers.effort.looks += int64(len(p.moves))
	if independent(p.moves) {
		return p.each(r, p.moves, whole)
	}
	return p.doTogether(r, whole)
}

// each does moves of which none depends on another.
func (p *placer) each(r *round, moves []move, whole bool) (placed, refused int) {
	for i := range moves {
		if p.net.do(r, moves[i:i+1], whole) {
			placed++
		} else {
			refused++
		}
	}
	return placed, refused
}

// placing lists the task groups whose units may have gone elsewhere than they are.
// Running tasks are not touched by a flow that is not whole, and so are asked about
// later.
func (p *placer) placing(whole bool) []int32 {
	p.taskGroups = append(p.taskGroups[:0], p.net.turn.active...)
	if whole && p.net.stays.any() {
		p.taskGroups = append(p.taskGroups, p.unsettled...)
		p.unsettled = p.unsettled[:0]
		p.taskGroups = p.routing.rerouted(p.taskGroups)
	}
	slices.Sort(p.taskGroups)
	p.taskGroups = slices.Compact(p.taskGroups)
	return p.taskGroups
}

// settle notes where each unit of a task group went.
func (p *placer) settle(row int32, whole bool) {
	w := p.net
	c := w.group(row)
	if !c.live {
		return
	}
	p.free = p.free[:0]
	for _, o := range c.outs {
		// One that is not whole may fill arcs to the brim, though nobody has so much to send.
		for range min(p.routing.solver.Flow(o.arc), c.units) {
			at := place{o.node, w.graph.Arc(o.arc).Cost}
			if o.group >= 0 {
				var ok bool
				if at, ok = p.walks.follow(o.group, o.cost); !ok {
					break // a flow that is not whole may end on the way
				}
			}
			p.free = append(p.free, at)
		}
	}
	if len(c.stays) > 0 {
		if whole {
			p.leaving(row)
		}
		return
	}
	p.tasks = p.tasks[:0]
	for _, row := range c.shares {
		sh := &w.shares.list[row]
		p.tasks = w.shares.tickets.Firsts(&sh.waiting, sh.units()-p.routing.solver.Flow(sh.arc), p.tasks)
	}
	for i, e := range p.tasks[:min(len(p.tasks), len(p.free))] {
		p.moves = append(p.moves, move{task: e.Task, taskGroup: row, from: cluster.NoNode, to: p.free[i].node, cost: p.free[i].cost})
	}
}

// leaving notes the running tasks of a task group that do not stay where they are.
func (p *placer) leaving(row int32) {
	for _, r := range p.net.group(row).stays {
		st := &p.net.stays.list[r]
		stays := p.routing.solver.Flow(st.arc)
		for i := int(stays); i < len(st.tasks); i++ {
			to := cluster.NoNode
			if n := len(p.free); n > 0 {
				to, p.free = p.free[n-1].node, p.free[:n-1]
			}
			if to != st.node {
				p.moves = append(p.moves, move{task: st.tasks[i].task, taskGroup: row, from: st.node, to: to})
			}
		}
	}
}

// doTogether makes a bundle of all moves that depend on each other.
func (p *placer) doTogether(r *round, whole bool) (placed, refused int) {
	p.components.sort(p.moves)
	budget := p.most
	for from := 0; from < len(p.moves); {
		to, moving, leaving := from, 0, 0
		for ; to < len(p.moves) && p.components.parent[to] == p.components.parent[from]; to++ {
			if p.moves[to].from != cluster.NoNode {
				leaving++
				if p.moves[to].to != cluster.NoNode {
					moving++
				}
			}
		}
		bundle := p.moves[from:to]
		switch {
		case leaving == 0:
			more, no := p.each(r, bundle, whole)
			placed, refused = placed+more, refused+no
		case p.forbidden(r.trial.View(), bundle):
			r.undone = true
			refused++
			p.postpone(bundle)
		case moving > budget:
			r.undone = true
			p.postpone(bundle)
		case p.net.do(r, p.spare(r.trial, bundle, leaving), whole):
			budget -= moving
			placed += len(bundle)
		default:
			refused++
			p.postpone(bundle)
		}
		from = to
	}
	return placed, refused
}

// postpone remembers task groups whose flow is not what is done.
func (p *placer) postpone(bundle []move) {
	for _, m := range bundle {
		if m.taskGroup != noTaskGroup && m.from != cluster.NoNode {
			p.unsettled = append(p.unsettled, m.taskGroup)
		}
	}
}
