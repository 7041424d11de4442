package fairlead

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/locality"
	"fairlead.dev/fairlead/sched/worth"
)

// This file places a batch anew that has just been placed one by one, where its tasks have input, or where some were left over (fill.go). Who comes first takes the node
// that has its input; that another one needed the node more nobody knows then. So tasks that fetch much go where their input is, if there is
// room, or if somebody of the batch who stands there loses less elsewhere: such exchanges are made for as long as they lower what the
// batch fetches. None of these tasks has begun, so that it costs nobody anything.
//
// Nodes where something else was done than to place single tasks, such as evicting somebody, stay as they are.
//
// That is a search for an assignment, as a flow would find it, by paths of two edges. The batch is kept as it was where the sum of all
// prices is not less in the end.

const (
	// mostExchanges bounds the places that are looked at.
	mostExchanges = 1 << 20
	// roomyNodes is how many of the emptiest nodes are looked at for who has input nowhere with room.
	roomyNodes = 8
)

// refine is the batch that a pass has placed so far.
type refine struct {
	off       bool
	readers   int                                  // of the batch, who have input
	over      leftover                             // who had no place
	elsewhere map[cluster.ShapeID][]cluster.NodeID // scratch: nodes with room for tasks of the batch, by shape
	batch     []batched
	mark      int // of the trial, and of the plan, before the batch
	bundles   int

	actions []sched.Action // scratch: what the pass has planned, bundle by bundle
	ends    []int
	free    []cluster.Vector // scratch: by node row, what is left; nil where nobody has asked
	on      [][]int32        // scratch: by node row, who of the batch is there
	frozen  []bool           // scratch: by node row, nothing is changed there
	roomy   []cluster.NodeID // scratch
	room    cluster.Vector   // scratch
	ticks   int64
}

// batched is a task of the batch.
type batched struct {
	task  cluster.TaskID
	node  cluster.NodeID // where it is
	was   cluster.NodeID // where the pass had placed it
	rank  rank
	fixed bool // it stays
	reads bool // it has input
	input locality.Locality
}

// begin begins a pass.
func (r *refine) begin(t *sched.Trial, out *sched.Plan) {
	clear(r.batch)
	r.over.begin()
	*r = refine{off: r.off, mark: t.Mark(), bundles: out.Bundles(), batch: r.batch[:0], over: r.over, elsewhere: r.elsewhere, actions: r.actions[:0], ends: r.ends[:0], free: r.free, on: r.on, frozen: r.frozen, roomy: r.roomy, room: r.room}
}

// placed takes in a task that the pass has placed, which was located last. Who is kept apart from others stays.
func (r *refine) placed(s *cluster.View, u *surcharges, t cluster.TaskID, own rank, apart bool) {
	if r.off {
		return
	}
	task := s.Task(t)
	b := batched{task: t, node: task.Node, was: task.Node, rank: own}
	b.fixed = apart || fixedShape(s, task.Shape)
	if len(s.Input(t)) > 0 {
		b.input, b.reads = u.input.Copy(), true
		r.readers++
	}
	r.batch = append(r.batch, b)
}

// fixedShape reports whether tasks of the shape stay where they are: for them other tasks count, or which devices are left.
func fixedShape(s *cluster.View, id cluster.ShapeID) bool {
	return s.Constrained(id) || cluster.Soft(s, id) || len(s.DeviceNeeds(id)) > 0 || s.Shape(id).PerNode > 0
}

// refining is a pass whose batch is placed anew.
type refining struct {
	*policy
	t   *sched.Trial
	s   *cluster.View
	out *sched.Plan
}

// refineBatch places the batch anew, if that is better.
func (p refining) refineBatch() {
	r := &p.refine
	if r.off || r.readers < 2 && len(r.over.left) == 0 {
		return
	}
	r.prepare(p.s, p.out)
	more := p.fill()
	some := r.readers > 1 && p.exchange()
	if p.table.Ticks += r.ticks; !some && !more {
		return
	}
	was := func(b *batched) cluster.NodeID { return b.was }
	before, sound := p.replay(was)
	after, anew := p.replay(func(b *batched) cluster.NodeID { return b.node })
	better := anew && (more || after < before)
	if !better {
		_, sound = p.replay(was)
	}
	if !sound {
		panic("fairlead: a batch cannot be placed as it was")
	}
	for i := range r.batch {
		b := &r.batch[i]
		stands := b.was
		if better {
			stands = b.node
		}
		if stands != b.was && b.was != cluster.NoNode {
			r.over.while = append(r.over.while, b.was)
		}
		switch {
		case stands == cluster.NoNode: // it waits again, also who was left over, found a place, and gave way
			p.users.look(p.s, b.task)
			p.join(p.s, b.task)
		case b.was == cluster.NoNode:
			p.users.look(p.s, b.task)
		}
	}
	p.wake(p.s, &sched.Changed{Nodes: r.over.while}, nobody) // somebody who was left over before may find a place where others went away
}

