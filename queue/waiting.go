package queue

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
	"fairlead.dev/fairlead/sched"
)

// group is the waiting tasks that are the same to the policy: where one of
// them does not fit, none does. Its tasks stand in order of submission.
type group struct {
	id    groupID
	tasks heap.Heap[entry]
	awake bool // is to be tried; a group that is not has failed since
	row   uint32
	turn  uint64 // which of its turns in a line counts
	offer uint64 // of mesos: the place in the rotation of the next node for it
	pass  uint64 // in which offer was found
}

// groupID says what makes tasks the same.
type groupID struct {
	key      int64 // place in the line
	priority int32
	user     int32
	shape    cluster.ShapeID
	job      cluster.JobID // where a node may have only so many of its tasks; otherwise noJob
}

const noJob = cluster.JobID(1<<32 - 1)

// entry is a task in a group. It is out of date when its task is placed, gated,
// gone or another one in the same row, or stands in a group by another entry
// since it was reshaped.
type entry struct {
	seq    cluster.Seq
	task   cluster.TaskID
	ticket uint32
}

// Before orders a group by submission.
func (e entry) Before(o entry) bool { return e.seq < o.seq }

// member is how the task of a row stands in a group.
type member struct {
	seq      cluster.Seq // 1 + the task's; 0 where it stands in none
	shape    cluster.ShapeID
	priority int32
	ticket   uint32 // of the entry that counts
}

// fits reports whether some task of the group may go on the node now. Tasks of
// different jobs may differ in that; the doubt counts for them.
func (g *group) fits(s *cluster.View, n cluster.NodeID) bool {
	return roomNow(s, g.id.shape, n) && (g.id.job == noJob && !s.Constrained(g.id.shape) || !s.Admits(g.tasks[0].task, n).Refused())
}

// waiting is every waiting task, in groups. A group that fits nowhere sleeps
// until a node changes so that it fits.
type waiting struct {
	groups map[groupID]*group
	member []member // per task row
	ticket uint32   // the last one that was given out
	rows   cluster.Rows
	asleep []*group // in the order in which they fell asleep, gone ones dropped lazily
	least  floor    // of what sleeping groups ask for
	// evicts says that a group may count on the room of what it can evict.
	evicts bool
	near   []cluster.NodeID // scratch of wakeThose
}

// reset forgets everything.
func (w *waiting) reset() {
	*w = waiting{groups: map[groupID]*group{}, evicts: w.evicts}
}

// begins reports whether the task waits and stands in no group yet.
func (w *waiting) begins(s *cluster.View, t cluster.TaskID) bool {
	for int(t) >= len(w.member) {
		w.member = append(w.member, member{})
	}
	return s.Task(t).Phase == cluster.Waiting && !w.stands(s, t)
}

// stands reports whether the task waits in a group, and as what it is now.
func (w *waiting) stands(s *cluster.View, t cluster.TaskID) bool {
	task, m := s.Task(t), &w.member[t]
	return task.Phase == cluster.Waiting && m.seq == task.Seq+1 && m.shape == task.Shape && m.priority == task.Priority
}

// waits reports whether the entry is still good.
func (w *waiting) waits(s *cluster.View, e entry) bool {
	return w.member[e.task].ticket == e.ticket && w.stands(s, e.task)
}

// join puts a task that begins to wait into its group. A sleeping group stays
// asleep: the newcomer is the same as those that did not fit. A group of one
// has not been tried.
func (w *waiting) join(s *cluster.View, t cluster.TaskID, id groupID) *group {
	task := s.Task(t)
	w.ticket++
	w.member[t] = member{task.Seq + 1, task.Shape, task.Priority, w.ticket}
	g := w.groups[id]
	// Where all earlier tasks are gone, the rows of shape and job may mean
	// something else by now.
	if g == nil || !w.settle(g, s) {
		g = &group{id: id, row: w.rows.Take()}
		w.groups[id] = g
	}
	g.tasks.Push(entry{task.Seq, t, w.ticket})
	return g
}

