package sched

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Gangs is the stage that places gangs for policies that place one task after the other, which are not shown
// the tasks of a gang until it has its number. All that wait of a gang come in one bundle, as far as they find
// room, if the gang has its number then; else nothing is done.
//
// The largest of them go first, each where least is left beside it, as room of another size may be wanted for the next one; if that does not
// do, the smallest go first. Where there is no room now one may count on what is leaving. Nobody is evicted. That is a heuristic:
// of gangs that could be placed it places nearly all (TestGangsFindWhatThereIs), and not all.
//
// Gangs come by priority, then in the order of submission. One that failed is tried again when one of its tasks comes back, its
// set has changed, its constraints count otherwise, or a node has changed that has room for one of its tasks;
// but not where all nodes together have less room than it asks for. So a round looks at what it has touched, and at each gang that waits
// no longer than a comparison takes.
type Gangs struct {
	// Off says that the policy places gangs itself.
	Off bool

	list    []*waitingGang // in no order that matters
	of      map[cluster.JobID]*waitingGang
	rows    []cluster.JobID // per task row: 1 + the gang of the task that was shown there last
	touched []*waitingGang  // scratch
	tasks   []cluster.TaskID
}

// waitingGang is a gang of which some tasks wait, and lack others.
type waitingGang struct {
	job     cluster.JobID
	shapes  []cluster.ShapeID // of its tasks that wait, each once
	asks    cluster.Vector    // what they take at least, if it is placed
	may     bool              // be placed, if there is room
	awake   bool
	behind  bool // the budget ended the round before its turn
	touched bool
	gone    bool // it lacks nobody any more, or nobody waits
	order   priority
}

// mayFit reports whether there may be room for the gang, now or once all has left that is leaving. What nodes have left
// is looked at as one: where that is too little, no node need be looked at.
func (g *waitingGang) mayFit(total cluster.Totals) bool {
	return g.may && roomInAll(g.asks, total, true)
}

// roomInAll reports whether all nodes together have so much room.
func roomInAll(asks cluster.Vector, total cluster.Totals, later bool) bool {
	for k, q := range asks {
		room := total.Free[k]
		if later {
			room += total.Leaving[k]
		}
		if q > room {
			return false
		}
	}
	return true
}

// priority is the place of a gang among others: that of its first task.
type priority struct {
	priority int32
	seq      cluster.Seq
}

// plan takes in what changed, and adds bundles to what the policy has planned. However small the budget, it tries one gang.
func (m *Gangs) plan(t *Trial, c *Changed, budget int64, out *Plan) {
	if m.Off {
		return
	}
	s := t.View()
	m.learn(s, c)
	if len(m.list) == 0 {
		return
	}
	var awake []*waitingGang
	for _, g := range m.list {
		if g.awake {
			awake = append(awake, g)
		}
	}
	slices.SortFunc(awake, func(a, b *waitingGang) int {
		if a.behind != b.behind {
			if a.behind {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.order.priority, a.order.priority), cmp.Compare(a.order.seq, b.order.seq))
	})
	for i, g := range awake {
		if i > 0 && budget > 0 && out.Ticks >= budget {
			g.behind, out.Wake = true, s.Now()
			continue
		}
		m.try(t, g, out)
	}
}

// learn takes in what changed since the last round.
func (m *Gangs) learn(s *cluster.View, c *Changed) {
	if c.All {
		m.list, m.of, m.rows = nil, nil, nil
	}
	for _, t := range c.Gangs {
		job := s.Task(t).Job
		g := m.of[job]
		if g == nil {
			g = &waitingGang{job: job}
			if m.of == nil {
				m.of = map[cluster.JobID]*waitingGang{}
			}
			m.of[job], m.list = g, append(m.list, g)
		}
		for int(t) >= len(m.rows) {
			m.rows = append(m.rows, 0)
		}
		m.rows[t], g.awake = job+1, true
		m.touch(g)
	}
	if len(m.list) == 0 {
		return
	}
	for _, t := range c.Tasks {
		m.touch(m.of[s.Task(t).Job]) // it may have its number by now
	}
	for _, row := range c.Gone {
		if int(row) < len(m.rows) && m.rows[row] > 0 {
			m.touch(m.of[m.rows[row]-1])
		}
	}
	m.refresh(s)
	for _, g := range m.list {
		g.awake = g.awake || g.mayFit(s.Totals()) && slices.ContainsFunc(g.shapes, func(id cluster.ShapeID) bool { return mayHaveRoom(s, c, id) })
	}
}

