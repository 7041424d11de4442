package keeper

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file is one decision: who waits has room where, and which nodes are woken for the others.

// plan is a decision that is being made.
type plan struct {
	*Keeper
	s      *cluster.View
	now    cluster.Time
	orders *Orders

	comers []cluster.TaskID                  // who would be placed if there was room
	shapes []cluster.ShapeID                 // of those
	of     map[cluster.ShapeID]bool          // whether a node that is off would take tasks of the shape
	room   map[cluster.NodeID]cluster.Vector // what is left of nodes on which somebody was counted
	stands map[stand]int32                   // how many were counted there
	from   map[cluster.ShapeID]cluster.NodeID
}

// stand is a job on a node.
type stand struct {
	node cluster.NodeID
	job  cluster.JobID
}

// newPlan looks at who waits.
func newPlan(k *Keeper, s *cluster.View, now cluster.Time, orders *Orders) *plan {
	p := &plan{Keeper: k, s: s, now: now, orders: orders}
	awaits := map[cluster.JobID]bool{}
	for _, t := range k.waiting {
		task := s.Task(t)
		if cluster.IsGang(s, task.Job) {
			short, known := awaits[task.Job]
			if !known {
				short = cluster.GangAwaits(s, task.Job)
				awaits[task.Job] = short
			}
			if short { // it cannot be placed however much room there is
				continue
			}
		}
		p.comers = append(p.comers, t)
		p.shapes = append(p.shapes, task.Shape)
	}
	slices.Sort(p.shapes)
	p.shapes = slices.Compact(p.shapes)
	return p
}

// wake wakes nodes for those who wait.
func (p *plan) wake() {
	p.of, p.room, p.stands, p.from = map[cluster.ShapeID]bool{}, map[cluster.NodeID]cluster.Vector{}, map[stand]int32{}, map[cluster.ShapeID]cluster.NodeID{}
	for _, t := range p.comers {
		if p.helps(p.s.Task(t).Shape) && !p.served(t) {
			p.wakeFor(t)
		}
	}
	slices.Sort(p.orders.Wake)
}

// served reports whether there is room for the task, or will be, on which it counts.
func (p *plan) served(t cluster.TaskID) bool {
	if until := p.patience(t); until > p.now && p.onAny(t) {
		p.orders.Waits = min(p.orders.Waits, until)
		return true
	}
	for _, n := range p.empty {
		if until := p.since[n] + p.rules.Patience(); until > p.now && p.takes(t, n) && p.count(t, n) {
			p.orders.Waits = min(p.orders.Waits, until)
			return true
		}
	}
	for _, list := range [][]cluster.NodeID{p.waking, p.orders.Wake} {
		if slices.ContainsFunc(list, func(n cluster.NodeID) bool { return p.takes(t, n) && p.count(t, n) }) {
			return true
		}
	}
	return false
}

// patience is until when the task counts on any node that is on.
func (p *plan) patience(t cluster.TaskID) cluster.Time {
	return p.s.Task(t).Account.Since + p.rules.Patience()
}

// wakeFor wakes a node for the task, and more where it has waited beside nodes with nothing on them, as many as those are.
func (p *plan) wakeFor(t cluster.TaskID) {
	more := 1
	if p.patience(t) <= p.now {
		vain := 0
		for _, n := range p.empty {
			if p.takes(t, n) {
				vain++
			}
		}
		more = max(more, vain)
	}
	for i := range more {
		n, found := p.cheapest(t)
		if !found {
			return
		}
		p.orders.Wake = append(p.orders.Wake, n)
		if i == 0 {
			p.count(t, n)
		}
	}
}

// onAny counts the task on the first node that is on and has room for it, and reports whether there is one. Where one of the same shape found none, none
// is left, unless tasks of its job are in the way.
func (p *plan) onAny(t cluster.TaskID) bool {
	shape := p.s.Task(t).Shape
	n := p.from[shape]
	if p.s.Shape(shape).PerNode > 0 {
		n = 0
	}
	for ; int(n) < p.s.NodeRows(); n++ {
		if p.s.NodeLive(n) && p.world.Standing(n) == On && !p.s.Admits(t, n).Refused() && p.count(t, n) {
			break
		}
	}
	p.from[shape] = n
	return int(n) < p.s.NodeRows()
}

// count counts the task on the node if that has room for it beside those that were counted there, and reports whether it has.
func (p *plan) count(t cluster.TaskID, n cluster.NodeID) bool {
	task := p.s.Task(t)
	shape := p.s.Shape(task.Shape)
	at := stand{n, task.Job}
	if shape.PerNode > 0 && p.stands[at] >= shape.PerNode {
		return false
	}
	room, known := p.room[n]
	if !known {
		room = slices.Clone(p.s.Limit(n))
		for kind := range room {
			room[kind] += p.s.LeavingDemand(n)[kind] - p.s.Used(n)[kind]
		}
		p.room[n] = room
	}
	if !shape.Demand.Fits(room) {
		return false
	}
	for kind, q := range shape.Demand {
		room[kind] -= q
	}
	p.stands[at]++
	return true
}

// cheapest is the node that draws least of those that are off, would take the task and are not woken yet.
func (p *plan) cheapest(t cluster.TaskID) (best cluster.NodeID, found bool) {
	least := int64(0)
	for _, n := range p.off {
		if watts := p.world.Watts(n); (!found || watts < least) && p.takes(t, n) && !slices.Contains(p.orders.Wake, n) {
			best, least, found = n, watts, true
		}
	}
	return best, found
}

// helps reports whether a node that is off would take tasks of the shape.
func (p *plan) helps(shape cluster.ShapeID) bool {
	is, known := p.of[shape]
	if !known {
		is = slices.ContainsFunc(p.off, func(n cluster.NodeID) bool { return p.holds(shape, n) })
		p.of[shape] = is
	}
	return is
}

// wanted reports whether somebody waits whom the node would take.
func (p *plan) wanted(n cluster.NodeID) bool {
	return slices.ContainsFunc(p.shapes, func(shape cluster.ShapeID) bool { return p.holds(shape, n) })
}

// takes reports whether the node would take the task if it was on and nothing was on it.
func (p *plan) takes(t cluster.TaskID, n cluster.NodeID) bool { return p.holds(p.s.Task(t).Shape, n) }

// holds is takes for any task of the shape.
func (p *plan) holds(shape cluster.ShapeID, n cluster.NodeID) bool {
	return p.s.Shape(shape).Demand.Fits(p.s.Limit(n)) && !p.s.RefuseDevices(shape, n, cluster.Device.WhenEmpty).Refused() && p.world.Admits(shape, n)
}
