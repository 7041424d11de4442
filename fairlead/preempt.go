package fairlead

import (
	"math"
	"math/bits"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/evict"
	"fairlead.dev/fairlead/sched/worth"
)

// victims chooses who leaves for a task that comes before them: on one node the last by rank, until there
// is room, less those who turn out superfluous. Who asks decides only whether it may: by coming before all
// of them. Among nodes the one is best whose first victim comes last, and of several the one that loses
// least work.
type victims struct {
	who       *who
	worth     *worth.Worth
	bids      book.Indexes // of the nodes, by who would leave for a shape
	occupants evict.Occupants
	search    evict.Search
	until     []cluster.Time   // by node row: when somebody there has another rank
	fallen    []cluster.NodeID // where somebody has, or others have changed with whom somebody has to leave, since the last round
	due       cluster.Time     // the first of these
	looked    cluster.Time     // scratch: of the node that is ranked
	bucket    bucket
	others    []evict.Candidate // scratch
	foremost  rank              // nobody comes before that who sleeps
	off       bool              // nobody is evicted, and nothing is kept here
	together  bool              // there have been runs with whom others have to leave
	crews     []cluster.JobID   // scratch: jobs of such runs
}

// anew forgets all nodes. What equals may lose stays what it is.
func (v *victims) anew(w *who, prices *worth.Worth) victims {
	v.bids.Reset()
	return victims{who: w, worth: prices, bids: v.bids, due: cluster.Never, bucket: v.bucket, off: v.off}
}

// learn takes in changed nodes, and those on which somebody has another rank by now.
func (v *victims) learn(s *cluster.View, c *sched.Changed) {
	if v.off {
		return
	}
	v.bids.Learn(s, c)
	if v.occupants.Rule == nil {
		v.occupants.Rule, v.occupants.Kept, v.occupants.Together = v.candidate, true, true
	}
	v.occupants.Forget(c.Nodes...)
	v.fallen = v.fallen[:0]
	if v.together {
		v.forgetCrews(s, c.Nodes)
	}
	for len(v.until) < s.NodeRows() {
		v.until = append(v.until, cluster.Never)
	}
	if s.Now() < v.due {
		return
	}
	v.due = cluster.Never
	for n := range v.until {
		if v.until[n] <= s.Now() {
			v.until[n] = cluster.Never
			v.occupants.Forget(cluster.NodeID(n))
			v.bids.Journal.Note(cluster.NodeID(n))
			v.fallen = append(v.fallen, cluster.NodeID(n))
		}
		v.due = min(v.due, v.until[n])
	}
}

// forgetCrews forgets the nodes of jobs whose runs leave all at once and of which some are on the nodes, as whether these may depends on all of them.
func (v *victims) forgetCrews(s *cluster.View, nodes []cluster.NodeID) {
	v.crews = v.crews[:0]
	for _, n := range nodes {
		for _, t := range s.TasksOn(n) {
			if job := s.Task(t).Job; s.Job(job).Disruption == cluster.DisruptTogether && !slices.Contains(v.crews, job) {
				v.crews = append(v.crews, job)
			}
		}
	}
	for _, job := range v.crews {
		with, _ := cluster.DisruptedTogether(s, job)
		for _, t := range with {
			v.fallen = append(v.fallen, s.Task(t).Node)
		}
	}
	slices.Sort(v.fallen)
	v.fallen = slices.Compact(v.fallen)
	for _, n := range v.fallen {
		v.acted(n)
	}
}

// acted notes that the pass has placed somebody on the node.
func (v *victims) acted(n cluster.NodeID) {
	if v.off {
		return
	}
	v.occupants.Forget(n)
	v.bids.Journal.Note(n)
}

// candidate is the rule of who may be evicted. Who comes last goes first. One with whom others have to leave stands for all of them: it ranks as the
// first, and loses what all do.
func (v *victims) candidate(s *cluster.View, c *evict.Candidate) bool {
	with, may := cluster.DisruptedTogether(s, s.Task(c.Task).Job)
	if len(with) == 0 {
		return v.rule(s, s.Task(c.Task), c)
	}
	v.together = true
	if !may {
		return false
	}
	first, loss := nobodyYet, int64(0)
	for _, t := range with {
		if !v.rule(s, s.Task(t), c) {
			return false
		}
		first, loss = min(first, rank(-c.Rank)), min(loss+c.Price, mostLoss)
	}
	c.Rank, c.Price = -int64(first), loss
	return true
}

