// Package heap is a binary heap of values that order themselves: the standard
// container/heap without its interface calls and its allocation per element.
package heap

// Ordered is what a heap holds. Before must be a strict order; values that
// should not change places by accident end it in a number of their own.
type Ordered[T any] interface{ Before(T) bool }

// Heap keeps the first of its values at index 0. The zero value is empty and
// ready to use.
type Heap[T Ordered[T]] []T

// Push adds a value.
func (h *Heap[T]) Push(v T) {
	*h = append(*h, v)
	s := *h
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !v.Before(s[parent]) {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = v
}

// Pop removes the first value and returns it. The heap must not be empty.
func (h *Heap[T]) Pop() T {
	s := *h
	top := s[0]
	last := len(s) - 1
	v := s[last]
	var zero T
	s[last] = zero
	s = s[:last]
	*h = s
	if last > 0 {
		sink(s, 0, v)
	}
	return top
}

// Init makes a heap of values that stand in any order, in time that goes with
// how many they are.
func (h *Heap[T]) Init() {
	s := *h
	for i := len(s)/2 - 1; i >= 0; i-- {
		sink(s, i, s[i])
	}
}

// sink puts a value at index i, or below where others are before it.
func sink[T Ordered[T]](h []T, i int, v T) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].Before(h[child]) {
			child++
		}
		if !h[child].Before(v) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = v
}
