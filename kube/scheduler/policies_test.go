package scheduler

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
)

// TestEveryPolicyPlaces: whatever policy a profile names, its pods are placed.
func TestEveryPolicyPlaces(t *testing.T) {
	for _, info := range policies.All() {
		c := config.Default()
		p := &c.Profiles[0]
		p.Policy, p.Evictions.Enabled = chosen.Policy{Name: info.Name}, true
		p.Policy.Check(policies.All())
		if errs := c.Validate(); len(errs) > 0 {
			t.Logf("%s is refused: %v", info.Name, errs)
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			inBubble(t, []runtime.Object{bigNode(0), plainPod(1), plainPod(2)}, func(b *bubble) {
				b.Config.Profiles = c.Profiles
				b.run()
				b.pass(30 * time.Second)
				b.expectBound("pod-1 pod-2")
			})
		})
	}
}
