package fairlead

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/evict"
	"fairlead.dev/fairlead/sched/worth"
)

// This file makes room for a task by moving others to where there is room for them, in one bundle with its placement. It is tried when a
// task has waited so long that it may claim a node: until then it may find room that costs nobody any work. Nobody knows how long it
// would wait; it is taken to wait as long again as it has. So those who are moved may lose as much work as the task could have done
// while it waited. Who stands above the task is not moved for it.

const (
	// displacedAtOnce bounds the tasks for which that is tried in a round, and placesTried the nodes on which.
	displacedAtOnce = 8
	placesTried     = 16
)

// displacing is a node, and what it lacks.
type displacing struct {
	node cluster.NodeID
	lack int64
}

// makeWay places the first of the group, or what its gang has lost, where others can be moved out of the way.
func (p moving) makeWay(g *group) bool {
	if returns(p.t.View(), g) {
		return p.bringBack(g)
	}
	return p.displace(p.waiting.First(g))
}

// displace places a task where others can be moved out of its way. It tries the nodes that lack least.
func (p moving) displace(task cluster.TaskID) bool {
	s := p.t.View()
	id, own := s.Task(task).Shape, p.who.waiting(s, s.Task(task))
	if p.moves.off || cluster.EvictsNobody(s, id) {
		return false
	}
	nodes := p.moves.near[:0]
	for _, n := range p.table.Order.At {
		if int(n) < s.NodeRows() && s.FitsEmpty(id, n) && !p.claims.keepsOff(n, task, own) && !s.Crowded(task, n) && !s.Breaks(id, n).Refused() {
			nodes = append(nodes, displacing{n, lacking(s, s.Shape(id).Demand, n)})
		}
	}
	p.table.Ticks += int64(s.NodeRows())
	slices.SortStableFunc(nodes, func(a, b displacing) int { return cmp.Compare(a.lack, b.lack) })
	p.moves.near = nodes
	for i := range nodes[:min(len(nodes), placesTried)] {
		if p.displaceOn(nodes[i].node, task, own) {
			p.waiting.Leave(task)
			p.users.look(s, task)
			return true
		}
	}
	return false
}

// displaceOn moves those away from the node whose work is the least, if all of them find another place. Who does not is left out, and the
// others are tried again.
func (p moving) displaceOn(n cluster.NodeID, task cluster.TaskID, own rank) bool {
	m, s, v := &p.moves, p.t.View(), &p.victims
	m.tenants.Rule = func(s *cluster.View, c *evict.Candidate) bool {
		if !p.movable(s, c.Task) || m.rests(s, c.Task) {
			return false
		}
		r, _ := p.who.running(s, s.Task(c.Task))
		c.Rank, c.Price = 0, v.loss(s, s.Task(c.Task))+1
		return standing(r) >= standing(own)
	}
	m.tenants.ForgetAll()
	if !v.search.Begin(s, s.Task(task).Shape, n) {
		return false
	}
	v.search.Anyhow = false
	list := slices.Clone(v.search.Releasable(s, m.tenants.On(s, n)))
	p.table.Ticks += int64(len(list))
	for {
		v.search.Begin(s, s.Task(task).Shape, n)
		loss, ok := v.search.Choose(evict.LeastSum, list)
		if moves := len(v.search.Victims); !ok || moves == 0 || v.search.Violations > 0 || loss-int64(moves) > v.work(s, s.Task(task)) {
			return false
		}
		stuck, ok := p.moveAll(n, task)
		if ok || stuck == cluster.NoTask {
			return ok
		}
		list = slices.DeleteFunc(list, func(c evict.Candidate) bool { return c.Task == stuck })
	}
}

// moveAll tries to move all who were chosen, and to place the task. Stuck is who has no other place.
func (p moving) moveAll(n cluster.NodeID, task cluster.TaskID) (stuck cluster.TaskID, ok bool) {
	m := &p.moves
	m.bundle = m.bundle[:0]
	gain, stuck, ok := p.moveOut(n, task, func(cluster.TaskID) bool { return false })
	if ok {
		p.do(gain, 1)
	}
	return stuck, ok
}

// moveOut tries to move all who were chosen, and to place the task, as a part of the bundle. Who has no other place leaves without one if it may; else it is stuck, and
// all is as it was.
func (p moving) moveOut(n cluster.NodeID, task cluster.TaskID, mayLeave func(cluster.TaskID) bool) (gain worth.Value, stuck cluster.TaskID, ok bool) {
	m, s, from, mark := &p.moves, p.t.View(), len(p.moves.bundle), p.t.Mark()
	m.list = m.list[:0]
	for i := range p.victims.search.Victims {
		m.list = append(m.list, p.victims.search.Victims[i].Task)
	}
	fail := func(stuck cluster.TaskID) (worth.Value, cluster.TaskID, bool) {
		p.t.Rollback(mark)
		for _, a := range m.bundle[from:] {
			p.touch(a)
		}
		m.bundle = m.bundle[:from]
		return 0, stuck, false
	}
	gain = p.worth.But(s, n, m.list...) - p.worth.Of(s, n)
	for _, victim := range m.list {
		gain += p.paid(victim)
		cost, moved := p.moveFrom(victim, n)
		if leave := (sched.Action{Kind: sched.Evict, Task: victim, Attempt: s.Task(victim).Attempt}); !moved && mayLeave(victim) && !p.t.Try(leave).Refused() {
			m.bundle, moved = append(m.bundle, leave), true
		}
		if gain -= cost; !moved {
			return fail(victim)
		}
	}
	place := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n}
	if p.t.Try(place).Refused() {
		return fail(cluster.NoTask)
	}
	m.bundle = append(m.bundle, place)
	return gain, cluster.NoTask, true
}
