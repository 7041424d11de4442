package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched/book"
)

// This file makes flow safe. A flow conserves counts, a node has vectors. So a
// node lets through as many units as it has slots, where the slots' envelopes sum
// to no more than what is left of the node: then any flow fits, in every dimension.
// Arcs by fit count, as in Firmament's published models, take a node over its limit
// as soon as two shapes share it.
//
// The envelope of a node's slots is the most, kind by kind, of what those requests
// ask for that wait and fit on the node. So each of them fits in each slot, and
// with one shape in the cluster the slots are exactly what fits. With several the
// rest is made slots again in the next solve of the same round.
//
// A running task that may be moved or stopped holds a slot of its own beside those, if
// every request would fit in it. It shares it, so to speak: who takes it moves it out. A
// request too large for the free slots of a node counts on a shared one, and its unit may
// pass through a free one all the same. Where tasks are stopped, its arc into the port
// then asks for the price of that, and it evicts somebody (tenants.go). Where they are
// moved, and where more such units come than tasks share, the trial refuses the flow, as
// commit would, and the next solve goes without that arc.

// mostSlots bounds the slots of a node where requests differ, so that prices, which
// do not know what others add in the same solve, are made anew before a node fills.
const mostSlots = 16

// portNode is a node of the cluster, in the network.
type portNode struct {
	port      mcmf.Node // None until something leads there
	arc       mcmf.Arc  // from the port to the sink
	leads     int32     // arcs into the port
	slots     int64     // free ones
	shared    int64     // held by running tasks that may be moved or stopped
	load      []Step    // what the arc to the sink says
	evictions []Cost    // of tenants that share and are no units; ascending
	stale     bool      // it is in ports.stale
}

// ports are the nodes as the network has them: what each lets through, and at which price.
type ports struct {
	graph   *graph
	answers *answers
	turn    *turn
	tenants *tenants
	nodes   []portNode
	open    nodeSet          // those with a port
	stale   []cluster.NodeID // nodes to be looked at, though they are what they were

	steps, free []Step  // scratch of passing
	envelope    []int64 // scratch of slots
}

// node is that of a row, which may be new.
func (p *ports) node(n cluster.NodeID) *portNode {
	p.nodes = book.Grown(p.nodes, n, portNode{port: mcmf.None})
	return &p.nodes[n]
}

// put gives a node a port, for one more arc that leads there, and reports whether it
// had none.
func (p *ports) put(n cluster.NodeID) bool {
	m := p.node(n)
	m.leads++
	if m.port != mcmf.None {
		return false
	}
	m.port = p.graph.node()
	p.open.add(n)
	m.arc = p.graph.AddArc(m.port, p.graph.sink, 0, 0, 0)
	m.load = m.load[:0]
	p.refresh(n)
	return true
}

// refresh sees to it that the port of a node is looked at, though the node is what it
// was.
func (p *ports) refresh(n cluster.NodeID) {
	if m := p.node(n); !m.stale {
		m.stale = true
		p.stale = append(p.stale, n)
	}
}

// leave lets go of a port, for one arc less.
func (p *ports) leave(n cluster.NodeID) {
	m := &p.nodes[n]
	if m.leads--; m.leads > 0 {
		return
	}
	p.graph.RemoveNode(m.port)
	m.port, m.slots = mcmf.None, 0
	p.open.remove(n)
}

// slots is how many slots are free on a node.
func (p *ports) slots(s *cluster.View, n cluster.NodeID) int64 {
	p.turn.effort.looks += int64(len(p.turn.asks))
	var scratch [4]cluster.DeviceNeed
	envelope, found, needs := p.zeroes(len(s.Kinds())), 0, cluster.DeviceNeeds(scratch[:0])
	for _, id := range p.turn.asks {
		if !s.RoomNow(id.shape, n) {
			continue
		}
		found++
		needs = widened(needs, s.DeviceNeeds(id.shape))
		for k, q := range s.Shape(id.shape).Demand {
			envelope[k] = max(envelope[k], q)
		}
	}
	if found == 0 {
		return 0
	}
	count := deviceSlots(s, n, needs)
	limit, used := s.Limit(n), s.Used(n)
	for k, e := range envelope {
		if e > 0 {
			count = min(count, (limit[k]-used[k])/e)
		}
	}
	if found > 1 {
		count = min(count, mostSlots)
	}
	return count
}

