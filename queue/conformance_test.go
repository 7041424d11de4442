package queue_test

import (
	"testing"

	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestConformance puts every policy into a hostile world, with every way to
// break ties.
func TestConformance(t *testing.T) {
	ran := 0
	for _, info := range queue.Policies() {
		for _, ties := range []book.Ties{book.Fixed, book.Lowest, book.Random} {
			if info.Ties != nil && info.Ties(ties) != ties {
				continue
			}
			ran++
			t.Run(info.Name+"/"+ties.String(), func(t *testing.T) {
				t.Parallel()
				if _, err := queue.New(info.Name, queue.Options{Ties: ties}); err != nil {
					t.Fatal(err)
				}
				schedtest.Conformance(t, func(seed uint64) sched.Policy {
					p, err := queue.New(info.Name, queue.Options{Seed: seed, Ties: ties})
					if err != nil {
						t.Error(err)
					}
					if info.When != (sched.Trigger{}) {
						return schedtest.Triggered{Policy: p, When: info.When}
					}
					return p
				})
			})
		}
	}
	if ran == 0 {
		t.Error("no policy was put to the test")
	}
}
