package queue

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// greedy places each task on the node with the best score. A node is scored when it has changed, so that a pass
// costs one look at the index per placed task and per group that is awake, not per
// waiting task.
type greedy struct {
	pass
	score   Score
	measure measure      // nil: neither order nor score learns
	devices DeviceChoice // nil: commit chooses
	// among chooses among the leaves of all nodes, where what one is worth depends on the others; nil: the largest.
	among func(leaves []int64) (rank int, ok bool)
	table book.Indexes
	x     *book.ShapeIndex // that of the group whose turn it is
}

// measure is what an order or a score measures by, where that depends on what
// the policy has seen.
type measure interface {
	// learn takes in what changed, and reports whether what was measured before
	// has to be measured anew. It notes nodes that are to be scored anew for all
	// shapes, besides those that changed themselves.
	learn(s *cluster.View, c *sched.Changed, note func(cluster.NodeID)) bool
}

// DeviceChoice says which devices of the node a task of the shape shall have,
// where it fits. None leaves the choice to commit.
type DeviceChoice func(s *cluster.View, shape *cluster.Shape, n cluster.NodeID) cluster.DeviceSet

// Plan is one pass over the queue. However small the budget, it tries a task.
func (g *greedy) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	g.learn(t.View(), c)
	g.plan(g, t, c, budget, out)
}

// learn takes in what changed since the last pass.
func (g *greedy) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		g.forget()
		g.table.Reset()
	}
	g.table.Learn(s, c)
	g.waiting.Forget(s, c)
	if g.measure != nil && g.measure.learn(s, c, g.table.Journal.Note) && !c.All {
		g.measureAnew(s)
	}
	g.pass.learn(s, c)
}

// measureAnew forgets all that was measured.
func (g *greedy) measureAnew(s *cluster.View) {
	g.table.Clear()
	before := g.waiting
	g.forget()
	for t := range cluster.TaskID(s.TaskRows()) {
		if before.Of(t) != nil {
			g.join(s, t)
		}
	}
}

// forget forgets who waits.
func (g *greedy) forget() {
	g.waiting, g.line = book.Waiting[none]{Room: g.waiting.Room}, book.Line[none]{}
}

// serve places tasks of the group by the index of its shape.
func (g *greedy) serve(t *sched.Trial, group *book.Group[none], budget int64, out *sched.Plan) {
	g.x = g.index(t.View(), group.Shape)
	g.serveGroup(g, t, group, budget, out)
	g.table.Unhide(g.x)
}

// index is the nodes that have room for the shape, by their scores.
func (g *greedy) index(s *cluster.View, shape cluster.ShapeID) *book.ShapeIndex {
	return g.table.Sync(s, book.IndexID{Shape: shape}, func(n cluster.NodeID) int64 {
		if !s.RoomNow(shape, n) {
			return book.None
		}
		return g.score(s, s.Shape(shape), n)
	})
}

// placeOne places the first task of the group on the best node, or where evicting costs least.
func (g *greedy) placeOne(t *sched.Trial, group *book.Group[none], out *sched.Plan) (placed, beside bool) {
	task := g.waiting.First(group)
	placed, beside = g.put(t, g.x, task, out)
	if !placed && g.victims != nil {
		n, replaced, alsoBeside := g.victims.preempt(t, task, out, &g.table)
		if replaced {
			// What leaves may be more than the task takes, and enough for somebody
			// whom the victims outranked.
			g.wake(t.View(), &sched.Changed{Nodes: []cluster.NodeID{n}}, int64(group.Priority))
		}
		placed, beside = replaced, beside || alsoBeside
	}
	if group.Job == book.NoJob {
		g.table.Unhide(g.x)
	}
	return placed, beside
}

// put places the task on the best node that has room.
func (g *greedy) put(t *sched.Trial, x *book.ShapeIndex, task cluster.TaskID, out *sched.Plan) (placed, beside bool) {
	s := t.View()
	n, ok, beside := g.find(s, x, task)
	if !ok {
		return false, beside
	}
	a := sched.Action{Task: task, Node: n}
	if g.devices != nil {
		a.Devices = g.devices(s, s.Shape(s.Task(task).Shape), n)
	}
	place(t, a, out)
	g.table.Update(x, n)
	return true, beside
}

// find takes the best node from the index; see book.Indexes.Find.
func (g *greedy) find(s *cluster.View, x *book.ShapeIndex, task cluster.TaskID) (n cluster.NodeID, ok, beside bool) {
	if g.among == nil {
		return g.table.Find(s, x, task)
	}
	for {
		g.table.Ticks += int64(len(x.Leaves()))
		rank, ok := g.among(x.Leaves())
		if !ok {
			return 0, false, beside
		}
		n := g.table.Order.At[rank]
		refusal := s.Admits(task, n)
		if !refusal.Refused() {
			return n, true, beside
		}
		g.table.Hide(x, n)
		beside = beside || refusal.Code == cluster.NotApart
	}
}
