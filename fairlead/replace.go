package fairlead

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/evict"
	"fairlead.dev/fairlead/sched/worth"
)

// This file brings back what a running gang has lost, as by a node that failed, where as few as can be are disturbed. The members that run stay where they are, and who comes joins them in
// their domain, if they have to stand in one. It is done in stages, of which each is tried where those before it fail:
//
//   - where there is room, nobody is disturbed
//   - the fewest leave of those who are less important (fewest.go)
//   - after as long as others are moved out of a task's way (displace.go), the fewest move to where there is room for them, or leave if they are less important
//
// Of a gang that has fewer than its number without them, so many come together, or none. Others come each by itself.
//
// For moves the nodes are tried in the order of how few would have to leave, wherever they went. Where some of these find no other place, they are left out, and
// the node waits for its turn again with those who have to go then. So the first that succeeds has the fewest, but for those who take each other's place elsewhere: then fewer are not ruled out.
// Nobody is moved to make room for who is moved.
//
// What those who move lose is bounded as in displace.go, but all of the gang waits for who is missing: it is compared with what all of it could have done.

// waysTried bounds the sets of runs that are tried to be moved for a task.
const waysTried = 64

// returns reports whether the group is of a gang that runs and has lost some.
func returns(s *cluster.View, g *group) bool {
	return g.Job != book.NoJob && cluster.GangReturns(s, g.Job)
}

// comeBack is a bundle for a gang that has its number if those count who have failed: as many of the tasks as find room come.
func (p ganging) comeBack(job cluster.JobID, tasks []cluster.TaskID) []sched.Action {
	bundle := p.fill(job, tasks, true)
	p.touch(bundle)
	return bundle
}

// prove says of the bundle, which is for some of these tasks, how few have to leave for it, if that is known. Where not all tasks are alike, others of them, or in other places, may have needed fewer.
func (p ganging) prove(tasks []cluster.TaskID, bundle []sched.Action) {
	s, leave := p.t.View(), int32(0)
	for _, a := range bundle {
		if a.Kind == sched.Evict && s.Task(a.Task).Phase == cluster.Leaving {
			leave++
		}
	}
	mixed := slices.ContainsFunc(tasks, func(t cluster.TaskID) bool { return !areAlike(s, t, tasks[0]) })
	if least := p.proof.least; least > 0 && least <= leave && !mixed {
		p.out.Proves(sched.Fewest{Leave: leave, AtLeast: least})
	}
}

// bringBack moves others out of the way of the group's first task, or of so many of its gang as have to come together.
func (p moving) bringBack(g *group) bool {
	m, s, job := &p.moves, p.t.View(), g.Job
	tasks := []cluster.TaskID{p.waiting.First(g)}
	lacks := cluster.GangLacks(s, job)
	if lacks > 0 {
		tasks = slices.DeleteFunc(slices.Clone(cluster.GangTasks(s, job)), func(t cluster.TaskID) bool {
			other := p.waiting.Of(t)
			return other == nil || other.Job != job
		})
		if len(tasks) < lacks {
			return false
		}
	}
	if m.off || cluster.EvictsNobody(s, g.Shape) {
		return false
	}
	p.t.Gather()
	defer p.t.Gathered()
	of := newGanging(p.policy, p.t, p.out, job)
	from := of.here()
	m.bundle = append(m.bundle[:0], of.fill(job, tasks, true)...)
	for _, a := range m.bundle {
		p.touch(a)
	}
	evicts := count(m.bundle, sched.Evict)
	gain, moved := p.moveFor(tasks, lacks > 0, of.proof)
	if moved > 0 && evicts > 0 {
		of.proof.void() // moves alone may disturb fewer
	}
	comes := slices.ContainsFunc(m.bundle, func(a sched.Action) bool { return a.Kind == sched.Place && s.Task(a.Task).Job == job })
	goes := slices.ContainsFunc(m.bundle, func(a sched.Action) bool { return a.Kind == sched.Evict && s.Task(a.Task).Job == job })
	if !comes || goes || cluster.GangLacks(s, job) > 0 {
		of.back(from)
		of.touch(m.bundle)
		return false
	}
	if moved == 0 {
		of.touch(m.bundle)
		m.bundle = append(m.bundle[:0], of.spare(from.mark, m.bundle)...)
	}
	of.prove(tasks, m.bundle)
	for _, a := range m.bundle {
		if a.Kind == sched.Place && s.Task(a.Task).Job == job {
			p.waiting.Leave(a.Task)
			p.users.look(s, a.Task)
			p.claims.placed(s, a.Task)
		}
	}
	p.do(gain, int32(moved))
	return true
}