// settle drops tasks that no longer wait from the front of the group, and the
// group when it is empty.
func (w *waiting) settle(g *group, s *cluster.View) bool {
	for len(g.tasks) > 0 && !w.waits(s, g.tasks[0]) {
		w.drop(g)
	}
	if len(g.tasks) > 0 {
		return true
	}
	g.awake = false
	if w.groups[g.id] == g {
		delete(w.groups, g.id)
		w.rows.Give(g.row)
	}
	return false
}

// drop takes the first task out of the group.
func (w *waiting) drop(g *group) {
	e := g.tasks.Pop()
	if w.member[e.task].ticket == e.ticket {
		w.member[e.task] = member{}
	}
}

// exile moves the first task into a group of its job's own. It is refused for
// the sake of another task of its job, which says nothing of the others.
func (w *waiting) exile(s *cluster.View, g *group) *group {
	task := g.tasks[0].task
	w.drop(g)
	id := g.id
	id.job = s.Task(task).Job
	return w.join(s, task, id)
}

// sleep lets the group wait until wakeThose finds it a node.
func (w *waiting) sleep(s *cluster.View, g *group) {
	g.awake = false
	w.asleep = append(w.asleep, g)
	w.least = w.least.with(s.Shape(g.id.shape).Demand)
}

// floor is, kind by kind, at most what any of those asks for that it stands for; nil
// stands for nobody.
type floor []int64

// with is the floor that stands for one more. It may use the memory of f.
func (f floor) with(demand cluster.Vector) floor {
	if f == nil {
		return floor(slices.Clone(demand))
	}
	for k, q := range demand {
		f[k] = min(f[k], q)
	}
	return f
}

// wakeThose calls wake for the sleeping groups that fit on one of the changed
// nodes, or of those that came into their own set, and for those whose constraints count
// otherwise, and returns how many looks that took.
func (w *waiting) wakeThose(s *cluster.View, c *sched.Changed, fits func(*group, cluster.NodeID) bool, wake func(*group)) int64 {
	if len(w.asleep) == 0 {
		return 0
	}
	looks := int64(len(c.Nodes))
	w.near = w.near[:0]
	for _, n := range c.Nodes {
		if w.least.within(s, n, w.evicts) {
			w.near = append(w.near, n)
		}
	}
	if len(w.near) == 0 && len(c.Members) == 0 && len(c.Constrained) == 0 {
		return looks
	}
	asleep := w.asleep
	w.asleep, w.least = asleep[:0], nil
	for _, g := range asleep {
		if g.awake || !w.settle(g, s) {
			continue
		}
		woken := slices.Contains(c.Constrained, g.id.shape)
		for i := 0; i < len(w.near) && !woken; i++ {
			looks++
			woken = fits(g, w.near[i])
		}
		for _, m := range c.MembersOf(s.Shape(g.id.shape).Eligible) {
			if woken {
				break
			}
			looks++
			woken = fits(g, m.Node)
		}
		if woken {
			wake(g)
		} else {
			w.sleep(s, g)
		}
	}
	clear(asleep[len(w.asleep):])
	return looks
}

// within reports whether the node could have room for one of them, as far as can be said
// without looking at each; evicts says that they may count on what others take.
func (f floor) within(s *cluster.View, n cluster.NodeID, evicts bool) bool {
	if !s.NodeLive(n) {
		return false
	}
	limit, used := s.Limit(n), s.Used(n)
	for k, need := range f {
		have := limit[k]
		if !evicts {
			have -= used[k]
		}
		if need > have && need > 0 {
			return false
		}
	}
	return true
}

// all lists the tasks that wait, in order of submission.
func (w *waiting) all(s *cluster.View) []entry {
	var list []entry
	for _, g := range w.groups {
		for _, e := range g.tasks {
			if w.waits(s, e) {
				list = append(list, e)
			}
		}
	}
	slices.SortFunc(list, func(a, b entry) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return list
}
