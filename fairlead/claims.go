package fairlead

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
)

// A task that waits long claims a node: who is not above it in rank stays off that until it has drained. Without
// that a large task among many small ones would wait for ever, as what leaves is never enough at once, and others
// come first. Only a node is claimed that has room once all have left who are known to end, or may be evicted by the task: a
// node full of services would stay as full as it is, and less and less be used.
//
// Bound: patience, and the longest run on the node, for the first of its standing where nobody of a higher one
// comes, some node has room for it when it is empty, and runs end within the time of a claim. For the k-th of these, where c nodes may be
// claimed at a time, it is patience, and ⌈k/c⌉ times the longest run on any of these nodes: who has its place, or loses its
// node, leaves the next one its turn at once, and a lower standing gives way. Tasks that are the same claim one after the other, whatever c is, and who
// has lost its node comes first of them. A node that is lost, closed to the task, be it by a constraint, or too small by now, begins the time for the run anew, but not the patience. Nobody knows which runs
// end: a claim that was in vain is given up, and the task waits as long again as it has so far before it makes another. Who finds no node that
// drains looks again when it has waited as long again. (TestClaimsKeepTheirBound)

const (
	// Patience is how long a task waits before it claims a node, if nothing else is asked for. From 30 s to 300 s large
	// tasks wait the less the shorter it is, and small ones the more (docs/bench/fairlead.md).
	Patience = 120 * cluster.Second
	// claimTime is how long a claim lasts.
	claimTime = 10 * cluster.Minute
	// claimsShare is of how many nodes one may be claimed; one may be in any case.
	claimsShare = 50
)

// claim is a node for a task.
type claim struct {
	node  cluster.NodeID
	task  cluster.TaskID
	seq   cluster.Seq
	above rank // who is of this standing or lower stays off
	until cluster.Time
}

// rest is until when a task makes no claim, as its last one was in vain, or no node drained.
type rest struct {
	seq   cluster.Seq
	until cluster.Time
}

// claims are those that there are.
type claims struct {
	patience cluster.Time
	list     []claim
	byNode   []int32          // by row, one more than the place in list; 0 where there is none
	rests    []rest           // by task row
	next     cluster.Time     // when somebody may want one, or one ends; Never if nobody waits
	released []cluster.NodeID // in this round
	within   *sched.Domain    // where a gang looks for room in one domain: its tasks stay off all other nodes
	// Scratch: what remains of a node's room, and of its devices, beside those who stay.
	room cluster.Vector
	free [cluster.MaxDevices]int64
}

// standing is a rank without slack, and without when a run began: the band, and in it importance or priority.
func standing(r rank) rank {
	switch {
	case r < promised:
		return r &^ lastStep
	case r < unpledged:
		return promised
	}
	return r &^ (1<<startBits - 1)
}

// keepsOff reports whether the node is claimed by somebody else, whom the task does not outrank; or is none of those in which its gang looks for
// room.
func (c *claims) keepsOff(n cluster.NodeID, t cluster.TaskID, r rank) bool {
	if c.within != nil && !c.within.Has(n) {
		return true
	}
	if !c.taken(n) {
		return false
	}
	own := &c.list[c.byNode[n]-1]
	return own.task != t && standing(r) >= own.above
}

// taken reports whether somebody claims the node.
func (c *claims) taken(n cluster.NodeID) bool { return int(n) < len(c.byNode) && c.byNode[n] != 0 }

// claimed reports whether the task has a claim.
func (c *claims) claimed(t cluster.TaskID) bool {
	return slices.ContainsFunc(c.list, func(own claim) bool { return own.task == t })
}

// mayClaim is when the task may make a claim.
func (c *claims) mayClaim(s *cluster.View, t cluster.TaskID) cluster.Time {
	task := s.Task(t)
	due := later(task.Account.Since, c.patience)
	if int(t) < len(c.rests) && c.rests[t].seq == task.Seq {
		due = max(due, c.rests[t].until)
	}
	return due
}

