package queue

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
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
	order   Order
	score   Score
	measure measure      // nil: neither order nor score learns
	devices DeviceChoice // nil: commit chooses
	victims *victims     // nil: never preempt
	waiting waiting
	line    line
	table   table
	company sched.Company
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

func newGreedy(order Order, score Score, o Options) *greedy {
	g := &greedy{order: order, score: score, table: newTable(o)}
	g.waiting.reset()
	return g
}

// Plan is one pass over the queue. However small the budget, it tries a task.
func (g *greedy) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	g.learn(s, c)
	for {
		group, ok := g.line.next(&g.waiting, s)
		if !ok {
			break
		}
		g.serve(t, group, budget, out)
		if g.spent(budget) {
			break
		}
	}
	out.Ticks, g.table.ticks = g.table.ticks, 0
	if g.line.tidy() {
		out.Wake = s.Now() // the budget ended the pass
	}
	g.company.Plan(t, c, budget, out)
}

func (g *greedy) spent(budget int64) bool { return budget > 0 && g.table.ticks >= budget }

// Why says why the task is not placed.
func (g *greedy) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// learn takes in what changed since the last pass.
func (g *greedy) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		g.waiting.reset()
		g.line = line{}
		g.table.reset()
	}
	g.table.learn(s, c)
	if g.measure != nil && g.measure.learn(s, c, g.table.note) && !c.All {
		g.measureAnew(s)
	}
	if g.victims != nil {
		g.victims.learn(s, c)
		g.victims.look(s, c.Nodes)
	}
	for _, task := range c.Tasks {
		if g.waiting.begins(s, task) {
			g.join(s, task)
		}
	}
	g.table.ticks += g.waiting.wakeThose(s, c, func(group *group, n cluster.NodeID) bool {
		if group.fits(s, n) {
			return true
		}
		return g.victims != nil && g.mayEvict(s, group, n)
	}, g.line.enter)
}

// mayEvict reports whether some task of the group may find a place on the node by
// eviction. None does where the node has as many tasks of the job as it may, which whoever
// looks only at room would find out anew at each change.
func (g *greedy) mayEvict(s *cluster.View, group *group, n cluster.NodeID) bool {
	return g.victims.could(s, group.id.shape, group.id.priority, n) &&
		(group.id.job == noJob || !s.Crowded(group.tasks[0].task, n))
}

func (g *greedy) join(s *cluster.View, t cluster.TaskID) {
	task := s.Task(t)
	id := groupID{key: g.order(s, t), priority: task.Priority, shape: task.Shape, job: noJob}
	if s.Shape(task.Shape).PerNode > 0 {
		id.job = task.Job
	}
	group := g.waiting.join(s, t, id)
	if group.awake && group.tasks[0].task == t || len(group.tasks) == 1 {
		g.line.enter(group)
	}
}

// measureAnew forgets all that was measured.
func (g *greedy) measureAnew(s *cluster.View) {
	g.table.clear()
	tasks := g.waiting.all(s)
	g.waiting.reset()
	g.line = line{}
	for _, e := range tasks {
		if g.waiting.begins(s, e.task) {
			g.join(s, e.task)
		}
	}
}

// serve places tasks of the group for as long as they are first in the queue
// and fit. A group whose first task does not fit goes to sleep.
func (g *greedy) serve(t *sched.Trial, group *group, budget int64, out *sched.Plan) {
	s := t.View()
	x := g.table.sync(indexID{shape: group.id.shape}, func(n cluster.NodeID) int64 {
		if !roomNow(s, group.id.shape, n) {
			return none
		}
		return g.score(s, s.Shape(group.id.shape), n)
	})
	for tried := false; g.waiting.settle(group, s); tried = true {
		if tried && (!g.line.first(group) || g.spent(budget)) {
			g.line.enter(group)
			break
		}
		task := group.tasks[0].task
		placed, beside := g.placeOne(t, x, task, out)
		switch {
		case placed:
			g.waiting.drop(group)
		case beside && group.id.job == noJob:
			own := g.waiting.exile(s, group)
			if len(own.tasks) == 1 {
				g.waiting.sleep(s, own)
			}
		default:
			g.waiting.sleep(s, group)
		}
		if group.id.job == noJob {
			g.table.unhide(x)
		}
		if !placed && !group.awake {
			break
		}
	}
	g.table.unhide(x)
}

// placeOne places the task on the best node, or where evicting costs least.
// Beside says that some node was refused only for another task of the job.
func (g *greedy) placeOne(t *sched.Trial, x *cachedIndex, task cluster.TaskID, out *sched.Plan) (placed, beside bool) {
	s := t.View()
	n, ok, beside := g.table.find(s, x, task)
	if ok {
		a := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n}
		if g.devices != nil {
			a.Devices = g.devices(s, s.Shape(s.Task(task).Shape), n)
		}
		mustTry(t, a)
		out.Add(a)
		out.Close()
		g.table.update(x, n)
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
		g.table.ticks += g.waiting.wakeThose(s, &sched.Changed{Nodes: []cluster.NodeID{n}}, func(group *group, n cluster.NodeID) bool {
			return group.id.priority < rank && g.mayEvict(s, group, n)
		}, g.line.enter)
	}
	return placed, beside || alsoBeside
}

// mustTry does an action that is known to hold.
func mustTry(t *sched.Trial, a sched.Action) {
	if r := t.Try(a); r.Refused() {
		panic("queue: a node that admits the task refuses it: " + r.Code.String())
	}
}

// roomNow is RoomNow for a row that may be one of the tie-break order to come.
func roomNow(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) bool {
	return int(n) < s.NodeRows() && s.RoomNow(id, n)
}
