package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
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

// machine is a node in the network.
type machine struct {
	port      mcmf.Node // None until something leads there
	arc       mcmf.Arc  // from the port to the sink
	at        int32     // position in network.present
	leads     int32     // arcs into the port
	slots     int64     // free ones
	shared    int64     // held by running tasks that may be moved or stopped
	load      []Step    // what the arc to the sink says
	stays     []int32
	tenants   []cluster.TaskID // running tasks that may be stopped, by submission
	evictions []Cost           // of tenants that share, where none may move; ascending
	prefer    []int32          // task groups with an arc of their own to this node
	stale     bool             // it is in network.stale
}

func (w *network) machine(n cluster.NodeID) *machine {
	for int(n) >= len(w.machines) {
		w.machines = append(w.machines, machine{port: mcmf.None, at: -1})
		w.latest, w.priced = append(w.latest, 0), append(w.priced, 0)
	}
	return &w.machines[n]
}

// putPort gives a node a port, for one more arc that leads there, and reports
// whether it had none.
func (w *network) putPort(n cluster.NodeID) bool {
	m := w.machine(n)
	m.leads++
	if m.port != mcmf.None {
		return false
	}
	m.port = w.node()
	m.arc = w.graph.AddArc(m.port, w.sink, 0, 0, 0)
	m.at = int32(len(w.present))
	m.load = m.load[:0]
	w.present = append(w.present, n)
	w.refresh(n)
	return true
}

// refresh sees to it that the port of a node is looked at, though the node is what it
// was.
func (w *network) refresh(n cluster.NodeID) {
	if m := w.machine(n); !m.stale {
		m.stale = true
		w.stale = append(w.stale, n)
	}
}

// leavePort lets go of a port, for one arc less.
func (w *network) leavePort(n cluster.NodeID) {
	m := &w.machines[n]
	if m.leads--; m.leads > 0 {
		return
	}
	w.graph.RemoveNode(m.port)
	last := w.present[len(w.present)-1]
	w.present[m.at] = last
	w.machines[last].at = m.at
	w.present = w.present[:len(w.present)-1]
	m.port, m.slots = mcmf.None, 0
}

// updatePorts makes slots of what is left of each node that changed, or of all of
// them where other requests ask than before.
func (w *network) updatePorts(s *cluster.View) {
	if len(w.asking) == 0 {
		return // what is old by the next time is looked at then
	}
	if !slices.Equal(w.asking, w.asked) || w.synced < w.start || w.portTier != w.tier {
		w.asked, w.portTier = append(w.asked[:0], w.asking...), w.tier
		for n := range w.machines {
			if m := &w.machines[n]; m.port != mcmf.None || m.shared > 0 || len(m.tenants) > 0 {
				w.updatePort(s, cluster.NodeID(n))
			}
		}
	}
	for p := max(w.synced, w.start); p < w.start+uint64(len(w.journal)); p++ {
		if n := w.journal[p-w.start]; w.latest[n] == p+1 {
			w.updatePort(s, n)
		}
	}
	w.synced = w.start + uint64(len(w.journal))
	for _, n := range w.stale {
		w.updatePort(s, n)
	}
	w.stale = w.stale[:0]
}

// updatePort counts the slots of a node, and lets its arcs say so.
func (w *network) updatePort(s *cluster.View, n cluster.NodeID) {
	m := &w.machines[n]
	before, free := m.shared, m.slots > 0
	m.slots, m.shared, m.stale = 0, 0, false
	if int(n) < s.NodeRows() && s.NodeLive(n) {
		m.slots = w.slots(s, n)
	}
	cheapest := m.cheapest()
	for _, row := range m.stays {
		w.updateStay(s, n, row)
	}
	if !w.moves {
		w.updateTenants(s, n)
	}
	if m.shared != before || m.cheapest() != cheapest || len(m.evictions) > 0 && (m.slots > 0) != free {
		w.noteRoom(n) // what leads there, or could, is to know
		m = &w.machines[n]
	}
	if m.port == mcmf.None {
		return
	}
	w.updateLoad(s, n, m)
	for _, c := range m.prefer {
		w.updatePreferred(s, c, n)
	}
}

