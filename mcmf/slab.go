package mcmf

import "math/bits"

// slab keeps many lists of records in one flat array: each has a span of it, and
// moves to a longer one when it outgrows that. Positions within a list stay what
// they are when it moves. Spans that lists leave behind are used again, by size,
// so that the array stops growing once sizes have settled.
type slab[T any] struct {
	data  []T
	spans []span
	free  [64][]int32 // by step: where spans begin that no list uses
}

type span struct{ start, length, room int32 }

// list is the records of a list, in place.
func (s *slab[T]) list(i int32) []T {
	p := s.spans[i]
	return s.data[p.start : p.start+p.length]
}

// resize makes it so many lists; new ones are empty.
func (s *slab[T]) resize(lists int) {
	for len(s.spans) < lists {
		s.spans = append(s.spans, span{})
	}
}

// reserve makes so many empty lists, each with the room it is said to need, and
// spare room for those that outgrow it. What is not used of that costs nothing.
func (s *slab[T]) reserve(lists int, room func(i int32) int32, spare int) {
	s.spans = make([]span, lists)
	start := int32(0)
	for i := range int32(lists) {
		s.spans[i] = span{start: start, room: room(i)}
		start += s.spans[i].room
	}
	s.data = make([]T, start, int(start)+spare)
}

// andMore is room for a part more than a count, as a list that is full must move.
func andMore(count int32) int32 { return count + count/8 + 2 }

// add appends a record to a list and reports whether the list moved.
func (s *slab[T]) add(i int32, x T) (moved bool) {
	p := &s.spans[i]
	if p.length == p.room {
		moved = p.length > 0
		s.move(p)
	}
	s.data[p.start+p.length] = x
	p.length++
	return moved
}

// move gives a list half as much room again.
func (s *slab[T]) move(p *span) {
	step := stepFor(p.length + p.length/2 + 1)
	to := span{length: p.length, room: stepRoom(step)}
	if n := len(s.free[step]); n > 0 {
		to.start = s.free[step][n-1]
		s.free[step] = s.free[step][:n-1]
	} else {
		to.start = int32(len(s.data))
		s.grow(int(to.room))
	}
	copy(s.data[to.start:], s.data[p.start:p.start+p.length])
	s.release(*p)
	*p = to
}

// grow lengthens the array.
func (s *slab[T]) grow(records int) {
	if need := len(s.data) + records; need > cap(s.data) {
		data := make([]T, len(s.data), need+need/8)
		copy(data, s.data)
		s.data = data
	}
	s.data = s.data[:len(s.data)+records]
}

// drop empties a list, whose span others may have.
func (s *slab[T]) drop(i int32) {
	s.release(s.spans[i])
	s.spans[i] = span{}
}

func (s *slab[T]) release(p span) {
	if p.room < stepRoom(0) {
		return
	}
	step := stepFor(p.room)
	if stepRoom(step) > p.room {
		step--
	}
	s.free[step] = append(s.free[step], p.start)
}

// Spans have steps of room: 4, 6, 8, 12, 16, 24 and so on.
func stepRoom(step int) int32 { return int32(4+step%2*2) << (step / 2) }

// stepFor is the least step with enough room.
func stepFor(records int32) int {
	if records <= 4 {
		return 0
	}
	power := bits.Len32(uint32(records-1)) - 1 // 2^power < records <= 2^(power+1)
	step := 2 * (power - 1)
	if records <= stepRoom(step-1) {
		return step - 1
	}
	return step
}