// rule is candidate of a run by itself.
func (v *victims) rule(s *cluster.View, task *cluster.Task, c *evict.Candidate) bool {
	class := &s.Classes()[task.Class]
	if class.Promises() {
		switch {
		case class.Budget == 0:
			return false
		case !class.MayLeave(task.Account.At(s.Now(), task.Phase)):
			v.looked = min(v.looked, later(s.Now()/refresh*refresh, refresh))
			return false
		}
	}
	r, until := v.who.running(s, task)
	v.looked = min(v.looked, until)
	c.Rank, c.Price = -int64(r), v.loss(s, task)
	return true
}

// loss is the work that an eviction loses: how long the run has lasted times how large it is.
func (v *victims) loss(s *cluster.View, task *cluster.Task) int64 {
	if task.Phase != cluster.Running || s.Classes()[task.Class].KeepsWork {
		return 0
	}
	return v.work(s, task)
}

// work is how long the task has been in its phase, times how large it is.
func (v *victims) work(s *cluster.View, task *cluster.Task) int64 {
	high, low := bits.Mul64(uint64(s.Now()-task.Account.Since), uint64(v.worth.SizeOf(s, task.Shape)))
	if high >= 1<<(sizeBits-8) {
		return mostLoss
	}
	return int64(high<<(64-sizeBits) | low>>sizeBits)
}

// mostLoss is more than any run loses.
const mostLoss = 1 << 56

// sizeBits is how many of the digits of a size count nothing where it is multiplied by a time.
const sizeBits = 20

// bucket is how much work evictions between equals may lose: a hundredth of what all nodes can do, of half an
// hour at most. Who takes turns with others gets no more done: without such a bound, where evicted work is lost,
// ECSched's jobs of hours evicted each other 21,905 times, and the slowest took eight times as long.
type bucket struct {
	level  int64 // times times sizes
	filled cluster.Time
}

// fill fills it up to now, in a cluster of that size.
func (b *bucket) fill(now cluster.Time, size uint64) {
	rate := int64(size / 100)
	b.level = min(b.level+int64(min(now-b.filled, cluster.Hour))*rate, 30*int64(cluster.Minute)*rate)
	b.filled = now
}

// lossOfEquals is what is lost of those of the victims to whom as much was promised as to the task.
func (v *victims) lossOfEquals(s *cluster.View, task cluster.TaskID) (loss int64) {
	own := s.Task(task).Class
	if !s.Classes()[own].Promises() {
		return 0
	}
	for i := range v.search.Victims {
		c := &v.search.Victims[i]
		if s.Classes()[c.Class].Promises() && v.who.order[c.Class] == v.who.order[own] {
			loss = min(loss+c.Price, mostLoss)
		}
	}
	return loss
}

// on is who may leave the node.
func (v *victims) on(s *cluster.View, n cluster.NodeID) []evict.Candidate {
	v.looked = cluster.Never
	list := v.occupants.On(s, n)
	if v.looked < cluster.Never {
		v.until[n] = v.looked
		v.due = min(v.due, v.looked)
	}
	return list
}

// nobody is a rank, and an order, that no task and no class has: nobody is spared for it, and all come after it.
const nobody = rank(-1)

// sparing is who is not evicted though they come later.
type sparing struct {
	order   rank // those to whom something was promised whose class has that place in the order of classes; nobody
	budgets bool // those who would violate a budget
}

// anybody spares nobody.
func anybody() sparing { return sparing{order: nobody} }

// choose chooses the victims on a node, and returns the rank of the first among them; false if there are not enough.
func (v *victims) choose(s *cluster.View, id cluster.ShapeID, n cluster.NodeID, but sparing) (rank, bool) {
	if !v.search.Begin(s, id, n) {
		return 0, false
	}
	if v.search.Met() { // what leaves already makes room
		return math.MaxInt64, true
	}
	v.search.Anyhow = !but.budgets
	if _, ok := v.search.Choose(evict.LeastWorst, v.but(s, v.search.Releasable(s, v.on(s, n)), but.order)); !ok {
		return 0, false
	}
	return rank(-v.search.Last().Rank), v.search.Violations == 0
}

// but is the list without those to whom something was promised whose class has that place in the order of classes.
func (v *victims) but(s *cluster.View, list []evict.Candidate, order rank) []evict.Candidate {
	if order == nobody {
		return list
	}
	v.others = v.others[:0]
	for i := range list {
		if class := list[i].Class; !s.Classes()[class].Promises() || v.who.order[class] != order {
			v.others = append(v.others, list[i])
		}
	}
	return v.others
}

