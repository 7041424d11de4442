package fairlead

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file is the stage of applications. Long-running jobs with tags are placed whole, all that wait at once, by a policy
// of their own inside this one, which looks for the fewest violations of constraints and may move what runs for that.
// It goes first: what it places holds for years, and tasks find room around it. All others are placed by the stages behind it; the
// last one makes room for applications that found none (appsroom.go).

// united is the policy with a stage of applications.
type united struct {
	*policy
	apps    sched.Policy
	some    bool // an application has been seen
	room    appsRoom
	changed sched.Changed // scratch: for the applications
	rest    sched.Changed // scratch: for the others
}

// Plan is one pass.
func (u *united) Plan(t *sched.Trial, c *sched.Changed, budget int64, out *sched.Plan) {
	s := t.View()
	mine, others := u.split(s, c)
	if u.some {
		u.apps.Plan(t, mine, budget, out)
		u.note(s, out)
		u.room.learn(s, mine)
	}
	spent := out.Ticks
	u.policy.Plan(t, others, budget, out)
	out.Ticks += spent
	if u.some {
		out.Gap = sched.Gap{} // of applications nothing is said
		before := u.ticks()
		u.makeRoom(t, out)
		out.Ticks += u.ticks() - before
	}
}

// isApp reports whether the task is one of an application.
func isApp(s *cluster.View, t cluster.TaskID) bool {
	task := s.Task(t)
	return s.Job(task.Job).LongRunning && len(s.Shape(task.Shape).Tags) > 0
}

// split says what the applications have to look at again, and what the others have. Before there are any, nobody
// looks at nodes for them.
func (u *united) split(s *cluster.View, c *sched.Changed) (mine, theirs *sched.Changed) {
	if c.All {
		u.some = false
	}
	first := !u.some
	tasks, rest := u.changed.Tasks[:0], u.rest.Tasks[:0]
	gangs, others := u.changed.Gangs[:0], u.rest.Gangs[:0]
	for _, t := range c.Tasks {
		if isApp(s, t) {
			tasks, u.some = append(tasks, t), true
		} else {
			rest = append(rest, t)
		}
	}
	for _, t := range c.Gangs { // an application is placed whole as it is
		if isApp(s, t) {
			gangs, u.some = append(gangs, t), true
		} else {
			others = append(others, t)
		}
	}
	if !u.some {
		return nil, c
	}
	u.rest, u.changed = *c, *c
	u.rest.Tasks, u.changed.Tasks = rest, tasks
	u.rest.Gangs, u.changed.Gangs = others, gangs
	if first && !c.All {
		u.changed.All, u.changed.Nodes = true, nil
		for n := range cluster.NodeID(s.NodeRows()) {
			if s.NodeLive(n) {
				u.changed.Nodes = append(u.changed.Nodes, n)
			}
		}
	}
	return &u.changed, &u.rest
}

// note tells the stages behind of what the applications have done.
func (u *united) note(s *cluster.View, out *sched.Plan) {
	for i := range out.Bundles() {
		for _, a := range out.Bundle(i) {
			n := a.Node
			if a.Kind != sched.Place {
				n = s.Task(a.Task).Node
			}
			if n == cluster.NoNode { // who had a place kept, and lost it, waits again; the placement says where
				continue
			}
			u.table.Journal.Note(n)
			u.victims.acted(n)
		}
	}
}

// Replan lets the applications plan again what commit refused of theirs.
func (u *united) Replan(t *sched.Trial, refused []sched.Action, out *sched.Plan) {
	if again, replans := u.apps.(sched.Replanner); replans && isApp(t.View(), refused[0].Task) {
		again.Replan(t, refused, out)
	}
}

// Why says why the task is not placed: of applications why that is not placed whole.
func (u *united) Why(t *sched.Trial, task cluster.TaskID) sched.Reason {
	if isApp(t.View(), task) {
		return u.apps.Why(t, task)
	}
	return u.policy.Why(t, task)
}

// MayMove reports whether a run may be moved to another node: nobody keeps it there, and its class promises nothing that this would break.
func MayMove(s *cluster.View, t cluster.TaskID) bool {
	task := s.Task(t)
	class := &s.Classes()[task.Class]
	return !s.Shape(task.Shape).Stays && (!class.Promises() || class.Budget > 0 && class.MayLeave(task.Account.At(s.Now(), task.Phase)))
}
