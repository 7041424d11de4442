package ecsched

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
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
		for int(t) >= len(g.known) {
			g.known = append(g.known, 0)
		}
		if g.known[t] == task.Seq+1 {
			continue
		}
		for int(task.Job) >= len(g.jobs) {
			g.jobs = append(g.jobs, gang{})
		}
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

// explainGang looks at every node to say why a gang's waiting tasks are not
// placed. It asks the state alone, which may know more than the last round did.
func explainGang(s *cluster.View, task cluster.TaskID) sched.Reason {
	var tasks []cluster.TaskID
	job, home := s.Task(task).Job, cluster.NoNode
	demand := make(cluster.Vector, len(s.Kinds()))
	for i := range s.TaskRows() {
		t := cluster.TaskID(i)
		switch other := s.Task(t); {
		case other.Phase == cluster.Absent || other.Job != job:
		case other.Phase == cluster.Waiting:
			tasks = append(tasks, t)
			for k, q := range s.Demand(t) {
				demand[k] += q
			}
		case home == cluster.NoNode:
			home = staysOn(other)
		}
	}
	if len(tasks) == 0 || len(tasks) == 1 && home == cluster.NoNode {
		return sched.Explain(s, task)
	}
	may := func(n cluster.NodeID) bool {
		for _, t := range tasks {
			if !s.Eligible(s.Shape(s.Task(t).Shape).Eligible, n) {
				return false
			}
		}
		return home == cluster.NoNode || home == n
	}
	unplaceable := true
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		unplaceable = unplaceable && (!s.NodeLive(n) || !may(n) || !demand.Fits(s.Limit(n)))
	}
	r := sched.Reason{Phase: s.Task(task).Phase, Short: make([]sched.Short, len(demand)), Unplaceable: unplaceable}
	for k, q := range demand {
		r.Short[k] = sched.Short{Need: q, Most: -cluster.MaxQuantity}
	}
	for i := range s.NodeRows() {
		if n := cluster.NodeID(i); s.NodeLive(n) {
			r.Nodes++
			countGang(&r, s, tasks, n, may(n))
		}
	}
	return r
}

// countGang notes why the node refuses the gang, whose demand stands in the
// reason.
func countGang(r *sched.Reason, s *cluster.View, tasks []cluster.TaskID, n cluster.NodeID, may bool) {
	if !may {
		r.NotEligible++
		return
	}
	limit, used := s.Limit(n), s.Used(n)
	for k := range r.Short {
		short, have := &r.Short[k], limit[k]
		if !r.Unplaceable {
			have -= used[k]
		}
		if short.Need > have && short.Need > 0 {
			short.Nodes++
			short.Most = max(short.Most, have)
			return
		}
	}
	for _, t := range tasks {
		switch refusal := s.Admits(t, n); refusal.Code {
		case cluster.Allowed:
		case cluster.NoDevice:
			r.Pieces = sched.Pieces{Nodes: r.Pieces.Nodes + 1, Kind: refusal.Kind, Need: s.DeviceNeed(s.Task(t).Shape), Most: max(r.Pieces.Most, int(refusal.Have))}
			return
		default:
			r.NotApart++
			return
		}
	}
	r.Admit++
}
