package fairlead_test

import (
	"testing"

	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/ilp/highs"
)

// TestGapIsProven compares what the policy says of random batches with the most of their tasks that any placement has: it tells how many it
// leaves, and no placement leaves fewer than it says are too many.
func TestGapIsProven(t *testing.T) {
	solver := highs.Start(highs.Options{})
	if err := solver.Wait(t.Context()); err != nil {
		t.Skip(err) // it may be left out
	}
	known, tight := 0, 0
	for seed := range uint64(60) {
		b := newBatch(seed)
		most := b.most(t, solver)
		placed, gap := b.place(t, fairlead.New(fairlead.Options{Seed: seed}))
		left, least := int64(len(b.order)-placed), int64(len(b.order)-most)
		if !gap.Known() {
			t.Errorf("seed %d: %d are left, and nothing is said of them", seed, left)
			continue
		}
		if known++; gap.Value != left || gap.Bound > least {
			t.Errorf("seed %d: %+v, where %d are left, and %d are at least", seed, gap, left, least)
		}
		if left > 0 && gap.Bound > 0 {
			tight++
		}
	}
	if tight < known/10 {
		t.Errorf("of %d batches %d have a bound above 0", known, tight)
	}
}
