package mcmf

// slab keeps many lists of records in one flat array: each has a span of it, and
// moves to the end when it outgrows that. Positions within a list stay what they
// are when it moves. What lists leave behind is spare; compact drops it.
type slab[T any] struct {
	data  []T
	spans []span
	spare int // records that no span covers
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

// reserve gives each list room for as many records as counts says, in order.
// The lists are emptied.
func (s *slab[T]) reserve(counts []int32) {
	s.spans = s.spans[:0]
	start := int32(0)
	for _, n := range counts {
		s.spans = append(s.spans, span{start: start, room: n})
		start += n
	}
	s.data = make([]T, start)
	s.spare = 0
}

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

// move gives a list twice its room, at the end.
func (s *slab[T]) move(p *span) {
	start, room := int32(len(s.data)), max(4, 2*p.room)
	s.spare += int(p.room)
	s.data = append(s.data, s.data[p.start:p.start+p.length]...)
	if need := int(start + room); need <= cap(s.data) {
		s.data = s.data[:need]
	} else {
		s.data = append(s.data, make([]T, need-len(s.data))...)
	}
	p.start, p.room = start, room
}

// drop empties a list.
func (s *slab[T]) drop(i int32) {
	s.spare += int(s.spans[i].room)
	s.spans[i] = span{}
}

// compact leaves out what is spare, once that is more than half.
func (s *slab[T]) compact() (moved bool) {
	if s.spare < 1<<10 || 2*s.spare < len(s.data) {
		return false
	}
	total := int32(0)
	for _, p := range s.spans {
		total += p.length + p.length/4
	}
	data := make([]T, total)
	start := int32(0)
	for i := range s.spans {
		p := &s.spans[i]
		copy(data[start:], s.data[p.start:p.start+p.length])
		p.start, p.room = start, p.length+p.length/4
		start += p.room
	}
	s.data, s.spare = data, 0
	return true
}
