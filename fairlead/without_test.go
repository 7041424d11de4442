package fairlead_test

import (
	"testing"

	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestWithout puts the policy into a hostile world without each mechanism, and without all of them.
func TestWithout(t *testing.T) {
	all := ""
	for i, name := range fairlead.Mechanisms() {
		set, ok := fairlead.ParseWithout(name)
		if !ok || set != 1<<i {
			t.Errorf("%s is read as %b, %v", name, set, ok)
		}
		all += "+" + name
	}
	for _, text := range append(fairlead.Mechanisms(), all[1:]) {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			set, ok := fairlead.ParseWithout(text)
			if !ok {
				t.Fatal("cannot be read")
			}
			schedtest.Conformance(t, func(seed uint64) sched.Policy {
				return fairlead.New(fairlead.Options{Seed: seed, Without: set})
			})
		})
	}
	for _, text := range []string{"room", "+", "worth+", "worth,claims"} {
		if set, ok := fairlead.ParseWithout(text); ok {
			t.Errorf("%q is read as %b", text, set)
		}
	}
}
