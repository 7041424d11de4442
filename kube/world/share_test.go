package world

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Three nodes in two zones have a device each; the pods of a gang could each have any of them, if they were alone. Together they are placed where devices are for
// all, or as many of them as can be where that is enough for the gang, and in one zone where they are to be; who is left says why.
func TestGangSharesDevices(t *testing.T) {
	for _, test := range []struct {
		name        string
		pods, least int
		inZone      bool
		nodes       string // of those that are placed, in order
		why         string // of those that are not
	}{
		{"as many as there are", 3, 3, false, "n1 n2 n3", ""},
		{"more than there are", 4, 4, false, "", "the claims of 4 of its pods (c0, c1, c2, c3) need 4 devices, and there are 3 free that they may have"},
		{"more than there are, and enough for the gang", 4, 2, false, "n1 n2 n3", "the claims of 4 of its pods (c0, c1, c2, c3) need 4 devices, and there are 3 free that they may have"},
		{"in one zone", 2, 2, true, "n2 n3", ""},
		{"in one zone, too many", 3, 3, true, "", "the claims of 2 of its pods (c0, c1) need 2 devices, and there are 1 free that they may have"},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects := library()[:2] // namespaces
			objects = append(objects, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
			for i := 1; i <= 3; i++ {
				objects = append(objects, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)}, Spec: resourcev1.ResourceSliceSpec{
					Driver: "gpu.example.com", NodeName: new(nodeName(i)), Pool: resourcev1.ResourcePool{Name: nodeName(i), ResourceSliceCount: 1},
					Devices: []resourcev1.Device{{Name: "gpu-0"}},
				}})
			}
			var pods []*v1.Pod
			for i := range test.pods {
				claim := makeDevice(fmt.Sprint("c", i), "")
				claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{
					DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
				}}}
				objects = append(objects, claim)
				pod, err := makePod(&line{of: "pod", name: fmt.Sprint("p", i)})
				if err != nil {
					t.Fatal(err)
				}
				pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("g")}
				pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim.Name}}
				pods = append(pods, pod)
			}
			r := newRig(t, newBench(t, objects...))
			for i, zone := range []string{"a", "b", "b"} {
				node, err := makeNode(&line{of: "node", name: nodeName(i + 1)})
				if err != nil {
					t.Fatal(err)
				}
				node.Labels[v1.LabelTopologyZone] = zone
				r.seeNode(node)
			}
			g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g"}}
			g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(test.least)}
			if test.inZone {
				g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: v1.LabelTopologyZone}}}
			}
			r.seeGroup(g)
			for _, p := range pods {
				r.seePod(p)
			}
			v := r.turn()
			if got := v.nodes(); got != test.nodes || len(v.refused) > 0 {
				t.Errorf("placed on %q, want %q; refused %v", got, test.nodes, v.refused)
			}
			for _, p := range r.world.PodGroups().named(groupKey{Namespace: "default", Name: "g"}).own.Members() {
				if got := p.Shortage(); p.Stage == AwaitingQuery && got != test.why {
					t.Errorf("pod %s waits because %q, want %q", p.object.Name, got, test.why)
				}
			}
			if len(v.accepted)+len(v.unplaced) < test.pods {
				t.Errorf("%d pods are placed and %d said to wait, of %d", len(v.accepted), len(v.unplaced), test.pods)
			}
		})
	}
}
