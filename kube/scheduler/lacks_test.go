package scheduler

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fairlead/kube/config"
)

// A scheduler that lacks every type that it may do without asks for none of them, and places pods. Those with claims of devices are held, and say why.
func TestLackingTypes(t *testing.T) {
	claiming := plainPod(2)
	claiming.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}, {Name: "nic"}}
	lacks := func(o *Options) {
		o.Config = config.Default()
		o.Config.Profiles[0].Evictions.Enabled = true
		o.Lacks = map[schema.GroupVersionResource]string{}
		for _, of := range optionals() {
			o.Lacks[of.resource] = "there are no " + of.resource.Resource
		}
	}
	inBubbleWith(t, lacks, []runtime.Object{bigNode(0), plainPod(1), claiming}, func(b *bubble) {
		b.run()
		b.pass(time.Minute)
		b.expectBound("pod-1")
		b.expectCondition("pod-2", heldReason, "it has claims of devices (2 in spec.resourceClaims), and none is read: there are no resourceclaims")
		for _, a := range b.api.Actions() {
			if _, lacking := b.Lacks[a.GetResource()]; lacking {
				b.t.Errorf("it asked to %s %s", a.GetVerb(), a.GetResource())
			}
		}
	})
}