// touch has the tasks of a gang looked at anew.
func (m *Gangs) touch(g *waitingGang) {
	if g != nil && !g.touched {
		g.touched = true
		m.touched = append(m.touched, g)
	}
}

// refresh looks at the gangs that the round has touched, and forgets those that wait no more.
func (m *Gangs) refresh(s *cluster.View) {
	some := false
	for _, g := range m.touched {
		g.touched = false
		m.tasks = m.tasks[:0]
		if cluster.GangLacks(s, g.job) > 0 {
			m.tasks = waitingOfGang(s, g.job, m.tasks)
		}
		if len(m.tasks) == 0 {
			some, g.gone = true, true
			delete(m.of, g.job)
			continue
		}
		first := s.Task(m.tasks[0])
		g.order = priority{first.Priority, first.Seq}
		g.asks, g.may = cluster.GangAsks(s, g.job)
		g.shapes = g.shapes[:0]
		for _, task := range m.tasks {
			g.shapes = append(g.shapes, s.Task(task).Shape)
		}
		slices.Sort(g.shapes)
		g.shapes = slices.Compact(g.shapes)
	}
	clear(m.touched)
	m.touched = m.touched[:0]
	if some {
		m.list = slices.DeleteFunc(m.list, func(g *waitingGang) bool { return g.gone })
	}
}

// mayHaveRoom reports whether something has changed by which a task of the shape could find a place.
func mayHaveRoom(s *cluster.View, c *Changed, id cluster.ShapeID) bool {
	_, recounted := slices.BinarySearch(c.Constrained, id)
	return recounted || len(c.Members) > 0 && len(c.MembersOf(s.Shape(id).Eligible)) > 0 ||
		slices.ContainsFunc(c.Nodes, func(n cluster.NodeID) bool { return s.RoomLater(id, n) })
}

// try adds the gang to the plan, if it finds room for its number. It sleeps then until something changes.
func (m *Gangs) try(t *Trial, g *waitingGang, out *Plan) {
	s := t.View()
	g.awake, g.behind = false, false
	out.Ticks++
	if !g.mayFit(s.Totals()) {
		return
	}
	m.tasks = waitingOfGang(s, g.job, m.tasks[:0])
	search := gangSearch{trial: t, tasks: m.tasks, need: cluster.GangLacks(s, g.job), asks: g.asks}
	if search.need == 0 {
		return // the policy itself has placed those that it lacked
	}
	bundle := search.most()
	out.Ticks += search.looks
	if len(bundle) < search.need || t.TryTogether(bundle).Refused() {
		return
	}
	for _, a := range bundle {
		out.Add(a)
	}
	out.Close()
}

// waitingOfGang appends the tasks of a gang that wait, in the order of submission.
func waitingOfGang(s *cluster.View, j cluster.JobID, list []cluster.TaskID) []cluster.TaskID {
	for _, t := range cluster.GangTasks(s, j) {
		if s.Task(t).Phase == cluster.Waiting {
			list = append(list, t)
		}
	}
	return list
}

// gangSearch looks for room for as many tasks of a gang as there is, the state staying as it is.
type gangSearch struct {
	trial *Trial
	tasks []cluster.TaskID                          // that wait
	need  int                                       // as many are enough to look no further; 0 is all of them
	asks  cluster.Vector                            // as many take no less; nil is nothing
	in    *Domain                                   // in which they are to be; nil: anywhere
	may   func(cluster.TaskID, cluster.NodeID) bool // nil: all may go everywhere
	looks int64
}