// prepare fills in what is left, who is where, and what was done besides.
func (r *refine) prepare(s *cluster.View, out *sched.Plan) {
	for len(r.free) < s.NodeRows() {
		r.free, r.on, r.frozen = append(r.free, nil), append(r.on, nil), append(r.frozen, false)
	}
	clear(r.frozen)
	next := 0
	for i := r.bundles; i < out.Bundles(); i++ {
		bundle := out.Bundle(i)
		r.actions = append(r.actions, bundle...)
		r.ends = append(r.ends, len(r.actions))
		if next < len(r.batch) && len(bundle) == 1 && bundle[0].Task == r.batch[next].task {
			next++
			continue
		}
		for _, a := range bundle {
			if n := s.Task(a.Task).Node; n != cluster.NoNode { // who had a place kept, and lost it, waits again
				r.frozen[n] = true
			}
			if a.Kind == sched.Place {
				r.frozen[a.Node] = true
			}
		}
	}
	r.roomy = r.roomy[:0]
	for n := range cluster.NodeID(s.NodeRows()) {
		r.on[n] = r.on[n][:0]
		if !s.NodeLive(n) {
			r.free[n] = r.free[n][:0]
			continue
		}
		r.free[n] = append(r.free[n][:0], s.Limit(n)...)
		for k, q := range s.Used(n) {
			r.free[n][k] -= q
		}
		r.roomy = append(r.roomy, n)
	}
	for i := range r.batch {
		b := &r.batch[i]
		r.on[b.node] = append(r.on[b.node], int32(i))
		b.fixed = b.fixed || r.frozen[b.node]
	}
	share := func(n cluster.NodeID) int64 {
		least := int64(1) << cluster.FractionBits
		for k, q := range s.Limit(n) {
			if q > 0 {
				least = min(least, cluster.Fraction(r.free[n][k], q))
			}
		}
		return least
	}
	slices.SortStableFunc(r.roomy, func(a, b cluster.NodeID) int { return cmp.Compare(share(b), share(a)) })
	r.roomy = r.roomy[:min(len(r.roomy), roomyNodes)]
}

// fetch is what it costs a task of the batch to be on the node.
func (b *batched) fetch(n cluster.NodeID) worth.Price {
	if !b.reads {
		return 0
	}
	return fetching(b.input.From(n))
}

// exchange looks for exchanges until there are none, and reports whether there were any.
func (p refining) exchange() (some bool) {
	r := &p.refine
	order := make([]int32, 0, len(r.batch))
	for i := range r.batch {
		if b := &r.batch[i]; !b.fixed && len(b.input.Nodes) > 0 {
			slices.SortStableFunc(b.input.Nodes, func(x, y locality.OnNode) int { return cmp.Compare(y.Bytes, x.Bytes) })
			order = append(order, int32(i))
		}
	}
	for found := true; found && r.ticks < mostExchanges; some = some || found {
		found = false
		slices.SortStableFunc(order, func(x, y int32) int {
			a, b := &r.batch[x], &r.batch[y]
			return cmp.Compare(b.fetch(b.node), a.fetch(a.node))
		})
		for _, i := range order {
			found = p.bring(i) || found
		}
	}
	return some
}

// bring brings a task to a node that has more of its input, if that lowers what the batch fetches.
func (p refining) bring(i int32) bool {
	r := &p.refine
	b := &r.batch[i]
	from, now := b.node, b.fetch(b.node)
	demand := p.s.Shape(p.s.Task(b.task).Shape).Demand
	for k := range b.input.Nodes {
		n := b.input.Nodes[k].Node
		gain := now - b.fetch(n)
		if gain <= 0 || r.ticks >= mostExchanges {
			break // the others have less
		}
		if r.ticks++; n == from || !p.open(b, n) {
			continue
		}
		if demand.Fits(r.free[n]) {
			r.shift(p.s, i, n)
			return true
		}
		if other, to, ok := p.exchangeFor(i, n, gain); ok {
			r.shift(p.s, other, to)
			r.shift(p.s, i, n)
			return true
		}
	}
	return false
}

