package sched

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file takes outcomes in to the ledger, and answers what is open.

// follow takes in the outcomes that the changes since it was last called have brought.
func (l *Ledger) follow(s *cluster.View) {
	touches, ok := s.ChangesSince(l.read)
	if !ok {
		panic("sched: the change log was trimmed past what the ledger has read")
	}
	l.read = s.LogEnd()
	for _, touch := range touches {
		if touch.Table != cluster.Tasks {
			continue
		}
		t := cluster.TaskID(touch.Row)
		if i := l.at(l.leaving, t); i != 0 {
			l.followEviction(i, s.Task(t), s)
		}
		if i := l.at(l.coming, t); i != 0 {
			l.followPlacement(i, s.Task(t))
		}
	}
}

func (l *Ledger) followEviction(i int32, task *cluster.Task, s *cluster.View) {
	e := &l.entries.list[i]
	switch {
	case task.Phase == cluster.Leaving && task.Attempt == e.attempt:
	case task.Phase == cluster.Absent || task.Phase == cluster.Running && task.Attempt == e.attempt || !s.NodeLive(e.node):
		l.close(i, undone)
	default:
		if task.Phase == cluster.Waiting {
			l.displace(e.task, e.seq)
		}
		l.close(i, done)
	}
}

// displace notes that an eviction lets the task wait.
func (l *Ledger) displace(t cluster.TaskID, seq cluster.Seq) {
	for int(t) >= len(l.evicted) {
		l.evicted = append(l.evicted, 0)
	}
	l.evicted[t] = seq + 1
}

// displaced reports whether it was an eviction that lets the task wait.
func (l *Ledger) displaced(t cluster.TaskID, seq cluster.Seq) bool {
	return int(t) < len(l.evicted) && l.evicted[t] == seq+1
}

func (l *Ledger) followPlacement(i int32, task *cluster.Task) {
	e := &l.entries.list[i]
	switch {
	case e.stage == promised && (task.Phase == cluster.Reserved || task.Next != cluster.NoNode):
	case e.stage == promised && task.Phase == cluster.Starting:
		e.stage, e.attempt = sent, task.Attempt
		l.letGo(i, e.node)
	case task.Phase == cluster.Starting && task.Attempt == e.attempt:
	case e.stage == sent && task.Attempt == e.attempt && task.Began && task.Placed():
		l.close(i, done)
	default:
		l.close(i, undone)
	}
}

// letGo notes that nobody waits for the evictions that serve the placement, of runs on the node,
// or on any if that is NoNode.
func (l *Ledger) letGo(p int32, n cluster.NodeID) {
	for _, i := range l.bundles.list[l.entries.list[p].bundle].entries {
		if e := &l.entries.list[i]; e.kind == Evict && e.serves == p && e.stage.open() && (e.node == n || n == cluster.NoNode) {
			l.setNeedless(i, true)
		}
	}
}

// setNeedless says whether nobody waits for the eviction.
func (l *Ledger) setNeedless(i int32, is bool) {
	e := &l.entries.list[i]
	switch {
	case is && !e.needless:
		l.needless = append(l.needless, i)
	case !is && e.needless:
		at := slices.Index(l.needless, i)
		l.needless = slices.Delete(l.needless, at, at+1)
	}
	e.needless = is
}

// close writes down the outcome of an entry.
func (l *Ledger) close(i int32, outcome stage) {
	e := &l.entries.list[i]
	e.stage = outcome
	b := &l.bundles.list[e.bundle]
	b.open--
	switch {
	case e.kind == Evict:
		l.leaving[e.task] = 0
		l.setNeedless(i, false)
		if outcome == done {
			b.left++
		}
	case outcome == done:
		l.coming[e.task] = 0
		b.placed = true
	default:
		l.coming[e.task] = 0
		l.letGo(i, cluster.NoNode)
	}
	if b.open == 0 {
		l.end(e.bundle)
	}
}

