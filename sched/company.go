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
// placed by the policy alone, or in a bundle of its own where there is no room beside them.
//
// A shape is of this kind where each alternative of a hard constraint asks its tasks for company,
// and one of them for that of their like. While some node takes one of its tasks alone,
// they are left to the policy. Otherwise each set is tried: one task after the other goes to
// the node with room where the fewest subjects violate a constraint then, the first of
// equals, until there are no more of these than before. The smallest bundle of all sets is
// taken, the first of equals; then the next one is looked for.
//
// The first of a bundle is of the shape. Companions are all that one of its bounds counts, of
// whatever shape: first come others of its own, then those of shapes that ask for no company
// but that which it asks for itself, then the rest, each in the order of submission.
//
// Where there is no bundle for the room that there is now, one may count on what is leaving: its
// tasks are reserved. No bundle evicts, so that tasks that must stand together wait behind tenants
// which a single task of theirs would evict: policies search victims for one task at a time.
//
// It keeps tasks of such shapes alone. One that failed is tried again when one of its tasks, or of
// their companions, comes back, its constraints count otherwise or its set has changed, and in the
// sets of nodes that have changed and have room for one of them. A try costs a look at each
// node, and one at each of these sets for each task of a bundle.
//
// Gangs are placed in the same stage, before the others: see Gangs.
//
// The zero value is ready; a policy calls Plan at the end of its own.
type Company struct {
	// Not says of which jobs the policy itself keeps the tasks together; nil is none.
	Not   func(*cluster.Job) bool
	Gangs Gangs

	own     []cluster.Seq // by task row: 1 + the seq of the lane's own task in it
	shapes  map[cluster.ShapeID]*companions
	seekers []*companions // those of the shapes that need company
	behind  cluster.Seq   // 1 + the turn of the last that was tried, where the budget ended the round
	looks   int64
}

// companions are the waiting tasks of a shape that must stand beside their like.
type companions struct {
	shape  cluster.ShapeID
	tags   []string
	specs  []*cluster.Constraint // that concern it
	needs  []*cluster.Bound      // of these, by which they must stand so; none where they need not
	groups []string              // of these, single nodes first
	most   int                   // how many tasks a bundle may have to hold
	circle []*companions         // itself, and each of which a bound counts the other
	tasks  []companion
	all    bool             // to be tried in all sets
	nodes  []cluster.NodeID // or else in the sets of these
	news   bool             // it has not been tried since it woke
	turn   cluster.Seq      // of its first task, as the round began
}

// companion is a task; another one may stand in its row by now.
type companion struct {
	task cluster.TaskID
	seq  cluster.Seq
}

// Plan takes in what changed, and adds bundles to what the policy has planned. However small the
// budget, it tries one shape. The round after one that the budget ended goes on behind that shape, and
// comes at once if another has news: one that is left to the policy keeps none from its turn.
func (m *Company) Plan(t *Trial, c *Changed, budget int64, out *Plan) {
	s := t.View()
	m.Gangs.plan(t, c, budget, out)
	m.learn(s, c)
	awake := m.awake(s)
	m.behind = 0
	for i, last := 0, (*companions)(nil); i < len(awake); {
		if last != nil && budget > 0 && out.Ticks >= budget {
			m.behind = last.turn + 1
			if slices.ContainsFunc(awake[i:], func(g *companions) bool { return g.news }) {
				out.Wake = s.Now()
			}
			return
		}
		last = awake[i]
		if !m.try(t, last, out) {
			i++
		}
		out.Ticks += m.looks
		m.looks = 0
	}
}

// awake are the shapes to be tried, in the order of their first tasks; but first those behind the last
// that was tried.
func (m *Company) awake(s *cluster.View) (awake []*companions) {
	for _, g := range m.seekers {
		if (g.all || len(g.nodes) > 0) && g.settle(s) > 0 {
			g.turn = g.tasks[0].seq
			awake = append(awake, g)
		}
	}
	slices.SortFunc(awake, func(a, b *companions) int { return cmp.Compare(a.turn, b.turn) })
	next := slices.IndexFunc(awake, func(g *companions) bool { return g.turn >= m.behind })
	if next <= 0 {
		return awake
	}
	return slices.Concat(awake[next:], awake[:next])
}

