package fairlead

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// This file makes room for an application that its policy has found no place for, by evicting who comes after it. Its containers are placed one
// by one, as all other tasks are, so that each constraint is held with those before them in place; and what all of them take is one bundle, so that nobody leaves for a
// half of it. Applications whose containers have to stand together wait for room that comes free.

const (
	// appsEvery is how often that is tried, for applications that have waited for appsPatience: their policy has had its turn by then. For tasks of a loose one
	// it is tried at once.
	appsEvery    = 10 * cluster.Second
	appsPatience = 30 * cluster.Second
)

// appsRoom is the containers that wait, in groups of each application.
type appsRoom struct {
	waiting book.Waiting[struct{}]
	next    cluster.Time
	bundle  sched.Plan // scratch
}

// learn takes in which containers wait.
func (a *appsRoom) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		*a = appsRoom{bundle: a.bundle}
	}
	a.waiting.Forget(s, c)
	for _, t := range slices.Concat(c.Tasks, c.Gangs) {
		if task := s.Task(t); task.Phase == cluster.Waiting {
			_, joined := a.waiting.Join(s, t, book.ID{Job: task.Job, Shape: task.Shape, Priority: task.Priority, Class: task.Class}, int64(task.Account.Since))
			if joined && s.Job(task.Job).Loose {
				a.next = 0
			}
		}
	}
}

// makeRoom tries to place each application that waits, those that come first before the others.
func (u *united) makeRoom(t *sched.Trial, out *sched.Plan) {
	a, s := &u.room, t.View()
	if len(a.waiting.Groups()) == 0 || u.without.lacks(WithoutEvictions) {
		return
	}
	if s.Now() < a.next {
		out.Wake = min(out.Wake, a.next)
		return
	}
	a.next = later(s.Now(), appsEvery)
	out.Wake = min(out.Wake, a.next)
	var long []*book.Group[struct{}] // of which some have waited long enough
	for _, g := range a.waiting.Groups() {
		if task := s.Task(a.waiting.First(g)); task.Phase == cluster.Waiting && (s.Job(task.Job).Loose || s.Now()-task.Account.Since >= appsPatience) {
			long = append(long, g)
		}
	}
	slices.SortFunc(long, func(x, y *book.Group[struct{}]) int {
		one, other := s.Task(a.waiting.First(x)), s.Task(a.waiting.First(y))
		return cmp.Or(cmp.Compare(u.who.waiting(s, one), u.who.waiting(s, other)), cmp.Compare(one.Seq, other.Seq))
	})
	for len(long) > 0 {
		job, tasks := long[0].Job, []cluster.TaskID(nil)
		long = slices.DeleteFunc(long, func(g *book.Group[struct{}]) bool {
			if g.Job != job {
				return false
			}
			tasks = a.waiting.All(g, tasks)
			return true
		})
		tasks = slices.DeleteFunc(tasks, func(t cluster.TaskID) bool { return s.Task(t).Phase != cluster.Waiting }) // just placed
		slices.SortFunc(tasks, func(x, y cluster.TaskID) int { return cmp.Compare(s.Task(x).Seq, s.Task(y).Seq) })
		if !s.Job(job).Loose {
			u.placeWhole(t, tasks, out)
			continue
		}
		for i := range tasks { // where one finds none, the others do not either
			if !u.placeWhole(t, tasks[i:i+1], out) {
				break
			}
		}
	}
}

// placeWhole places all of the tasks as one bundle, or none, and reports which. Where nobody has to leave, or to become smaller, for that, it is left to their own policy.
func (u *united) placeWhole(t *sched.Trial, tasks []cluster.TaskID, out *sched.Plan) bool {
	s, plan, mark, bucket := t.View(), &u.room.bundle, t.Mark(), u.victims.bucket
	plan.Reset()
	all, leaves := true, false
	t.Gather()
	defer t.Gathered()
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
		leaves = leaves || slices.ContainsFunc(plan.Bundle(i), func(a sched.Action) bool { return a.Kind == sched.Evict || a.Kind == sched.Resize })
	}
	if all = all && leaves && cluster.GangLacks(s, s.Task(tasks[0]).Job) == 0; !all {
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
	return all
}