// widened is what suffices for either of two needs: of each kind as many devices as the one that
// asks for more, and of each as much.
func widened(needs, by cluster.DeviceNeeds) cluster.DeviceNeeds {
	for _, one := range by {
		at := slices.IndexFunc(needs, func(d cluster.DeviceNeed) bool { return d.Kind == one.Kind })
		if at < 0 {
			needs = append(needs, one)
			continue
		}
		needs[at].Count, needs[at].Share = max(needs[at].Count, one.Count), max(needs[at].Share, one.Share)
	}
	return needs
}

// deviceSlots is how many slots of these needs the devices of a node have, whichever of them
// a task gets that needs as much or less: of each kind it takes from one device what one slot has
// there, or of several devices that suffice at most as many as a slot has.
func deviceSlots(s *cluster.View, n cluster.NodeID, needs cluster.DeviceNeeds) int64 {
	slots := int64(unlimited)
	for _, need := range needs {
		shares, suffice := int64(0), int64(0)
		for place, d := range s.Devices(n) {
			if fit := max(0, d.Left()) / need.Share; fit > 0 && need.Places.Has(place) {
				shares, suffice = shares+fit, suffice+1
			}
		}
		if need.Count > 1 {
			shares = suffice / int64(need.Count)
		}
		slots = min(slots, shares)
	}
	return slots
}

// updateLoad lets the arc from a port to the sink say how many units it takes, and
// what each adds to the load of the node.
func (p *ports) updateLoad(s *cluster.View, n cluster.NodeID) {
	m := &p.nodes[n]
	units := m.slots + m.shared
	if p.answers.loaded == nil && len(m.evictions) == 0 || units == 0 {
		m.load = m.load[:0]
		p.graph.SetArc(m.arc, 0, units, 0)
		return
	}
	load, ok := p.answers.load(s, n)
	if !ok {
		m.load = m.load[:0]
		p.graph.SetArc(m.arc, 0, 0, 0)
		return
	}
	p.steps, _ = p.passing(n, load, units-int64(len(m.evictions)), units, p.steps[:0])
	if slices.Equal(p.steps, m.load) {
		return
	}
	m.load = append(m.load[:0], p.steps...)
	p.graph.setSteps(m.arc, m.load)
}

// room is how many units of a request the node may take, as far as the request
// alone can say.
func (p *ports) room(s *cluster.View, id requestID, n cluster.NodeID) int64 {
	if int(n) >= s.NodeRows() || !s.NodeLive(n) {
		return 0
	}
	m := &p.nodes[n]
	// More than fits by itself is never of use, and room that is not there makes the
	// solver look for who could use it.
	shared := m.shared
	if cluster.EvictsNobody(s, id.shape) {
		shared = 0
	}
	units := fits(s, id.shape, n) + shared
	if id.job != noJob {
		units = min(units, beside(s, id, n))
	}
	switch {
	case units <= 0 || s.Breaks(id.shape, n).Refused():
		return 0
	case s.RoomNow(id.shape, n):
		return units
	case shared > 0 && s.Eligible(s.Shape(id.shape).Eligible, n):
		return min(units, shared)
	}
	return 0
}

// beside is how many more tasks of its job the node may hold for the sake of a
// request, by what either side allows.
func beside(s *cluster.View, id requestID, n cluster.NodeID) int64 {
	most, there := perNode(s, id.shape), int64(s.Beside(id.job, n, noTask))
	for _, t := range s.TasksOn(n) {
		if task := s.Task(t); task.Job == id.job {
			most = min(most, perNode(s, task.Shape))
		}
	}
	return most - there
}

func perNode(s *cluster.View, shape cluster.ShapeID) int64 {
	if most := s.Shape(shape).PerNode; most > 0 {
		return int64(most)
	}
	return unlimited
}

// fits is how many tasks of the shape the node has room for, if they come alone.
func fits(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) int64 {
	limit, used, units := s.Limit(n), s.Used(n), int64(unlimited)
	for k, q := range s.Shape(shape).Demand {
		if q > 0 {
			units = min(units, (limit[k]-used[k])/q)
		}
	}
	return max(0, units)
}

// zeroes is scratch for a vector, all 0.
func (p *ports) zeroes(kinds int) []int64 {
	if cap(p.envelope) < kinds {
		p.envelope = make([]int64, kinds)
	}
	p.envelope = p.envelope[:kinds]
	clear(p.envelope)
	return p.envelope
}
