package sched

import (
	"cmp"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/cluster"
)

// Company is the stage in which policies that place one task after the other place those that must
// stand beside their like. The first of them would stand alone, which its own hard constraint forbids,
// so that by itself it is refused everywhere and for ever. Here as many as the constraint asks for
// come in one bundle, on nodes of one set of its group. Whoever comes later finds them there, and is
// placed by the policy alone.
//
// A shape is of this kind where each alternative of a hard constraint asks its tasks for company,
// and one of them for that of their like. While some node takes one of its tasks alone,
// they are left to the policy. Otherwise each set is tried: one task after the other goes to
// the node with room where the fewest subjects violate a constraint then, the first of
// equals, until there are no more of these than before. The smallest bundle of all sets is
// taken, the first of equals.
//
// It keeps tasks of such shapes alone. One that failed is tried again when one of its tasks comes
// back, its constraints count otherwise or its set has changed, and in the sets of nodes that have
// changed and have room for it. A try costs a look at each node, and one at each of these sets
// for each task of a bundle.
//
// The zero value is ready; a policy calls Plan at the end of its own.
type Company struct {
	// Not says of which jobs the policy itself keeps the tasks together; nil is none.
	Not func(*cluster.Job) bool

	own    []cluster.Seq // by task row: 1 + the seq of the lane's own task in it
	shapes map[cluster.ShapeID]*companions
	looks  int64
}

// companions are the waiting tasks of a shape that must stand beside their like.
type companions struct {
	shape  cluster.ShapeID
	specs  []*cluster.Constraint // that concern it
	groups []string              // of their bounds, single nodes first
	most   int                   // how many tasks a bundle may have to hold; 0 where they need not stand so
	tasks  []companion
	all    bool             // to be tried in all sets
	nodes  []cluster.NodeID // or else in the sets of these
}

// companion is a task; another one may stand in its row by now.
type companion struct {
	task cluster.TaskID
	seq  cluster.Seq
}

// Plan takes in what changed, and adds bundles to what the policy has planned. However small the
// budget, it tries one shape.
func (m *Company) Plan(t *Trial, c *Changed, budget int64, out *Plan) {
	s := t.View()
	m.learn(s, c)
	var awake []*companions
	for _, g := range m.shapes { // each by itself, in any order
		switch {
		case !g.all && len(g.nodes) == 0:
		case g.settle(s) > 1:
			awake = append(awake, g)
		default:
			g.all, g.nodes = false, g.nodes[:0] // until there is another one
		}
	}
	slices.SortFunc(awake, func(a, b *companions) int { return cmp.Compare(a.tasks[0].seq, b.tasks[0].seq) })
	for i, g := range awake {
		if i > 0 && budget > 0 && out.Ticks >= budget {
			out.Wake = s.Now()
			return
		}
		g.all = m.try(t, g, out)
		g.nodes = g.nodes[:0]
		out.Ticks += m.looks
		m.looks = 0
	}
}

// learn takes in what changed since the last round.
func (m *Company) learn(s *cluster.View, c *Changed) {
	if c.All || m.shapes == nil {
		m.own, m.shapes = m.own[:0], map[cluster.ShapeID]*companions{}
	}
	for _, row := range c.Gone {
		if int(row) < len(m.own) {
			m.own[row] = 0
		}
	}
	for _, shape := range c.Shapes {
		delete(m.shapes, shape)
	}
	for _, t := range c.Tasks {
		m.join(s, t)
	}
	for _, shape := range c.Constrained {
		g := m.consider(s, shape)
		g.all = g.most > 0
	}
	for _, g := range m.shapes {
		if g.most > 0 && len(g.tasks) > 0 {
			g.wake(s, c)
		}
	}
}

// join takes in a task of the lane's own, which may have begun to wait.
func (m *Company) join(s *cluster.View, t cluster.TaskID) {
	for int(t) >= len(m.own) {
		m.own = append(m.own, 0)
	}
	task := s.Task(t)
	m.own[t] = task.Seq + 1
	if task.Phase != cluster.Waiting || !s.Constrained(task.Shape) {
		return
	}
	g := m.shapes[task.Shape]
	if g == nil {
		g = m.consider(s, task.Shape)
	}
	if g.most > 0 {
		g.tasks = append(g.tasks, companion{t, task.Seq})
		g.all = true
	}
}

// wake notes where there may be room now.
func (g *companions) wake(s *cluster.View, c *Changed) {
	g.all = g.all || len(c.Members) > 0 && len(c.MembersOf(s.Shape(g.shape).Eligible)) > 0
	for _, n := range c.Nodes {
		if s.RoomNow(g.shape, n) {
			g.nodes = append(g.nodes, n)
		}
	}
}

// consider looks at what the constraints say of the shape, if these are others than before.
func (m *Company) consider(s *cluster.View, shape cluster.ShapeID) *companions {
	g := m.shapes[shape]
	if g == nil {
		g = &companions{shape: shape}
		m.shapes[shape] = g
	}
	var specs []*cluster.Constraint
	for _, id := range s.ConstraintsOf(shape) {
		specs = append(specs, s.Constraint(id))
	}
	if slices.Equal(g.specs, specs) {
		return g
	}
	before := g.most
	g.specs = specs
	g.groups, g.most = needsItsLike(specs, s.Shape(shape).Tags)
	for row, seq := range m.own {
		if t := cluster.TaskID(row); before == 0 && g.most > 0 && seq > 0 && s.Task(t).Shape == shape {
			g.tasks = append(g.tasks, companion{t, seq - 1})
		}
	}
	return g
}

