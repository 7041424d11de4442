package flow

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/mcmf"
)

// This file knows which task stands in which task group, and as what: as one that
// waits, or as one that runs and may be moved. Those that run and may at most be stopped
// have no task group (tenants.go).

const noJob = cluster.JobID(1<<32 - 1)

// requestID is what tasks ask of a node: the job counts where a node may have only so
// many of its tasks.
type requestID struct {
	shape cluster.ShapeID
	job   cluster.JobID
}

// taskGroupID is what makes tasks interchangeable. Running tasks that may be moved are
// so only if they are of one job and pay the same, as units have no names.
type taskGroupID struct {
	request    requestID
	key        uint64
	tier       int32
	job        cluster.JobID // of movable tasks; otherwise noJob
	wait, stay Cost          // of movable tasks
	alone      cluster.Seq   // 1 + the task's, if it is a task group of its own
}

// taskGroup is interchangeable tasks.
type taskGroup struct {
	id      taskGroupID
	live    bool
	request int32
	node    mcmf.Node
	units   int64 // what the node gives: tasks that wait, and those that may move
	waiting int32
	shares  []int32 // rows, by job as they came
	stays   []int32 // rows, by node as they came
	outs    []out
	at      int32 // position in network.lines, or -1
}

// out is an arc that leaves a task group, but for those to unscheduled and stays.
type out struct {
	arc   mcmf.Arc
	group int32          // row; -1 for an arc to a node
	node  cluster.NodeID // of those
	cost  Cost
}

// share is the tasks of one job in a task group: what may flow from the task group to the
// job's unscheduled node, the cheapest to leave waiting first.
type share struct {
	taskGroup int32
	job       cluster.JobID
	arc       mcmf.Arc
	stale     bool   // the arc is not what levels say
	levels    []Step // units by price, ascending
	waiting   heap.Heap[entry]
}

// entry is a waiting task in a share. It is out of date when its ticket is not
// the member's.
type entry struct {
	wait   Cost
	seq    cluster.Seq
	task   cluster.TaskID
	ticket uint32
}

// Before puts the tasks first that are the dearest to leave waiting.
func (e entry) Before(o entry) bool {
	if e.wait != o.wait {
		return e.wait > o.wait
	}
	return e.seq < o.seq
}

// stay is the tasks of one task group that run on one node and may be moved.
type stay struct {
	taskGroup int32
	node      cluster.NodeID
	arc       mcmf.Arc
	cost      Cost
	tasks     []cluster.TaskID // by submission
	shared    bool             // the arc leads to the node's port, else to the sink
	at        int32            // position among the node's stays
}

// member is how the task of a row stands in the network.
type member struct {
	seq    cluster.Seq // 1 + the task's; 0 where it does not
	shape  cluster.ShapeID
	terms  Terms
	share  int32 // row, or -1 of a tenant that is not to move (tenants.go)
	stay   int32 // row, or -1 while it waits, and of such a tenant
	node   cluster.NodeID
	ticket uint32
	apart  bool // was refused for the sake of another task of its job
}

type shareID struct {
	taskGroup int32
	job       cluster.JobID
}

type stayID struct {
	taskGroup int32
	node      cluster.NodeID
}

// updateTask brings the network up to date with a task, whatever it was and is.
func (w *network) updateTask(s *cluster.View, t cluster.TaskID) {
	for int(t) >= len(w.members) {
		w.members = append(w.members, member{stay: -1})
	}
	task, m := s.Task(t), &w.members[t]
	counts := task.Phase == cluster.Waiting || task.Phase == cluster.Running && !w.pinned && !s.Evictable(t).Refused()
	if !counts {
		w.leave(t)
		return
	}
	terms := w.terms(s, t)
	if task.Phase == cluster.Running && !terms.Movable {
		w.leave(t)
		return
	}
	node := cluster.NoNode
	if task.Phase == cluster.Running {
		node = task.Node
	}
	if node != cluster.NoNode && !w.moves {
		w.updateTenant(task, t, terms)
		return
	}
	if m.seq == task.Seq+1 && m.shape == task.Shape && m.terms == terms && m.node == node {
		return
	}
	if m.seq == task.Seq+1 && m.shape == task.Shape && m.share >= 0 && terms.Alone && m.terms.Alone && m.terms.Key == terms.Key && m.terms.Tier == terms.Tier {
		w.shift(t, terms, node)
		return
	}
	w.leave(t)
	w.join(s, t, terms, node)
}