// slots is how many slots are free on a node.
func (w *network) slots(s *cluster.View, n cluster.NodeID) int64 {
	w.looks += int64(len(w.asking))
	envelope, found, devices := w.zeroes(len(s.Kinds())), 0, false
	for _, q := range w.asking {
		id := w.requests[q].id
		if !s.RoomNow(id.shape, n) {
			continue
		}
		found++
		devices = devices || s.DeviceKind() >= 0 && s.DeviceNeed(id.shape).Count > 0
		for k, q := range s.Shape(id.shape).Demand {
			envelope[k] = max(envelope[k], q)
		}
	}
	switch {
	case found == 0:
		return 0
	case devices:
		return 1 // which devices are left for a second one is not a matter of sums
	}
	count := int64(unlimited)
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

// updateStay puts down what it costs to leave tasks where they run.
func (w *network) updateStay(s *cluster.View, n cluster.NodeID, row int32) {
	st := &w.stays[row]
	m := &w.machines[n]
	units := int64(len(st.tasks))
	c := &w.taskGroups[st.taskGroup]
	shares := s.NodeLive(n) && !s.Overfull(n) && c.id.tier <= w.tier && w.covers(s, w.requests[c.request].id.shape)
	if shares {
		m.shared += units
	}
	if st.arc != mcmf.None && st.shared != shares {
		w.graph.RemoveArc(st.arc)
		st.arc = mcmf.None
		if st.shared {
			w.leavePort(n)
		}
	}
	st.shared = shares
	if st.arc == mcmf.None {
		to := w.sink
		if shares {
			w.putPort(n)
			to = m.port
		}
		st.arc = w.graph.AddArc(w.taskGroups[st.taskGroup].node, to, 0, units, st.cost)
		return
	}
	w.graph.SetArc(st.arc, 0, units, st.cost)
}

// covering is whether every request that asked in a turn would fit where a task of a
// shape was.
type covering struct {
	turn uint32
	all  bool
}

// covers reports whether every request that asks would fit where a task of the
// shape was.
func (w *network) covers(s *cluster.View, shape cluster.ShapeID) bool {
	for int(shape) >= len(w.covering) {
		w.covering = append(w.covering, covering{})
	}
	c := &w.covering[shape]
	if c.turn != w.turn {
		demand := s.Shape(shape).Demand
		*c = covering{w.turn, !slices.ContainsFunc(w.asking, func(q int32) bool {
			id := w.requests[q].id
			return id.shape != shape && !s.Shape(id.shape).Demand.Fits(demand)
		})}
		w.looks += int64(len(w.asking))
	}
	return c.all
}

// updateLoad lets the arc from a port to the sink say how many units it takes, and
// what each adds to the load of the node.
func (w *network) updateLoad(s *cluster.View, n cluster.NodeID, m *machine) {
	units := m.slots + m.shared
	if w.loaded == nil && len(m.evictions) == 0 || units == 0 {
		m.load = m.load[:0]
		w.graph.SetArc(m.arc, 0, units, 0)
		return
	}
	load, ok := w.loadOf(s, n)
	if !ok {
		m.load = m.load[:0]
		w.graph.SetArc(m.arc, 0, 0, 0)
		return
	}
	w.steps, _ = w.passing(n, load, m.slots, units, w.steps[:0])
	if slices.Equal(w.steps, m.load) {
		return
	}
	m.load = append(m.load[:0], w.steps...)
	if len(m.load) == 1 {
		w.graph.SetArc(m.arc, 0, units, m.load[0].Cost)
	} else {
		w.graph.SetCurve(m.arc, 0, m.load)
	}
}

// loadOf is the load of a node, nothing where the model has none.
func (w *network) loadOf(s *cluster.View, n cluster.NodeID) (Curve, bool) {
	if w.loaded == nil {
		return nil, true
	}
	return w.load(s, n)
}

// load asks the model for the load of a node. A node of which it says what cannot be
// takes nothing.
func (w *network) load(s *cluster.View, n cluster.NodeID) (Curve, bool) {
	w.asks++
	c := w.loaded.Load(s, n)
	if err := c.check(); err != nil {
		w.refuse("load of node %s: %w", s.NodeSpec(n).Name, err)
		return nil, false
	}
	return c, true
}

// updatePreferred opens or closes the arcs that a task group has straight to a node.
func (w *network) updatePreferred(s *cluster.View, row int32, n cluster.NodeID) {
	c := &w.taskGroups[row]
	for _, o := range c.outs {
		if o.group < 0 && o.node == n {
			w.graph.SetArc(o.arc, 0, w.room(s, c.request, n), o.cost+w.surcharge(s, c.request, n))
		}
	}
}

// room is how many units of a request the node may take, as far as the request
// alone can say.
func (w *network) room(s *cluster.View, q int32, n cluster.NodeID) int64 {
	if int(n) >= s.NodeRows() || !s.NodeLive(n) {
		return 0
	}
	id, m := w.requests[q].id, &w.machines[n]
	// More than fits by itself is never of use, and room that is not there makes the
	// solver look for who could use it.
	units := fits(s, id.shape, n) + m.shared
	if id.job != noJob {
		units = min(units, beside(s, id, n))
	}
	switch {
	case units <= 0 || !s.Upholds(id.shape, n):
		return 0
	case s.RoomNow(id.shape, n):
		return units
	case m.shared > 0 && s.Eligible(s.Shape(id.shape).Eligible, n):
		return min(units, m.shared)
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

// noTask is no row of a task.
const noTask = cluster.TaskID(1<<32 - 1)

// zeroes is scratch for a vector, all 0.
func (w *network) zeroes(kinds int) []int64 {
	if cap(w.envelope) < kinds {
		w.envelope = make([]int64, kinds)
	}
	w.envelope = w.envelope[:kinds]
	clear(w.envelope)
	return w.envelope
}