// learn takes in what changed since the last round.
func (m *Company) learn(s *cluster.View, c *Changed) {
	if c.All || m.shapes == nil {
		m.own, m.shapes, m.seekers = m.own[:0], map[cluster.ShapeID]*companions{}, nil
	}
	for _, row := range c.Gone {
		if int(row) < len(m.own) {
			m.own[row] = 0
		}
	}
	for _, shape := range c.Shapes {
		if g := m.shapes[shape]; g != nil {
			m.part(g)
			delete(m.shapes, shape)
		}
	}
	for _, t := range c.Tasks {
		m.join(s, t)
	}
	for _, shape := range c.Constrained {
		g := m.consider(s, shape)
		g.all = len(g.needs) > 0
		g.news = g.all
	}
	for _, g := range m.seekers {
		if len(g.tasks) > 0 {
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
	if len(g.needs) > 0 {
		g.tasks = append(g.tasks, companion{t, task.Seq})
		g.wakeAll()
	}
}

// wakeAll is for all to whom a task of the shape is company, or may be.
func (g *companions) wakeAll() {
	for _, other := range g.circle {
		other.all, other.news = true, true
	}
}

// wake notes where there may be room now.
func (g *companions) wake(s *cluster.View, c *Changed) {
	if len(c.Members) > 0 && len(c.MembersOf(s.Shape(g.shape).Eligible)) > 0 {
		g.all, g.news = true, true
	}
	for _, n := range c.Nodes {
		if hasRoom(s, g.circle, n, (*cluster.View).RoomLater) {
			g.nodes, g.news = append(g.nodes, n), true
		}
	}
}

// consider looks at what the constraints say of the shape, if these are others than before.
func (m *Company) consider(s *cluster.View, shape cluster.ShapeID) *companions {
	g := m.shapes[shape]
	if g == nil {
		g = &companions{shape: shape, tags: s.Shape(shape).Tags}
		m.shapes[shape] = g
	}
	var specs []*cluster.Constraint
	for _, id := range s.ConstraintsOf(shape) {
		specs = append(specs, s.Constraint(id))
	}
	if slices.Equal(g.specs, specs) {
		return g
	}
	before := len(g.needs)
	g.specs = specs
	g.needs, g.groups, g.most = needsItsLike(specs, g.tags)
	m.meet(g)
	if before > 0 || len(g.needs) == 0 {
		return g
	}
	for row, seq := range m.own {
		if t := cluster.TaskID(row); seq > 0 && s.Task(t).Shape == shape {
			g.tasks = append(g.tasks, companion{t, seq - 1})
		}
	}
	g.wakeAll()
	return g
}

// meet finds the circle of a shape anew.
func (m *Company) meet(g *companions) {
	m.part(g)
	if len(g.needs) == 0 {
		return
	}
	g.circle = append(g.circle, g)
	for _, other := range m.seekers {
		if g.counts(other) || other.counts(g) {
			g.circle = append(g.circle, other)
			other.circle = append(other.circle, g)
		}
	}
	m.seekers = append(m.seekers, g)
}

// part takes the shape out of all circles.
func (m *Company) part(g *companions) {
	same := func(o *companions) bool { return o == g }
	for _, other := range g.circle {
		if other != g {
			other.circle = slices.DeleteFunc(other.circle, same)
		}
	}
	g.circle = nil
	m.seekers = slices.DeleteFunc(m.seekers, same)
}

// counts reports whether tasks of the other shape are company for those of this one.
func (g *companions) counts(other *companions) bool {
	return slices.ContainsFunc(g.needs, func(b *cluster.Bound) bool {
		_, target := b.Affects(other.tags)
		return target
	})
}

// rank is how well the tasks of the other shape suit as company: 0 of its own, 1 where they ask for none
// but what these ask for, else 2.
func (g *companions) rank(other *companions) int {
	switch {
	case other == g:
		return 0
	case !slices.ContainsFunc(other.needs, func(b *cluster.Bound) bool { return !slices.Contains(g.needs, b) }):
		return 1
	}
	return 2
}

// needsItsLike are the bounds by which tasks with these tags must stand beside their like, of which groups
// they are, and how many tasks there are then where there was none.
func needsItsLike(specs []*cluster.Constraint, tags []string) (needs []*cluster.Bound, groups []string, most int) {
	for _, c := range specs {
		asks := c.Hard && !c.Arriving // who comes is held to those one by one
		var like []*cluster.Bound
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
					like = append(like, b)
				}
			}
		}
		if asks {
			needs = append(needs, like...)
		}
	}
	for _, b := range needs {
		most = max(most, int(b.Min)+1)
		groups = append(groups, b.Group)
	}
	slices.Sort(groups)
	groups = slices.Compact(groups)
	if at := slices.Index(groups, cluster.EachNode); at > 0 {
		groups = slices.Insert(slices.Delete(groups, at, at+1), 0, cluster.EachNode)
	}
	return needs, groups, most
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

// try adds the smallest bundle there is to the plan, and reports whether there is one: then the others
// are to be tried, too.
func (m *Company) try(t *Trial, g *companions, out *Plan) bool {
	bundle, alone := m.search(t, g)
	g.all, g.news, g.nodes = alone, false, g.nodes[:0]
	if bundle == nil || t.TryTogether(bundle).Refused() {
		return false
	}
	for _, a := range bundle {
		out.Add(a)
	}
	out.Close()
	g.all, g.news = true, true
	return true
}

// roomFor says whether the node has room for the shape, constraints aside.
type roomFor func(*cluster.View, cluster.ShapeID, cluster.NodeID) bool