// moveFor moves others out of the way of those of the tasks that still wait, as a part of the bundle: of a gang that lacks some until it lacks none, or cannot have its number any more. It returns for
// how many.
func (p moving) moveFor(tasks []cluster.TaskID, lacks bool, proof *proof) (gain worth.Value, moved int) {
	s := p.t.View()
	var failed []cluster.TaskID
	waits := func(task cluster.TaskID) bool {
		return s.Task(task).Phase == cluster.Waiting && !slices.ContainsFunc(failed, func(t cluster.TaskID) bool { return areAlike(s, t, task) }) // room only shrinks
	}
	tried := 0
	for i, task := range tasks {
		if !waits(task) {
			continue
		}
		if tried == returnAtOnce || tried > 0 && p.spent(p.budget) {
			break
		}
		if lacks {
			left := 0
			for _, t := range tasks[i:] {
				left += one(waits(t))
			}
			if short := cluster.GangLacks(s, s.Task(task).Job); short == 0 || short > min(left, returnAtOnce-tried) {
				break
			}
		}
		tried++
		more, least, ok := p.moveFewest(task)
		if !ok {
			failed = append(failed, task)
			continue
		}
		gain += more
		proof.atLeast(least)
		moved++
	}
	return gain, moved
}

// clearing is a node that others might leave for a task.
type clearing struct {
	node  cluster.NodeID
	lack  int64
	who   []evict.Candidate // who may go
	leave int32             // how few have to
	least int32             // the same, as far as is proven
}

// moveFewest places the task where the fewest have to move, as a part of the bundle, and returns how many have to at least, whatever the node.
func (p moving) moveFewest(task cluster.TaskID) (gain worth.Value, least int32, ok bool) {
	m, s, v := &p.moves, p.t.View(), &p.victims
	own := p.who.waiting(s, s.Task(task))
	list, floor := p.clearings(task)
	mayLeave := func(t cluster.TaskID) bool { return p.mayLeave(t, own) }
	for range waysTried {
		if len(list) == 0 {
			return 0, 0, false
		}
		at := first(list)
		c := &list[at]
		v.search.Begin(s, s.Task(task).Shape, c.node)
		v.search.Choose(evict.LeastSum, c.who)
		lost, stuck, exact := int64(0), cluster.NoTask, false
		for i := range v.search.Victims {
			lost = min(lost+v.loss(s, s.Task(v.search.Victims[i].Task)), mostLoss)
		}
		slices.SortStableFunc(v.search.Victims, func(a, b evict.Candidate) int { // who has to find a place first, and of these the largest
			return cmp.Or(cmp.Compare(one(mayLeave(a.Task)), one(mayLeave(b.Task))), cmp.Compare(p.worth.SizeOf(s, b.Shape), p.worth.SizeOf(s, a.Shape)))
		})
		if lost <= p.waitingWork(task) {
			if gain, stuck, ok = p.moveOut(c.node, task, mayLeave); ok {
				for i := range list {
					floor = min(floor, list[i].least)
				}
				return gain, floor, true
			}
			exact = len(m.list) > 0 && stuck == m.list[0] // of others who went before may have taken the place
		}
		if !exact { // what is found from here on says nothing of the node
			floor = min(floor, c.least)
		}
		bound := c.least
		c.who = slices.DeleteFunc(c.who, func(o evict.Candidate) bool { return o.Task == stuck })
		if stuck == cluster.NoTask || !p.countOn(task, c) {
			if v.search.Violations > 0 {
				floor = min(floor, bound)
			}
			list = slices.Delete(list, at, at+1)
		}
	}
	return 0, 0, false
}

// first is which node is tried first: where the fewest have to go, and of these that which lacks least.
func first(list []clearing) (at int) {
	for i := range list {
		if cmp.Or(cmp.Compare(list[i].leave, list[at].leave), cmp.Compare(list[i].lack, list[at].lack)) < 0 {
			at = i
		}
	}
	return at
}

