package fairlead

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// users are what each user holds of the cluster: the demand of the lane's tasks that take room. The
// share of a user is that of the kind of which it holds most (dominant resource fairness, Ghodsi
// et al., NSDI 2011).
type users struct {
	known book.Users
	held  []cluster.Vector // by user
	tasks []holding        // by task row
}

// holding is what is counted of a task.
type holding struct {
	user   int32
	demand cluster.Vector // nil: nothing
}

// of is the number of the user whose job it is.
func (u *users) of(s *cluster.View, j cluster.JobID) int32 {
	number := u.known.Of(s, j)
	if int(number) == len(u.held) {
		u.held = append(u.held, make(cluster.Vector, len(s.Kinds())))
	}
	return number
}

// learn takes in what changed.
func (u *users) learn(s *cluster.View, c *sched.Changed) {
	for _, t := range c.Gone {
		u.count(t, 0, nil)
	}
	for _, t := range c.Tasks {
		u.look(s, t)
	}
}

// look counts what a task takes by now.
func (u *users) look(s *cluster.View, t cluster.TaskID) {
	task := s.Task(t)
	if !task.Placed() {
		u.count(t, 0, nil)
		return
	}
	u.count(t, u.of(s, task.Job), s.Demand(t))
}

// count replaces what is counted of a task.
func (u *users) count(t cluster.TaskID, user int32, demand cluster.Vector) {
	u.tasks = book.Grown(u.tasks, t, holding{})
	h := &u.tasks[t]
	for k, q := range h.demand {
		u.held[h.user][k] -= q
	}
	h.user, h.demand = user, append(h.demand[:0], demand...)
	for k, q := range demand {
		u.held[user][k] += q
	}
}

// own reports whether the task is one of the lane's own, and takes room.
func (u *users) own(t cluster.TaskID) bool {
	return int(t) < len(u.tasks) && len(u.tasks[t].demand) > 0
}

// share is that of a user, in half octaves: 0 is a 2⁻²⁰th or less.
func (u *users) share(s *cluster.View, user int32) int {
	return min(halves(u.part(s, user)<<20), 1<<shareBits-1)
}

// part is the share of a user, as a cluster.Fraction.
func (u *users) part(s *cluster.View, user int32) int64 {
	share, total := int64(0), s.Totals().Capacity
	for k, q := range u.held[user] {
		share = max(share, cluster.Fraction(q, total[k]))
	}
	return share
}
