package sim

import (
	"testing"

	"fairlead.dev/fairlead/sched"
)

// stubborn plans nothing until something was refused.
type stubborn struct {
	sched.Policy
	refused int
}

func (s *stubborn) Replan(*sched.Trial, []sched.Action, *sched.Plan) { s.refused++ }

// A policy that replans what was refused still does behind the counter of gaps, and one
// that does not is not asked.
func TestCountedPoliciesStillReplan(t *testing.T) {
	policy := &stubborn{}
	lanes := (&gaps{}).count([]sched.Lane{{Policy: policy}, {Policy: lane(t, "kube")[0].Policy}})
	replanner, is := lanes[0].Policy.(sched.Replanner)
	if !is {
		t.Fatal("the policy does not replan any more")
	}
	replanner.Replan(nil, nil, nil)
	if policy.refused != 1 {
		t.Errorf("it was given %d refusals", policy.refused)
	}
	if _, is := lanes[1].Policy.(sched.Replanner); is {
		t.Error("kube replans")
	}
}