// one is 1 for what is so.
func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// countOn finds out how few have to go, and is false where there is no room even if all do.
func (p moving) countOn(task cluster.TaskID, c *clearing) bool {
	s, x := p.t.View(), &p.victims.search
	if !x.Begin(s, s.Task(task).Shape, c.node) {
		return false
	}
	c.least = atLeast(s, x.Lacks(), c.who)
	leave, ok := x.Choose(evict.LeastSum, c.who)
	p.table.Ticks += x.Sets
	if c.leave = int32(leave); x.Proven {
		c.least = c.leave
	}
	return ok && leave > 0 && x.Violations == 0
}

// clearings are the nodes where others might leave for the task, and how few have to at least on those of the others where a budget would be violated.
func (p moving) clearings(task cluster.TaskID) (list []clearing, floor int32) {
	m, s, v := &p.moves, p.t.View(), &p.victims
	id, own, job := s.Task(task).Shape, p.who.waiting(s, s.Task(task)), s.Task(task).Job
	m.tenants.Rule = func(s *cluster.View, c *evict.Candidate) bool {
		c.Rank, c.Price = 0, 1
		return s.Task(c.Task).Job != job && (p.mayMove(c.Task, own) || p.mayLeave(c.Task, own))
	}
	m.tenants.ForgetAll()
	v.search.Anyhow = false
	floor = math.MaxInt32
	for _, n := range p.table.Order.At {
		if int(n) >= s.NodeRows() || !s.FitsEmpty(id, n) || p.claims.keepsOff(n, task, own) || s.Crowded(task, n) || s.Breaks(id, n).Refused() {
			continue
		}
		c := clearing{node: n, lack: lacking(s, s.Shape(id).Demand, n), who: slices.Clone(v.search.Releasable(s, m.tenants.On(s, n)))}
		if p.countOn(task, &c) {
			list = append(list, c)
		} else if v.search.Violations > 0 {
			floor = min(floor, c.least)
		}
	}
	p.table.Ticks += int64(s.NodeRows())
	return list, floor
}

// mayMove reports whether the run may go to another node for a task of that rank.
func (p moving) mayMove(t cluster.TaskID, own rank) bool {
	s := p.t.View()
	r, _ := p.who.running(s, s.Task(t))
	return p.movable(s, t) && !p.moves.rests(s, t) && standing(r) >= standing(own)
}

// mayLeave reports whether the run may be evicted for a task of that rank.
func (p moving) mayLeave(t cluster.TaskID, own rank) bool {
	s := p.t.View()
	var c evict.Candidate
	return s.Task(t).Phase == cluster.Running && !s.Evictable(t).Refused() && p.victims.rule(s, s.Task(t), &c) && rank(-c.Rank) > own
}

// waitingWork is what all of the gang could have done while the task has waited.
func (p moving) waitingWork(task cluster.TaskID) (work int64) {
	s := p.t.View()
	of := s.Task(task)
	for _, t := range cluster.GangTasks(s, of.Job) {
		one := *of
		one.Shape = s.Task(t).Shape
		work = min(work+p.victims.work(s, &one), mostLoss)
	}
	return work
}

// conflict says what keeps a task off the domain in which its gang has lost it: on which node the fewest would have to go, and why they do not.
type conflict struct {
	sched.OfTask
	node    string // empty where no node has room for it even if all others left
	leave   int32  // how few would have to go
	least   int32  // the same on any node, as far as is proven
	stay    int32  // of these are no less important
	above   int32  // and of those more important
	wait    cluster.Time
	noMoves bool
	whole   string // another domain, which has room for all of the gang
	gang    int
}

// Text names nobody: who is told may be no business of these.
func (c conflict) Text([]cluster.Kind) string {
	text := "no node there has room for it even if all others left who may leave"
	if c.node != "" {
		fewest := fmt.Sprintf("at least %d", c.leave)
		if c.least < c.leave {
			fewest = fmt.Sprintf("no more than %d", c.leave)
			if c.least > 0 {
				fewest += fmt.Sprintf(", and at least %d,", c.least)
			}
		}
		text = fmt.Sprintf("%s would have to go there, from node %s, of which %d may not be evicted for it", fewest, c.node, c.stay)
		switch {
		case c.stay == 0: // what keeps them is said elsewhere
		case c.above > 0:
			text += fmt.Sprintf(", nor %d be moved, which come before it", c.above)
		case c.noMoves:
			text += ", and nobody is moved"
		case c.wait > 0:
			text += fmt.Sprintf(", and could be moved at the earliest once it has waited for %s", shown(c.wait))
		default:
			text += ", and as many as it takes cannot move elsewhere now"
		}
	}
	if c.whole != "" {
		text += fmt.Sprintf("; %s has room for all %d of the gang, whose members are not moved for that: it would come there if they were ended", c.whole, c.gang)
	}
	return text
}

