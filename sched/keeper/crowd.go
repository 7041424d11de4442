package keeper

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file keeps those who wait in crowds. All in a crowd are alike, so that one look at a node answers for all of them, and what is remembered of
// a crowd is true of each: which nodes were woken for it in vain.

// alike is what tasks of a crowd have in common.
type alike struct {
	shape cluster.ShapeID
	job   cluster.JobID // where it is a gang, or nodes may hold so many of its tasks; else 0
	apart bool          // the job matters
}

// crowd are tasks that wait and are alike.
type crowd struct {
	alike
	want    *want
	waiters []waiter // who has waited longest first

	until  cluster.Time // until then they wait for what was woken for them
	forced cluster.Time // when nodes were woken last for those who had waited for too long
	more   int          // how many are woken then the next time, at least
}

// waiter is a task that waits.
type waiter struct {
	since cluster.Time
	seq   cluster.Seq
	task  cluster.TaskID
}

// before orders by how long they have waited, then by submission: rows of tasks are used again.
func (w waiter) before(other waiter) int {
	return cmp.Or(cmp.Compare(w.since, other.since), cmp.Compare(w.seq, other.seq))
}

// want is what is known of a shape of which tasks wait.
type want struct {
	shape  cluster.ShapeID
	crowds int
	helper cluster.NodeID // one of the nodes that are off and would take such a task; NoNode if none would
	sought bool           // the helper was looked for

	// Of one decision: before these no node is left for tasks of the shape, of the plan's nodes that are on, that will be soon, and that are off.
	on, soon, cheap int
	met             bool         // it is in the plan
	helped          bool         // a node that is off or waking would take its tasks
	coming          cluster.Time // until when room is coming for all of them; Never: nobody was served
}

// position is where a task waits; the zero value is that it does not.
type position struct {
	in *crowd
	waiter
}

// update brings up to date whether and where a task waits.
func (k *Keeper) update(s *cluster.View, t cluster.TaskID) {
	for len(k.positions) <= int(t) {
		k.positions = append(k.positions, position{})
	}
	was := k.positions[t]
	is := position{}
	if waits(s, t) {
		task := s.Task(t)
		is = position{k.crowdOf(s, task), waiter{task.Account.Since, task.Seq, t}}
	}
	if is == was {
		return
	}
	k.positions[t] = is
	if is.in != nil { // first, so that what is known of the crowd stays known
		at, _ := slices.BinarySearchFunc(is.in.waiters, is.waiter, waiter.before)
		is.in.waiters = slices.Insert(is.in.waiters, at, is.waiter)
	}
	if was.in != nil {
		k.leave(was)
	}
}

// leave takes a task from its crowd.
func (k *Keeper) leave(was position) {
	c := was.in
	if at, _ := slices.BinarySearchFunc(c.waiters, was.waiter, waiter.before); at == 0 {
		c.waiters = c.waiters[1:] // most often, and where thousands wait the others need not be moved up
	} else {
		c.waiters = slices.Delete(c.waiters, at, at+1)
	}
	if len(c.waiters) > 0 {
		return
	}
	delete(k.crowds, c.alike)
	if c.want.crowds--; c.want.crowds == 0 {
		delete(k.wants, c.shape)
	}
}

// crowdOf is the crowd of a task; a new one if there is none.
func (k *Keeper) crowdOf(s *cluster.View, task *cluster.Task) *crowd {
	key := alike{shape: task.Shape}
	if s.Shape(task.Shape).PerNode > 0 || cluster.IsGang(s, task.Job) {
		key.job, key.apart = task.Job, true
	}
	if c := k.crowds[key]; c != nil {
		return c
	}
	w := k.wants[task.Shape]
	if w == nil {
		w = &want{shape: task.Shape, helper: cluster.NoNode}
		k.wants[task.Shape] = w
	}
	w.crowds++
	c := &crowd{alike: key, want: w, more: 1}
	k.crowds[key] = c
	return c
}

// waits reports whether the task would be placed if there was room.
func waits(s *cluster.View, t cluster.TaskID) bool {
	task := s.Task(t)
	return task.Phase == cluster.Waiting && task.Told != cluster.ToEnd && !s.Job(task.Job).Foreign
}

// findHelpers finds for each shape a node that is off and would take its tasks, and reports whether any has one. Where there was none it looks at those alone at which
// somebody has looked since, as no other has changed.
func (k *Keeper) findHelpers(s *cluster.View) (helped bool) {
	for _, w := range k.wants {
		among := []cluster.NodeID(k.off)
		switch {
		case w.helper != cluster.NoNode && k.off.has(w.helper) && k.fitsEmpty(s, w.shape, w.helper):
			helped = true
			continue
		case w.sought && w.helper == cluster.NoNode:
			among = k.looked
		}
		w.helper, w.sought = cluster.NoNode, true
		if at := slices.IndexFunc(among, func(n cluster.NodeID) bool { return k.off.has(n) && k.fitsEmpty(s, w.shape, n) }); at >= 0 {
			w.helper, helped = among[at], true
		}
	}
	k.looked = k.looked[:0]
	return helped
}

// fitsEmpty reports whether the node would take a task of the shape if it was on and nothing was on it.
func (k *Keeper) fitsEmpty(s *cluster.View, shape cluster.ShapeID, n cluster.NodeID) bool {
	return s.Shape(shape).Demand.Fits(s.Limit(n)) && !s.RefuseDevices(shape, n, cluster.Device.WhenEmpty).Refused() && k.world.Admits(shape, n)
}