// shift changes what a task that is a task group of its own pays, or where it is,
// without making the task group anew. Mostly it is a price that time has changed, which
// concerns nobody else.
func (w *network) shift(t cluster.TaskID, terms Terms, node cluster.NodeID) {
	m := &w.members[t]
	if m.node != node {
		taskGroup := w.shares[m.share].taskGroup
		w.unstand(t)
		w.stand(t, taskGroup, m.share, terms, node)
		return
	}
	if terms.Wait != m.terms.Wait {
		w.addLevel(m.share, m.terms.Wait, -1)
		w.addLevel(m.share, terms.Wait, 1)
		if node == cluster.NoNode {
			w.ticket++
			m.ticket = w.ticket
			w.shares[m.share].waiting.Push(entry{terms.Wait, m.seq - 1, t, m.ticket})
		}
	}
	if node != cluster.NoNode && terms.Stay != m.terms.Stay {
		st := &w.stays[m.stay]
		st.cost = terms.Stay
		if st.arc != mcmf.None {
			w.graph.SetArc(st.arc, 0, int64(len(st.tasks)), st.cost)
		}
	}
	if node != cluster.NoNode && evicting(&terms) < evicting(&m.terms) {
		w.noteRoom(node) // for those who would have to evict it
	}
	m.terms = terms
}

// join puts a task into its task group.
func (w *network) join(s *cluster.View, t cluster.TaskID, terms Terms, node cluster.NodeID) {
	task := s.Task(t)
	id := taskGroupID{request: requestID{task.Shape, noJob}, key: terms.Key, tier: terms.Tier, job: noJob}
	apart := w.members[t].apart
	if s.Shape(task.Shape).PerNode > 0 || apart {
		id.request.job = task.Job
	}
	switch {
	case terms.Alone:
		id.alone = task.Seq + 1
	case node != cluster.NoNode:
		id.job, id.wait, id.stay = task.Job, terms.Wait, terms.Stay
	}
	c, ok := w.taskGroupOf[id]
	if !ok {
		c = w.newTaskGroup(s, id, t)
	}
	sh := w.shareOf(c, task.Job)
	w.members[t] = member{seq: task.Seq + 1, shape: task.Shape, stay: -1, node: cluster.NoNode, apart: apart}
	w.stand(t, c, sh, terms, node)
}

// stand counts a task in its task group and share, as one that waits or stays.
func (w *network) stand(t cluster.TaskID, c, sh int32, terms Terms, node cluster.NodeID) {
	taskGroup, m := &w.taskGroups[c], &w.members[t]
	w.ticket++
	m.terms, m.share, m.node, m.ticket, m.stay = terms, sh, node, w.ticket, -1
	taskGroup.units++
	w.addLevel(sh, terms.Wait, 1)
	if node == cluster.NoNode {
		taskGroup.waiting++
		w.shares[sh].waiting.Push(entry{terms.Wait, m.seq - 1, t, w.ticket})
	} else {
		m.stay = w.addStay(c, node, terms.Stay, t)
		w.addTenant(t, node)
		w.requests[w.taskGroups[c].request].running++
	}
	w.touch(c)
}

// unstand is the reverse of stand; the task group and the share stay.
func (w *network) unstand(t cluster.TaskID) {
	m := &w.members[t]
	sh := &w.shares[m.share]
	taskGroup := &w.taskGroups[sh.taskGroup]
	taskGroup.units--
	w.addLevel(m.share, m.terms.Wait, -1)
	if m.stay >= 0 {
		w.dropStay(m.stay, t)
		w.removeTenant(t, m.node)
		m.stay = -1
		w.requests[taskGroup.request].running--
	} else {
		taskGroup.waiting--
	}
	m.ticket = 0
	w.touch(sh.taskGroup)
}

// leave takes the task of the row out of the network.
func (w *network) leave(t cluster.TaskID) {
	if int(t) >= len(w.members) || w.members[t].seq == 0 {
		return
	}
	m := &w.members[t]
	if m.share < 0 {
		w.removeTenant(t, m.node)
		*m = member{stay: -1}
		return
	}
	sh := m.share
	c := w.shares[sh].taskGroup
	w.unstand(t)
	*m = member{stay: -1}
	if len(w.shares[sh].levels) == 0 {
		w.dropShare(sh)
	}
	if w.taskGroups[c].units == 0 {
		w.idle = append(w.idle, c)
	}
}

// first is the waiting task of the share that is the dearest to leave waiting.
func (w *network) first(sh int32) (cluster.TaskID, bool) {
	h := &w.shares[sh].waiting
	for len(*h) > 0 {
		e := (*h)[0]
		if w.members[e.task].ticket == e.ticket {
			return e.task, true
		}
		h.Pop()
	}
	return 0, false
}

