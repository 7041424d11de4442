package queue

import (
	"cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
)

// urgentLine is who waits, in groups of tasks that are the same to qos but for their
// slack: of one class, shape and job. The slack of a waiting task falls by a second a
// second, so that slack plus time is a number that does not change while it waits. A
// group stands by that number, and is never sorted again.
type urgentLine struct {
	groups []*urgentGroup // in no order that matters
	named  map[urgentID]*urgentGroup
	member []urgentMember // per task row
	ticket uint32         // the last one that was given out
}

// urgentID says what makes tasks the same.
type urgentID struct {
	shape cluster.ShapeID
	job   cluster.JobID
	class cluster.ClassID
}

// urgentGroup is the waiting tasks of one kind, the most urgent first.
type urgentGroup struct {
	id     urgentID
	at     int // in groups
	tasks  heap.Heap[urgentEntry]
	asleep bool   // its head failed since, on every node
	failed uint64 // the last pass in which it failed
	lined  uint64 // the last round in whose line it stood
}

// urgentEntry is a task in a group. It is out of date when its task is placed, gated,
// gone, or another one in the same row, or stands in a group by another entry.
type urgentEntry struct {
	until  cluster.Time // slack plus time: when it will have no slack left
	seq    cluster.Seq
	task   cluster.TaskID
	ticket uint32
}

// Before orders a group.
func (e urgentEntry) Before(o urgentEntry) bool {
	return cmp.Or(cmp.Compare(e.until, o.until), cmp.Compare(e.seq, o.seq)) < 0
}

// urgentMember is how the task of a row stands in a group.
type urgentMember struct {
	id     urgentID
	until  cluster.Time
	seq    cluster.Seq // 1 + the task's; 0 where it stands in none
	ticket uint32      // of the entry that counts; 0 where none does
}

// reset forgets everything.
func (l *urgentLine) reset() { *l = urgentLine{named: map[urgentID]*urgentGroup{}} }

// memberOf is how the task would stand in a group now.
func memberOf(s *cluster.View, t cluster.TaskID) urgentMember {
	task := s.Task(t)
	m := urgentMember{id: urgentID{task.Shape, task.Job, task.Class}, until: cluster.Never, seq: task.Seq + 1}
	if slack := s.Classes()[task.Class].Slack(task.Account); slack != cluster.Never {
		m.until = slack + task.Account.Since
	}
	return m
}

// consider takes in what has become of a task: it joins its group if it waits, and
// what stands for it as it was before counts no more.
func (l *urgentLine) consider(s *cluster.View, t cluster.TaskID) {
	for int(t) >= len(l.member) {
		l.member = append(l.member, urgentMember{})
	}
	if s.Task(t).Phase != cluster.Waiting {
		l.member[t] = urgentMember{}
		return
	}
	m := memberOf(s, t)
	if m.ticket = l.member[t].ticket; l.member[t] == m {
		return
	}
	l.ticket++
	m.ticket = l.ticket
	l.member[t] = m
	g := l.named[m.id]
	// Where all earlier tasks are gone, the rows of shape and job may mean
	// something else by now.
	if g == nil || !l.settle(g) {
		g = &urgentGroup{id: m.id, at: len(l.groups)}
		l.groups = append(l.groups, g)
		l.named[m.id] = g
	}
	g.tasks.Push(urgentEntry{m.until, s.Task(t).Seq, t, m.ticket})
	if g.tasks[0].task == t {
		g.failed = 0 // its head is another one than that which failed
	}
}

// forget says that the task of the row is gone.
func (l *urgentLine) forget(t cluster.TaskID) {
	if int(t) < len(l.member) {
		l.member[t] = urgentMember{}
	}
}

// settle drops entries that count no more from the front of the group, and the group
// when it is empty.
func (l *urgentLine) settle(g *urgentGroup) bool {
	for len(g.tasks) > 0 {
		if e := g.tasks[0]; l.member[e.task].ticket == e.ticket {
			return true
		}
		g.tasks.Pop()
	}
	delete(l.named, g.id)
	last := l.groups[len(l.groups)-1]
	l.groups[g.at], last.at = last, g.at
	l.groups[len(l.groups)-1] = nil
	l.groups = l.groups[:len(l.groups)-1]
	return false
}

// drop takes the first task out of the group.
func (l *urgentLine) drop(g *urgentGroup) {
	l.member[g.tasks.Pop().task] = urgentMember{}
}

// urgency is that of the group's first task.
func (l *urgentLine) urgency(g *urgentGroup, s *cluster.View) urgency {
	u := urgency{rank: calm, slack: cluster.Never}
	if until := g.tasks[0].until; until != cluster.Never {
		u.slack = until - s.Now()
	}
	if u.slack < 0 {
		u.rank = int64(s.Classes()[g.id.class].Importance)
	}
	return u
}