// exchangeFor looks for who makes room for a task on the node, and where that one goes, so that the batch fetches least; at any rate
// less than the gain more.
func (p refining) exchangeFor(i int32, n cluster.NodeID, gain worth.Price) (other int32, to cluster.NodeID, ok bool) {
	r := &p.refine
	b := &r.batch[i]
	demand := p.s.Shape(p.s.Task(b.task).Shape).Demand
	least := gain
	for _, j := range r.on[n] {
		u := &r.batch[j]
		if r.ticks++; u.fixed {
			continue
		}
		own := p.s.Shape(p.s.Task(u.task).Shape).Demand
		if !demand.Fits(r.roomBut(p.s, n, j)) {
			continue
		}
		now := u.fetch(n)
		try := func(m cluster.NodeID, room bool) {
			r.ticks++
			if loss := u.fetch(m) - now; m != n && room && loss < least && p.open(u, m) {
				other, to, least, ok = j, m, loss, true
			}
		}
		try(b.node, own.Fits(r.roomBut(p.s, b.node, i)))
		for k := range u.input.Nodes {
			m := u.input.Nodes[k].Node
			try(m, own.Fits(r.free[m]))
		}
		for _, m := range r.roomy {
			try(m, own.Fits(r.free[m]))
		}
	}
	return other, to, ok
}

// roomBut is what the node has left but for somebody of the batch who is there. It is valid until the next call.
func (r *refine) roomBut(s *cluster.View, n cluster.NodeID, i int32) cluster.Vector {
	r.room = append(r.room[:0], r.free[n]...)
	for k, q := range s.Shape(s.Task(r.batch[i].task).Shape).Demand {
		r.room[k] += q
	}
	return r.room
}

// fitBoth reports whether there is room for both.
func fitBoth(a, b, room cluster.Vector) bool {
	for k := range room {
		if a[k]+b[k] > room[k] {
			return false
		}
	}
	return true
}

// open reports whether the task may go to the node at all. Nobody is the first on a node for that, where that costs something.
func (p refining) open(b *batched, n cluster.NodeID) bool {
	return p.s.NodeLive(n) && !p.refine.frozen[n] && !p.surcharges.opens(p.s, n) && p.s.Eligible(p.s.Shape(p.s.Task(b.task).Shape).Eligible, n) && !p.claims.keepsOff(n, b.task, b.rank) && !p.s.Breaks(p.s.Task(b.task).Shape, n).Refused()
}

// shift has a task of the batch stand on another node; on NoNode it waits.
func (r *refine) shift(s *cluster.View, i int32, to cluster.NodeID) {
	b := &r.batch[i]
	demand := s.Shape(s.Task(b.task).Shape).Demand
	if b.node != cluster.NoNode {
		for k, q := range demand {
			r.free[b.node][k] += q
		}
		at := slices.Index(r.on[b.node], i)
		r.on[b.node] = slices.Delete(r.on[b.node], at, at+1)
	}
	if to != cluster.NoNode {
		for k, q := range demand {
			r.free[to][k] -= q
		}
		r.on[to] = append(r.on[to], i)
	}
	b.node = to
}

// take has a task that was left over stand on a node, as one more of the batch.
func (r *refine) take(s *cluster.View, b batched, n cluster.NodeID) {
	r.batch = append(r.batch, b)
	r.actions = append(r.actions, sched.Action{Kind: sched.Place, Task: b.task, Attempt: s.Task(b.task).Attempt})
	r.ends = append(r.ends, len(r.actions))
	r.shift(s, int32(len(r.batch)-1), n)
}

// replay plans anew what the pass has planned, in its order, with the batch elsewhere, and sums up what the batch costs; false, with a part of it
// planned, where a node refuses a task.
func (p refining) replay(where func(*batched) cluster.NodeID) (sum worth.Price, ok bool) {
	r, s := &p.refine, p.s
	p.t.Rollback(r.mark)
	p.out.Cut(r.bundles)
	p.t.Gather() // gangs are among what the pass has planned
	defer p.t.Gathered()
	for i := range r.batch {
		for _, n := range []cluster.NodeID{r.batch[i].node, r.batch[i].was} {
			if n == cluster.NoNode {
				continue
			}
			lookAgain(p.policy, n)
		}
	}
	next, from := 0, 0
	for _, to := range r.ends {
		bundle := r.actions[from:to]
		if from = to; next < len(r.batch) && len(bundle) == 1 && bundle[0].Task == r.batch[next].task {
			b := &r.batch[next]
			task := s.Task(b.task)
			next++
			if bundle[0].Node = where(b); bundle[0].Node == cluster.NoNode {
				continue // it waits
			}
			tier := p.surcharges.tierOf(&s.Classes()[task.Class])
			sum += p.surcharges.ofPlace(s, p.worth, task.Shape, tier, bundle[0].Node) + b.fetch(bundle[0].Node)
		}
		for _, a := range bundle {
			if p.t.Try(a).Refused() {
				return 0, false
			}
			p.out.Add(a)
		}
		p.out.Close()
	}
	return sum, true
}
