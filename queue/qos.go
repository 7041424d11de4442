package queue

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/evict"
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
// node does (lessUrgent). A group whose head can find neither room, since no node has
// gained any, nor anybody less urgent anywhere, is not looked at. One that fails
// says so for all that come later in the pass and ask for as much or more: for them a
// node has no more left, together with what may be evicted there. Only who was not
// looked at may yet gain by what an eviction leaves over (share).
//
// Cost of a pass: a few nanoseconds for each group of waiting tasks, and for each
// that may evict somebody a look at each node, and a closer one where there is somebody less
// urgent and enough of them, once a round for each shape (bidders). Tried and dropped: a heap of
// bids for each shape, which had to drop a stale one for each victim of the pass, and
// took longer.
type qos struct {
	explained
	table      book.Indexes
	rooms      book.Rooms
	waiting    book.Waiting[tries]
	line       book.Line[tries] // by rank of urgency
	lessUrgent lessUrgent
	bidders    bidders
	failed     []*cluster.Shape // in this pass: what asks for as much fits nowhere either
	pass       uint64
	budget     int64 // of the round
	cut        bool  // the budget ended the last round within the pass
	moved      bool  // something changed since the pass began
	company    sched.Company
}

// tries is the last pass in which a group failed. It sleeps while its first task could not fit on any
// node, once all that leaves has left; somebody may be less urgent for all that.
type tries struct{ failed uint64 }

type urgentGroup = book.Group[tries]

func newQoS(o Options) sched.Policy {
	q := &qos{table: book.NewIndexes(o.Ties, o.Seed), bidders: bidders{bids: book.NewIndexes(neverRandom(o.Ties), o.Seed)}}
	q.reset()
	return q
}

func (q *qos) reset() {
	q.table.Reset()
	q.rooms = book.Rooms{Room: book.Freed}
	q.waiting, q.line = book.Waiting[tries]{Room: book.Freed}, book.Line[tries]{}
	q.lessUrgent = lessUrgent{}
	q.bidders = bidders{lessUrgent: &q.lessUrgent, bids: q.bidders.bids}
	q.bidders.bids.Reset()
	q.cut = false
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
	for tried := false; q.line.Peek(&q.waiting) != nil; tried = true {
		if q.cut = tried && q.spent(); q.cut {
			break
		}
		q.serve(t, q.line.Next(&q.waiting), out)
	}
	if q.cut || q.moved {
		out.Wake = s.Now()
	}
	out.Ticks, q.table.Ticks = q.table.Ticks, 0
	q.company.Plan(t, c, budget, out)
}

func (q *qos) spent() bool { return q.budget > 0 && q.table.Ticks >= q.budget }

// learn takes in what changed since the last round.
func (q *qos) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		q.reset()
	}
	q.table.Learn(s, c)
	q.rooms.Learn(s, c.Nodes)
	q.lessUrgent.learn(s, c)
	q.table.Ticks += int64(len(c.Nodes))
	q.waiting.Forget(s, c)
	for _, t := range c.Tasks {
		task := s.Task(t)
		if task.Phase != cluster.Waiting {
			continue
		}
		id := book.ID{Shape: task.Shape, Job: task.Job, Class: task.Class}
		if g, joined := q.waiting.Join(s, t, id, int64(runsOut(s, task))); joined && q.waiting.First(g) == t {
			g.Own.failed = 0 // its first task is another one than that which failed
		}
	}
}

// runsOut is when a waiting task will have no slack left. Slack falls by a second a second, so that
// this does not change while it waits.
func runsOut(s *cluster.View, task *cluster.Task) cluster.Time {
	slack := s.Classes()[task.Class].Slack(task.Account)
	if slack == cluster.Never {
		return slack
	}
	return slack + task.Account.Since
}

// urgency is that of the group's first task.
func (q *qos) urgency(s *cluster.View, g *urgentGroup) urgency {
	u := urgency{rank: calm, slack: cluster.Time(q.waiting.Turn(g, 0).Key)}
	if u.slack != cluster.Never {
		u.slack -= s.Now()
	}
	if u.slack < 0 {
		u.rank = int64(s.Classes()[g.Class].Importance)
	}
	return u
}

// begin queues the groups that could have a place: room that came, or somebody less urgent.
func (q *qos) begin(s *cluster.View, c *sched.Changed) {
	q.failed = q.failed[:0]
	q.bidders.begin(s, c, q.pass)
	q.table.Ticks += q.waiting.Wake(s, c, func(g *urgentGroup, n cluster.NodeID) bool { return q.bidders.choice.roomFreed(s, g.Shape, n) }, func(*urgentGroup) {})
	for _, g := range q.waiting.Groups() {
		if g.Own.failed == q.pass {
			continue
		}
		if u := q.urgency(s, g); !g.Asleep() || q.lessUrgent.below(s.Classes(), u) {
			q.enter(s, g)
			q.table.Ticks++
		}
	}
	q.table.Ticks += int64(len(q.waiting.Groups()) / 64)
}

