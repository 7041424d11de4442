package fairlead

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/worth"
)

// A task that asks for a range goes where it gets much of it: what it would not get there is a part of its price. It is placed with the least of it, and
// at the end of the pass with its part of what nobody else has taken by then. Ten seconds after the first change of a node, since it was last looked at, and if nobody claims it,
// what is left there is given to all such tasks: the node is filled to a common level, in proportion to the size that classes were promised. What a task has
// beyond its least was not promised to it, and is taken back by the same level before anybody is evicted.

// growAfter is how long a node is left alone after a change.
const growAfter = 10 * cluster.Second

// rangePrice is what a task pays that gets nothing of its range: half of the range is worth two tiers (price.go).
const rangePrice = 8 * worth.One

// grants are what tasks with ranges have.
type grants struct {
	off   bool
	some  bool             // a task with a range has been seen
	users *users           // who knows the lane's own tasks
	bids  book.Indexes     // of the nodes, by how much would have to be taken back for a shape
	due   []cluster.Time   // by node row: when it is looked at whether its tasks can have more
	next  cluster.Time     // the first of these
	list  []tenant         // scratch: of one node
	came  []cluster.TaskID // scratch: who has been placed in this pass
	room  []int64          // scratch: of one kind, what each may have beyond its least
	has   []cluster.Vector // scratch: what each is to have
}

// tenant is a task with a range on the node that is looked at.
type tenant struct {
	task   cluster.TaskID
	shape  *cluster.Shape
	weight int64
}

// reset forgets everything.
func (g *grants) reset() {
	g.bids.Reset()
	*g = grants{off: g.off, users: g.users, bids: g.bids, next: cluster.Never}
}

// learn takes in what changed.
func (g *grants) learn(s *cluster.View, c *sched.Changed) {
	if g.off {
		return
	}
	for _, t := range c.Tasks {
		g.some = g.some || s.Shape(s.Task(t).Shape).Max != nil
	}
	if !g.some {
		return
	}
	g.bids.Learn(s, c)
	for len(g.due) < s.NodeRows() {
		g.due = append(g.due, cluster.Never)
	}
	for _, n := range c.Nodes {
		g.lookLater(s, n)
	}
}

// lookLater has the node looked at when it has been left alone for a while.
func (g *grants) lookLater(s *cluster.View, n cluster.NodeID) {
	g.due[n] = min(g.due[n], later(s.Now(), growAfter))
	g.next = min(g.next, g.due[n])
}

// tenants fills in the lane's tasks with ranges that run on the node.
func (g *grants) tenants(s *cluster.View, n cluster.NodeID) []tenant {
	g.list = g.list[:0]
	for _, t := range s.TasksOn(n) {
		task := s.Task(t)
		shape := s.Shape(task.Shape)
		if shape.Max != nil && g.users.own(t) && task.Node == n && runs(s, task) {
			g.list = append(g.list, tenantOf(s, t))
		}
	}
	return g.list
}

// runs reports whether the task runs, or begins to at once. Who has room now of a gang that is placed begins with those of it that wait for theirs, and until then is given no more.
func runs(s *cluster.View, task *cluster.Task) bool {
	if task.Phase != cluster.Starting || !cluster.IsGang(s, task.Job) {
		return task.Phase == cluster.Starting || task.Phase == cluster.Running
	}
	return !slices.ContainsFunc(cluster.GangTasks(s, task.Job), func(t cluster.TaskID) bool { return s.Task(t).Phase == cluster.Reserved })
}

// tenantOf is a task with a range.
func tenantOf(s *cluster.View, t cluster.TaskID) tenant {
	task := s.Task(t)
	return tenant{t, s.Shape(task.Shape), max(int64(s.Classes()[task.Class].Size), 1)}
}

// beyondLeast is what the tenants have of a kind beyond their least.
func beyondLeast(s *cluster.View, list []tenant, k int) (sum int64) {
	for i := range list {
		sum += s.Demand(list[i].task)[k] - list[i].shape.Demand[k]
	}
	return sum
}

// lacking is what the node lacks for the shape, kind by kind, which what its tenants have beyond their least makes up
// for: the sum of the shares of the node. It is false where it lacks something else.
func (g *grants) lacking(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) (share int64, ok bool) {
	if !s.NodeLive(n) || !s.Eligible(s.Shape(id).Eligible, n) {
		return 0, false
	}
	if r := s.AdmitsShape(id, n); r.Refused() && r.Code != cluster.NoRoom {
		return 0, false
	}
	limit, used := s.Limit(n), s.Used(n)
	list := g.tenants(s, n)
	for k, q := range s.Shape(id).Demand {
		lack := q - limit[k] + used[k]
		if q == 0 || lack <= 0 {
			continue
		}
		if lack > beyondLeast(s, list, k) {
			return 0, false
		}
		share += cluster.Fraction(lack, limit[k])
	}
	return share, len(list) > 0
}

