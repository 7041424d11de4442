package fairlead_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/book"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestConformance puts the policy into a hostile world, with every way to break ties.
func TestConformance(t *testing.T) {
	for _, ties := range []book.Ties{book.Fixed, book.Lowest, book.Random} {
		t.Run(ties.String(), func(t *testing.T) {
			t.Parallel()
			schedtest.Conformance(t, func(seed uint64) sched.Policy {
				return fairlead.New(fairlead.Options{Seed: seed, Ties: ties})
			})
		})
	}
}

// TestConformanceWithApplications is the same where another policy places applications.
func TestConformanceWithApplications(t *testing.T) {
	schedtest.Conformance(t, func(seed uint64) sched.Policy {
		return fairlead.New(fairlead.Options{Seed: seed, Applications: fairlead.New(fairlead.Options{Seed: seed})})
	})
}

// TestOptimum compares small clusters with what could be placed at most, where nobody claims a node and leaves room for that.
func TestOptimum(t *testing.T) {
	report := schedtest.Optimum(t, func(seed uint64) sched.Policy {
		return fairlead.New(fairlead.Options{Seed: seed, Patience: cluster.Never})
	})
	t.Logf("%+v", report)
}
