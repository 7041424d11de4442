package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// This file knows which task stands in which task group, and as what: as one that
// waits, or as one that runs and may be moved. Those that run and may at most be stopped
// have no task group (tenants.go).

const noJob = cluster.JobID(1<<32 - 1)

// noTask is no row of a task.
const noTask = cluster.TaskID(1<<32 - 1)

// requestID is what tasks ask of a node: the job counts where a node may have only so
// many of its tasks.
type requestID struct {
	shape cluster.ShapeID
	job   cluster.JobID
}

// member is how the task of a row stands in the network.
type member struct {
	seq   cluster.Seq // 1 + the task's; 0 where it does not
	shape cluster.ShapeID
	terms Terms
	share int32 // row, or -1 of a tenant that is not to move (tenants.go)
	stay  int32 // row, or -1 while it waits, and of such a tenant
	node  cluster.NodeID
	due   cluster.Time
	apart bool // was refused for the sake of another task of its job
}

// nobody is a row without a task.
func nobody() member { return member{stay: -1, due: cluster.Never} }

// is reports whether the member is this task, of the same shape.
func (m *member) is(t *cluster.Task) bool { return m.seq == t.Seq+1 && m.shape == t.Shape }

// members is the table of all of them.
type members struct {
	answers *answers
	supply  *supply
	stays   *stays
	tenants *tenants
	list    []member // by task row
	// due is who is to be asked about again as a price changes, by the time of that.
	due       book.Queue
	appointed book.Tickets
	running   int // how many may be stopped or moved
}

// of is the member of a row.
func (z *members) of(t cluster.TaskID) *member { return &z.list[t] }

// update brings the network up to date with a task, whatever it was and is.
func (z *members) update(s *cluster.View, t cluster.TaskID) {
	z.list = book.Grown(z.list, t, nobody())
	task, m := s.Task(t), &z.list[t]
	counts := task.Phase == cluster.Waiting || task.Phase == cluster.Running && !s.Evictable(t).Refused()
	if !counts {
		z.leave(t)
		return
	}
	terms := z.answers.terms(s, t)
	if task.Phase == cluster.Running && terms.May == MayStay {
		z.leave(t)
		return
	}
	node := cluster.NoNode
	if task.Phase == cluster.Running {
		node = task.Node
	}
	switch {
	case node != cluster.NoNode && terms.May == MayStop:
		z.updateTenant(task, t, terms)
	case m.is(task) && m.terms == terms && m.node == node:
	case m.is(task) && m.share >= 0 && terms.Alone && m.terms.Alone && m.terms.Key == terms.Key && m.terms.Tier == terms.Tier:
		z.shift(t, terms, node)
	default:
		z.leave(t)
		z.join(s, t, terms, node)
	}
	z.appoint(s, t, terms.Next)
}

// updateTenant brings the network up to date with a running task that may be stopped.
func (z *members) updateTenant(task *cluster.Task, t cluster.TaskID, terms Terms) {
	m := &z.list[t]
	if m.is(task) && m.node == task.Node && m.share < 0 {
		z.reprice(m, terms, terms.Tier != m.terms.Tier, true)
		return
	}
	z.leave(t)
	*m = member{seq: task.Seq + 1, shape: task.Shape, terms: terms, share: -1, stay: -1, node: task.Node, due: cluster.Never}
	z.arrive(m.node)
}

// reprice says what evicting a tenant has come to cost, and has those look at its node who
// would have to evict it: at its offers where it has become cheaper or whose turn it is
// is another; at its port where it has become dearer.
func (z *members) reprice(m *member, terms Terms, anew, ports bool) {
	before, price := evicting(&m.terms), evicting(&terms)
	m.terms = terms
	if anew {
		z.tenants.Forget(m.node)
	} else if price != before {
		z.tenants.Reprice(m.node, m.seq-1, price)
	}
	switch {
	case price < before || anew:
		z.tenants.journal.Note(m.node)
	case price > before && ports:
		z.supply.ports.refresh(m.node)
	}
}

