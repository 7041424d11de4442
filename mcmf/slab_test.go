package mcmf

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestStepFor(t *testing.T) {
	for records := int32(1); records < 100_000; records++ {
		step := stepFor(records)
		if stepRoom(step) < records || step > 0 && stepRoom(step-1) >= records {
			t.Fatalf("%d records: step %d with room %d", records, step, stepRoom(step))
		}
	}
}

// Lists of a slab hold what plain slices hold, and the array stops growing.
func TestSlab(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s slab[int]
	s.reserve(3, func(i int32) int32 { return 3 * i }, 4)
	s.resize(40)
	plain := make([][]int, 40)
	var size int
	for step := range 100_000 {
		i := r.IntN(len(plain))
		switch r.IntN(40) {
		case 0:
			s.drop(int32(i))
			plain[i] = nil
		default:
			s.add(int32(i), step)
			plain[i] = append(plain[i], step)
		}
		if !slices.Equal(s.list(int32(i)), plain[i]) {
			t.Fatalf("step %d: list %d is %v, should be %v", step, i, s.list(int32(i)), plain[i])
		}
		if step == 50_000 {
			size = len(s.data)
		}
	}
	for i := range plain {
		if !slices.Equal(s.list(int32(i)), plain[i]) {
			t.Errorf("list %d is %v, should be %v", i, s.list(int32(i)), plain[i])
		}
	}
	if len(s.data) > size+size/4 {
		t.Errorf("the array grew from %d to %d records though lists are no longer", size, len(s.data))
	}
}
