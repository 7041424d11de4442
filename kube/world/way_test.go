package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

// deviceRig has nodes n1, n2, … with so many devices each, and claims c0, c1, … for one device.
func deviceRig(t *testing.T, nodes, devices, claims int) *rig {
	t.Helper()
	objects := library()[:2] // namespaces
	objects = append(objects, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
	for i := range nodes {
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i + 1)}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: new(nodeName(i + 1)), Pool: resourcev1.ResourcePool{Name: nodeName(i + 1), ResourceSliceCount: 1},
		}}
		for d := range devices {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("gpu-", d)})
		}
		objects = append(objects, slice)
	}
	for i := range claims {
		objects = append(objects, oneDevice(fmt.Sprint("c", i)))
	}
	r := newRig(t, newBench(t, objects...))
	r.policy, r.reserves = "priority", true
	r.world.Exits().Allow(map[string]Evictions{ours: {Pace: Pace{10, 600}, Moves: Pace{10, 600}}})
	r.restart()
	for i := range nodes {
		node, err := makeNode(&line{of: "node", name: nodeName(i + 1)})
		if err != nil {
			t.Fatal(err)
		}
		r.seeNode(node)
	}
	return r
}

// oneDevice is a claim for one device.
func oneDevice(name string) *resourcev1.ResourceClaim {
	claim := makeDevice(name, "")
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
	}}}
	return claim
}

// comes shows a pod with the claim.
func (r *rig) comes(t *testing.T, claim, text string) *Pod {
	t.Helper()
	l, err := parse("pod " + text)
	if err != nil {
		t.Fatal(err)
	}
	pod, err := makePod(l)
	if err != nil {
		t.Fatal(err)
	}
	if claim != "" {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}
	}
	r.seePod(pod)
	return r.world.Pod(pod.UID)
}

// has shows a pod that runs on the node, with the claim for a device there.
func (r *rig) has(t *testing.T, claim, device, text, node string) *Pod {
	t.Helper()
	p := r.comes(t, "", text+" node="+node)
	name := p.object.Name
	if claim != "" {
		pod := p.object.DeepCopy()
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}
		r.losePod(pod.UID)
		r.seePod(pod)
		given := oneDevice(claim)
		given.Status.Allocation = makeDevice(claim, node).Status.Allocation
		given.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{{Request: "one", Driver: "gpu.example.com", Pool: node, Device: device}}
		given.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: name, UID: pod.UID}}
		r.write(t, given)
	}
	return r.world.Pod(types.UID("uid-" + name))
}

// write changes a claim.
func (r *rig) write(t failer, claim *resourcev1.ResourceClaim) {
	t.Helper()
	r.version++
	claim.ResourceVersion = fmt.Sprint(100 + r.version)
	if err := r.client.Tracker().Update(resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), runtime.Object(claim), claim.Namespace); err != nil {
		t.Fatal(err)
	}
	waitForPlugins()
	r.world.MarkDirty()
}

