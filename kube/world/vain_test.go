package world

import (
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

// coresOf is how many cores a node has, and how many of them are free.
type coresOf struct{ cores, free int }

// vainRig is a node of so many cores, which pods of no importance take, one each, but for those that are free, under one of the policies that evict.
func vainRig(t *testing.T, b *bench, policy, on string, has coresOf) *rig {
	t.Helper()
	r := newRig(t, b)
	r.policy, r.others, r.reserves = policy, true, true
	r.world.Exits().Allow(map[string]Evictions{ours: {Others: 1, Pace: Pace{100, 6000}, Moves: Pace{100, 6000}, BestEffort: true}})
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: on, UID: types.UID("uid-" + on), Labels: map[string]string{v1.LabelHostname: on}}}
	node.Status.Allocatable = v1.ResourceList{
		v1.ResourceCPU: *resource.NewQuantity(int64(has.cores), resource.DecimalSI), v1.ResourceMemory: resource.MustParse("16Gi"), v1.ResourcePods: resource.MustParse("10"),
	}
	r.seeNode(node)
	r.restart()
	for _, name := range []string{"low1", "low2", "low3"}[:has.cores-has.free] {
		pod := coreOf(name, 0)
		pod.Spec.NodeName = on
		r.seePod(pod)
	}
	r.now += 20 * cluster.Second
	r.turn()
	return r
}

// coreOf is a pod that asks for a core.
func coreOf(name string, importance int32) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)},
		Spec:       v1.PodSpec{SchedulerName: ours, Priority: &importance},
	}
	pod.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}}}
	return pod
}

// asked does so many turns, two seconds each, and returns who is asked to leave and where pods are accepted.
func (r *rig) asked(turns int) (leave []string, accepted []flight, refused []refusal) {
	for range turns {
		r.now += 2 * cluster.Second
		v := r.turn()
		for _, p := range v.asked {
			leave = append(leave, p.Object().Name)
		}
		accepted, refused = append(accepted, v.accepted...), append(refused, v.refused...)
	}
	return leave, accepted, refused
}

// goes lets all go who were asked to.
func (r *rig) goes() {
	for _, p := range slices.Clone(r.leaving) {
		r.granted(p)
	}
	r.turn()
	for _, uid := range slices.Sorted(maps.Keys(r.pods)) {
		if r.pods[uid].DeletionTimestamp != nil {
			r.losePod(uid)
		}
	}
}

// TestNobodyLeavesWhereADriverIsMissing: a node without a driver that has to be there takes the pod no more once others have left. Where the driver is, they leave.
func TestNobodyLeavesWhereADriverIsMissing(t *testing.T) {
	b := newBench(t, library()...)
	for _, policy := range []string{"kube-scheduler", "fairlead"} {
		for _, claim := range []string{"made-1", "csi-1"} { // of a volume that is to be made, and of one that is there
			for node, want := range map[string]int{"n3": 0, "n1": 1} { // which has no driver, and which has one that attaches two volumes
				r := vainRig(t, b, policy, node, coresOf{cores: 1})
				r.keep(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: new(true)}}, true)
				pod := coreOf("asks", 1000)
				pod.Spec.Volumes = []v1.Volume{{Name: "disk", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
				r.seePod(pod)
				if leave, _, _ := r.asked(6); len(leave) != want {
					t.Errorf("%s, %s on %s: %v are asked to leave, want %d", policy, claim, node, leave, want)
				}
			}
		}
	}
}

// TestOneAtATimeForADevice: the one device is free, on a node where two pods could leave. Of two that ask for it and a core, one gets both, and has one leave if no core is free; for
// the other nobody leaves.
func TestOneAtATimeForADevice(t *testing.T) {
	b := newBench(t, append(library(), deviceClaim("free-1"), deviceClaim("free-2"))...)
	byClaim := func(pod *v1.Pod, i int) {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimName: new([]string{"free-1", "free-2"}[i])}}
	}
	byResource := func(pod *v1.Pod, _ int) {
		pod.Spec.Containers[0].Resources.Requests["example.com/device"] = resource.MustParse("1")
		pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{"example.com/device": resource.MustParse("1")}
	}
	for _, policy := range []string{"kube-scheduler", "fairlead"} {
		for name, how := range map[string][2]func(*v1.Pod, int){"claims": {byClaim, byClaim}, "resources": {byResource, byResource}, "both": {byClaim, byResource}} {
			for _, cores := range [][2]int{{0, 1}, {1, 1}, {1, 2}} { // that are free, and that the second asks for
				free := cores[0]
				r := vainRig(t, b, policy, "n2", coresOf{2 + free, free})
				for i, name := range []string{"asks1", "asks2"} {
					pod := coreOf(name, 1000)
					if i == 1 {
						pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = *resource.NewQuantity(int64(cores[1]), resource.DecimalSI)
					}
					how[i](pod, i)
					r.seePod(pod)
				}
				leave, accepted, refused := r.asked(6)
				if len(leave) != 1-free || len(accepted) != free {
					t.Errorf("%s, %s, cores %v: %v are asked to leave, %d are placed at once, %v", policy, name, cores, leave, len(accepted), refused)
				}
				r.goes()
				leave, later, refused := r.asked(6)
				if len(later) != 1-free || len(leave) > 0 || len(refused) > 0 {
					t.Errorf("%s, %s, cores %v: then %d are placed, %v are asked to leave, %v are refused", policy, name, cores, len(later), leave, refused)
				}
				for _, f := range append(accepted, later...) { // the next case has the device again
					f.pod.Reservation().Unreserve(r.rival.ctx)
				}
			}
		}
	}
}

// deviceClaim asks for one device of the library's.
func deviceClaim(name string) *resourcev1.ResourceClaim {
	claim := makeDevice(name, "")
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
	}}}
	return claim
}