// needsItsLike is of which groups the bounds are by which tasks with these tags must stand beside
// their like, and how many there are then where there was none; 0 where they need not.
func needsItsLike(specs []*cluster.Constraint, tags []string) (groups []string, most int) {
	for _, c := range specs {
		asks, like := c.Hard, 0
		var of []string
		for i := 0; i < len(c.Any) && asks; i++ {
			asks = false
			for j := range c.Any[i] {
				b := &c.Any[i][j]
				subject, target := b.Affects(tags)
				if !subject || b.Min == 0 || target && b.SelfCounted && b.Min == 1 {
					continue
				}
				asks = true
				if target {
					like = max(like, int(b.Min)+1)
					of = append(of, b.Group)
				}
			}
		}
		if asks {
			most = max(most, like)
			groups = append(groups, of...)
		}
	}
	slices.Sort(groups)
	groups = slices.Compact(groups)
	if at := slices.Index(groups, cluster.EachNode); at > 0 {
		groups = slices.Insert(slices.Delete(groups, at, at+1), 0, cluster.EachNode)
	}
	return groups, most
}

// settle drops who does not wait any more, or is there twice, and returns how many are left.
func (g *companions) settle(s *cluster.View) int {
	g.tasks = slices.DeleteFunc(g.tasks, func(c companion) bool {
		task := s.Task(c.task)
		return task.Phase != cluster.Waiting || task.Seq != c.seq || task.Shape != g.shape
	})
	slices.SortFunc(g.tasks, func(a, b companion) int { return cmp.Compare(a.seq, b.seq) })
	g.tasks = slices.Compact(g.tasks)
	return len(g.tasks)
}

// try adds the smallest bundle there is to the plan. It reports whether the policy has to place one
// of the tasks alone before.
func (m *Company) try(t *Trial, g *companions, out *Plan) bool {
	s := t.View()
	var tasks []cluster.TaskID
	for _, c := range g.tasks {
		if len(tasks) < g.most && (m.Not == nil || !m.Not(s.Job(s.Task(c.task).Job))) {
			tasks = append(tasks, c.task)
		}
	}
	if len(tasks) < 2 {
		return false
	}
	nodes := m.withRoom(s, g)
	if slices.ContainsFunc(nodes, func(n cluster.NodeID) bool { return !s.Admits(tasks[0], n).Refused() }) {
		return true
	}
	var best []Action
	for i := 0; i < len(g.groups) && best == nil; i++ {
		for _, set := range m.sets(s, g, nodes, g.groups[i]) {
			if bundle := m.gather(t, tasks, set); bundle != nil && (best == nil || len(bundle) < len(best)) {
				best = bundle
			}
		}
	}
	if best == nil || t.TryTogether(best).Refused() {
		return false
	}
	for _, a := range best {
		out.Add(a)
	}
	out.Close()
	return false
}

// withRoom are the nodes with room for a task, in their order.
func (m *Company) withRoom(s *cluster.View, g *companions) (nodes []cluster.NodeID) {
	m.looks += int64(s.NodeRows())
	for n := range cluster.NodeID(s.NodeRows()) {
		if s.RoomNow(g.shape, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// sets parts the nodes by the set of the group that they are in, and leaves out sets that are not to
// be tried.
func (m *Company) sets(s *cluster.View, g *companions, nodes []cluster.NodeID, group string) (sets [][]cluster.NodeID) {
	tried := map[string]bool{}
	for _, n := range g.nodes {
		if set, in := setOf(s, n, group); in {
			tried[set] = true
		}
	}
	at := map[string]int{}
	for _, n := range nodes {
		set, in := setOf(s, n, group)
		if !in || !g.all && !tried[set] {
			continue
		}
		if _, known := at[set]; !known {
			at[set] = len(sets)
			sets = append(sets, nil)
		}
		sets[at[set]] = append(sets[at[set]], n)
	}
	return sets
}

// setOf names the set of the group that the live node is in.
func setOf(s *cluster.View, n cluster.NodeID, group string) (name string, in bool) {
	if group == cluster.EachNode {
		return strconv.Itoa(int(n)), true
	}
	for _, l := range s.NodeSpec(n).Groups {
		if l.Key == group {
			return l.Value, true
		}
	}
	return "", false
}

// gather places as many of the tasks as it takes on nodes of the set, the state staying as it is;
// nil where they find no room, or are too few.
func (m *Company) gather(t *Trial, tasks []cluster.TaskID, nodes []cluster.NodeID) (bundle []Action) {
	s, mark := t.state, t.Mark()
	defer t.Rollback(mark)
	before := s.Violations(tasks[0], nil) // of all, as they are of one shape
	for _, task := range tasks {
		a := Action{Kind: Place, Task: task, Attempt: s.Task(task).Attempt}
		least, found := int64(0), false
		for _, n := range nodes {
			m.looks++
			one := s.Mark()
			if !s.RoomNow(s.Task(task).Shape, n) || s.Place(task, n, 0).Refused() {
				continue
			}
			if excess := s.Excess(before); !found || excess < least {
				a.Node, least, found = n, excess, true
			}
			s.Rollback(one)
			if found && least == 0 {
				break
			}
		}
		if !found || s.Place(task, a.Node, 0).Refused() {
			return nil
		}
		bundle = append(bundle, a)
		if least == 0 {
			return bundle
		}
	}
	return nil
}
