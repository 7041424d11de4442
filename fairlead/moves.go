package fairlead

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/evict"
	"fairlead.dev/fairlead/sched/worth"
)

// This file moves runs to nodes where they take less from others, or keep less from being empty. What the cluster is worth as it stands is
// one number, the potential: the worth of all room that is left, less what runs pay beside the worth of their room, each two siblings on a
// node once, and in a zone once, less what nodes cost that have tasks. A move is made only where it raises the potential by more than it loses; so with tasks that stay the
// same, moving ends.
//
// What it loses is the work of a run, where evicted work is lost. Nobody knows how long the run will last; it is taken to
// last as long again as it has. So what it gains, it gains for as long as it has lost: the work counts as One, however
// long the run was.

const (
	// moveEvery is how often runs are looked at, emptyEvery how often nodes that might be emptied are, and moveAgain how long
	// a run stays that has moved.
	moveEvery  = cluster.Minute
	emptyEvery = 10 * cluster.Minute
	moveAgain  = 30 * cluster.Minute
	// moveMargin is by how much more room the run has to take less, and lostPrice what the loss of its work counts.
	moveMargin = 2 * worth.One
	lostPrice  = worth.One
	// movesShare is of how many runs one may move in an hour; what is left of that is kept, up to that of an hour or movesKept.
	movesShare = 200
	movesKept  = 16
	// looksAtOnce bounds the runs that are looked at together, beside one of 256 that there are, and emptiedAtOnce the nodes that are
	// tried to be emptied.
	looksAtOnce   = 1 << 9
	emptiedAtOnce = 16
)

// moves are the runs that have moved, and what is looked at next.
type moves struct {
	off     bool
	next    cluster.Time     // when runs are looked at; Never where nothing has changed since
	changed []cluster.NodeID // since its runs were looked at, each once
	noted   []bool           // by node row: it is one of these
	empties cluster.Time     // when nodes that might be emptied are looked at
	vain    []cluster.Time   // by node row: until when it is not tried again to empty it
	stays   []stay           // by task row
	// earned is how many moves may be made, times what one costs: movesShare hours of runs.
	earned  int64
	since   cluster.Time     // when that was
	short   bool             // a move was put off for that
	list    []cluster.TaskID // scratch: those on a node
	bundle  []sched.Action   // scratch
	nodes   []cluster.NodeID // scratch: that might be emptied
	near    []displacing     // scratch: nodes, by what they lack
	tenants evict.Occupants  // scratch: who may be moved
}

// stay is until when a run stays.
type stay struct {
	seq   cluster.Seq
	until cluster.Time
}

// newMoves has earned one.
func newMoves(off bool) moves {
	return moves{off: off, next: cluster.Never, earned: movesShare * int64(cluster.Hour)}
}

// reset forgets everything but what has been earned.
func (m *moves) reset() {
	*m = moves{off: m.off, next: cluster.Never, earned: m.earned, since: m.since}
}

// learn takes in what changed.
func (m *moves) learn(s *cluster.View, c *sched.Changed) {
	if m.off {
		return
	}
	for len(m.noted) < s.NodeRows() {
		m.noted, m.vain = append(m.noted, false), append(m.vain, 0)
	}
	for _, n := range c.Nodes {
		m.note(n)
	}
}

// note notes that the runs on the node have to be looked at again.
func (m *moves) note(n cluster.NodeID) {
	if !m.noted[n] {
		m.noted[n] = true
		m.changed = append(m.changed, n)
	}
}

// earn takes in how many moves the time since the last look has earned.
func (m *moves) earn(s *cluster.View) {
	runs := int64(s.InPhase(cluster.Running))
	m.earned += runs * int64(min(s.Now()-m.since, cluster.Hour))
	m.earned = min(m.earned, max(runs, movesKept*movesShare)*int64(cluster.Hour))
	m.since = s.Now()
}

// may reports whether so many moves have been earned.
func (m *moves) may(moves int) bool { return int64(moves)*movesShare*int64(cluster.Hour) <= m.earned }

