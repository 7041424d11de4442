package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/report"
)

// This file counts what the tasks of each class hold, how many hold anything,
// and how many nodes have a task, now and over time. It goes by the change log of the core's state,
// so that the work is in proportion to what changed, and the book is the core's
// own: reserved room counts as held, as it does in report.Allocation. Runs
// that began after they were given up are nobody's, and not counted.

// holdings are sums over what takes room.
type holdings struct {
	tasks       *tasks
	by          []cluster.Vector // what is held, by class
	seen        []bool           // by class: it has held something
	task        []holding        // by task row
	active      []bool           // by node row: it is in use
	running     int              // tasks that hold room, but for foreign ones
	nodesActive int
	empty, live wide.Number // nodes × µs: of those that had no task, and of all
}

// holding is what one task is known to hold.
type holding struct {
	seq    cluster.Seq
	shape  cluster.ShapeID
	demand cluster.Vector
	next   cluster.Vector // of one that moves, on the node to which it moves
	class  cluster.ClassID
	own    bool // it is not foreign
	places int8 // on how many nodes; one that moves holds room on two
}

func newHoldings(t *tasks, kinds, classes int) holdings {
	h := holdings{tasks: t, by: make([]cluster.Vector, classes), seen: make([]bool, classes)}
	for c := range h.by {
		h.by[c] = make(cluster.Vector, kinds)
	}
	return h
}

func (h *holdings) advance(s *span) {
	for t := range s.tasks() {
		h.lookAtTask(s.state, t)
	}
	for n := range s.nodes() {
		h.lookAtNode(s.state, n)
	}
	live, spent := int64(s.state.Totals().Nodes), int64(s.to-s.from)
	h.live = h.live.Plus(wide.Product(live, spent))
	h.empty = h.empty.Plus(wide.Product(live-int64(h.nodesActive), spent))
}

// result is which part of their time nodes had no task.
func (h *holdings) result(_ *span, r *report.Run) {
	r.NodesEmpty = new(report.Ratio(h.empty.Float(), h.live.Float()))
}

// lookAtTask brings the sums up to date with what the task holds.
func (h *holdings) lookAtTask(s *cluster.View, row cluster.TaskID) {
	h.task = grown(h.task, row, holding{})
	t, was := s.Task(row), &h.task[row]
	places := int8(0)
	if t.Placed() {
		places++
	}
	if t.Phase != cluster.Absent && t.Next != cluster.NoNode {
		places++
	}
	if places == was.places && (places == 0 || t.Seq == was.seq && t.Shape == was.shape && s.Shape(t.Shape).Max == nil) {
		return // most touches say nothing new
	}
	h.add(was, -1)
	*was = holding{}
	if places > 0 {
		*was = holding{seq: t.Seq, shape: t.Shape, demand: s.Demand(row), class: t.Class, own: !s.Job(t.Job).Foreign, places: places}
		if places == 2 {
			was.next = s.DemandOn(row, t.Next)
		}
		h.add(was, 1)
		h.seen[t.Class] = true
	}
}

// add adds sign times the holding to the sums.
func (h *holdings) add(o *holding, sign int64) {
	if o.places == 0 {
		return
	}
	if o.own {
		h.running += int(sign)
	}
	sum := h.by[o.class]
	for k, q := range o.demand {
		sum[k] += sign * q
	}
	for k, q := range o.next {
		sum[k] += sign * q
	}
}

// lookAtNode counts the node if it has a task that does not belong to it.
func (h *holdings) lookAtNode(s *cluster.View, n cluster.NodeID) {
	for len(h.active) <= int(n) {
		h.active = append(h.active, false)
	}
	active := s.NodeLive(n) && h.tasks.inUse(s, n)
	if active == h.active[n] {
		return
	}
	h.active[n] = active
	if active {
		h.nodesActive++
	} else {
		h.nodesActive--
	}
}
