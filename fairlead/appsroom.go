package fairlead

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file makes room for an application that its policy has found no place for, by evicting who comes after it. Its containers are placed one
// by one, as all other tasks are, so that each constraint is held with those before them in place; and what all of them take is one bundle, so that nobody leaves for a
// half of it. Applications whose containers have to stand together wait for room that comes free.

const (
	// appsEvery is how often that is tried, for applications that have waited for appsPatience: their policy has had its turn by then.
	appsEvery    = 10 * cluster.Second
	appsPatience = 30 * cluster.Second
)

// appsRoom is who waits, and what is planned for them.
type appsRoom struct {
	waiting []waitingApp
	next    cluster.Time
	bundle  sched.Plan // scratch
}

// waitingApp is a container that waits.
type waitingApp struct {
	task cluster.TaskID
	seq  cluster.Seq
}

// learn takes in which containers wait.
func (a *appsRoom) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		a.waiting, a.next = a.waiting[:0], 0
	}
	for _, t := range c.Tasks {
		if task := s.Task(t); task.Phase == cluster.Waiting {
			a.waiting = append(a.waiting, waitingApp{t, task.Seq})
		}
	}
	slices.SortFunc(a.waiting, func(x, y waitingApp) int { return cmp.Compare(x.seq, y.seq) })
	a.waiting = slices.Compact(slices.DeleteFunc(a.waiting, func(w waitingApp) bool {
		task := s.Task(w.task)
		return task.Phase != cluster.Waiting || task.Seq != w.seq
	}))
}

// makeRoom tries to place each application that waits, those that come first before the others.
func (u *united) makeRoom(t *sched.Trial, out *sched.Plan) {
	a, s := &u.room, t.View()
	if len(a.waiting) == 0 || u.without.lacks(WithoutEvictions) {
		return
	}
	if out.Wake = min(out.Wake, max(a.next, later(s.Now(), 1))); s.Now() < a.next {
		return
	}
	a.next = later(s.Now(), appsEvery)
	out.Wake = min(out.Wake, a.next)
	byJob, ranks := map[cluster.JobID][]cluster.TaskID{}, map[cluster.JobID]rank{}
	var jobs []cluster.JobID
	for _, w := range a.waiting {
		task := s.Task(w.task)
		if task.Phase != cluster.Waiting || s.Now()-task.Account.Since < appsPatience {
			continue // it has just been placed, or has just come
		}
		r := u.who.waiting(s, task)
		if _, known := byJob[task.Job]; !known {
			jobs, ranks[task.Job] = append(jobs, task.Job), r
		}
		byJob[task.Job] = append(byJob[task.Job], w.task)
		ranks[task.Job] = min(ranks[task.Job], r)
	}
	slices.SortStableFunc(jobs, func(x, y cluster.JobID) int { return cmp.Compare(ranks[x], ranks[y]) })
	for _, j := range jobs {
		u.placeWhole(t, byJob[j], out)
	}
	out.Ticks += u.ticks()
	u.table.Ticks, u.grants.bids.Ticks, u.victims.bids.Ticks, u.victims.occupants.Looks = 0, 0, 0, 0
}

// placeWhole places all of the tasks as one bundle, or none. Where nobody has to leave for that, it is left to their own policy.
func (u *united) placeWhole(t *sched.Trial, tasks []cluster.TaskID, out *sched.Plan) {
	s, plan, mark, bucket := t.View(), &u.room.bundle, t.Mark(), u.victims.bucket
	plan.Reset()
	all, leaves := true, false
	for _, task := range tasks {
		own := s.Task(task)
		x := u.index(s, own.Shape, u.surcharges.tierOf(&s.Classes()[own.Class]))
		placed, _ := u.placeOne(t, x, task, plan)
		u.table.Unhide(x)
		if all = placed; !all {
			break
		}
	}
	for i := range plan.Bundles() {
		leaves = leaves || slices.ContainsFunc(plan.Bundle(i), func(a sched.Action) bool { return a.Kind == sched.Evict })
	}
	if all = all && leaves; !all {
		t.Rollback(mark)
		u.victims.bucket = bucket
	}
	for i := range plan.Bundles() {
		for _, action := range plan.Bundle(i) {
			(moving{policy: u.policy, t: t}).touch(action)
			if all {
				out.Add(action)
			}
		}
	}
	out.Close()
}
