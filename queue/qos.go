package queue

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/sched"
)

// qos is the scheduler of QoS-driven scheduling (JISA 2020, algorithm 1;
// specification §2 to 6): one pass over who waits, the most urgent first. A task
// goes to the best node with room, by kube's score; what is told to leave takes none,
// be it by this pass or before. Where there is no room the task evicts those that are
// less urgent than it is, on the node where that costs least; they wait for the next
// pass. Urgency is frozen for the pass, and nobody who was placed in it is evicted in it.
//
// The invariant that makes a pass cheap: a waiting task's slack falls as fast as any
// other's, and that of a running one rises as fast as any other's of its class. So
// waiting tasks stand in groups whose order never changes, and the least urgent run
// on each node is known, up to a rounding, by a number that only changes when the
// node does (occupants). A group whose head can find neither room, since no node has
// gained any, nor anybody less urgent anywhere, is not looked at. One that fails
// says so for all that come later in the pass and ask for as much or more: for them a
// node has no more left, together with what may be evicted there. Only who was not
// looked at may yet gain by what an eviction leaves over (share).
//
// Cost of a pass: a few nanoseconds for each group of waiting tasks, and for each
// that may evict somebody a look at each node that has somebody less urgent and
// enough of them, once a pass for each shape (bidders). Tried and dropped: a heap of
// bids for each shape, which had to drop a stale one for each victim of the pass, and
// took longer.
type qos struct {
	table     table
	rooms     rooms
	line      urgentLine
	occupants occupants
	bidders   bidders
	heads     heap.Heap[head]
	failed    []*cluster.Shape // in this pass: what asks for as much fits nowhere either
	gained    cluster.Vector   // the most, kind by kind, that a changed node has to give
	pass      uint64
	budget    int64 // of the round
	cut       bool  // the budget ended the last round within the pass
	moved     bool  // something changed since the pass began
	company   sched.Company
}

func newQoS(o Options) sched.Policy {
	q := &qos{table: newTable(o), rooms: rooms{freed: true}}
	q.line.reset()
	return q
}

// head is the first task of a group.
type head struct {
	urgency
	seq   cluster.Seq
	group *urgentGroup
}

// Before is the order of the pass.
func (h head) Before(o head) bool {
	return cmp.Or(h.compare(o.urgency), cmp.Compare(h.seq, o.seq)) < 0
}

// Why says why the task is not placed.
func (q *qos) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	return sched.Explain(t.View(), task)
}

// Plan is one pass, or what an earlier round's budget left of it.
func (q *qos) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	q.learn(s, c)
	if q.cut {
		q.moved = q.moved || len(c.Nodes) > 0
	} else {
		q.pass++
		q.moved = false
	}
	q.cut, q.budget = false, budget
	q.begin(s, c)
	for tried := false; len(q.heads) > 0; tried = true {
		if q.cut = tried && q.spent(); q.cut {
			break
		}
		q.serve(t, q.heads.Pop().group, out)
	}
	q.heads = q.heads[:0]
	if q.cut || q.moved {
		out.Wake = s.Now()
	}
	out.Ticks, q.table.ticks = q.table.ticks, 0
	q.company.Plan(t, c, budget, out)
}

func (q *qos) spent() bool { return q.budget > 0 && q.table.ticks >= q.budget }

// learn takes in what changed since the last round.
func (q *qos) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		q.line.reset()
		q.table.reset()
		q.rooms = rooms{freed: true}
		q.occupants.reset()
		q.bidders = bidders{}
		q.cut = false
	}
	q.table.learn(s, c)
	q.rooms.learn(s, c.Nodes)
	q.occupants.learn(s, c)
	q.bidders.choice.victims.learn(s, c)
	q.table.ticks += int64(len(c.Nodes))
	for _, row := range c.Gone {
		q.line.forget(row)
	}
	for _, task := range c.Tasks {
		q.line.consider(s, task)
	}
}