// lossBits are the digits behind a rank that say how little is lost.
const lossBits = 8

// index is the nodes by how good they are for a task that evicts: by the rank of their first victim, then by what is
// lost. Nobody comes later than who leaves first there, so that victims are chosen on few nodes.
func (v *victims) index(s *cluster.View, id cluster.ShapeID, but sparing) *book.ShapeIndex {
	bound := func(n cluster.NodeID) int64 {
		if !v.search.Begin(s, id, n) {
			return book.None
		}
		if v.search.Met() {
			return offer(math.MaxInt64, 0)
		}
		list := v.on(s, n)
		if len(list) == 0 {
			return book.None
		}
		return offer(rank(-list[0].Rank), 0)
	}
	tier := int32(0)
	if but.budgets {
		tier = 1
	}
	return v.bids.SyncBounds(s, book.IndexID{Shape: id, Priority: int32(but.order), Victims: true, Tier: tier}, bound, func(n cluster.NodeID) int64 {
		first, ok := v.choose(s, id, n, but)
		if !ok {
			return book.None
		}
		return v.offered(first)
	})
}

// offered is how good the node is on which victims were chosen last, and where that is the rank of the first.
func (v *victims) offered(first rank) int64 {
	loss := int64(0)
	for i := range v.search.Victims {
		loss = min(loss+v.search.Victims[i].Price, mostLoss)
	}
	return offer(first, loss)
}

// anyAfter reports whether anybody who may be evicted comes after that rank, wherever it runs. The index is of no shape: it stands among those
// of the first one.
func (v *victims) anyAfter(s *cluster.View, r rank) bool {
	const noTier = -1
	x := v.bids.Sync(s, book.IndexID{Victims: true, Tier: noTier}, func(n cluster.NodeID) int64 {
		if !s.NodeLive(n) {
			return book.None
		}
		list := v.on(s, n)
		if len(list) == 0 {
			return book.None
		}
		return -list[0].Rank
	})
	return x.Most() > int64(r)
}

// offer is how good a node is where that is the rank of the first victim, and the loss of all.
func offer(first rank, loss int64) int64 {
	return int64(min(first, 1<<(bandBits+2)))<<lossBits + 1<<lossBits - 1 - int64(3*halves(loss<<6))
}

// evicts reports whether more can be made room for on the node than is leaving: somebody there comes later than some group
// that sleeps may, or has more than its least.
func (p *policy) evicts(s *cluster.View, n cluster.NodeID) bool {
	if p.grants.some && len(p.grants.tenants(s, n)) > 0 {
		return true
	}
	if p.victims.off {
		return false
	}
	list := p.victims.on(s, n)
	return len(list) > 0 && rank(-list[0].Rank) > p.victims.foremost
}

// mayEvict reports whether some task of the group, which is of that rank, may find a place on the node by eviction.
func (p *policy) mayEvict(s *cluster.View, g *group, n cluster.NodeID, own rank) bool {
	if p.without.lacks(WithoutEvictions) {
		return false
	}
	v := &p.victims
	if list := v.on(s, n); len(list) == 0 || rank(-list[0].Rank) <= own {
		// Nobody there comes later: what leaves already would have to be enough.
		if !v.search.Begin(s, g.Shape, n) || !v.search.Met() {
			return false
		}
	}
	first, ok := v.choose(s, g.Shape, n, anybody())
	return ok && first > own && (g.Job == book.NoJob || !s.Crowded(p.waiting.First(g), n))
}

// preempt evicts for the task on the node where that costs least, as one bundle with the placement, or reports
// that there is no such node. Where its equals would lose more than may be lost, they are spared. Those who violate a budget leave only
// where nobody else helps. Beside says that some node was refused only for another task of the job.
func (p *policy) preempt(t *sched.Trial, task cluster.TaskID, out *sched.Plan) (on cluster.NodeID, placed, beside bool) {
	s, v := t.View(), &p.victims
	v.bucket.fill(s.Now(), v.worth.SizeOfAll()>>sizeBits)
	if p.without.lacks(WithoutBound) {
		v.bucket.level = mostLoss
	}
	orders := []rank{nobody}
	if class := s.Task(task).Class; s.Classes()[class].Promises() {
		orders = append(orders, p.who.order[class])
	}
	guards, by := cluster.Guards(s), preempting{p, t, task, out}
	for _, order := range orders {
		if on, placed, beside = by.sparing(sparing{order, guards}); placed {
			return on, placed, beside
		}
	}
	for i := 0; i < len(orders) && guards && !placed; i++ {
		on, placed = by.violating(orders[i])
	}
	return on, placed, beside
}