// TryGang tries placements of waiting tasks of one gang that bring it to its number, and hold its hard constraints in the end, where no task
// of it alone would. May says where a policy lets a task go; nil is everywhere. It returns the bundle, nil with nothing tried where there is
// none, and how many looks that took.
func (t *Trial) TryGang(tasks []cluster.TaskID, may func(cluster.TaskID, cluster.NodeID) bool) (bundle []Action, looks int64) {
	search := gangSearch{trial: t, tasks: tasks, may: may}
	if !search.constrained() {
		return nil, 0
	}
	need := cluster.GangLacks(t.View(), t.View().Task(tasks[0]).Job)
	for _, w := range []way{{loose: true}, {later: true, loose: true}} {
		if bundle = search.gather(w); len(bundle) >= max(need, 1) && !t.TryTogether(bundle).Refused() {
			return bundle, search.looks
		}
	}
	return nil, search.looks
}

// way is one way to look for room: which tasks go first, whether they count on what is leaving, and whether each of them
// holds its hard constraints by itself, or all do in the end.
type way struct{ smallFirst, later, loose bool }

// most is the placements of as many tasks as find room by one of the ways, in one domain if that has to be: the first that is enough, or else the
// first of those that place most. All of them are in a domain that they prefer, if one has room for all.
func (g *gangSearch) most() (best []Action) {
	if len(g.tasks) < g.need {
		return nil // however much room there is
	}
	s := g.trial.View()
	for _, domains := range GangPreferences(s, g.tasks) {
		if best = g.mostInOne(domains); len(best) == len(g.tasks) {
			return best
		}
	}
	domains, bound := GangDomains(s, g.tasks)
	if !bound {
		return g.mostThere()
	}
	return g.mostInOne(domains)
}

// mostInOne is most in one of the domains.
func (g *gangSearch) mostInOne(domains []Domain) (best []Action) {
	for i := 0; i < len(domains) && len(best) < len(g.tasks); i++ {
		g.in = &domains[i]
		if bundle := g.mostThere(); len(bundle) > len(best) {
			best = bundle
		}
	}
	g.in = nil
	return best
}

// mostThere is most without a choice of domain.
func (g *gangSearch) mostThere() (best []Action) {
	s := g.trial.View()
	need := g.need
	if need == 0 {
		need = len(g.tasks)
	}
	constrained, sizes := g.constrained(), false
	for _, t := range g.tasks {
		sizes = sizes || s.Task(t).Shape != s.Task(g.tasks[0]).Shape
	}
	leaves := slices.ContainsFunc(s.Totals().Leaving, func(q int64) bool { return q > 0 })
	for _, w := range []way{{}, {smallFirst: true}, {later: true}, {smallFirst: true, later: true}, {loose: true}, {later: true, loose: true}} {
		if w.smallFirst && !sizes || w.loose && !constrained || w.later && !leaves || !roomInAll(g.asks, s.Totals(), w.later) {
			continue
		}
		bundle := g.gather(w)
		if w.loose && len(bundle) < need {
			continue // alone they may not stand there
		}
		if len(bundle) > len(best) {
			best = bundle
		}
		if len(best) >= need {
			break
		}
	}
	return best
}

// constrained reports whether a hard constraint concerns one of the tasks.
func (g *gangSearch) constrained() bool {
	s := g.trial.View()
	return slices.ContainsFunc(g.tasks, func(t cluster.TaskID) bool { return s.Constrained(s.Task(t).Shape) })
}

// gather places one task after the other, and undoes it.
func (g *gangSearch) gather(w way) (bundle []Action) {
	s, mark := g.trial.state, g.trial.Mark()
	defer s.Rollback(mark)
	order := slices.Clone(g.tasks)
	slices.SortStableFunc(order, func(a, b cluster.TaskID) int {
		x, y := s.Task(a).Shape, s.Task(b).Shape
		by := cmp.Or(cmp.Compare(largestShare(&s.View, y), largestShare(&s.View, x)), cmp.Compare(x, y))
		if w.smallFirst {
			return -by
		}
		return by
	})
	return g.fill(order, w)
}