// search is the smallest bundle there is, for the room that there is now or else counting on what is
// leaving; or it says whether the policy has to place one of the tasks alone before.
func (m *Company) search(t *Trial, g *companions) (best []Action, alone bool) {
	s := t.View()
	with := m.candidates(s, g)
	if len(with.tasks) < 2 || with.tasks[0].shape != g {
		return nil, false
	}
	for i, room := range []roomFor{(*cluster.View).RoomNow, (*cluster.View).RoomLater} {
		nodes := m.withRoom(s, g.circle, room)
		if i > 0 && !slices.ContainsFunc(nodes, func(n cluster.NodeID) bool {
			return slices.ContainsFunc(s.LeavingDemand(n), func(q int64) bool { return q > 0 })
		}) {
			break
		}
		if slices.ContainsFunc(nodes, func(n cluster.NodeID) bool {
			return room(s, g.shape, n) && !s.Admits(with.tasks[0].task, n).Refused()
		}) {
			return nil, true
		}
		with.room = room
		if best = m.smallest(t, g, &with, nodes); best != nil {
			break
		}
	}
	return best, false
}

// smallest is the smallest bundle on these nodes, nil if there is none.
func (m *Company) smallest(t *Trial, g *companions, with *candidates, nodes []cluster.NodeID) (best []Action) {
	for i := 0; i < len(g.groups) && best == nil; i++ {
		for _, set := range m.sets(t.View(), g, nodes, g.groups[i]) {
			if bundle := m.gather(t, with, set); bundle != nil && (best == nil || len(bundle) < len(best)) {
				best = bundle
			}
			if len(best) == 2 {
				break // there is no smaller one
			}
		}
	}
	return best
}

// candidates are the tasks of which a bundle may be, in the order in which they are taken.
type candidates struct {
	tasks  []candidate
	most   int                 // how many the bundle may hold
	before []cluster.Violation // of the constraints of all of them
	room   roomFor             // the kind that they take
}

// candidate is a task, and how well it suits the first one.
type candidate struct {
	companion
	shape *companions
	rank  int
}

// candidates are of each shape of the circle no more than a bundle may hold.
func (m *Company) candidates(s *cluster.View, g *companions) (c candidates) {
	for _, of := range g.circle {
		some := 0
		of.settle(s)
		for _, one := range of.tasks {
			if some < of.most && (m.Not == nil || !m.Not(s.Job(s.Task(one.task).Job))) {
				c.tasks = append(c.tasks, candidate{one, of, g.rank(of)})
				some++
			}
		}
		if some > 0 {
			c.most = max(c.most, of.most)
			c.before = s.Violations(of.tasks[0].task, false, c.before)
		}
	}
	slices.SortFunc(c.tasks, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.seq, b.seq)) })
	slices.SortFunc(c.before, func(a, b cluster.Violation) int { return cmp.Compare(a.Constraint, b.Constraint) })
	c.before = slices.Compact(c.before)
	return c
}

// withRoom are the nodes with room for a task of one of the shapes, in their order.
func (m *Company) withRoom(s *cluster.View, circle []*companions, room roomFor) (nodes []cluster.NodeID) {
	m.looks += int64(s.NodeRows())
	for n := range cluster.NodeID(s.NodeRows()) {
		if hasRoom(s, circle, n, room) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// hasRoom reports whether the node has room for a waiting task of one of the shapes.
func hasRoom(s *cluster.View, circle []*companions, n cluster.NodeID, room roomFor) bool {
	return slices.ContainsFunc(circle, func(g *companions) bool { return len(g.tasks) > 0 && room(s, g.shape, n) })
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
// nil where the first finds no room, or the others with room are too few.
func (m *Company) gather(t *Trial, with *candidates, nodes []cluster.NodeID) (bundle []Action) {
	s, mark := t.state, t.Mark()
	defer t.Rollback(mark)
	var full []*companions // for whom there is no room left
	for i, c := range with.tasks {
		if slices.Contains(full, c.shape) {
			continue
		}
		n, least := m.bestNode(t, i, with, nodes)
		if n == cluster.NoNode {
			if i == 0 {
				return nil
			}
			full = append(full, c.shape)
			continue
		}
		a := Action{Kind: Place, Task: c.task, Attempt: s.Task(c.task).Attempt, Node: n}
		if s.Place(c.task, n, 0).Refused() {
			return nil
		}
		bundle = append(bundle, a)
		if least == 0 {
			return bundle
		}
		if len(bundle) == with.most {
			return nil
		}
	}
	return nil
}

// bestNode is the node that has room for task i where the fewest subjects violate a constraint then, more
// than before: the first of equals, and NoNode if there is none.
func (m *Company) bestNode(t *Trial, i int, with *candidates, nodes []cluster.NodeID) (best cluster.NodeID, least int64) {
	best = cluster.NoNode
	s, c := t.state, with.tasks[i]
	for _, n := range nodes {
		m.looks++
		mark := s.Mark()
		if !with.room(&s.View, c.shape.shape, n) || s.Place(c.task, n, 0).Refused() {
			continue
		}
		if excess := s.Excess(with.before); best == cluster.NoNode || excess < least {
			best, least = n, excess
		}
		s.Rollback(mark)
		if least == 0 {
			break
		}
	}
	return best, least
}
