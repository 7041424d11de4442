package heap

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type number int

func (a number) Before(b number) bool { return a < b }

// TestHeap compares random pushes and pops with a sorted list.
func TestHeap(t *testing.T) {
	source := rand.New(rand.NewPCG(1, 2))
	var h Heap[number]
	var rival []number
	for range 20_000 {
		if len(rival) > 0 && source.IntN(5) < 2 {
			if got := h.Pop(); got != rival[0] {
				t.Fatalf("popped %d, the first of the sorted list is %d", got, rival[0])
			}
			rival = rival[1:]
			continue
		}
		v := number(source.IntN(1000))
		h.Push(v)
		at, _ := slices.BinarySearch(rival, v)
		rival = slices.Insert(rival, at, v)
	}
	for len(rival) > 0 {
		if got := h.Pop(); got != rival[0] {
			t.Fatalf("popped %d, the first of the sorted list is %d", got, rival[0])
		}
		rival = rival[1:]
	}
}

// TestInit compares heaps that are made at once with a sorted list.
func TestInit(t *testing.T) {
	source := rand.New(rand.NewPCG(3, 4))
	for size := range 200 {
		var h Heap[number]
		for range size {
			h = append(h, number(source.IntN(50)))
		}
		rival := slices.Sorted(slices.Values(h))
		h.Init()
		for i, want := range rival {
			if got := h.Pop(); got != want {
				t.Fatalf("of %d values number %d popped is %d, the sorted list has %d", size, i, got, want)
			}
		}
	}
}