// wait takes in that a task waits.
func (c *claims) wait(s *cluster.View, t cluster.TaskID) {
	due := c.mayClaim(s, t)
	if due <= s.Now() { // all that may be are made
		due = later(s.Now(), c.patience)
	}
	c.next = min(c.next, due)
}

// rest lets a task make no claim for so long.
func (c *claims) rest(s *cluster.View, t cluster.TaskID, time cluster.Time) {
	c.rests = book.Grown(c.rests, t, rest{})
	c.rests[t] = rest{s.Task(t).Seq, later(s.Now(), time)}
	c.next = min(c.next, c.rests[t].until)
}

// placed has the next one claim at once, where the task has its place by now for which it claimed one.
func (c *claims) placed(s *cluster.View, t cluster.TaskID) {
	if c.claimed(t) {
		c.next = s.Now()
	}
}

// release drops the claims of those who do not wait any more, and of nodes that are gone, closed to them or too small by now.
func (c *claims) release(s *cluster.View) {
	c.released = c.released[:0]
	for i, own := range slices.Backward(c.list) { // a claim that is dropped leaves its place to a later one
		task := s.Task(own.task)
		waits := task.Phase == cluster.Waiting && task.Seq == own.seq
		switch {
		case waits && s.Now() >= own.until:
			c.rest(s, own.task, s.Now()-task.Account.Since)
		case waits && s.FitsEmpty(task.Shape, own.node) && !s.Breaks(task.Shape, own.node).Refused():
			continue
		}
		c.drop(i)
	}
}

// drop drops a claim.
func (c *claims) drop(i int) {
	last, n := len(c.list)-1, c.list[i].node
	c.released = append(c.released, n)
	c.byNode[n] = 0
	if c.list[i] = c.list[last]; i < last {
		c.byNode[c.list[i].node] = int32(i + 1)
	}
	c.list = c.list[:last]
}

// giveWay drops the claim of the lowest standing, the latest of these, if that is lower than another one.
func (c *claims) giveWay(to rank) bool {
	if len(c.list) == 0 {
		return false
	}
	i := 0
	for j := range c.list {
		if a, b := &c.list[i], &c.list[j]; cmp.Or(cmp.Compare(a.above, b.above), cmp.Compare(a.until, b.until), cmp.Compare(a.seq, b.seq)) < 0 {
			i = j
		}
	}
	if c.list[i].above <= to {
		return false
	}
	c.drop(i)
	return true
}

// claim has others move out of the way of those who have waited long enough, or lets them claim nodes, the first of each
// standing.
func (p *policy) claim(t *sched.Trial, budget int64, out *sched.Plan) {
	c, s := &p.claims, t.View()
	if s.Now() < c.next && len(c.released) == 0 { // who gave a node back leaves the next one its turn
		return
	}
	c.next = cluster.Never
	var list []*group
	for _, g := range p.waiting.Groups() {
		switch due := c.mayClaim(s, p.waiting.First(g)); {
		case c.claimed(p.waiting.First(g)) || g.Short(s) && !returns(s, g):
		case due > s.Now():
			c.next = min(c.next, due)
		default:
			list = append(list, g)
		}
	}
	p.table.Ticks += int64(len(p.waiting.Groups()))
	slices.SortFunc(list, func(a, b *group) int {
		x, y := s.Task(p.waiting.First(a)), s.Task(p.waiting.First(b))
		return cmp.Or(cmp.Compare(standing(p.rankOf(s, a)), standing(p.rankOf(s, b))), cmp.Compare(x.Account.Since, y.Account.Since), cmp.Compare(x.Seq, y.Seq))
	})
	for _, own := range c.list {
		c.next = min(c.next, own.until)
	}
	var tried []cluster.JobID // gangs that lack some, all of which was tried to be brought back
	for i, g := range list {
		if g.Len() == 0 { // it came back with others of its gang
			continue
		}
		may := i < displacedAtOnce && g.Asleep() && !p.spent(budget) && (!g.Short(s) || !slices.Contains(tried, g.Job))
		if may && g.Short(s) {
			tried = append(tried, g.Job)
		}
		if may && (moving{p, t, budget, out}).makeWay(g) {
			c.next = s.Now() // the next one of its group may try as well
			continue
		}
		if g.Short(s) { // gangs claim no nodes
			c.rest(s, p.waiting.First(g), max(c.patience, s.Now()-s.Task(p.waiting.First(g)).Account.Since))
			continue
		}
		if len(c.list) >= max(s.Totals().Nodes/claimsShare, 1) && !c.giveWay(standing(p.rankOf(s, g))) {
			c.next = min(c.next, later(s.Now(), c.patience))
			break
		}
		p.claimFor(s, g)
	}
}