// begin lines up the heads of the groups that have something to hope for.
func (q *qos) begin(s *cluster.View, c *sched.Changed) {
	q.failed = q.failed[:0]
	q.bidders.occupants, q.bidders.order = &q.occupants, &q.table.order
	q.bidders.begin(s, q.pass)
	q.gain(s, c)
	for i := 0; i < len(q.line.groups); {
		g := q.line.groups[i]
		if !q.line.settle(g) {
			continue // another one stands in its place
		}
		i++
		h := head{urgency: q.line.urgency(g, s), seq: g.tasks[0].seq, group: g}
		if g.failed == q.pass || g.asleep && !q.gains(s, c, g) && !q.occupants.below(s.Classes(), h.urgency) {
			continue
		}
		g.lined = q.bidders.choice.round
		q.heads = append(q.heads, h)
	}
	q.heads.Init()
	q.table.ticks += int64(len(q.line.groups)/64 + len(q.heads))
}

// gain notes the most that any of the changed nodes has to give.
func (q *qos) gain(s *cluster.View, c *sched.Changed) {
	q.gained = append(q.gained[:0], make(cluster.Vector, len(s.Kinds()))...)
	for _, n := range c.Nodes {
		if !s.NodeLive(n) {
			continue
		}
		limit, used, leaving := s.Limit(n), s.Used(n), s.LeavingDemand(n)
		for k := range q.gained {
			q.gained[k] = max(q.gained[k], limit[k]-used[k]+leaving[k])
		}
	}
}

// gains reports whether some node could have come to have room for the group since it
// last failed.
func (q *qos) gains(s *cluster.View, c *sched.Changed, g *urgentGroup) bool {
	shape := s.Shape(g.id.shape)
	if len(c.Members) > 0 && len(c.MembersOf(shape.Eligible)) > 0 {
		return true
	}
	return slices.Contains(c.Constrained, g.id.shape) || len(c.Nodes) > 0 && shape.Demand.Fits(q.gained)
}

// serve places tasks of the group for as long as they are first in line and find a
// place.
func (q *qos) serve(t *sched.Trial, g *urgentGroup, out *sched.Plan) {
	s := t.View()
	shape := s.Shape(g.id.shape)
	for {
		if q.vain(shape) {
			g.asleep, g.failed = true, q.pass
			return
		}
		task := g.tasks[0].task
		u := q.line.urgency(g, s)
		n, placed, beside := q.placeOne(t, task, u, out)
		if !placed {
			g.asleep, g.failed = !beside, q.pass
			if !beside {
				q.failed = append(q.failed, shape)
			}
			return
		}
		q.table.note(n)
		q.rooms.set(s, n)
		q.bidders.acted(task, n)
		if len(q.bidders.choice.chosen) > 0 {
			q.share(s, n, head{urgency: u, seq: s.Task(task).Seq})
		}
		q.line.drop(g)
		if !q.line.settle(g) {
			return
		}
		next := head{urgency: q.line.urgency(g, s), seq: g.tasks[0].seq, group: g}
		if q.spent() || len(q.heads) > 0 && q.heads[0].Before(next) {
			q.heads.Push(next)
			return
		}
	}
}

// placeOne places the task on the best node, or where evicting costs least. Beside
// says that some node was refused only for another task of the job.
func (q *qos) placeOne(t *sched.Trial, task cluster.TaskID, u urgency, out *sched.Plan) (on cluster.NodeID, placed, beside bool) {
	s := t.View()
	q.bidders.choice.chosen = q.bidders.choice.chosen[:0]
	n, ok, beside := q.find(s, task)
	if ok {
		a := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n}
		mustTry(t, a)
		out.Add(a)
		out.Close()
		return n, true, beside
	}
	n, placed, alsoBeside := q.preempt(t, task, u, out)
	return n, placed, beside || alsoBeside
}

