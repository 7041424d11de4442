package lane

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/sched"
)

// This file poses a state as a problem: the lane's tasks that wait, and every task that one of their
// constraints may name, wherever it is.

// posed is a problem and whose it is.
type posed struct {
	problem constraint.Problem
	jobs    []cluster.JobID // of applications
	rows    []cluster.NodeID
	node    []int32        // problem's row by cluster row; Nowhere where no node is
	quick   Solver         // Options.Quick
	movers  []int32        // containers that move by the plan
	actions []sched.Action // scratch
}

func bySeq(s *cluster.View, a, b cluster.TaskID) int {
	return cmp.Compare(s.Task(a).Seq, s.Task(b).Seq)
}

// pose is the state as a problem in which those of the waiting tasks that are wanted are to be
// placed. Constraints among tasks that stay where they are, whatever is planned, are left out,
// and so are the tasks that nothing else concerns: an old cluster is full of them. But where nodes in use are
// weighed, all tasks say which these are.
func (p *Policy) pose(s *cluster.View, wanted func(cluster.TaskID) bool) *posed {
	q := &posed{problem: constraint.Problem{Kinds: s.Kinds(), Objective: p.options.Objective}, quick: p.options.Quick}
	q.nodes(s)
	tasks := p.waitingTasks(s, wanted)
	h := scope{map[cluster.JobID]bool{}, map[cluster.ConstraintID]bool{}, map[cluster.ShapeID]bool{}}
	for _, t := range tasks {
		h.include(s, t)
	}
	p.eachTagged(s, func(t cluster.TaskID) {
		if s.Now() >= p.repair && p.mayMove(s, t) {
			h.include(s, t)
		}
	})
	clear(h.shapes)
	p.eachTagged(s, func(t cluster.TaskID) {
		if p.options.Objective.Used > 0 || h.jobs[s.Task(t).Job] || h.concerns(s, s.Task(t).Shape) {
			tasks = append(tasks, t)
		}
	})
	for id := range cluster.ConstraintID(s.ConstraintRows()) {
		if h.constraints[id] {
			q.problem.Constraints = append(q.problem.Constraints, *s.Constraint(id))
		}
	}
	q.groups(s)
	q.containers(s, tasks, p.mayMove)
	return q
}

// eachTagged goes through the tasks on nodes that constraints may name, but not those that leave.
func (p *Policy) eachTagged(s *cluster.View, do func(cluster.TaskID)) {
	for n := range p.tagged {
		for _, t := range p.tagged[n] {
			if task := s.Task(t); task.Phase != cluster.Leaving && task.Node == cluster.NodeID(n) {
				do(t)
			}
		}
	}
}

// scope is what a plan may change: whose tasks it places, and the constraints that concern
// them.
type scope struct {
	jobs        map[cluster.JobID]bool
	constraints map[cluster.ConstraintID]bool
	shapes      map[cluster.ShapeID]bool // scratch: those that were looked at, and what was found
}

func (h *scope) include(s *cluster.View, t cluster.TaskID) {
	task := s.Task(t)
	h.jobs[task.Job] = true
	if h.shapes[task.Shape] {
		return
	}
	h.shapes[task.Shape] = true
	for _, c := range s.ConstraintsOf(task.Shape) {
		if holdsInTheEnd(s.Constraint(c)) {
			h.constraints[c] = true
		}
	}
}

// holdsInTheEnd reports whether a plan of all can look at the constraint. What binds who comes does so in an order that such a plan does not have, and
// commit holds it to that; alone a preference for company, or for none, means as much in the end.
func holdsInTheEnd(c *cluster.Constraint) bool {
	return !c.Arriving || !c.Hard && !slices.ContainsFunc(c.Any[0], func(b cluster.Bound) bool { return b.OrFirst || b.OverFewest })
}

// concerns reports whether one of the constraints concerns tasks of the shape.
func (h *scope) concerns(s *cluster.View, shape cluster.ShapeID) bool {
	is, known := h.shapes[shape]
	if !known {
		is = slices.ContainsFunc(s.ConstraintsOf(shape), func(c cluster.ConstraintID) bool { return h.constraints[c] })
		h.shapes[shape] = is
	}
	return is
}

// nodes lists the live nodes with what is left of them once what leaves has left.
func (q *posed) nodes(s *cluster.View) {
	q.node = make([]int32, s.NodeRows())
	kinds := len(s.Kinds())
	flat := make([]int64, 2*kinds*s.NodeRows())
	for row := range q.node {
		n := cluster.NodeID(row)
		if !s.NodeLive(n) {
			q.node[row] = constraint.Nowhere
			continue
		}
		q.node[row] = int32(len(q.rows))
		q.rows = append(q.rows, n)
		limit, free := cluster.Vector(flat[:kinds:kinds]), cluster.Vector(flat[kinds:2*kinds:2*kinds])
		flat = flat[2*kinds:]
		copy(limit, s.Limit(n))
		for k := range free {
			free[k] = limit[k] - s.Used(n)[k] + s.LeavingDemand(n)[k]
		}
		node := constraint.Node{ID: n, Name: s.NodeSpec(n).Name, Capacity: limit, Free: free}
		for _, kind := range s.DeviceKinds() {
			for i := range kind.Count(s.Capacity(n)) {
				node.AddDevices(kind, s.Devices(n)[kind.First+i].LeftLater())
			}
		}
		q.problem.Nodes = append(q.problem.Nodes, node)
	}
}