// untilNext is how long it takes to earn a move.
func (m *moves) untilNext(s *cluster.View) cluster.Time {
	return cluster.Time((movesShare*int64(cluster.Hour) - m.earned) / max(int64(s.InPhase(cluster.Running)), 1))
}

// spend takes off what so many moves cost.
func (m *moves) spend(moves int) { m.earned -= int64(moves) * movesShare * int64(cluster.Hour) }

// moved notes the moves of a bundle that was planned.
func (m *moves) moved(s *cluster.View) {
	for _, a := range m.bundle {
		if a.Kind != sched.Evict {
			continue
		}
		for int(a.Task) >= len(m.stays) {
			m.stays = append(m.stays, stay{})
		}
		m.stays[a.Task] = stay{s.Task(a.Task).Seq, later(s.Now(), moveAgain)}
	}
}

// rests reports whether the run has moved a short while ago.
func (m *moves) rests(s *cluster.View, t cluster.TaskID) bool {
	return int(t) < len(m.stays) && m.stays[t].seq == s.Task(t).Seq && m.stays[t].until > s.Now()
}

// moving is a pass in which runs are moved.
type moving struct {
	*policy
	t      *sched.Trial
	budget int64
	out    *sched.Plan
}

// rebalance moves runs that take more from others where they are than they would elsewhere.
func (p moving) rebalance() {
	m, s := &p.moves, p.t.View()
	if m.next == cluster.Never && !m.off && (len(m.changed) > 0 || p.out.Bundles() > 0) {
		m.next = later(s.Now(), moveEvery)
	}
	if s.Now() < m.next || p.line.Peek(&p.waiting) != nil {
		return
	}
	m.earn(s)
	m.short = false
	if p.surcharges.onPrice > 0 && s.Now() >= m.empties {
		m.empties = later(s.Now(), emptyEvery)
		p.emptyNodes()
	}
	looked, done, all, most := 0, 0, len(m.changed), looksAtOnce+s.InPhase(cluster.Running)>>8
	for ; done < all && looked < most && !p.spent(p.budget); done++ {
		n := m.changed[done]
		m.noted[n] = false
		m.list = append(m.list[:0], s.TasksOn(n)...)
		looked += len(m.list)
		p.table.Ticks += int64(len(m.list))
		for _, task := range m.list {
			p.relocate(task)
		}
	}
	m.changed = append(m.changed[:0], m.changed[done:]...)
	m.next = cluster.Never
	switch {
	case m.short:
		m.next = later(s.Now(), max(m.untilNext(s), moveEvery))
	case all > 0: // what has changed once may do so again while nobody waits, and no round is held for that
		m.next = later(s.Now(), moveEvery)
	}
}

// movable reports whether the task may be moved: its run is the lane's own, and may be evicted; it was promised nothing, or has
// slack for that. Applications are moved by the stage that places them, who has input stays where that is, and who has a range gets more or
// less of its node, which a move would undo.
func (p moving) movable(s *cluster.View, t cluster.TaskID) bool {
	task := s.Task(t)
	if task.Phase != cluster.Running || s.Shape(task.Shape).Max != nil || !p.users.own(t) || isApp(s, t) || s.Evictable(t).Refused() || !MayMove(s, t) || cluster.WouldViolate(s, t) {
		return false
	}
	if s.Classes()[task.Class].Promises() {
		if r, _ := p.who.running(s, task); r < promised {
			return false
		}
	}
	_, some := p.surcharges.locate(s, t)
	return !some
}

// priceOfMove is by how much less a task has to cost elsewhere.
func priceOfMove(s *cluster.View, task *cluster.Task) worth.Price {
	if s.Classes()[task.Class].KeepsWork {
		return moveMargin
	}
	return moveMargin + lostPrice
}

// loss is by how much a move of the task has to raise the potential.
func (p moving) loss(t cluster.TaskID) worth.Value {
	s := p.t.View()
	task := s.Task(t)
	return p.worth.ValueOf(s, task.Shape, priceOfMove(s, task))
}

