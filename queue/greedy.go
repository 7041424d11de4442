package queue

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// greedy places one task after the other, each on the node with the best
// score, in the order of the queue; one pass a round. A task that fits nowhere
// is passed over (no head-of-line blocking). With victims, such a task may
// evict less important ones.
//
// Within a pass room only shrinks, but for what an eviction leaves over, so that
// a task which did not fit stands for all others of its group: the pass costs
// one look at the index per placed task and per group that is awake, not per
// waiting task.
type greedy struct {
	explained
	order   Order
	score   Score
	measure measure      // nil: neither order nor score learns
	devices DeviceChoice // nil: commit chooses
	victims *victims     // nil: never preempt
	waiting book.Waiting[none]
	line    book.Line[none]
	table   book.Indexes
	company sched.Company
}

// none is what a policy keeps of a group that keeps nothing.
type none = struct{}

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
	s := t.View()
	g.learn(s, c)
	for {
		group := g.line.Next(&g.waiting)
		if group == nil {
			break
		}
		g.serve(t, group, budget, out)
		if g.spent(budget) {
			break
		}
	}
	out.Ticks, g.table.Ticks = g.table.Ticks, 0
	if g.line.Peek(&g.waiting) != nil {
		out.Wake = s.Now() // the budget ended the pass
	}
	g.company.Plan(t, c, budget, out)
}

func (g *greedy) spent(budget int64) bool { return budget > 0 && g.table.Ticks >= budget }

// explained is a policy that has nothing to add to why a task is not placed.
type explained struct{}

// Why says why the task is not placed.
func (explained) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
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
	if g.victims != nil {
		g.victims.learn(s, c)
	}
	for _, task := range c.Tasks {
		if s.Task(task).Phase == cluster.Waiting {
			g.join(s, task)
		}
	}
	g.table.Ticks += g.waiting.Wake(s, c, func(group *book.Group[none], n cluster.NodeID) bool {
		if g.waiting.Fits(s, group, n) {
			return true
		}
		return g.victims != nil && g.mayEvict(s, group, n)
	}, g.enter)
}

// enter puts a group that is awake into the line.
func (g *greedy) enter(group *book.Group[none]) { g.line.Enter(&g.waiting, group, 0) }

// mayEvict reports whether some task of the group may find a place on the node by
// eviction. None does where the node has as many tasks of the job as it may, which whoever
// looks only at room would find out anew at each change.
func (g *greedy) mayEvict(s *cluster.View, group *book.Group[none], n cluster.NodeID) bool {
	return g.victims.choose(s, group.Shape, group.Priority, n) &&
		(group.Job == book.NoJob || !s.Crowded(g.waiting.First(group), n))
}

func (g *greedy) join(s *cluster.View, t cluster.TaskID) {
	task := s.Task(t)
	id := book.ID{Priority: task.Priority, Shape: task.Shape, Job: book.JobOf(s, task)}
	group, joined := g.waiting.Join(s, t, id, g.order(s, t))
	if joined && !group.Asleep() && g.waiting.First(group) == t {
		g.enter(group)
	}
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

// serve places tasks of the group for as long as they are first in the queue
// and fit. A group whose first task does not fit goes to sleep.
func (g *greedy) serve(t *sched.Trial, group *book.Group[none], budget int64, out *sched.Plan) {
	s := t.View()
	x := g.index(s, group.Shape)
	for tried := false; group.Len() > 0; tried = true {
		if group.Short(s) { // the next round is told of that
			g.waiting.Sleep(s, group)
			break
		}
		if tried && (!g.line.Behind(&g.waiting, g.waiting.Turn(group, 0)) || g.spent(budget)) {
			g.enter(group)
			break
		}
		task := g.waiting.First(group)
		placed, beside := g.placeOne(t, x, task, out)
		switch {
		case placed:
			g.waiting.Leave(task)
		case beside && group.Job == book.NoJob:
			if own := g.waiting.Separate(s, group); own.Len() == 1 {
				g.waiting.Sleep(s, own)
			}
		default:
			g.waiting.Sleep(s, group)
		}
		if group.Job == book.NoJob {
			g.table.Unhide(x)
		}
		if group.Asleep() {
			break
		}
	}
	g.table.Unhide(x)
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

// placeOne places the task on the best node, or where evicting costs least.
// Beside says that some node was refused only for another task of the job.
func (g *greedy) placeOne(t *sched.Trial, x *book.ShapeIndex, task cluster.TaskID, out *sched.Plan) (placed, beside bool) {
	s := t.View()
	n, ok, beside := g.table.Find(s, x, task)
	if ok {
		a := sched.Action{Task: task, Node: n}
		if g.devices != nil {
			a.Devices = g.devices(s, s.Shape(s.Task(task).Shape), n)
		}
		place(t, a, out)
		g.table.Update(x, n)
		return true, beside
	}
	if g.victims == nil {
		return false, beside
	}
	n, placed, alsoBeside := g.victims.preempt(t, task, out, &g.table)
	if placed {
		// What leaves may be more than the task takes, and enough for somebody
		// whom the victims outranked.
		rank := s.Task(task).Priority
		g.table.Ticks += g.waiting.Wake(s, &sched.Changed{Nodes: []cluster.NodeID{n}}, func(group *book.Group[none], n cluster.NodeID) bool {
			return group.Priority < rank && g.mayEvict(s, group, n)
		}, g.enter)
	}
	return placed, beside || alsoBeside
}

// place places a task, which is known to hold, as a bundle of its own.
func place(t *sched.Trial, a sched.Action, out *sched.Plan) {
	a.Kind, a.Attempt = sched.Place, t.View().Task(a.Task).Attempt
	mustTry(t, a)
	out.Add(a)
	out.Close()
}

// mustTry does an action that is known to hold.
func mustTry(t *sched.Trial, a sched.Action) {
	if r := t.Try(a); r.Refused() {
		panic("queue: a node that admits the task refuses it: " + r.Code.String())
	}
}