// groups lists the families of sets that constraints name.
func (q *posed) groups(s *cluster.View) {
	each := constraint.Group{Name: cluster.EachNode}
	for i := range q.problem.Nodes {
		each.Sets = append(each.Sets, q.problem.Nodes[i].Name)
		each.SetOf = append(each.SetOf, int32(i))
	}
	q.problem.Groups = []constraint.Group{each}
	var names []string
	for i := range q.problem.Constraints {
		for _, bounds := range q.problem.Constraints[i].Any {
			for j := range bounds {
				if g := bounds[j].Group; g != cluster.EachNode {
					names = append(names, g)
				}
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		q.problem.Groups = append(q.problem.Groups, q.group(s, name))
	}
}

// group is the family of that name.
func (q *posed) group(s *cluster.View, name string) constraint.Group {
	g := constraint.Group{Name: name, SetOf: make([]int32, len(q.rows))}
	values := make([]string, len(q.rows))
	for i, n := range q.rows {
		for _, label := range s.NodeSpec(n).Groups {
			if label.Key == name {
				values[i] = label.Value
				g.Sets = append(g.Sets, label.Value)
			}
		}
	}
	slices.Sort(g.Sets)
	g.Sets = slices.Compact(g.Sets)
	for i, value := range values {
		g.SetOf[i] = constraint.Nowhere
		if at, found := slices.BinarySearch(g.Sets, value); found {
			g.SetOf[i] = int32(at)
		}
	}
	return g
}

// containers makes applications of the tasks: those that run already first, then those that
// wait, each in the order in which the first of its tasks came.
func (q *posed) containers(s *cluster.View, tasks []cluster.TaskID, mayMove func(*cluster.View, cluster.TaskID) bool) {
	deployed, first := map[cluster.JobID]bool{}, map[cluster.JobID]cluster.Seq{}
	for _, t := range tasks {
		task := s.Task(t)
		if seq, known := first[task.Job]; !known || task.Seq < seq {
			first[task.Job] = task.Seq
		}
		deployed[task.Job] = deployed[task.Job] || task.Placed()
	}
	rank := func(j cluster.JobID) int {
		if deployed[j] {
			return 0
		}
		return 1
	}
	slices.SortFunc(tasks, func(a, b cluster.TaskID) int {
		j, k := s.Task(a).Job, s.Task(b).Job
		return cmp.Or(cmp.Compare(rank(j), rank(k)), cmp.Compare(first[j], first[k]), cmp.Compare(j, k), bySeq(s, a, b))
	})
	type key struct {
		job   cluster.JobID
		shape cluster.ShapeID
	}
	shapes := map[key]int32{}
	for i, t := range tasks {
		task := s.Task(t)
		if i == 0 || s.Task(tasks[i-1]).Job != task.Job {
			q.jobs = append(q.jobs, task.Job)
			q.problem.Applications = append(q.problem.Applications, constraint.Application{Name: s.Job(task.Job).Name, First: int32(i), Deployed: deployed[task.Job] || s.Job(task.Job).Loose})
		}
		k := key{task.Job, task.Shape}
		shape, known := shapes[k]
		if !known {
			shape = int32(len(q.problem.Shapes))
			shapes[k] = shape
			q.problem.Shapes = append(q.problem.Shapes, q.shape(s, task.Shape))
		}
		c := constraint.Container{Task: t, Shape: shape, At: constraint.Nowhere}
		if task.Placed() {
			c.At, c.Devices, c.Fixed = q.node[task.Node], task.Devices, !mayMove(s, t)
		}
		q.problem.Containers = append(q.problem.Containers, c)
		q.problem.Applications[len(q.problem.Applications)-1].End = int32(i + 1)
	}
}

// shape is the shape of the state for the latest application.
func (q *posed) shape(s *cluster.View, id cluster.ShapeID) constraint.Shape {
	of := s.Shape(id)
	shape := constraint.Shape{
		Application: int32(len(q.problem.Applications) - 1), Demand: of.Demand, Needs: s.DeviceNeeds(id), Tags: of.Tags, PerNode: of.PerNode,
	}
	if of.Eligible != cluster.AllNodes {
		shape.Eligible = make([]bool, len(q.rows))
		for i, n := range q.rows {
			shape.Eligible[i] = s.Eligible(of.Eligible, n)
		}
	}
	return shape
}