// leaveShapes has tasks leave whose shape's row was given anew, so that nobody asks by what that meant before. They are
// among those that changed, as a shape is forgotten only when no task has it.
func (z *members) leaveShapes(c *sched.Changed) {
	anew := slices.Sorted(slices.Values(c.Shapes))
	for _, t := range c.Tasks {
		if int(t) >= len(z.list) || z.list[t].seq == 0 {
			continue
		}
		if _, is := slices.BinarySearch(anew, z.list[t].shape); is {
			z.leave(t)
		}
	}
}

// arrive counts one more tenant, on that node.
func (z *members) arrive(n cluster.NodeID) {
	z.running++
	z.tenants.Forget(n)
	z.tenants.journal.Note(n)
}

// depart counts one less.
func (z *members) depart(m *member) {
	z.running--
	z.tenants.Drop(m.node, m.seq-1)
	z.tenants.journal.Note(m.node)
}

// shift changes what a task that is a task group of its own pays, or where it is,
// without making the task group anew. Mostly it is a price that time has changed, which
// concerns nobody else.
func (z *members) shift(t cluster.TaskID, terms Terms, node cluster.NodeID) {
	m := &z.list[t]
	shares := z.supply.shares
	if m.node != node {
		taskGroup := shares.list[m.share].taskGroup
		z.unstand(t)
		z.stand(t, taskGroup, m.share, terms, node)
		return
	}
	if terms.Wait != m.terms.Wait {
		shares.count(m.share, m.terms.Wait, -1)
		shares.count(m.share, terms.Wait, 1)
		if node == cluster.NoNode {
			shares.tickets.Leave(&shares.list[m.share].waiting, t)
			shares.line(m.share, t, m.seq-1, terms.Wait)
		}
	}
	if node == cluster.NoNode {
		m.terms = terms
		return
	}
	if terms.Stay != m.terms.Stay {
		z.stays.reprice(m.stay, terms.Stay)
	}
	z.reprice(m, terms, false, false)
}

// join puts a task into its task group.
func (z *members) join(s *cluster.View, t cluster.TaskID, terms Terms, node cluster.NodeID) {
	task := s.Task(t)
	id := taskGroupID{request: requestID{task.Shape, noJob}, key: terms.Key, tier: terms.Tier, job: noJob}
	apart := z.list[t].apart
	if s.Shape(task.Shape).PerNode > 0 || apart {
		id.request.job = task.Job
	}
	switch {
	case terms.Alone:
		id.alone = task.Seq + 1
	case node != cluster.NoNode:
		id.job, id.wait, id.stay = task.Job, terms.Wait, terms.Stay
	}
	c := z.supply.group(s, id, t)
	sh := z.supply.share(c, task.Job)
	z.list[t] = member{seq: task.Seq + 1, shape: task.Shape, stay: -1, node: cluster.NoNode, due: cluster.Never, apart: apart}
	z.stand(t, c, sh, terms, node)
}

// stand counts a task in its task group and share, as one that waits or stays.
func (z *members) stand(t cluster.TaskID, row, sh int32, terms Terms, node cluster.NodeID) {
	c, m := &z.supply.groups[row], &z.list[t]
	m.terms, m.share, m.node, m.stay = terms, sh, node, -1
	c.units++
	z.supply.shares.count(sh, terms.Wait, 1)
	if node == cluster.NoNode {
		c.waiting++
		z.supply.shares.line(sh, t, m.seq-1, terms.Wait)
	} else {
		var fresh bool
		if m.stay, fresh = z.stays.add(stayID{row, node}, c, terms.Stay, runner{t, m.seq - 1}); fresh {
			c.stays = append(c.stays, m.stay)
		}
		z.arrive(node)
		z.supply.ranking.countMoving(c.request, 1)
	}
	z.supply.touch(row)
}