// relocate moves the task to the node where it costs least, if that pays.
func (p moving) relocate(task cluster.TaskID) {
	m, s := &p.moves, p.t.View()
	if !p.movable(s, task) {
		return
	}
	if n := s.Task(task).Node; unsettled(s, n) {
		m.note(n)
		return
	}
	gain, loss := p.gainOfLeaving(task), p.loss(task)
	if gain <= loss { // it would not pay to stand where it costs nothing
		return
	}
	m.bundle = m.bundle[:0]
	mark, from := p.t.Mark(), s.Task(task).Node
	cost, ok := p.moveFrom(task, from)
	switch {
	case !ok:
		return
	case gain-cost > loss && !m.may(1):
		m.short = true
		m.note(from)
	case gain-cost > loss && m.rests(s, task):
		m.note(from)
	case gain-cost > loss:
		m.spend(1)
		p.do(gain-cost, 0)
		return
	}
	p.undo(mark)
}

// unsettled reports whether somebody is leaving the node: what a move is worth there depends on what is worth what then.
func unsettled(s *cluster.View, n cluster.NodeID) bool {
	return slices.ContainsFunc(s.LeavingDemand(n), func(q int64) bool { return q > 0 })
}

// gainOfLeaving is by how much the potential would rise if the task were nowhere.
func (p moving) gainOfLeaving(t cluster.TaskID) worth.Value {
	s := p.t.View()
	task := s.Task(t)
	n := task.Node
	gain := max(p.worth.But(s, n, t)-p.worth.Of(s, n), 0) + p.paid(t)
	if p.surcharges.onPrice > 0 && len(s.TasksOn(n)) == 1 {
		gain += p.surcharges.on(s, p.worth, n)
	}
	return gain
}

// paid is what the task pays where it is beside the worth of its room.
func (p moving) paid(t cluster.TaskID) worth.Value {
	s := p.t.View()
	task := s.Task(t)
	n, id, tier := task.Node, task.Shape, p.surcharges.tierOf(&s.Classes()[task.Class])
	p.surcharges.siblings.locate(s, t)
	return p.worth.ValueOf(s, id, p.surcharges.ofNode(s, id, tier, n)+p.surcharges.siblings.held(n))
}

// moveFrom tries to move the task from its node to the one where it costs least, as a part of the bundle, and returns by how much
// the potential falls there.
func (p moving) moveFrom(task cluster.TaskID, from cluster.NodeID) (cost worth.Value, ok bool) {
	s := p.t.View()
	own := s.Task(task)
	x := p.index(s, own.Shape, p.surcharges.tierOf(&s.Classes()[own.Class]))
	defer p.table.Unhide(x)
	p.table.Hide(x, from)
	mark, leave := p.t.Mark(), sched.Action{Kind: sched.Evict, Task: task, Attempt: own.Attempt}
	if p.t.Try(leave).Refused() {
		return 0, false
	}
	to, ok, _ := p.find(s, x, task)
	for ok && unsettled(s, to) {
		p.table.Hide(x, to)
		to, ok, _ = p.find(s, x, task)
	}
	if !ok || p.surcharges.opens(s, to) {
		p.t.Rollback(mark)
		return 0, false
	}
	come := sched.Action{Kind: sched.Place, Task: task, Attempt: own.Attempt, Node: to}
	if len(s.DeviceNeeds(own.Shape)) > 0 {
		_, come.Devices = p.worth.Price(s, own.Shape, to)
	}
	cost = p.worth.ValueOf(s, own.Shape, p.surcharges.siblings.held(to)-x.Leaves()[p.table.Order.Rank[to]])
	if p.t.Try(come).Refused() {
		p.t.Rollback(mark)
		return 0, false
	}
	p.moves.bundle = append(p.moves.bundle, leave, come)
	p.table.Journal.Note(to)
	return cost, true
}

