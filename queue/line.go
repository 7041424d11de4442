package queue

import (
	"cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/heap"
)

// line is the groups that are awake, in the order of their first tasks: by the
// policy's key, then by submission. Each stands in it once; places that it
// held before are dropped when they come up.
type line struct {
	turns heap.Heap[turn]
	count uint64
}

// turn is the place of a group in the line.
type turn struct {
	key    int64
	seq    cluster.Seq // of the group's first task
	number uint64
	group  *group
}

// Before orders the line by key, then by submission.
func (a turn) Before(b turn) bool {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.seq, b.seq)) < 0
}

// counts reports whether the place is the group's present one.
func (a turn) counts() bool { return a.group.awake && a.group.turn == a.number }

// enter puts the group into the line at the place of its first task.
func (l *line) enter(g *group) {
	l.count++
	g.awake, g.turn = true, l.count
	l.turns.Push(turn{g.id.key, g.tasks[0].seq, l.count, g})
}

// next takes the group whose turn it is out of the line, with its first task,
// or returns false when nobody is awake.
func (l *line) next(w *waiting, s *cluster.View) (*group, bool) {
	for l.tidy() {
		t := l.turns.Pop()
		switch {
		case !w.settle(t.group, s):
		case t.group.tasks[0].seq != t.seq: // its first task is gone
			l.enter(t.group)
		default:
			return t.group, true
		}
	}
	return nil, false
}

// first reports whether the group, which was taken out of the line, is ahead
// of everybody in it.
func (l *line) first(g *group) bool {
	return !l.tidy() || turn{key: g.id.key, seq: g.tasks[0].seq}.Before(l.turns[0])
}

// tidy drops places that no longer count from the front, and reports whether
// anybody is left.
func (l *line) tidy() bool {
	for len(l.turns) > 0 && !l.turns[0].counts() {
		l.turns.Pop()
	}
	return len(l.turns) > 0
}