// unstand is the reverse of stand; the task group and the share stay.
func (z *members) unstand(t cluster.TaskID) {
	m, shares := &z.list[t], z.supply.shares
	row := shares.list[m.share].taskGroup
	c := &z.supply.groups[row]
	c.units--
	shares.count(m.share, m.terms.Wait, -1)
	if m.stay >= 0 {
		if z.stays.drop(m.stay, t) {
			c.stays = slices.DeleteFunc(c.stays, func(r int32) bool { return r == m.stay })
		}
		z.depart(m)
		m.stay = -1
		z.supply.ranking.countMoving(c.request, -1)
	} else {
		c.waiting--
		shares.tickets.Leave(&shares.list[m.share].waiting, t)
	}
	z.supply.touch(row)
}

// leave takes the task of the row out of the network.
func (z *members) leave(t cluster.TaskID) {
	if int(t) >= len(z.list) || z.list[t].seq == 0 {
		return
	}
	m := &z.list[t]
	z.miss(t)
	if m.share < 0 {
		z.depart(m)
		*m = nobody()
		return
	}
	sh := m.share
	c := z.supply.shares.list[sh].taskGroup
	z.unstand(t)
	*m = nobody()
	if len(z.supply.shares.list[sh].levels) == 0 {
		z.supply.dropShare(sh)
	}
	if z.supply.groups[c].units == 0 {
		z.supply.idle = append(z.supply.idle, c)
	}
}

// split gives a task a request of its own job, as it may not be beside others of the job.
func (z *members) split(s *cluster.View, t cluster.TaskID) {
	z.leave(t)
	z.list[t].apart = true
	z.update(s, t)
}

// group is the task group of a task, or noTaskGroup of a tenant that has none.
func (z *members) group(t cluster.TaskID) int32 {
	if sh := z.list[t].share; sh >= 0 {
		return z.supply.shares.list[sh].taskGroup
	}
	return noTaskGroup
}

// anyOf is a task of a task group that has some.
func (z *members) anyOf(c *taskGroup) cluster.TaskID {
	for _, sh := range c.shares {
		if e, ok := z.supply.shares.first(sh); ok {
			return e.Task
		}
	}
	return z.stays.list[c.stays[0]].tasks[0].task
}

// askAgain asks the model again about all tasks that take part.
func (z *members) askAgain(s *cluster.View) {
	for t := range z.list {
		if z.list[t].seq != 0 {
			z.update(s, cluster.TaskID(t))
		}
	}
	for row := range z.supply.groups {
		if c := &z.supply.groups[row]; c.live && c.units > 0 {
			z.supply.askAgain(s, int32(row), z.anyOf(c))
		}
	}
}

// appoint makes the one appointment of a task, to be asked about again when its price changes,
// which may be Never.
func (z *members) appoint(s *cluster.View, t cluster.TaskID, at cluster.Time) {
	m := &z.list[t]
	if at = max(at, s.Now()+1); at == m.due {
		return
	}
	z.miss(t)
	if m.due = at; at != cluster.Never {
		z.appointed.Enter(&z.due, t, book.Place{Key: int64(at), Seq: m.seq})
	}
}

// miss takes back the appointment of a task.
func (z *members) miss(t cluster.TaskID) {
	if m := &z.list[t]; m.due != cluster.Never {
		z.appointed.Leave(&z.due, t)
		m.due = cluster.Never
	}
}

// keepAppointments asks about the tasks whose prices have changed by now, and is the
// highest tier of these; belowTiers where there are none.
func (z *members) keepAppointments(s *cluster.View) int64 {
	highest := int64(belowTiers)
	for z.nextDue() <= s.Now() {
		e, _ := z.appointed.First(&z.due)
		z.miss(e.Task)
		z.update(s, e.Task)
		highest = max(highest, int64(z.list[e.Task].terms.Tier))
	}
	return highest
}

// nextDue is when the next price changes; Never if none does.
func (z *members) nextDue() cluster.Time {
	if e, ok := z.appointed.First(&z.due); ok {
		return cluster.Time(e.Key)
	}
	return cluster.Never
}