// fill places the tasks, part by part: of a part that has to stand in one domain it takes the first that holds all of it, or else the first that holds most.
func (g *gangSearch) fill(tasks []cluster.TaskID, w way) (bundle []Action) {
	parts := cluster.GangParts(g.trial.View(), tasks)
	if len(parts) == 1 {
		return g.fillPart(tasks, w)
	}
	outer := g.in
	defer func() { g.in = outer }()
	for _, part := range parts {
		var best *Domain
		most := 0
		domains := outer.Split(g.trial.View(), part)
		for i := 0; i < len(domains) && most < len(part); i++ {
			mark := g.trial.Mark()
			g.in = &domains[i]
			if placed := len(g.fill(part, w)); placed > most {
				best, most = g.in, placed
			}
			g.trial.state.Rollback(mark)
		}
		if g.in = best; best != nil || len(domains) == 0 {
			if best == nil {
				g.in = outer
			}
			bundle = append(bundle, g.fill(part, w)...)
		}
	}
	return bundle
}

// fillPart places the tasks, which go one by one.
func (g *gangSearch) fillPart(order []cluster.TaskID, w way) (bundle []Action) {
	s := g.trial.state
	var nodes []cluster.NodeID // with room for the shape, the tightest first
	shape, next := cluster.ShapeID(0), 0
	for i, t := range order {
		if id := s.Task(t).Shape; i == 0 || id != shape {
			shape, next = id, 0
			nodes = g.nodes(id, w)
		}
		for at := next; at < len(nodes); at++ {
			g.looks++
			n := nodes[at]
			barred := g.may != nil && !g.may(t, n)
			if barred || !w.later && !s.RoomNow(shape, n) || !w.loose && s.Admits(t, n).Refused() || !g.place(t, n, w) {
				if !barred && !s.Constrained(shape) { // whose counts may change with the next one
					next = at + 1
				}
				continue
			}
			bundle = append(bundle, Action{Kind: Place, Task: t, Attempt: s.Task(t).Attempt - 1, Node: n})
			break
		}
	}
	return bundle
}

// place tries the task on the node; it begins there at once, unless the way counts on what is leaving.
func (g *gangSearch) place(t cluster.TaskID, n cluster.NodeID, w way) bool {
	s := g.trial.state
	mark := s.Mark()
	if s.Place(t, n, 0).Refused() {
		return false
	}
	if !w.later && s.Task(t).Phase == cluster.Reserved { // who leaves must not be met
		s.Rollback(mark)
		return false
	}
	return true
}

// nodes are those with room for a task of the shape: first those with room now, then where least is left beside it.
func (g *gangSearch) nodes(id cluster.ShapeID, w way) []cluster.NodeID {
	s := g.trial.View()
	type candidate struct {
		node   cluster.NodeID
		now    bool
		beside int64
	}
	var list []candidate
	look := func(n cluster.NodeID) {
		if g.looks++; !s.RoomLater(id, n) {
			return
		}
		if c := (candidate{n, s.RoomNow(id, n), leftBeside(s, id, n)}); c.now || w.later {
			list = append(list, c)
		}
	}
	if g.in != nil {
		for _, n := range g.in.Nodes {
			look(n)
		}
	} else {
		for n := range cluster.NodeID(s.NodeRows()) {
			look(n)
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		if a.now != b.now {
			if a.now {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.beside, b.beside), cmp.Compare(a.node, b.node))
	})
	nodes := make([]cluster.NodeID, len(list))
	for i := range list {
		nodes[i] = list[i].node
	}
	return nodes
}

// largestShare is what the shape asks for of what the cluster has, in the kind in which that is most.
func largestShare(s *cluster.View, id cluster.ShapeID) (most int64) {
	for k, q := range s.Shape(id).Demand {
		most = max(most, cluster.Fraction(q, max(s.Totals().Capacity[k], 1)))
	}
	return most
}

// leftBeside is the sum of the shares of the node that are left beside a task of the shape.
func leftBeside(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) (left int64) {
	limit, used := s.Limit(n), s.Used(n)
	for k, q := range s.Shape(id).Demand {
		if limit[k] > 0 {
			left += min(cluster.Fraction(limit[k]-used[k]-q, limit[k]), 1<<40)
		}
	}
	return left
}
