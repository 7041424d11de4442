package fairlead

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/worth"
)

// serve places tasks of the group for as long as they are first in line and find a place. A group whose
// first task finds none goes to sleep.
func (p *policy) serve(t *sched.Trial, g *group, budget int64, out *sched.Plan) {
	s := t.View()
	if g.Short(s) || returns(s, g) {
		newGanging(p, t, out, g.Job).serve(g)
		return
	}
	x := p.index(s, g.Shape, p.surcharges.tierOf(&s.Classes()[g.Class]))
	defer p.table.Unhide(x)
	for tried := false; g.Len() > 0; tried = true {
		if tried && (!p.line.Behind(&p.waiting, p.waiting.Turn(g, p.placeOf(s, g))) || p.spent(budget)) {
			p.enter(s, g)
			return
		}
		task := p.waiting.First(g)
		placed, beside := p.placeOne(t, x, task, out)
		switch {
		case placed:
			p.users.look(s, task)
			if s.Shape(g.Shape).Max != nil { // only now it counts as one of those who share what is left there
				p.table.Update(x, s.Task(task).Node)
			}
			p.claims.placed(s, task)
			p.waiting.Leave(task)
		case beside && g.Job == book.NoJob:
			if own := p.waiting.Separate(s, g); own.Len() == 1 {
				p.sleep(s, own)
			}
		default:
			p.refine.leave(g)
			p.sleep(s, g)
			return
		}
		if g.Job == book.NoJob {
			p.table.Unhide(x)
		}
	}
}

// sleep lets a group wait for room, or for its first task to become critical.
func (p *policy) sleep(s *cluster.View, g *group) {
	g.Own.tried = p.rankOf(s, g)
	p.victims.foremost = min(p.victims.foremost, p.who.highest(s, s.Task(p.waiting.First(g))))
	p.waiting.Sleep(s, g)
	p.refine.over.groups = append(p.refine.over.groups, g)
	p.noteBrink(s, g)
	if t := p.waiting.First(g); !p.claims.claimed(t) && (!g.Short(s) || returns(s, g)) {
		p.claims.wait(s, t)
	}
}

// find takes the cheapest node from the index that no other claims. Beside says that some node was refused only for
// another task of the job.
func (p *policy) find(s *cluster.View, x *book.ShapeIndex, task cluster.TaskID) (n cluster.NodeID, ok, beside bool) {
	f := finding{p, s, x, task, p.who.waiting(s, s.Task(task))}
	floor, some := p.surcharges.locate(s, task)
	switch d := p.claims.within; {
	case d != nil:
		return f.inDomain(d)
	case some || len(p.surcharges.siblings.inZone) > 0:
		return f.cheapest(floor)
	case len(p.surcharges.siblings.nodes) > 0:
		return f.apart()
	}
	return f.first()
}

// finding looks for a node for a task.
type finding struct {
	*policy
	s    *cluster.View
	x    *book.ShapeIndex
	task cluster.TaskID
	own  rank
}

// first is for a task that pays on each node what all of its shape do.
func (p finding) first() (n cluster.NodeID, ok, beside bool) {
	for {
		n, ok, again := p.table.Find(p.s, p.x, p.task)
		beside = beside || again
		if !ok || !p.claims.keepsOff(n, p.task, p.own) {
			return n, ok, beside
		}
		p.table.Hide(p.x, n)
	}
}

// cheapest is for a task that pays more on some nodes than on others. It looks at those that have some of its
// input, at the cheapest for who has none, and then at all that could be cheaper than those before them.
func (p finding) cheapest(floor worth.Price) (best cluster.NodeID, ok, beside bool) {
	s, x, task := p.s, p.x, p.task
	order, least := &p.table.Order, beyond
	bound := floor - least + 1 // the least score with which a node could be cheaper
	look := func(place int) {
		n, score := order.At[place], x.Leaves()[place]
		if p.table.Ticks++; score == book.None {
			return
		}
		price := p.surcharges.ofTask(s, task, n) - score
		if price >= least {
			return
		}
		refusal := s.Admits(task, n)
		beside = beside || refusal.Code == cluster.NotApart
		if !refusal.Refused() && !p.claims.keepsOff(n, task, p.own) {
			best, least, bound = n, price, floor-price+1
		}
	}
	for _, h := range p.surcharges.input.Nodes {
		look(int(order.Rank[h.Node]))
	}
	if n, some := p.table.Top(x); some {
		look(int(order.Rank[n]))
	}
	x.Above(&bound, look)
	return best, least < beyond, beside
}

// index is the nodes that have room for the shape, the cheapest for tasks of that tier first; the emptiest of those whose like must all come to the node of the first,
// as the cheapest is the one that has least left for them.
func (p *policy) index(s *cluster.View, id cluster.ShapeID, tier int32) *book.ShapeIndex {
	emptiest := p.without.lacks(WithoutWorth) || cluster.Clings(s, id)
	return p.table.Sync(s, book.IndexID{Shape: id, Tier: tier}, func(n cluster.NodeID) int64 {
		if !s.RoomNow(id, n) {
			return book.None
		}
		if emptiest {
			return -fill(s, id, n)
		}
		return -p.surcharges.ofPlace(s, p.worth, id, tier, n)
	})
}

// placeOne places the task where it costs least, or where evicting costs least. Beside says that some node was
// refused only for another task of the job.
func (p *policy) placeOne(t *sched.Trial, x *book.ShapeIndex, task cluster.TaskID, out *sched.Plan) (placed, beside bool) {
	s := t.View()
	if placed, beside = placeFree(p, t, x, task, out); placed {
		p.refine.placed(s, &p.surcharges, task, p.who.waiting(s, s.Task(task)), p.surcharges.siblings.has(task))
		return true, beside
	}
	n, placed, alsoBeside := placeInstead(p, t, task, out)
	if n != cluster.NoNode {
		// What leaves may be more than the task takes, and enough for somebody whom the victims outranked.
		p.wake(s, &sched.Changed{Nodes: []cluster.NodeID{n}}, p.who.waiting(s, s.Task(task)))
	}
	return placed, beside || alsoBeside
}

// placeFree places the task where it costs least of the nodes that have room.
func placeFree(p *policy, t *sched.Trial, x *book.ShapeIndex, task cluster.TaskID, out *sched.Plan) (placed, beside bool) {
	s := t.View()
	n, ok, beside := p.find(s, x, task)
	if ok {
		a := sched.Action{Kind: sched.Place, Task: task, Attempt: s.Task(task).Attempt, Node: n}
		if shape := s.Task(task).Shape; len(s.DeviceNeeds(shape)) > 0 {
			_, a.Devices = p.worth.Price(s, shape, n)
		}
		if r := t.Try(a); r.Refused() {
			panic("fairlead: a node that admits the task refuses it: " + r.Code.String())
		}
		out.Add(a)
		out.Close()
		p.table.Update(x, n)
		p.victims.acted(n)
		p.surcharges.outliving.placed(s, n)
	}
	return ok, beside
}

// placeInstead places the task where others have to give something up: what they have beyond their least, or their place. Evicted on is the
// node that somebody leaves for it, and else NoNode.
func placeInstead(p *policy, t *sched.Trial, task cluster.TaskID, out *sched.Plan) (evictedOn cluster.NodeID, placed, beside bool) {
	if _, placed := p.shrink(t, task, out); placed || p.without.lacks(WithoutEvictions) {
		return cluster.NoNode, placed, false
	}
	n, placed, beside := p.preempt(t, task, out)
	if !placed {
		n = cluster.NoNode
	}
	return n, placed, beside
}