// do adds the bundle to the plan: by its moves the potential rises by the gain, and so many who waited have a place.
func (p moving) do(gain worth.Value, served int32) {
	for _, a := range p.moves.bundle {
		p.out.Add(a)
		p.touch(a)
	}
	p.out.Gains(sched.Gain{Room: p.worth.InNodes(gain), Served: served})
	p.out.Close()
	p.moves.moved(p.t.View())
}

// undo takes back what was tried of the bundle.
func (p moving) undo(mark int) {
	p.t.Rollback(mark)
	for _, a := range p.moves.bundle {
		p.touch(a)
	}
}

// touch notes that the node of an action is another one than before.
func (p moving) touch(a sched.Action) {
	n := a.Node
	if a.Kind == sched.Evict {
		n = p.t.View().Task(a.Task).Node
	}
	if n == cluster.NoNode { // who was placed in the trial and evicted in it again; the placement says where
		return
	}
	lookAgain(p.policy, n)
}

// lookAgain notes that a node has changed within the pass, or is as it was before a trial: in each index in which a trial may have
// scored it.
func lookAgain(p *policy, n cluster.NodeID) {
	p.table.Journal.Note(n)
	p.victims.acted(n)
	p.grants.bids.Journal.Note(n)
}

// emptyNodes moves all tasks away from nodes that have few, where the nodes cost more than the moves. The nodes with
// the fewest tasks come first.
func (p moving) emptyNodes() {
	m, s := &p.moves, p.t.View()
	m.nodes = m.nodes[:0]
	for n := range cluster.NodeID(s.NodeRows()) {
		if s.NodeLive(n) && len(s.TasksOn(n)) > 0 {
			m.nodes = append(m.nodes, n)
		}
	}
	p.table.Ticks += int64(s.NodeRows())
	slices.SortFunc(m.nodes, func(a, b cluster.NodeID) int {
		return cmp.Or(cmp.Compare(len(s.TasksOn(a)), len(s.TasksOn(b))), cmp.Compare(a, b))
	})
	tried := 0
	for _, n := range m.nodes {
		if tried == emptiedAtOnce || p.spent(p.budget) {
			break
		}
		m.list = append(m.list[:0], s.TasksOn(n)...)
		if !m.may(len(m.list)) {
			break
		}
		if m.vain[n] > s.Now() || unsettled(s, n) || slices.ContainsFunc(m.list, func(t cluster.TaskID) bool { return !p.movable(s, t) || m.rests(s, t) }) {
			continue
		}
		if tried++; !p.emptyNode(n) {
			m.vain[n] = later(s.Now(), moveAgain)
		}
	}
}

// emptyNode moves all who are on the node, if that pays.
func (p moving) emptyNode(n cluster.NodeID) bool {
	m, s := &p.moves, p.t.View()
	gain, losses := p.worth.OfEmpty(s, n)-p.worth.Of(s, n)+p.surcharges.on(s, p.worth, n), worth.Value(0)
	for i, task := range m.list {
		own := s.Task(task)
		beside := siblingPrice * p.surcharges.siblings.among(s, task, m.list[i+1:])
		gain += p.worth.ValueOf(s, own.Shape, p.surcharges.ofNode(s, own.Shape, p.surcharges.tierOf(&s.Classes()[own.Class]), n)+beside)
		losses += p.loss(task)
	}
	m.bundle = m.bundle[:0]
	mark := p.t.Mark()
	zoned := p.surcharges.siblings.zones.Numbers() > 1 // what later ones gain by leaving the zone is known when their turn comes
	for _, task := range m.list {
		if gain <= losses && !zoned {
			break
		}
		p.surcharges.siblings.locate(s, task)
		gain += p.worth.ValueOf(s, s.Task(task).Shape, heldPrice*p.surcharges.siblings.beyond(n))
		cost, ok := p.moveFrom(task, n)
		if !ok {
			gain = losses
			break
		}
		gain -= cost
	}
	if gain <= losses {
		p.undo(mark)
		return false
	}
	m.spend(len(m.list))
	p.do(gain, 0)
	return true
}
