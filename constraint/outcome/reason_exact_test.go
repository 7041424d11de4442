//go:build !nohighs

package outcome

import (
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/ilp/highs"
)

// TestFewestConstraints holds conflicts to the same where an integer program says which hard
// constraints conflict.
func TestFewestConstraints(t *testing.T) {
	engine := highs.Start(highs.Options{})
	if err := engine.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked := 0
	conflict := func(p *constraint.Problem, application int) exact.Conflicting {
		asked++
		c, err := exact.Conflict(p, p.Start(), int32(application), engine, exact.Defaults())
		if err != nil || c.Cause == exact.Unclear {
			t.Fatal(c, err)
		}
		return c
	}
	conflicts, several := checkConflicts(t, 200, Asking{Place: enumerate, Conflict: conflict})
	t.Logf("%d conflicts, %d of several demands; asked %d times", conflicts, several, asked)
	if conflicts < 10 || several < 2 {
		t.Errorf("%d conflicts, %d of several demands: they show too little", conflicts, several)
	}
}