// conflictOf is the conflict of a task that waits.
func (p explanation) conflictOf(t cluster.TaskID) (c conflict) {
	s, id, job, own := p.s, p.s.Task(t).Shape, p.s.Task(t).Job, p.who.waiting(p.s, p.s.Task(t))
	var x evict.Search
	tenants := evict.Occupants{Rule: func(s *cluster.View, c *evict.Candidate) bool {
		r, _ := p.who.running(s, s.Task(c.Task))
		c.Rank, c.Price = 0, 1<<20 // of as many the least important
		if r <= own {
			c.Price++
		}
		if standing(r) < standing(own) {
			c.Price++
		}
		return s.Task(c.Task).Job != job
	}}
	least := int32(math.MaxInt32)
	for _, n := range p.table.Order.At {
		if int(n) >= s.NodeRows() || !s.FitsEmpty(id, n) || !x.Begin(s, id, n) {
			continue
		}
		if s.Breaks(id, n).Refused() {
			if inTheWay, helps := cluster.Obstacles(s, id, n, nil); helps { // it may be for one run alone that it is kept off
				least = min(least, int32(min(len(inTheWay), 1)))
			}
			continue
		}
		who := x.Releasable(s, tenants.On(s, n))
		bound := atLeast(s, x.Lacks(), who)
		if _, ok := x.Choose(evict.LeastSum, who); !ok {
			continue
		}
		if x.Proven {
			bound = int32(len(x.Victims))
		}
		if least = min(least, bound); len(x.Victims) == 0 {
			continue
		}
		one := p.conflictOn(n, &x, own)
		if c.node == "" || cmp.Or(cmp.Compare(one.leave, c.leave), cmp.Compare(one.above, c.above), cmp.Compare(one.stay, c.stay)) < 0 {
			c = one
		}
	}
	c.least = least
	c.noMoves = p.moves.off || cluster.EvictsNobody(s, id)
	if waited := s.Now() - s.Task(t).Account.Since; p.claims.patience < cluster.Never && waited < p.claims.patience {
		c.wait = p.claims.patience
	}
	c.gang, c.whole = len(cluster.GangTasks(s, job)), wholeIn(s, t)
	return c
}

// wholeIn is the first other domain that has room for all of the task's gang; empty where there is none.
func wholeIn(s *cluster.View, t cluster.TaskID) string {
	_, others, _ := cluster.GangDomain(s, t)
	for i := range others {
		if holds(s, s.Task(t).Job, others[i].Nodes) {
			return others[i].Name
		}
	}
	return ""
}

// conflictOn is the conflict on a node from which the search would have those go.
func (p explanation) conflictOn(n cluster.NodeID, x *evict.Search, own rank) conflict {
	c := conflict{node: p.s.NodeSpec(n).Name, leave: int32(len(x.Victims))}
	for i := range x.Victims {
		r, _ := p.who.running(p.s, p.s.Task(x.Victims[i].Task))
		if r <= own {
			c.stay++
		}
		if standing(r) < standing(own) {
			c.above++
		}
	}
	return c
}

// holds reports whether all tasks of the gang find room on the nodes as they are, the largest first: by quantities and filters alone.
func holds(s *cluster.View, job cluster.JobID, nodes []cluster.NodeID) bool {
	tasks := slices.Clone(cluster.GangTasks(s, job))
	slices.SortStableFunc(tasks, func(a, b cluster.TaskID) int {
		return slices.Compare(s.Shape(s.Task(b).Shape).Demand, s.Shape(s.Task(a).Shape).Demand)
	})
	free := make([]cluster.Vector, len(nodes))
	for i, n := range nodes {
		for k, q := range s.Limit(n) {
			free[i] = append(free[i], q-s.Used(n)[k])
		}
	}
	for _, t := range tasks {
		shape := s.Shape(s.Task(t).Shape)
		at := 0
		for at < len(nodes) && (!s.FitsEmpty(s.Task(t).Shape, nodes[at]) || !shape.Demand.Fits(free[at])) {
			at++
		}
		if at == len(nodes) {
			return false
		}
		for k, q := range shape.Demand {
			free[at][k] -= q
		}
	}
	return true
}
