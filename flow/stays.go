package flow

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/sched/book"
)

// stayID is the tasks of one task group that run on one node and may be moved.
type stayID struct {
	taskGroup int32
	node      cluster.NodeID
}

// stay is what becomes of these where they run: the arc that costs what staying costs.
type stay struct {
	stayID

	from   mcmf.Node // of the task group
	tier   int32
	shape  cluster.ShapeID
	arc    mcmf.Arc
	cost   Cost
	tasks  []runner // by submission
	shared bool     // the arc leads to the node's port, else to the sink
	at     int32    // position among the node's stays
}

// runner is a running task.
type runner struct {
	task cluster.TaskID
	seq  cluster.Seq
}

// stays is the table of all of them.
type stays struct {
	graph   *graph
	journal *journal
	turn    *turn
	ports   *ports
	list    []stay
	rowOf   map[stayID]int32
	free    cluster.Rows
	on      [][]int32 // by node row
}

// any reports whether some task may be moved.
func (z *stays) any() bool { return len(z.rowOf) > 0 }

// of are the rows of the stays on a node.
func (z *stays) of(n cluster.NodeID) []int32 {
	if int(n) >= len(z.on) {
		return nil
	}
	return z.on[n]
}

// add lets a task stay with those of its task group on its node, and reports whether
// there were none.
func (z *stays) add(id stayID, c *taskGroup, cost Cost, t runner) (row int32, fresh bool) {
	row, ok := z.rowOf[id]
	if !ok {
		row = take(&z.free, &z.list)
		z.on = book.Grown(z.on, id.node, nil)
		z.list[row] = stay{
			stayID: id, from: c.node, tier: c.id.tier, shape: c.id.request.shape, arc: mcmf.None,
			tasks: z.list[row].tasks[:0], at: int32(len(z.on[id.node])),
		}
		z.on[id.node] = append(z.on[id.node], row)
		z.rowOf[id] = row
	}
	st := &z.list[row]
	st.cost = cost
	at, _ := slices.BinarySearchFunc(st.tasks, t.seq, func(o runner, seq cluster.Seq) int { return cmp.Compare(o.seq, seq) })
	st.tasks = slices.Insert(st.tasks, at, t)
	z.journal.Note(id.node)
	return row, !ok
}

// drop takes a task away, and reports whether it was the last.
func (z *stays) drop(row int32, t cluster.TaskID) bool {
	st := &z.list[row]
	st.tasks = slices.DeleteFunc(st.tasks, func(o runner) bool { return o.task == t })
	z.journal.Note(st.node)
	if len(st.tasks) > 0 {
		return false
	}
	z.cut(st)
	delete(z.rowOf, st.stayID)
	on := z.on[st.node]
	last := on[len(on)-1]
	on[st.at] = last
	z.list[last].at = st.at
	z.on[st.node] = on[:len(on)-1]
	st.taskGroup = -1
	z.free.Give(uint32(row))
	return true
}

// cut takes the arc away.
func (z *stays) cut(st *stay) {
	if st.arc == mcmf.None {
		return
	}
	z.graph.RemoveArc(st.arc)
	st.arc = mcmf.None
	if st.shared {
		z.ports.leave(st.node)
	}
}

// reprice is what staying has come to cost.
func (z *stays) reprice(row int32, cost Cost) {
	st := &z.list[row]
	st.cost = cost
	if st.arc != mcmf.None {
		z.graph.SetArc(st.arc, 0, int64(len(st.tasks)), cost)
	}
}

// update puts down what it costs to leave tasks where they run, and is how many share
// their place.
func (z *stays) update(s *cluster.View, row int32) (shared int64) {
	st := &z.list[row]
	units := int64(len(st.tasks))
	shares := s.NodeLive(st.node) && !s.Overfull(st.node) && st.tier <= z.turn.tier && z.turn.covers(s, st.shape)
	if shares {
		shared = units
	}
	if st.shared != shares {
		z.cut(st)
	}
	st.shared = shares
	if st.arc != mcmf.None {
		z.graph.SetArc(st.arc, 0, units, st.cost)
		return shared
	}
	to := z.graph.sink
	if shares {
		z.ports.put(st.node)
		to = z.ports.nodes[st.node].port
	}
	st.arc = z.graph.AddArc(st.from, to, 0, units, st.cost)
	return shared
}
