package book

// Line is groups in the order of their first tasks: a heap in which each has one entry. A group
// that falls asleep or ends has left it, though its entry stays until it comes up. The zero
// value is empty and ready to use.
type Line[T any] struct{ heap []waiter[T] }

// Turn is a place in a line: by rank, then as tasks are in groups.
type Turn struct {
	Rank int64
	Place
}

// Before is the order of a line. No two groups have the same turn.
func (a Turn) Before(b Turn) bool {
	if a.Rank != b.Rank {
		return a.Rank < b.Rank
	}
	return a.Place.Before(b.Place)
}

// waiter is a group with its turn.
type waiter[T any] struct {
	Turn
	group *Group[T]
}

// Enter puts the group into the line at the place of its first task, wherever it was before. If it
// slept it is awake.
func (l *Line[T]) Enter(w *Waiting[T], g *Group[T], rank int64) {
	g.asleep, g.stands = false, true
	if g.position == 0 {
		l.heap = append(l.heap, waiter[T]{})
		g.position = int32(len(l.heap))
	}
	l.put(int(g.position-1), waiter[T]{w.Turn(g, rank), g})
}

// put writes an entry at a position, and then moves it to where the order has it.
func (l *Line[T]) put(i int, v waiter[T]) {
	s := l.heap
	for i > 0 && v.Before(s[(i-1)/2].Turn) {
		s[i] = s[(i-1)/2]
		s[i].group.position = int32(i + 1)
		i = (i - 1) / 2
	}
	for {
		child := 2*i + 1
		if child+1 < len(s) && s[child+1].Before(s[child].Turn) {
			child++
		}
		if child >= len(s) || !s[child].Before(v.Turn) {
			break
		}
		s[i] = s[child]
		s[i].group.position = int32(i + 1)
		i = child
	}
	s[i] = v
	v.group.position = int32(i + 1)
}

// drop takes away the first entry.
func (l *Line[T]) drop() {
	last := len(l.heap) - 1
	v := l.heap[last]
	l.heap[0].group.position = 0
	l.heap[last] = waiter[T]{}
	if l.heap = l.heap[:last]; last > 0 {
		l.put(0, v)
	}
}

// Peek is the group whose turn it is, which stays in the line; nil if nobody is in it.
func (l *Line[T]) Peek(w *Waiting[T]) *Group[T] {
	for len(l.heap) > 0 {
		first := l.heap[0]
		if !first.group.stands {
			l.drop()
			continue
		}
		turn := w.Turn(first.group, first.Rank)
		if turn == first.Turn {
			return first.group
		}
		l.put(0, waiter[T]{turn, first.group}) // its first task is gone
	}
	return nil
}

// Next takes the group whose turn it is out of the line; nil if nobody is in it.
func (l *Line[T]) Next(w *Waiting[T]) *Group[T] {
	g := l.Peek(w)
	if g != nil {
		l.drop()
		g.stands = false
	}
	return g
}

// Behind reports whether everybody in the line comes after that turn.
func (l *Line[T]) Behind(w *Waiting[T], t Turn) bool {
	return l.Peek(w) == nil || t.Before(l.heap[0].Turn)
}