// preempting evicts for one task.
type preempting struct {
	*policy
	t    *sched.Trial
	task cluster.TaskID
	out  *sched.Plan
}

// sparing is preempt without those who are spared.
func (p preempting) sparing(but sparing) (on cluster.NodeID, placed, beside bool) {
	if p.claims.within != nil {
		return p.inDomain(but)
	}
	s, v, task := p.t.View(), &p.victims, p.task
	id, own := s.Task(task).Shape, p.who.waiting(s, s.Task(task))
	x := v.index(s, id, but)
	defer v.bids.Unhide(x)
	for {
		n, ok := v.bids.TopFrom(x, offer(own+1, mostLoss))
		if !ok {
			return 0, false, beside // nobody comes later than the task
		}
		first, ok := v.choose(s, id, n, but)
		if ok && first <= own { // nor does anybody come later anywhere else, unless who was placed in this pass is in the way here
			if !s.Constrained(id) {
				return 0, false, beside
			}
			v.bids.Update(x, n)
			continue
		}
		if !ok && v.search.Violations > 0 { // the pass has evicted who was the last to be spared
			v.bids.Update(x, n)
			continue
		}
		if ok && v.lossOfEquals(s, task) > v.bucket.level {
			return 0, false, beside
		}
		if p.claims.keepsOff(n, task, own) {
			v.bids.Hide(x, n)
			continue
		}
		if ok && p.replace(n) {
			v.bids.Update(x, n)
			return n, true, beside
		}
		v.bids.Hide(x, n)
		beside = true
	}
}

// replace evicts for the task on the node those who were chosen there.
func (p preempting) replace(n cluster.NodeID) bool {
	s, v := p.t.View(), &p.victims
	loss := v.lossOfEquals(s, p.task)
	var elsewhere []cluster.NodeID // where others leave with them
	for i := range v.search.Victims {
		with, _ := cluster.DisruptedTogether(s, s.Task(v.search.Victims[i].Task).Job)
		for _, other := range with {
			elsewhere = append(elsewhere, s.Task(other).Node)
		}
	}
	if s.Crowded(p.task, n) || !evict.Replace(p.t, v.search.Victims, p.task, n, p.out) {
		return false
	}
	v.bucket.level -= loss
	v.acted(n)
	p.table.Journal.Note(n)
	for _, m := range elsewhere {
		lookAgain(p.policy, m)
	}
	return true
}

// violating is preempt where somebody has to leave who violates a budget: on the node where fewest do. Nodes are looked at in the order
// in which they would be without budgets, up to the first on which one does. Who asks has to be known before: those who violate none are not to
// come before it for that.
func (p preempting) violating(order rank) (on cluster.NodeID, placed bool) {
	s, v, task := p.t.View(), &p.victims, p.task
	id, own := s.Task(task).Shape, p.who.waiting(s, s.Task(task))
	x := v.index(s, id, sparing{order: order})
	defer v.bids.Unhide(x)
	choose := func(n cluster.NodeID) bool {
		if v.search.Anyhow = false; !v.search.Begin(s, id, n) {
			return false
		}
		list := evict.Below(v.search.Releasable(s, v.on(s, n)), -int64(own))
		_, ok := v.search.Choose(evict.LeastWorst, v.but(s, list, order))
		return ok && v.lossOfEquals(s, task) <= v.bucket.level
	}
	var several [][]cluster.NodeID // by how many violate a budget
	for {
		n, ok := v.bids.TopFrom(x, offer(own+1, mostLoss))
		if !ok {
			break
		}
		v.bids.Hide(x, n)
		p.table.Ticks++
		if p.claims.keepsOff(n, task, own) || !choose(n) {
			continue
		}
		if v.search.Violations > 1 {
			for len(several) <= v.search.Violations {
				several = append(several, nil)
			}
			several[v.search.Violations] = append(several[v.search.Violations], n)
		} else if p.replace(n) {
			return n, true
		}
	}
	for _, nodes := range several {
		for _, n := range nodes {
			if choose(n) && p.replace(n) {
				return n, true
			}
		}
	}
	return 0, false
}
