package policies_test

import (
	"testing"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/schedtest"
)

// TestOptimum measures on small cases how many tasks more than necessary wait under
// the policies to which leaving a task is dearer than placing it anywhere. No task may
// wait that fits.
func TestOptimum(t *testing.T) {
	for _, name := range []string{"load-spreading", "cpu-mem", "network-aware"} {
		t.Run(name, func(t *testing.T) {
			r := schedtest.Optimum(t, func(seed uint64) sched.Policy {
				p, err := policies.New(name, policies.Options{Seed: seed})
				if err != nil {
					t.Error(err)
				}
				return p
			})
			t.Log(r)
			if 100*r.Beyond[0] < 90*r.Cases {
				t.Errorf("in fewer than nine of ten cases as few tasks wait as can be: %v", r)
			}
		})
	}
}
