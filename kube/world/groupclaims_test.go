package world

import (
	"strings"
	"testing"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
)

// Pods of a group may share claims of devices if upstream's filters know of that, whether they are placed together or each by itself.
func TestGroupsWithClaims(t *testing.T) {
	claims := []schedulingv1beta1.PodGroupResourceClaim{{Name: "shared", ResourceClaimName: new("devices")}}
	basic := schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}
	gang := func(least int32) schedulingv1beta1.PodGroupSchedulingPolicy {
		return schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: least}}
	}
	for _, test := range []struct {
		name   string
		known  bool // to upstream's filters
		policy schedulingv1beta1.PodGroupSchedulingPolicy
		claims []schedulingv1beta1.PodGroupResourceClaim
		why    string
	}{
		{"basic", true, basic, claims, ""},
		{"a gang of one", true, gang(1), claims, ""},
		{"a gang", true, gang(2), claims, ""},
		{"a gang without the gate", false, gang(2), claims, "--feature-gates=GenericWorkload=true,DRAWorkloadResourceClaims=true"},
		{"without the gate", false, basic, claims, "--feature-gates=GenericWorkload=true,DRAWorkloadResourceClaims=true"},
		{"without claims", false, gang(2), nil, ""},
	} {
		g := &Group{groupKey: groupKey{Name: "g"}, Object: &schedulingv1beta1.PodGroup{}}
		g.Object.Spec.SchedulingPolicy, g.Object.Spec.ResourceClaims = test.policy, test.claims
		g.read(&PodGroups{claims: test.known})
		if (g.why == "") != (test.why == "") || !strings.Contains(g.why, test.why) {
			t.Errorf("%s: held because %q, want %q", test.name, g.why, test.why)
		}
	}
}