// end forgets a bundle all of whose actions have their outcome.
func (l *Ledger) end(id int32) {
	b := &l.bundles.list[id]
	if b.places && !b.placed {
		l.unplaced += int64(b.left)
	}
	for _, i := range b.entries {
		l.entries.give(i)
	}
	l.bundles.give(id)
}

// placed is the purpose of a task's placement that goes out only now, as its room has come
// free.
func (l *Ledger) placed(t cluster.TaskID) Purpose {
	return Purpose{Bundle: l.number(l.coming[t]), Task: cluster.NoTask}
}

// number is that of the entry's bundle.
func (l *Ledger) number(i int32) uint64 { return l.bundles.list[l.entries.list[i].bundle].number }

// Leaving is for whom the task's run leaves, as things stand: it may be somebody else than when
// that was decided, if another bundle has overtaken the first. It is false of a run for whose
// eviction nobody waits an outcome.
func (l *Ledger) Leaving(t cluster.TaskID) (Purpose, bool) {
	i := l.at(l.leaving, t)
	if i == 0 {
		return Purpose{Task: cluster.NoTask}, false
	}
	return l.decision(i).Purpose, true
}

// Open appends what has no outcome of the bundles that place and evict the task. A
// placement with attempt 0 is only promised: its room has yet to come free. Devices and grants are
// left out.
func (l *Ledger) Open(t cluster.TaskID, to []Decision) []Decision {
	p, e := l.at(l.coming, t), l.at(l.leaving, t)
	if p != 0 {
		to = l.openOf(l.entries.list[p].bundle, to)
	}
	if e != 0 && (p == 0 || l.entries.list[e].bundle != l.entries.list[p].bundle) {
		to = l.openOf(l.entries.list[e].bundle, to)
	}
	return to
}

func (l *Ledger) openOf(id int32, to []Decision) []Decision {
	for _, i := range l.bundles.list[id].entries {
		if l.entries.list[i].stage.open() {
			to = append(to, l.decision(i))
		}
	}
	return to
}

// decision is an entry as whoever asks wants to see it.
func (l *Ledger) decision(i int32) Decision {
	e := &l.entries.list[i]
	d := Decision{Kind: e.kind, Task: e.task, Seq: e.seq, Attempt: e.attempt, Node: e.node}
	d.Purpose = Purpose{Bundle: l.number(i), Task: cluster.NoTask}
	if e.serves != 0 {
		p := &l.entries.list[e.serves]
		d.Purpose.Task, d.Purpose.Seq = p.task, p.seq
	}
	return d
}

// OpenBundles is how many bundles have an action without an outcome.
func (l *Ledger) OpenBundles() int {
	return len(l.bundles.list) - len(l.bundles.free) - min(len(l.bundles.list), 1)
}

// Needless appends the evictions for which nobody waits any more: not whom they serve, and not
// who else was promised room on the node. Only those are named that the caller can take back,
// and all that are named may be taken back together. Of a bundle, the runs of jobs whose runs leave all
// at once are named all or not at all: where one of them has left, the others go as well.
func (l *Ledger) Needless(s *cluster.View, canTakeBack func(Decision) bool, to []Decision) []Decision {
	var staying []cluster.TaskID
	from := len(to)
	for _, i := range l.needless {
		d := l.decision(i)
		if canTakeBack(d) && cluster.MayStay(s, d.Task, staying) {
			staying = append(staying, d.Task)
			to = append(to, d)
		}
	}
	return append(to[:from], slices.DeleteFunc(to[from:], func(d Decision) bool { return l.torn(d.Task, staying) })...)
}

// torn reports whether the task's run would be without others with whom it is to leave, if those stayed.
func (l *Ledger) torn(t cluster.TaskID, staying []cluster.TaskID) bool {
	with := l.entries.list[l.leaving[t]]
	return with.whole && slices.ContainsFunc(l.bundles.list[with.bundle].entries, func(i int32) bool {
		e := &l.entries.list[i]
		return e.whole && (e.stage == done || e.stage.open() && !slices.Contains(staying, e.task))
	})
}