// enter puts the group into the line.
func (q *qos) enter(s *cluster.View, g *urgentGroup) {
	q.line.Enter(&q.waiting, g, q.urgency(s, g).rank)
}

// serve places tasks of the group for as long as they are first in line and find a
// place.
func (q *qos) serve(t *sched.Trial, g *urgentGroup, out *sched.Plan) {
	s := t.View()
	shape := s.Shape(g.Shape)
	for {
		if g.Short(s) || q.vain(shape) {
			g.Own.failed = q.pass
			q.waiting.Sleep(s, g)
			return
		}
		task, u := q.waiting.First(g), q.urgency(s, g)
		n, placed, beside := q.placeOne(t, task, u, out)
		if !placed {
			g.Own.failed = q.pass
			if !beside {
				q.waiting.Sleep(s, g)
				if len(s.ConstraintsOf(g.Shape)) == 0 { // whom a constraint keeps off says nothing of others
					q.failed = append(q.failed, shape)
				}
			}
			return
		}
		q.table.Journal.Note(n)
		q.rooms.Set(s, n)
		q.bidders.acted(task, n)
		if len(q.bidders.choice.search.Victims) > 0 {
			q.share(s, n, q.waiting.Turn(g, u.rank))
		}
		q.waiting.Leave(task)
		if g.Len() == 0 {
			return
		}
		if q.spent() || !q.line.Behind(&q.waiting, q.waiting.Turn(g, q.urgency(s, g).rank)) {
			q.enter(s, g)
			return
		}
	}
}

// placeOne places the task on the best node, or where evicting costs least. Beside
// says that some node was refused only for another task of the job.
func (q *qos) placeOne(t *sched.Trial, task cluster.TaskID, u urgency, out *sched.Plan) (on cluster.NodeID, placed, beside bool) {
	s := t.View()
	q.bidders.choice.search.Victims = q.bidders.choice.search.Victims[:0]
	n, ok, beside := q.find(s, task)
	if ok {
		place(t, sched.Action{Task: task, Node: n}, out)
		return n, true, beside
	}
	n, placed, alsoBeside := q.preempt(t, task, u, out)
	return n, placed, beside || alsoBeside
}

// share queues groups that could not have a place before, and could use
// what an eviction leaves over on the node. Those before the one that evicted have had
// their turn.
func (q *qos) share(s *cluster.View, n cluster.NodeID, after book.Turn) {
	q.table.Ticks += q.waiting.Wake(s, &sched.Changed{Nodes: []cluster.NodeID{n}}, func(g *urgentGroup, n cluster.NodeID) bool {
		return g.Own.failed != q.pass && after.Before(q.waiting.Turn(g, q.urgency(s, g).rank)) && q.bidders.choice.roomFreed(s, g.Shape, n)
	}, func(g *urgentGroup) { q.enter(s, g) })
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
	if _, ok := q.rooms.Next(demand, 0, func(n cluster.NodeID) bool { return q.bidders.choice.roomFreed(s, id, n) }); !ok {
		return 0, false, false
	}
	x := q.table.Sync(s, book.IndexID{Shape: id}, func(n cluster.NodeID) int64 {
		if !q.bidders.choice.roomFreed(s, id, n) {
			return book.None
		}
		return kubeScoreLess(s, s.Shape(id), n, s.LeavingDemand(n))
	})
	if job := s.Task(task).Job; x.Job != job || s.Constrained(id) || len(x.Hidden) > len(q.table.Order.At) {
		q.table.Unhide(x)
		x.Job = job
	}
	for {
		n, ok := q.table.Top(x)
		if !ok {
			return 0, false, len(x.Hidden) > 0
		}
		if !cluster.Keeps(s, task, n).Refused() {
			return n, true, false
		}
		q.table.Hide(x, n)
	}
}

// preempt evicts for the task on the node where that costs least, as one bundle with
// the placement, or reports that there is no such node.
func (q *qos) preempt(t *sched.Trial, task cluster.TaskID, u urgency, out *sched.Plan) (on cluster.NodeID, placed, beside bool) {
	s := t.View()
	b, id := &q.bidders, s.Task(task).Shape
	x := b.of(s, id, u)
	if job := s.Task(task).Job; x.Job != job {
		b.bids.Unhide(x)
		x.Job = job
	}
	for {
		n, ok := b.best(s, x, id, u)
		if !ok {
			break
		}
		_, ok = b.choice.choose(s, id, n, u)
		if on, placed = n, ok && evict.Replace(t, b.choice.search.Victims, task, n, out); placed {
			break
		}
		if len(x.Hidden) == 0 {
			b.hideAll(s, x, task)
		}
		b.bids.Hide(x, n)
	}
	beside = len(x.Hidden) > 0
	q.table.Ticks += b.bids.Ticks + b.choice.occupants.Looks
	b.bids.Ticks, b.choice.occupants.Looks = 0, 0
	return on, placed, beside
}