// told are the names of those who are asked to leave, and of the placed with their nodes.
func (v *verdict) outcome() string {
	var list []string
	for _, p := range v.asked {
		list = append(list, p.object.Name+" leaves")
	}
	for _, f := range v.accepted {
		list = append(list, f.object.Name+" on "+f.node)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// The least important pod with a device leaves for one that asks for one, and nobody who has none. Until its claim is given back, which is later than it is gone, nobody else leaves, and neither the pod
// that comes in its place gets the device nor another that waits for one.
func TestOthersLeaveForDevices(t *testing.T) {
	r := deviceRig(t, 2, 1, 5)
	r.has(t, "c0", "gpu-0", "low1 cpu=1 priority=1", "n1")
	r.has(t, "c1", "gpu-0", "low2 cpu=1 priority=2", "n2")
	r.turn()
	high := r.comes(t, "c2", "high cpu=1 priority=10")
	next := func(want string) {
		t.Helper()
		r.now += cluster.Second
		r.world.Advance(r.now)
		v := r.turn()
		if got := v.outcome(); got != want {
			t.Fatalf("at %v: %q, want %q; refused %v, high is %s", r.now, got, want, v.refused, high.Stage)
		}
	}
	next("low1 leaves")
	r.comes(t, "c3", "more cpu=1 priority=2")
	next("")
	r.granted(r.world.Pod("uid-low1"))
	next("")
	r.losePod("uid-low1")
	r.comes(t, "c4", "again cpu=1 priority=1")
	next("")
	next("")
	r.write(t, oneDevice("c0"))
	next("high on n1")
	next("")
}

// Where claims are not given back, nobody else leaves.
func TestClaimsThatStayCostNoOtherPod(t *testing.T) {
	r := deviceRig(t, 4, 1, 5)
	for i := range 4 {
		r.has(t, fmt.Sprint("c", i), "gpu-0", fmt.Sprintf("low%d cpu=1 priority=%d", i, 1+i), nodeName(i+1))
	}
	r.turn()
	high := r.comes(t, "c4", "high cpu=1 priority=10")
	told := r.run(40, func() {
		for _, p := range slices.Clone(r.leaving) {
			r.granted(p)
			r.losePod(p.object.UID)
		}
	})
	if told != "low0 leaves" || high.special {
		t.Errorf("%q, want that of one pod; the pod is put off for good: %t", told, high.special)
	}
	r.write(t, oneDevice("c0"))
	if told := r.run(12, func() {}); told != "high on n1" {
		t.Errorf("%q when it is given back after all, want the pod there", told)
	}
}

// run does turns a second apart, after each of them what is to be done, and says what was told.
func (r *rig) run(seconds int, after func()) string {
	var told []string
	for range seconds {
		r.now += cluster.Second
		r.world.Advance(r.now)
		v := r.turn()
		if text := v.outcome(); text != "" {
			told = append(told, text)
		}
		after()
	}
	return strings.Join(told, "; ")
}

// Who is going anyway is waited for, however long that takes, and also by a new core.
func TestWhoGoesAnywayIsWaitedFor(t *testing.T) {
	const nodes = 2 * mostFound
	r := deviceRig(t, nodes, 1, nodes+1)
	low := r.has(t, "c0", "gpu-0", "low1 cpu=1 priority=5", "n1")
	for i := 1; i < nodes; i++ {
		r.has(t, fmt.Sprint("c", i), "gpu-0", fmt.Sprintf("less%d cpu=1 priority=1", i), nodeName(i+1))
	}
	r.granted(low)
	r.turn()
	r.comes(t, fmt.Sprint("c", nodes), "high cpu=1 priority=10")
	if told := r.run(20, func() {}); told != "" {
		t.Errorf("%q, want nobody told", told)
	}
	r.restart()
	if told := r.run(20, func() {}); told != "" {
		t.Errorf("%q after a new core, want nobody told", told)
	}
	r.losePod(low.object.UID)
	r.run(2, func() {})
	r.write(t, oneDevice("c0"))
	if told := r.run(12, func() {}); told != "high on n1" {
		t.Errorf("%q when it is gone, want the pod there", told)
	}
}

// Each of two pods that name a disk has another leave that has it, one after the other.
func TestTwoWantOneDisk(t *testing.T) {
	r := deviceRig(t, 2, 1, 0)
	for i := range 2 {
		r.comes(t, "", fmt.Sprintf("low%d cpu=1 priority=%d pd=shared node=%s", i, 1+i, nodeName(i+1)))
	}
	r.turn()
	a, b := r.comes(t, "", "high-a cpu=1 priority=10 pd=shared"), r.comes(t, "", "high-b cpu=1 priority=10 pd=shared")
	told := r.run(60, func() {
		for _, p := range slices.Clone(r.leaving) {
			r.granted(p)
			r.losePod(p.object.UID)
		}
		for _, f := range r.flying {
			r.started(f)
			r.arrived(f)
		}
	})
	if want := "low0 leaves; high-a on n1; low1 leaves; high-b on n2"; told != want || a.special || b.special {
		t.Errorf("%q, want %q; put off for good: %t, %t", told, want, a.special, b.special)
	}
}

// Who is guarded by a budget that can spare nobody stays where another would do.
func TestBudgetsKeepDevices(t *testing.T) {
	r := deviceRig(t, 1, 2, 3)
	r.seeBudget(makeBudget("web", "web", 0))
	r.has(t, "c0", "gpu-0", "low0 cpu=1 priority=1 app=web", "n1")
	r.has(t, "c1", "gpu-1", "low1 cpu=1 priority=2", "n1")
	r.turn()
	r.comes(t, "c2", "high cpu=1 priority=10")
	if told := r.run(5, func() {}); told != "low1 leaves" {
		t.Errorf("%q, want the one that no budget keeps", told)
	}
}

// Where pods leave together for devices, those are enough without which there are too few.
func TestAsManyLeaveForDevicesAsHaveTo(t *testing.T) {
	r := deviceRig(t, 1, 4, 5)
	for i, priority := range []int{3, 1, 2, 4} {
		r.has(t, fmt.Sprint("c", i), fmt.Sprint("gpu-", i), fmt.Sprintf("low%d cpu=1 priority=%d", i, priority), "n1")
	}
	two := oneDevice("c4")
	two.Spec.Devices.Requests[0].Exactly.Count = 2
	r.write(t, two)
	r.turn()
	r.comes(t, "c4", "high cpu=1 priority=10")
	r.now += cluster.Second
	r.world.Advance(r.now)
	v := r.turn()
	if got, want := v.outcome(), "low1 leaves, low2 leaves"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Nobody leaves for a device who is as important, or where there would be none all the same, nor for a pod that preempts nobody.
func TestNobodyLeavesForDevicesInVain(t *testing.T) {
	for _, test := range []struct{ name, pod string }{
		{"as important", "high cpu=1 priority=1"},
		{"too much room", "high cpu=100 priority=10"},
		{"preempts nobody", "high cpu=1 priority=10 preempts=Never"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := deviceRig(t, 1, 1, 2)
			r.has(t, "c0", "gpu-0", "low cpu=1 priority=1", "n1")
			r.turn()
			r.comes(t, "c1", test.pod)
			for range 3 {
				r.now += 5 * cluster.Second
				r.world.Advance(r.now)
				v := r.turn()
				if got := v.outcome(); got != "" {
					t.Fatalf("%q, want nobody", got)
				}
			}
		})
	}
}

// Others leave for a pod that is more important, and not the other way round; who is unknown leaves for nobody.
func TestWhoMayLeaveForWhom(t *testing.T) {
	r := deviceRig(t, 1, 0, 0)
	low := r.has(t, "", "", "low cpu=1 priority=1", nodeName(1))
	high := r.has(t, "", "", "high cpu=1 priority=9", nodeName(1))
	r.turn()
	ws := &ways{pods: r.world.pods, yields: func(*Pod, *Pod) bool { return true }}
	for _, test := range []struct {
		uid  types.UID
		of   *Pod
		want bool
	}{{low.object.UID, high, true}, {high.object.UID, low, false}, {low.object.UID, low, false}, {"nobody", high, false}} {
		if got := ws.leaves(test.of)(test.uid); got != test.want {
			t.Errorf("%s may leave for %s: %v, want %v", test.uid, test.of.object.Name, got, test.want)
		}
	}
}