// stays reports whether nobody knows that the run ends, nor may a task of that rank evict it.
func (v *victims) stays(s *cluster.View, t cluster.TaskID, own rank) bool {
	task := s.Task(t)
	if job := s.Job(task.Job); task.Phase == cluster.Leaving || !job.Foreign && !job.Service {
		return false
	}
	if v.off || s.Evictable(t).Refused() {
		return true
	}
	r, _ := v.who.running(s, task)
	return r <= own
}

// drains reports whether the node has room for a task of the shape, which has that rank, once all have left but those who stay.
func (c *claims) drains(s *cluster.View, v *victims, id cluster.ShapeID, own rank, n cluster.NodeID) bool {
	if !s.FitsEmpty(id, n) {
		return false
	}
	needs := s.DeviceNeeds(id)
	c.room = append(c.room[:0], s.Limit(n)...)
	free := c.free[:len(s.Devices(n))]
	for i, d := range s.Devices(n) {
		free[i] = d.WhenEmpty()
	}
	for _, t := range s.TasksOn(n) {
		if !v.stays(s, t, own) {
			continue
		}
		for k, q := range s.Demand(t) {
			c.room[k] -= q
		}
		task := s.Task(t)
		s.DeviceNeeds(task.Shape).Give(free, task.Devices, -1)
	}
	for k, q := range s.Shape(id).Demand {
		if q > 0 && q > c.room[k] {
			return false
		}
	}
	return len(needs) == 0 || !needs.Refuse(free).Refused()
}

// claimFor claims the node that lacks least for the first task of the group, of those that drain.
func (p *policy) claimFor(s *cluster.View, g *group) {
	c, t, own := &p.claims, p.waiting.First(g), p.rankOf(s, g)
	demand, least, found := s.Shape(g.Shape).Demand, int64(0), cluster.NoNode
	for _, n := range p.table.Order.At {
		if int(n) >= s.NodeRows() || c.taken(n) || !c.drains(s, &p.victims, g.Shape, own, n) || s.Breaks(g.Shape, n).Refused() {
			continue // it is not for room that a constraint keeps it off
		}
		if lack := lacking(s, demand, n); found == cluster.NoNode || lack < least {
			found, least = n, lack
		}
	}
	p.table.Ticks += int64(s.NodeRows())
	if found == cluster.NoNode {
		c.rest(s, t, max(c.patience, s.Now()-s.Task(t).Account.Since))
		return
	}
	for int(found) >= len(c.byNode) {
		c.byNode = append(c.byNode, 0)
	}
	until := later(s.Now(), claimTime)
	c.list = append(c.list, claim{found, t, s.Task(t).Seq, standing(p.rankOf(s, g)), until})
	c.next = min(c.next, until)
	c.byNode[found] = int32(len(c.list))
}

// lacking is what the node lacks for the demand once those have left who are leaving: the sum of the shares of the node.
func lacking(s *cluster.View, demand cluster.Vector, n cluster.NodeID) (lack int64) {
	limit, used, leaving := s.Limit(n), s.Used(n), s.LeavingDemand(n)
	for k, q := range demand {
		lack += min(cluster.Fraction(q-limit[k]+used[k]-leaving[k], max(limit[k], 1)), 1<<40)
	}
	return lack
}
