package book

import (
	"cmp"

	"fairlead.dev/fairlead/internal/heap"
)

// Line is groups in the order of their first tasks. Each stands in it once; places that it held
// before are dropped when they come up. A group that falls asleep or ends has left it. The zero value
// is empty and ready to use.
type Line[T any] struct {
	turns heap.Heap[turn[T]]
	count uint64
}

// Turn is a place in a line: by rank, then as tasks are in groups.
type Turn struct {
	Rank int64
	Place
}

// Before is the order of a line.
func (a Turn) Before(b Turn) bool {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), a.Compare(b.Place)) < 0
}

// turn is the turn of a group.
type turn[T any] struct {
	Turn
	number uint64
	group  *Group[T]
}

// Before orders the line.
func (a turn[T]) Before(b turn[T]) bool { return a.Turn.Before(b.Turn) }

// Enter puts the group into the line at the place of its first task, wherever it was before. If it
// slept it is awake.
func (l *Line[T]) Enter(w *Waiting[T], g *Group[T], rank int64) {
	l.count++
	g.asleep, g.turn = false, l.count
	l.turns.Push(turn[T]{w.Turn(g, rank), l.count, g})
}

// Peek is the group whose turn it is, which stays in the line; nil if nobody is in it.
func (l *Line[T]) Peek(w *Waiting[T]) *Group[T] {
	for len(l.turns) > 0 {
		switch t := l.turns[0]; {
		case t.group.turn != t.number:
			l.turns.Pop()
		case w.Turn(t.group, t.Rank) != t.Turn: // its first task is gone
			l.turns.Pop()
			l.Enter(w, t.group, t.Rank)
		default:
			return t.group
		}
	}
	return nil
}

// Next takes the group whose turn it is out of the line; nil if nobody is in it.
func (l *Line[T]) Next(w *Waiting[T]) *Group[T] {
	g := l.Peek(w)
	if g != nil {
		l.turns.Pop()
		g.turn = 0
	}
	return g
}

// Behind reports whether everybody in the line comes after that turn.
func (l *Line[T]) Behind(w *Waiting[T], t Turn) bool {
	return l.Peek(w) == nil || t.Before(l.turns[0].Turn)
}