// may reports whether a task of the shape finds a place on the node if tenants give back what they have beyond their least.
func (g *grants) may(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) bool {
	if !g.some {
		return false
	}
	_, ok := g.lacking(s, id, n)
	return ok
}

// index is the nodes by how little would have to be taken back for the shape.
func (g *grants) index(s *cluster.View, id cluster.ShapeID) *book.ShapeIndex {
	return g.bids.Sync(s, book.IndexID{Shape: id}, func(n cluster.NodeID) int64 {
		share, ok := g.lacking(s, id, n)
		if !ok {
			return book.None
		}
		return -share
	})
}

// shrink places the task where least has to be taken back of what others have beyond their least, as one bundle with what
// is taken back; false if there is no such node.
func (p *policy) shrink(t *sched.Trial, task cluster.TaskID, out *sched.Plan) (on cluster.NodeID, placed bool) {
	g, s := &p.grants, t.View()
	if !g.some {
		return 0, false
	}
	id, own := s.Task(task).Shape, p.who.waiting(s, s.Task(task))
	x := g.index(s, id)
	defer g.bids.Unhide(x)
	for {
		n, ok := g.bids.Top(x)
		if !ok {
			return 0, false
		}
		if !p.claims.keepsOff(n, task, own) && g.replace(t, task, n, out) {
			g.bids.Update(x, n)
			p.table.Journal.Note(n)
			p.victims.acted(n)
			return n, true
		}
		g.bids.Hide(x, n)
	}
}

// replace tries the bundle on a node.
func (g *grants) replace(t *sched.Trial, task cluster.TaskID, n cluster.NodeID, out *sched.Plan) bool {
	s := t.View()
	demand, limit, used := s.Shape(s.Task(task).Shape).Demand, s.Limit(n), s.Used(n)
	list := g.tenants(s, n)
	g.begin(s, list)
	for k, q := range demand {
		if lack := q - limit[k] + used[k]; q > 0 && lack > 0 {
			g.fill(s, list, k, beyondLeast(s, list, k)-lack, func(x *tenant) int64 { return s.Demand(x.task)[k] })
		}
	}
	mark, place := t.Mark(), sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n}
	if !g.resize(t, list, out) || t.Try(place).Refused() {
		t.Rollback(mark)
		out.Drop()
		return false
	}
	out.Add(place)
	out.Close()
	g.lookLater(s, n)
	return true
}

// begin has each of the tenants keep what it has.
func (g *grants) begin(s *cluster.View, list []tenant) {
	g.has = g.has[:0]
	for i := range list {
		g.has = append(g.has, slices.Clone(s.Demand(list[i].task)))
	}
}

// fill shares so much of a kind among the tenants, beyond their least: all have as much in proportion to their weight,
// but for those who may have less, as most says with their least. They have whole units where the ranges are whole, of memory those of 1024 parts. What rounding leaves goes to the first ones.
func (g *grants) fill(s *cluster.View, list []tenant, k int, sum int64, most func(*tenant) int64) {
	unit := max(s.Kinds()[k].PerUnit, 1)
	for i := range list {
		for x := &list[i]; most(x) > x.shape.Demand[k] && (x.shape.Demand[k]%unit != 0 || most(x)%unit != 0); {
			unit = finer(unit)
		}
	}
	g.room = g.room[:0]
	var order []int
	weights := int64(0)
	for i := range list {
		g.room = append(g.room, (most(&list[i])-list[i].shape.Demand[k])/unit)
		weights += list[i].weight
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.room[a]*list[b].weight, g.room[b]*list[a].weight) })
	left := max(sum, 0) / unit
	for _, i := range order { // who is full first, of those who are left
		x := &list[i]
		share := min(g.room[i], (left*x.weight+weights-1)/weights)
		left, weights = left-share, weights-x.weight
		g.has[i][k] = x.shape.Demand[k] + share*unit
	}
}

// finer is the next smaller unit: of memory a 1024th, of anything else one.
func finer(unit int64) int64 {
	const binary = 1 << 10
	if unit%binary != 0 {
		return 1
	}
	return unit / binary
}

