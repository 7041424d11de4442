//go:build nohighs

package highs_test

import (
	"errors"
	"testing"

	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/ilp/highs"
)

// TestLeftOut wants an engine without HiGHS to say so, wherever it is asked.
func TestLeftOut(t *testing.T) {
	e := highs.Start(highs.Options{})
	if err := e.Wait(t.Context()); !errors.Is(err, highs.ErrLeftOut) {
		t.Errorf("waited: %v", err)
	}
	m := &ilp.Model{}
	m.AddColumn(0, 1, 1, ilp.Integer)
	if _, err := e.Solve(m, nil, ilp.Limits{}); !errors.Is(err, highs.ErrLeftOut) {
		t.Errorf("solved: %v", err)
	}
}
