package setup_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/policies/chosen/chosentest"
	"fairlead.dev/fairlead/setup"
)

// TestPolicyOfASpec: what may be written of a policy in a spec may be written in a profile of Kubernetes, and
// the other way; package kube/config has the same test.
func TestPolicyOfASpec(t *testing.T) {
	chosentest.Check(t, func(t *testing.T, text string) (p chosen.Policy, wrong []string) {
		t.Helper()
		spec, err := setup.Read("f.yaml", []byte("policies: ["+text+"]"))
		if err == nil {
			var plan *setup.Plan
			plan, err = spec.Plan(policies.All())
			p = plan.Spec.Policies[0]
		}
		if err == nil {
			return p, nil
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			_, says, ok := strings.Cut(line, "policies[0]")
			if !ok {
				t.Error(line)
			}
			wrong = append(wrong, strings.TrimPrefix(strings.TrimPrefix(says, "."), ": "))
		}
		return p, wrong
	})
}