// addLevel counts units of the share that pay so much for waiting.
func (w *network) addLevel(row int32, price Cost, units int64) {
	sh := &w.shares[row]
	at, found := slices.BinarySearchFunc(sh.levels, price, func(l Step, p Cost) int {
		switch {
		case l.Cost < p:
			return -1
		case l.Cost > p:
			return 1
		}
		return 0
	})
	if !found {
		sh.levels = slices.Insert(sh.levels, at, Step{Cost: price})
	}
	sh.levels[at].Capacity += units
	if sh.levels[at].Capacity == 0 {
		sh.levels = slices.Delete(sh.levels, at, at+1)
	}
	if !sh.stale {
		sh.stale = true
		w.staleShares = append(w.staleShares, row)
	}
}

func (w *network) shareOf(c int32, job cluster.JobID) int32 {
	id := shareID{c, job}
	if row, ok := w.shareRow[id]; ok {
		return row
	}
	row := w.freeShare.take(len(w.shares))
	if int(row) == len(w.shares) {
		w.shares = append(w.shares, share{})
	}
	sh := &w.shares[row]
	*sh = share{taskGroup: c, job: job, levels: sh.levels[:0], waiting: sh.waiting[:0]}
	sh.arc = w.graph.AddArc(w.taskGroups[c].node, w.unscheduled(job), 0, 0, 0)
	w.shareRow[id] = row
	w.taskGroups[c].shares = append(w.taskGroups[c].shares, row)
	return row
}

func (w *network) dropShare(row int32) {
	sh := &w.shares[row]
	w.graph.RemoveArc(sh.arc)
	w.release(sh.job)
	delete(w.shareRow, shareID{sh.taskGroup, sh.job})
	taskGroup := &w.taskGroups[sh.taskGroup]
	taskGroup.shares = slices.DeleteFunc(taskGroup.shares, func(r int32) bool { return r == row })
	sh.taskGroup = -1
	w.freeShare.give(row)
}

func (w *network) addStay(c int32, n cluster.NodeID, cost Cost, t cluster.TaskID) int32 {
	id := stayID{c, n}
	row, ok := w.stayRow[id]
	if !ok {
		row = w.freeStay.take(len(w.stays))
		if int(row) == len(w.stays) {
			w.stays = append(w.stays, stay{})
		}
		m := w.machine(n)
		w.stays[row] = stay{taskGroup: c, node: n, arc: mcmf.None, tasks: w.stays[row].tasks[:0], at: int32(len(m.stays))}
		m.stays = append(m.stays, row)
		w.stayRow[id] = row
		w.taskGroups[c].stays = append(w.taskGroups[c].stays, row)
	}
	st := &w.stays[row]
	st.cost = cost
	at, _ := slices.BinarySearchFunc(st.tasks, w.members[t].seq, func(t cluster.TaskID, seq cluster.Seq) int {
		if w.members[t].seq < seq {
			return -1
		}
		return 1
	})
	st.tasks = slices.Insert(st.tasks, at, t)
	w.noteRoom(n)
	return row
}

func (w *network) dropStay(row int32, t cluster.TaskID) {
	st := &w.stays[row]
	st.tasks = slices.DeleteFunc(st.tasks, func(o cluster.TaskID) bool { return o == t })
	w.noteRoom(st.node)
	if len(st.tasks) > 0 {
		return
	}
	if st.arc != mcmf.None {
		w.graph.RemoveArc(st.arc)
		if st.shared {
			w.leavePort(st.node)
		}
	}
	delete(w.stayRow, stayID{st.taskGroup, st.node})
	taskGroup := &w.taskGroups[st.taskGroup]
	taskGroup.stays = slices.DeleteFunc(taskGroup.stays, func(r int32) bool { return r == row })
	m := w.machine(st.node)
	last := m.stays[len(m.stays)-1]
	m.stays[st.at] = last
	w.stays[last].at = st.at
	m.stays = m.stays[:len(m.stays)-1]
	st.taskGroup = -1
	w.freeStay.give(row)
}

// rows hands out rows of a table, the last given back first.
type rows []int32

func (r *rows) take(length int) int32 {
	if n := len(*r); n > 0 {
		row := (*r)[n-1]
		*r = (*r)[:n-1]
		return row
	}
	return int32(length)
}

func (r *rows) give(row int32) { *r = append(*r, row) }