// resize tries to give all tenants what they are to have, who has to give back first.
func (g *grants) resize(t *sched.Trial, list []tenant, out *sched.Plan) bool {
	s := t.View()
	for _, grows := range []bool{false, true} {
		for i := range list {
			has, was := g.has[i], s.Demand(list[i].task)
			if slices.Equal(has, was) || has.Fits(was) == grows {
				continue
			}
			a := sched.Action{Kind: sched.Resize, Task: list[i].task, Attempt: s.Task(list[i].task).Attempt, Grant: has}
			if t.Try(a).Refused() {
				return false
			}
			out.Add(a)
		}
	}
	return true
}

// missing is what a task of the shape pays for what it would not get there of its range: rangePrice where it would get nothing of it, of the
// kind of which that is most. It counts as of the least size.
func (g *grants) missing(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) worth.Price {
	shape := s.Shape(id)
	if g.off || shape.Max == nil {
		return 0
	}
	list, weights, most := g.tenants(s, n), int64(1), int64(0)
	for i := range list {
		weights += list[i].weight
	}
	for k, q := range shape.Demand {
		if want := shape.Max[k] - q; want > 0 && !s.Kinds()[k].Devices {
			got := max(s.Limit(n)[k]-s.Used(n)[k]-q+beyondLeast(s, list, k), 0) / weights
			most = max(most, cluster.Fraction(want-min(got, want), want))
		}
	}
	return rangePrice >> 10 * most >> (cluster.FractionBits - 10)
}

// growNew gives those more who have been placed in this pass: their parts of what is left on their nodes, of which nobody else gives up anything.
func (p *policy) growNew(t *sched.Trial, out *sched.Plan) {
	g, s := &p.grants, t.View()
	if !g.some {
		return
	}
	g.came = g.came[:0]
	for i := range out.Bundles() {
		for _, a := range out.Bundle(i) {
			if task := s.Task(a.Task); a.Kind == sched.Place && p.users.own(a.Task) && s.Shape(task.Shape).Max != nil && runs(s, task) && !p.claims.taken(task.Node) {
				g.came = append(g.came, a.Task)
			}
		}
	}
	p.table.Ticks += int64(len(g.came))
	slices.SortFunc(g.came, func(a, b cluster.TaskID) int {
		return cmp.Or(cmp.Compare(s.Task(a).Node, s.Task(b).Node), cmp.Compare(s.Task(a).Seq, s.Task(b).Seq))
	})
	for came := slices.Compact(g.came); len(came) > 0; {
		n := s.Task(came[0]).Node
		for g.list = g.list[:0]; len(came) > 0 && s.Task(came[0]).Node == n; came = came[1:] {
			g.list = append(g.list, tenantOf(s, came[0]))
		}
		g.lookLater(s, n) // this pass is not told of what it changes itself
		if g.share(t, n, g.list, out) {
			p.table.Journal.Note(n)
			p.victims.acted(n)
		}
	}
}

// grow gives more to tasks with ranges. Whoever waits, and could use what is left there, has been placed before; and who comes next takes it back.
func (p *policy) grow(t *sched.Trial, out *sched.Plan) {
	g, s := &p.grants, t.View()
	if s.Now() < g.next {
		return
	}
	g.next = cluster.Never
	for n := range cluster.NodeID(len(g.due)) {
		if g.due[n] > s.Now() {
			g.next = min(g.next, g.due[n])
			continue
		}
		g.due[n] = cluster.Never
		if list := g.tenants(s, n); !s.NodeLive(n) || len(list) == 0 {
			continue
		}
		if p.claims.taken(n) {
			g.due[n] = later(s.Now(), growAfter)
			g.next = min(g.next, g.due[n])
			continue
		}
		if g.growOn(t, n, out) {
			p.table.Journal.Note(n)
			p.victims.acted(n)
		}
	}
	p.table.Ticks += int64(len(g.due))
}

// growOn shares what is left on the node, and what its tasks with ranges have beyond their least, among these. It reports whether anybody
// has more or less for it.
func (g *grants) growOn(t *sched.Trial, n cluster.NodeID, out *sched.Plan) bool {
	return g.share(t, n, g.tenants(t.View(), n), out)
}

// share shares what is left on the node, and what the tasks of the list have beyond their least, among those of the list.
func (g *grants) share(t *sched.Trial, n cluster.NodeID, list []tenant, out *sched.Plan) bool {
	s := t.View()
	g.begin(s, list)
	for k, kind := range s.Kinds() {
		if !kind.Devices {
			g.fill(s, list, k, s.Limit(n)[k]-s.Used(n)[k]+beyondLeast(s, list, k), func(x *tenant) int64 { return x.shape.Max[k] })
		}
	}
	mark := t.Mark()
	if !g.resize(t, list, out) {
		t.Rollback(mark)
		out.Drop()
	}
	if t.Mark() == mark {
		return false
	}
	out.Close()
	g.bids.Journal.Note(n)
	return true
}
