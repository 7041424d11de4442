package ecsched

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// Gangs are the jobs whose tasks want to stand on one node, the paper's
// container affinity. The paper joins the arcs of such containers in a node of
// their own, from which a solver may still send them to different machines, and
// through which no two of them reach a machine that takes one unit. Here the
// waiting tasks of a gang are contracted to one request: it asks for the sum,
// goes where all may go, and is placed as one bundle. Where some of a gang run
// already, the others go to that node alone.

// gangs knows the tasks of each gang.
type gangs struct {
	jobs  []gang        // by job row
	known []cluster.Seq // by task row: 1 + the seq of a task that is in its gang
	solve uint64
}

// gang is one job's tasks, in the order in which they were shown.
type gang struct {
	tasks []cluster.TaskID
	solve uint64 // in which it was last seen in the window
}

// learn takes in what changed.
func (g *gangs) learn(s *cluster.View, c *sched.Changed) {
	if c.All {
		*g = gangs{solve: g.solve}
	}
	for _, t := range c.Tasks {
		task := s.Task(t)
		if !s.Job(task.Job).Together {
			continue
		}
		g.known = book.Grown(g.known, t, 0)
		if g.known[t] == task.Seq+1 {
			continue
		}
		g.jobs = book.Grown(g.jobs, task.Job, gang{})
		// An earlier task of the gang in the same row drops out before this one
		// is known.
		g.jobs[task.Job].tasks = append(g.members(s, task.Job), t)
		g.known[t] = task.Seq + 1
	}
}

// members lists the gang's tasks, without those that have ended since.
func (g *gangs) members(s *cluster.View, j cluster.JobID) []cluster.TaskID {
	if int(j) >= len(g.jobs) {
		return nil
	}
	job := &g.jobs[j]
	kept := job.tasks[:0]
	for _, t := range job.tasks {
		if task := s.Task(t); task.Phase != cluster.Absent && task.Job == j && g.known[t] == task.Seq+1 {
			kept = append(kept, t)
		}
	}
	job.tasks = kept
	return kept
}

// first reports whether the gang is seen for the first time in this solve.
func (g *gangs) first(j cluster.JobID) bool {
	first := g.jobs[j].solve != g.solve
	g.jobs[j].solve = g.solve
	return first
}

// waiting appends the tasks of the gang that wait to the list.
func (g *gangs) waiting(s *cluster.View, j cluster.JobID, list []cluster.TaskID) []cluster.TaskID {
	for _, t := range g.members(s, j) {
		if s.Task(t).Phase == cluster.Waiting {
			list = append(list, t)
		}
	}
	return list
}

// home is the node where tasks of the gang stand already, or are about to;
// NoNode if there is none.
func (g *gangs) home(s *cluster.View, j cluster.JobID) cluster.NodeID {
	for _, t := range g.members(s, j) {
		if n := staysOn(s.Task(t)); n != cluster.NoNode {
			return n
		}
	}
	return cluster.NoNode
}

// staysOn is the node that the task has and keeps.
func staysOn(task *cluster.Task) cluster.NodeID {
	if task.Phase == cluster.Leaving {
		return task.Next
	}
	return task.Node
}

// unplaced is the waiting tasks of a gang, which go to one node.
type unplaced struct {
	tasks  []cluster.TaskID
	demand cluster.Vector // of all of them
	home   cluster.NodeID // where others of the job are already; NoNode if nowhere
}

func unplacedOf(s *cluster.View, job cluster.JobID) unplaced {
	g := unplaced{demand: make(cluster.Vector, len(s.Kinds())), home: cluster.NoNode}
	for i := range s.TaskRows() {
		t := cluster.TaskID(i)
		switch other := s.Task(t); {
		case other.Phase == cluster.Absent || other.Job != job:
		case other.Phase == cluster.Waiting:
			g.tasks = append(g.tasks, t)
			for k, q := range s.Demand(t) {
				g.demand[k] += q
			}
		case g.home == cluster.NoNode:
			g.home = staysOn(other)
		}
	}
	return g
}

// may reports whether the gang may use the node.
func (g *unplaced) may(s *cluster.View, n cluster.NodeID) bool {
	for _, t := range g.tasks {
		if !s.Eligible(s.Shape(s.Task(t).Shape).Eligible, n) {
			return false
		}
	}
	return g.home == cluster.NoNode || g.home == n
}

// explainGang looks at every node to say why a gang's waiting tasks are not
// placed. It asks the state alone, which may know more than the last round did.
func explainGang(s *cluster.View, task cluster.TaskID) sched.Reason {
	g := unplacedOf(s, s.Task(task).Job)
	if len(g.tasks) == 0 || len(g.tasks) == 1 && g.home == cluster.NoNode {
		return sched.Explain(s, task)
	}
	unplaceable := true
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		unplaceable = unplaceable && (!s.NodeLive(n) || !g.may(s, n) || !g.demand.Fits(s.Limit(n)))
	}
	r := sched.NewReason(s.Task(task))
	if unplaceable {
		r.Hinder(sched.Unplaceable{})
	}
	var refusals sched.Refusals
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		if !s.NodeLive(n) {
			continue
		}
		if r.Nodes++; !g.refuses(s, n, unplaceable, &refusals) {
			r.Admit++
		}
	}
	r.Causes = append(r.Causes, refusals.Causes()...)
	return r
}

// refuses notes why the node refuses the gang, and reports whether it does; empty goes by what
// the node holds when empty.
func (g *unplaced) refuses(s *cluster.View, n cluster.NodeID, empty bool, r *sched.Refusals) bool {
	if !g.may(s, n) {
		r.NotEligible()
		return true
	}
	limit, used := s.Limit(n), s.Used(n)
	for k, need := range g.demand {
		have := limit[k]
		if !empty {
			have -= used[k]
		}
		if need > have && need > 0 {
			r.NoRoom(k, need, have, empty)
			return true
		}
	}
	for _, t := range g.tasks {
		switch refusal := s.Admits(t, n); refusal.Code {
		case cluster.Allowed:
		case cluster.NoDevice:
			r.NoPieces(s.DeviceNeeds(s.Task(t).Shape), refusal)
			return true
		default:
			r.NotApart()
			return true
		}
	}
	return false
}
