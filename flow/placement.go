package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched"
)

// This file turns flow into bundles. A unit that leaves a task group by way of
// aggregators is followed to its port; units of a task group are interchangeable, so
// that whose it is, is chosen here: of those that wait, the dearest to leave
// waiting; of those that run on a node where fewer stay, the latest submitted.

// placer is where the units of the task groups went, and what comes of it.
type placer struct {
	moves      []move
	free       []place                  // scratch: where units of a task group went
	tasks      []cluster.TaskID         // scratch: whose they are
	taskGroups []int32                  // scratch: whose units are looked at
	comers     []int32                  // scratch: moves to nodes with tenants
	unsettled  []int32                  // task groups whose flow was not made true
	whole      bool                     // the flow is: what it wants and is refused cannot be had
	parent     []int32                  // of each move: the component it is in
	left       map[cluster.NodeID]bool  // nodes that somebody leaves
	at         map[cluster.NodeID]int32 // a move that has to do with the node
	walk       []walk                   // by group
	stamp      uint32
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

// place is where a unit went, and what its way to the port cost.
type place struct {
	node cluster.NodeID
	cost Cost
}

// walk is how far the flow that leaves a group has been followed.
type walk struct {
	stamp uint32
	next  int32
	left  int64
}

// place makes a plan of the flow, and reports how many tasks were placed, and how
// many would have been but for a refusal. Where the flow is not whole, nothing
// that runs is touched.
func (p *Policy) place(t *sched.Trial, whole bool, out *sched.Plan) (placed, refused int) {
	w := p.net
	pl := &p.placer
	pl.moves, pl.whole = pl.moves[:0], whole
	pl.stamp++
	for len(pl.walk) < len(w.groups) {
		pl.walk = append(pl.walk, walk{})
	}
	for _, row := range w.placing(p.solver, pl, whole) {
		p.settle(row, whole)
	}
	if whole && !w.moves {
		p.evict(t.View())
		if len(w.asking) > 1 {
			pl.postponePreemptors()
		}
	}
	w.looks += int64(len(pl.moves))
	if pl.independent() {
		for i := range pl.moves {
			if p.do(t, pl.moves[i:i+1], out) {
				placed++
			} else {
				refused++
			}
		}
		return placed, refused
	}
	return p.doTogether(t, out)
}

// placing lists the task groups whose units may have gone elsewhere than they are.
// Running tasks are not touched by a flow that is not whole, and so are asked about
// later.
func (w *network) placing(solver Solver, pl *placer, whole bool) []int32 {
	pl.taskGroups = append(pl.taskGroups[:0], w.active...)
	if whole && len(w.stayRow) > 0 {
		pl.taskGroups = append(pl.taskGroups, pl.unsettled...)
		pl.unsettled = pl.unsettled[:0]
		pl.taskGroups = w.rerouted(solver, pl.taskGroups)
	}
	slices.Sort(pl.taskGroups)
	pl.taskGroups = slices.Compact(pl.taskGroups)
	return pl.taskGroups
}

// rerouter is a solver that knows who may have been rerouted since it was last asked;
// see mcmf.Solver.Rerouted.
type rerouter interface {
	Rerouted() (nodes []mcmf.Node, all bool)
}

// rerouted appends the task groups of running tasks to a list whose units may have
// left by another arc than before.
func (w *network) rerouted(solver Solver, list []int32) []int32 {
	if r, ok := solver.(rerouter); ok {
		if nodes, all := r.Rerouted(); !all {
			for _, v := range nodes {
				if row := w.owner[v]; row >= 0 && len(w.taskGroups[row].stays) > 0 {
					list = append(list, row)
				}
			}
			return list
		}
	}
	for row := range w.taskGroups {
		if c := &w.taskGroups[row]; c.live && len(c.stays) > 0 {
			list = append(list, int32(row))
		}
	}
	return list
}

// settle notes where each unit of a task group went.
func (p *Policy) settle(row int32, whole bool) {
	w, pl := p.net, &p.placer
	c := &w.taskGroups[row]
	if !c.live {
		return
	}
	pl.free, pl.tasks = pl.free[:0], pl.tasks[:0]
	for _, o := range c.outs {
		// One that is not whole may fill arcs to the brim, though nobody has so much to send.
		for range min(p.solver.Flow(o.arc), c.units) {
			at := place{o.node, w.graph.Arc(o.arc).Cost}
			if o.group >= 0 {
				var ok bool
				if at, ok = p.follow(o.group, o.cost); !ok {
					break // a flow that is not whole may end on the way
				}
			}
			pl.free = append(pl.free, at)
		}
	}
	if len(c.stays) > 0 {
		if whole {
			p.leaving(row)
		}
		return
	}
	for _, sh := range c.shares {
		p.chosen(sh)
	}
	for i, task := range pl.tasks {
		if i == len(pl.free) {
			break
		}
		pl.moves = append(pl.moves, move{task: task, taskGroup: row, from: cluster.NoNode, to: pl.free[i].node, cost: pl.free[i].cost})
	}
}

// follow takes a unit, at a cost so far, from a group to the node where it ends.
func (p *Policy) follow(g int32, cost Cost) (place, bool) {
	w := p.net
	for {
		gr, k := &w.groups[g], &p.placer.walk[g]
		if k.stamp != p.placer.stamp {
			*k = walk{stamp: p.placer.stamp, next: -1}
		}
		for k.left == 0 {
			k.next++
			i := int(k.next)
			switch {
			case i < len(gr.below):
				k.left = p.solver.Flow(gr.below[i].arc)
			case i < len(gr.below)+len(gr.chosen):
				n := gr.chosen[i-len(gr.below)]
				k.left = p.solver.Flow(w.requests[gr.request].offers[n].arc)
			default:
				return place{}, false
			}
		}
		k.left--
		if i := int(k.next); i >= len(gr.below) {
			n := gr.chosen[i-len(gr.below)]
			arc := w.requests[gr.request].offers[n].arc
			return place{n, cost + p.unit(arc, p.solver.Flow(arc)-1)}, true
		}
		cost += w.graph.Arc(gr.below[k.next].arc).Cost
		g = gr.below[k.next].group
	}
}

// chosen notes the waiting tasks of a share that do not stay waiting.
func (p *Policy) chosen(row int32) {
	w, pl := p.net, &p.placer
	sh := &w.shares[row]
	units := int64(0)
	for _, l := range sh.levels {
		units += l.Capacity
	}
	units -= p.solver.Flow(sh.arc)
	from := len(pl.tasks)
	for range units {
		t, ok := w.first(row)
		if !ok {
			break
		}
		sh.waiting.Pop()
		pl.tasks = append(pl.tasks, t)
	}
	for _, t := range pl.tasks[from:] {
		m := &w.members[t]
		sh.waiting.Push(entry{m.terms.Wait, m.seq - 1, t, m.ticket})
	}
}

// leaving notes the running tasks of a task group that do not stay where they are.
func (p *Policy) leaving(row int32) {
	w, pl := p.net, &p.placer
	for _, r := range w.taskGroups[row].stays {
		st := &w.stays[r]
		stays := p.solver.Flow(st.arc)
		for i := int(stays); i < len(st.tasks); i++ {
			to := cluster.NoNode
			if n := len(pl.free); n > 0 {
				to, pl.free = pl.free[n-1].node, pl.free[:n-1]
			}
			if to != st.node {
				pl.moves = append(pl.moves, move{task: st.tasks[i], taskGroup: row, from: st.node, to: to})
			}
		}
	}
}

// independent reports whether no move depends on another.
func (pl *placer) independent() bool {
	for _, m := range pl.moves {
		if m.from != cluster.NoNode {
			return false
		}
	}
	return true
}

// doTogether makes a bundle of all moves that depend on each other.
func (p *Policy) doTogether(t *sched.Trial, out *sched.Plan) (placed, refused int) {
	pl := &p.placer
	pl.components()
	budget := p.options.Moves
	for from := 0; from < len(pl.moves); {
		to, moving, leaving := from, 0, 0
		for ; to < len(pl.moves) && pl.parent[to] == pl.parent[from]; to++ {
			if pl.moves[to].from != cluster.NoNode {
				leaving++
				if pl.moves[to].to != cluster.NoNode {
					moving++
				}
			}
		}
		bundle := pl.moves[from:to]
		switch {
		case leaving == 0:
			for i := range bundle {
				if p.do(t, bundle[i:i+1], out) {
					placed++
				} else {
					refused++
				}
			}
		case moving > budget:
			pl.postpone(bundle)
		case p.do(t, p.spare(t, bundle, leaving), out):
			budget -= moving
			placed += len(bundle)
		default:
			refused++
			pl.postpone(bundle)
		}
		from = to
	}
	return placed, refused
}

// postpone remembers task groups whose flow is not what is done.
func (pl *placer) postpone(bundle []move) {
	for _, m := range bundle {
		if m.taskGroup != noTaskGroup && m.from != cluster.NoNode {
			pl.unsettled = append(pl.unsettled, m.taskGroup)
		}
	}
}

// components sorts moves by component, and in each those that leave come first. Moves
// depend on each other where somebody comes to a node that somebody leaves; who comes to
// a free slot there depends on nobody, and goes before all.
func (pl *placer) components() {
	clear(pl.left)
	clear(pl.at)
	for _, m := range pl.moves {
		pl.left[m.from] = true
	}
	pl.parent = pl.parent[:0]
	for i, m := range pl.moves {
		pl.parent = append(pl.parent, int32(i))
		if m.to != cluster.NoNode && pl.left[m.to] && !m.free {
			pl.link(m.to, int32(i))
		}
	}
	for i, m := range pl.moves {
		if _, comes := pl.at[m.from]; comes && m.from != cluster.NoNode {
			pl.link(m.from, int32(i))
		}
	}
	type sorted struct {
		root int32
		move move
	}
	list := make([]sorted, len(pl.moves))
	for i, m := range pl.moves {
		list[i] = sorted{pl.root(int32(i)), m}
	}
	slices.SortStableFunc(list, func(a, b sorted) int {
		waits := func(m move) int {
			if m.from == cluster.NoNode {
				return 1
			}
			return 0
		}
		bound := func(m move) int {
			if m.free {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(bound(a.move), bound(b.move)), cmp.Compare(a.root, b.root), cmp.Compare(waits(a.move), waits(b.move)))
	})
	for i, l := range list {
		pl.moves[i], pl.parent[i] = l.move, l.root
	}
}

// link puts a move into the component of those that have to do with the node.
func (pl *placer) link(n cluster.NodeID, move int32) {
	other, ok := pl.at[n]
	if !ok {
		pl.at[n] = move
		return
	}
	a, b := pl.root(other), pl.root(move)
	pl.parent[max(a, b)] = min(a, b)
}

// root is the first move of a component.
func (pl *placer) root(move int32) int32 {
	for pl.parent[move] != move {
		pl.parent[move] = pl.parent[pl.parent[move]]
		move = pl.parent[move]
	}
	return move
}

// do tries a bundle: evictions, then placements. What is refused is left out of
// the network until its node changes, unless it is refused as the flow is not whole:
// who was to leave first is still there.
func (p *Policy) do(t *sched.Trial, bundle []move, out *sched.Plan) bool {
	s, mark := t.View(), t.Mark()
	refuse := func(m move, r cluster.Refusal) bool {
		t.Rollback(mark)
		out.Drop()
		if !p.placer.whole {
			return false
		}
		if m.to != cluster.NoNode {
			p.net.avoid(s, m, r)
			return false
		}
		for _, comer := range bundle { // one that has to stay, as constraints count it: nobody may come for it
			if comer.to != cluster.NoNode {
				p.net.avoid(s, comer, r)
			}
		}
		return false
	}
	for _, m := range bundle {
		if m.from == cluster.NoNode {
			continue
		}
		a := sched.Action{Kind: sched.Evict, Task: m.task, Attempt: s.Task(m.task).Attempt}
		if r := t.Try(a); r.Refused() {
			return refuse(m, r)
		}
		out.Add(a)
	}
	for _, m := range bundle {
		if m.to == cluster.NoNode {
			continue
		}
		a := sched.Action{Kind: sched.Place, Task: m.task, Attempt: s.Task(m.task).Attempt, Node: m.to}
		if r := t.Try(a); r.Refused() {
			return refuse(m, r)
		}
		out.Add(a)
	}
	out.Close()
	for _, m := range bundle {
		p.net.updateTask(s, m.task)
		for _, n := range [2]cluster.NodeID{m.from, m.to} {
			if n != cluster.NoNode {
				p.net.note(n)
			}
		}
	}
	return true
}

// avoid closes the way by which a task came to a node that refuses it, until the
// node changes. A task that may not be beside others of its job, although its shape
// does not say so (Shape.PerNode), gets a request of its own job.
func (w *network) avoid(s *cluster.View, m move, r cluster.Refusal) {
	if r.Code == cluster.NotApart && s.Shape(s.Task(m.task).Shape).PerNode == 0 && !w.members[m.task].apart {
		w.leave(m.task)
		w.members[m.task].apart = true
		w.updateTask(s, m.task)
		return
	}
	if m.to == cluster.NoNode {
		return
	}
	c := &w.taskGroups[w.shares[w.members[m.task].share].taskGroup]
	for _, o := range c.outs {
		if o.group < 0 && o.node == m.to {
			w.graph.SetArc(o.arc, 0, 0, o.cost)
		}
	}
	if offers := w.requests[c.request].offers; int(m.to) < len(offers) && offers[m.to].group >= 0 {
		w.withdraw(c.request, m.to)
	}
}