// share lines up groups for which there was nothing to hope for, and which could use
// what an eviction leaves over on the node. Those before the one that evicted have had
// their turn.
func (q *qos) share(s *cluster.View, n cluster.NodeID, after head) {
	limit, used, leaving := s.Limit(n), s.Used(n), s.LeavingDemand(n)
	left, over := q.gained[:0], false
	for k := range limit {
		left = append(left, max(limit[k]-used[k]+leaving[k], 0))
		over = over || left[k] > 0
	}
	if !over {
		return
	}
	q.table.ticks += int64(len(q.line.groups) / 64)
	for _, g := range q.line.groups {
		if g.lined == q.bidders.choice.round || g.failed == q.pass || !s.Shape(g.id.shape).Demand.Fits(left) {
			continue
		}
		if h := (head{urgency: q.line.urgency(g, s), seq: g.tasks[0].seq, group: g}); after.Before(h) {
			g.lined = q.bidders.choice.round
			q.heads.Push(h)
		}
	}
}

// vain reports whether a shape that asks for no more has failed in this pass, on all
// nodes that this one may use.
func (q *qos) vain(shape *cluster.Shape) bool {
	for _, f := range q.failed {
		if (f.Eligible == shape.Eligible || f.Eligible == cluster.AllNodes) && f.Demand.Fits(shape.Demand) {
			return true
		}
	}
	return false
}

// find is the node that scores best of those with room once all that leaves has left.
// Nodes that have as many tasks of the job as they may stay hidden until they change, or
// a task of another job comes: of a large job each task would else meet all of them.
func (q *qos) find(s *cluster.View, task cluster.TaskID) (n cluster.NodeID, ok, beside bool) {
	id := s.Task(task).Shape
	demand := s.Shape(id).Demand
	if _, ok := q.rooms.next(demand, 0, func(n cluster.NodeID) bool { return q.roomFreed(s, id, n) }); !ok {
		return 0, false, false
	}
	x := q.table.sync(indexID{shape: id}, func(n cluster.NodeID) int64 {
		if !q.roomFreed(s, id, n) {
			return none
		}
		return kubeScoreLess(s, s.Shape(id), n, s.LeavingDemand(n))
	})
	if job := s.Task(task).Job; x.job != job || s.Constrained(id) || len(x.hidden) > len(q.table.order.at) {
		q.table.unhide(x)
		x.job = job
	}
	for {
		n, ok := q.table.top(x)
		if !ok {
			return 0, false, len(x.hidden) > 0
		}
		if !s.Admits(task, n).Refused() {
			return n, true, false
		}
		q.table.hide(x, n)
	}
}

// roomFreed reports whether the shape fits on the node once all that leaves has left.
func (q *qos) roomFreed(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) bool {
	if int(n) >= s.NodeRows() || !s.NodeLive(n) || !s.Eligible(s.Shape(id).Eligible, n) {
		return false
	}
	v := &q.bidders.choice.victims
	v.none(s, n)
	return v.enough(s, id, n)
}

// preempt evicts for the task on the node where that costs least, as one bundle with
// the placement, or reports that there is no such node.
func (q *qos) preempt(t *sched.Trial, task cluster.TaskID, u urgency, out *sched.Plan) (on cluster.NodeID, placed, beside bool) {
	s := t.View()
	b := q.bidders.of(s, s.Task(task).Shape, u)
	q.bidders.restoreFor(s, b, s.Task(task).Job)
	for {
		n, ok := q.bidders.best(s, b, u)
		if !ok {
			break
		}
		if q.evict(t, task, n, out) {
			on, placed = n, true
			break
		}
		if len(b.aside) == 0 {
			q.bidders.setAsideAll(s, b, task)
		}
		q.bidders.setAside(b, n)
	}
	beside = len(b.aside) > 0
	q.table.ticks += q.bidders.choice.looks
	q.bidders.choice.looks = 0
	return on, placed, beside
}

// evict tries the bundle on one node.
func (q *qos) evict(t *sched.Trial, task cluster.TaskID, n cluster.NodeID, out *sched.Plan) bool {
	q.bidders.choice.choose(t.View(), t.View().Task(task).Shape, n)
	leave := q.bidders.choice.victims.list[:0]
	for _, c := range q.bidders.choice.chosen {
		leave = append(leave, c.task)
	}
	q.bidders.choice.victims.list = leave
	return replace(t, leave, task, n, out)
}
