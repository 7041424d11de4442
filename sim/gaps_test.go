package sim

import (
	"testing"

	"fairlead.dev/fairlead/sched"
)

// stubborn plans nothing until something was refused.
type stubborn struct {
	sched.Policy
	heard int
}

func (s *stubborn) Insist(*sched.Trial, []sched.Action, *sched.Plan) { s.heard++ }

// A policy that wants to hear what was refused still does behind the counter of gaps, and one
// that does not is not asked.
func TestCountedPoliciesStayInsistent(t *testing.T) {
	policy := &stubborn{}
	lanes := (&gaps{}).count([]sched.Lane{{Policy: policy}, {Policy: lane(t, "kube")[0].Policy}})
	insistent, is := lanes[0].Policy.(sched.Insistent)
	if !is {
		t.Fatal("the policy is not insistent any more")
	}
	insistent.Insist(nil, nil, nil)
	if policy.heard != 1 {
		t.Errorf("it heard of %d refusals", policy.heard)
	}
	if _, is := lanes[1].Policy.(sched.Insistent); is {
		t.Error("kube is insistent")
	}
}
