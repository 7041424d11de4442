package world

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/fairlead/cluster"
)

// Gangs with claims of devices that also need what is not posed with them: whatever it is, they are placed in the end where they can be.

// claimant is a pod of the group with a claim of its own, and the claim.
func claimant(t *testing.T, name, group, selector string, requests int) (*v1.Pod, *resourceapi.ResourceClaim) {
	t.Helper()
	claim := makeDevice("claim-"+name, "")
	claim.Spec.Devices.Requests = nil
	for i := range requests {
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, resourceapi.DeviceRequest{Name: fmt.Sprint("r", i), Exactly: &resourceapi.ExactDeviceRequest{
			DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
			Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: selector}}},
		}})
	}
	pod, err := makePod(&line{of: "pod", name: name})
	if err != nil {
		t.Fatal(err)
	}
	pod.Labels["app"] = "train"
	pod.Spec.Priority = new(int32(10))
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new(group)}
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim.Name}}
	return pod, claim
}

// gangOf is a pod group of which so many pods are placed together.
func gangOf(name string, least int) *schedulingv1beta1.PodGroup {
	g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(least)}
	return g
}

// devicesOn are devices of a node, with the counters that they draw from.
func devicesOn(node string, sets []resourceapi.CounterSet, list ...resourceapi.Device) []runtime.Object {
	pool := resourceapi.ResourcePool{Name: node, ResourceSliceCount: 1}
	if sets != nil {
		pool.ResourceSliceCount = 2
	}
	slice := func(suffix string) *resourceapi.ResourceSlice {
		return &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + suffix}, Spec: resourceapi.ResourceSliceSpec{Driver: "gpu.example.com", NodeName: &node, Pool: pool}}
	}
	of := slice("-devices")
	of.Spec.Devices = list
	objects := []runtime.Object{of}
	if sets != nil {
		counters := slice("-counters")
		counters.Spec.SharedCounters = sets
		objects = append(objects, counters)
	}
	return objects
}

func TestGangsThatClaimDevicesAndMore(t *testing.T) {
	for _, try := range []struct {
		name   string
		evicts bool
		cpu    string
		with   func(*v1.Pod)
	}{
		{"nothing more", false, "100m", func(*v1.Pod) {}},
		{"room", false, "3", func(*v1.Pod) {}},
		{"room, where others may leave", true, "3", func(*v1.Pod) {}},
		{"apart", false, "100m", func(p *v1.Pod) {
			affinity(p).PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "train"}}, TopologyKey: v1.LabelHostname,
			}}}
		}},
		{"a port", false, "100m", func(p *v1.Pod) { p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80}} }},
		{"another resource", false, "100m", func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests["example.com/nic"] = resource.MustParse("1") }},
	} {
		t.Run(try.name, func(t *testing.T) {
			objects := append(library()[:2:2], &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
			for i := range 2 {
				objects = append(objects, devicesOn(nodeName(i), nil, resourceapi.Device{Name: "gpu-0"}, resourceapi.Device{Name: "gpu-1"})...)
			}
			var pods []*v1.Pod
			for i := range 2 {
				pod, claim := claimant(t, fmt.Sprint("p", i), "g", `device.driver == "gpu.example.com"`, 1)
				pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse(try.cpu)
				try.with(pod)
				pods, objects = append(pods, pod), append(objects, claim)
			}
			r := newRig(t, newBench(t, objects...))
			if try.evicts {
				r.policy = "fairlead"
				r.world.Exits().Allow(map[string]Evictions{ours: {Others: 1, Pace: Pace{100, 6000}, Moves: Pace{100, 6000}}})
				r.restart()
			}
			for i := range 2 {
				n := roomyNode(i)
				n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("4")
				n.Status.Allocatable["example.com/nic"] = resource.MustParse("1")
				r.seeNode(n)
			}
			r.seeGroup(gangOf("g", 2))
			for _, p := range pods {
				r.seePod(p)
			}
			for range 3 {
				if v := r.turn(); len(v.accepted) == 2 {
					return
				}
				r.now += 100 * cluster.Second
				r.world.MarkDirty()
			}
			t.Errorf("it was not placed: %q", r.core.Why(r.world.Pod(pods[0].UID).Task()).Sentence(r.world.Columns().Kinds()))
		})
	}
}

// Who is to stand beside a pod with a device needs none if its claim asks for none.
func TestClaimOfNothing(t *testing.T) {
	objects := append(library()[:2:2], &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
	objects = append(objects, devicesOn(nodeName(0), nil, resourceapi.Device{Name: "gpu-0"})...)
	one, some := claimant(t, "one", "g", `device.driver == "gpu.example.com"`, 1)
	none, nothing := claimant(t, "none", "g", "", 0)
	r := newRig(t, newBench(t, append(objects, some, nothing)...))
	r.seeNode(roomyNode(0))
	r.seeGroup(gangOf("g", 2))
	r.seePod(one)
	r.seePod(none)
	if v := r.turn(); len(v.accepted) != 2 {
		t.Errorf("%d of 2 are placed", len(v.accepted))
	}
}

// Pods of a gang name one claim, for a device that is on a node or that all nodes can reach, and it is given to them once: they stand on that node, or where they
// have room. Where the claim's node has no room for all of them, none is placed.
func TestGangSharesAClaim(t *testing.T) {
	for _, test := range []struct {
		name       string
		everywhere bool
		own        bool // each has a device of its own, too; each node has two
		pods       int
		cpu        string
		nodes      string
		why        string
	}{
		{"of a node", false, false, 3, "100m", "n0 n0 n0", ""},
		{"of a node, which is too small", false, false, 3, "2", "", "the claims of 3 of its pods (shared) lead to nodes that have room for 0 of them"},
		{"of any node", true, false, 3, "2", "n0 n0 n1", ""},
		{"of a node, with others", false, true, 2, "100m", "n0 n0", ""},
		{"of any node, with others", true, true, 3, "100m", "n0 n0 n1", ""},
		{"of a node, with others, of which there are too few", false, true, 3, "100m", "", "the claims of 3 of its pods (claim-p0, claim-p1, claim-p2, shared) need "},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects := append(library()[:2:2], &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
			for i := range 2 {
				objects = append(objects, devicesOn(nodeName(i), nil, resourceapi.Device{Name: "gpu-0"}, resourceapi.Device{Name: "gpu-1"})...)
			}
			fabric := devicesOn(nodeName(0), nil, resourceapi.Device{Name: "wire"})[0].(*resourceapi.ResourceSlice)
			fabric.Name, fabric.Spec.Driver = "fabric", "net.example.com"
			if test.everywhere {
				fabric.Spec.NodeName, fabric.Spec.AllNodes = nil, new(true)
			}
			_, shared := claimant(t, "shared", "g", `device.driver == "net.example.com"`, 1)
			shared.Name = "shared"
			objects = append(objects, fabric, shared)
			var pods []*v1.Pod
			for i := range test.pods {
				pod, claim := claimant(t, fmt.Sprint("p", i), "g", `device.driver == "gpu.example.com"`, 1)
				pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse(test.cpu)
				if !test.own {
					pod.Spec.ResourceClaims = nil
				}
				pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: "net", ResourceClaimName: &shared.Name})
				pods, objects = append(pods, pod), append(objects, claim)
			}
			r := newRig(t, newBench(t, objects...))
			r.reserves = true
			for i := range 2 {
				n := roomyNode(i)
				n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("4")
				r.seeNode(n)
			}
			r.seeGroup(gangOf("g", test.pods))
			for _, p := range pods {
				r.seePod(p)
			}
			v := r.turn()
			if got := v.nodes(); got != test.nodes || len(v.refused) > 0 {
				t.Errorf("placed on %q, want %q; refused %v", got, test.nodes, v.refused)
			}
			if why := r.world.Pod(pods[0].UID).Shortage(); !strings.HasPrefix(why, test.why) || (why == "") != (test.why == "") {
				t.Errorf("the first waits because %q, want %q", why, test.why)
			}
		})
	}
}

// Pods of a gang get devices by an extended resource, beside one that has a claim: there is a card for two of them as a whole, which
// comes first, or as halves.
func TestGangSharesExtendedResources(t *testing.T) {
	for _, test := range []struct {
		name  string
		pods  int
		nodes string
		why   string
	}{
		{"halves", 2, "n0 n0", ""},
		{"too few", 3, "", "the claims of 3 of its pods (claim-p2, example.com/gpu of p0, example.com/gpu of p1) need devices that draw at least 120Gi of memory, and 80Gi are left"},
	} {
		t.Run(test.name, func(t *testing.T) {
			class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
			class.Spec.ExtendedResourceName = new("example.com/gpu")
			objects := append(library()[:2:2], class)
			part := func(name, memory string) resourceapi.Device {
				return resourceapi.Device{Name: name, ConsumesCounters: []resourceapi.DeviceCounterConsumption{{CounterSet: "card", Counters: map[string]resourceapi.Counter{"memory": {Value: resource.MustParse(memory)}}}}}
			}
			card := []resourceapi.CounterSet{{Name: "card", Counters: map[string]resourceapi.Counter{"memory": {Value: resource.MustParse("80Gi")}}}}
			objects = append(objects, devicesOn(nodeName(0), card, part("a-whole", "80Gi"), part("b-half", "40Gi"), part("c-half", "40Gi"))...)
			var pods []*v1.Pod
			for i := range test.pods {
				pod, claim := claimant(t, fmt.Sprint("p", i), "g", `device.driver == "gpu.example.com"`, 1)
				if i < 2 {
					pod.Spec.ResourceClaims = nil
					pod.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
				}
				pods, objects = append(pods, pod), append(objects, claim)
			}
			r := newRig(t, newBench(t, objects...))
			r.reserves = true
			for i := range 2 {
				r.seeNode(roomyNode(i))
			}
			r.seeGroup(gangOf("g", test.pods))
			for _, p := range pods {
				r.seePod(p)
			}
			v := r.turn()
			if why := r.world.Pod(pods[0].UID).Shortage(); why != test.why {
				t.Errorf("the first waits because %q, want %q", why, test.why)
			}
			if got := v.nodes(); got != test.nodes {
				t.Errorf("placed on %q, want %q", got, test.nodes)
			}
		})
	}
}

// What a gang got in a turn is nobody else's in it, nor is what is drawn from the same card.
func TestPartitionsAreGivenOnce(t *testing.T) {
	objects := append(library()[:2:2], &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
	part := func(name, kind, card, memory string) resourceapi.Device {
		return resourceapi.Device{
			Name: name, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"kind": {StringValue: &kind}},
			ConsumesCounters: []resourceapi.DeviceCounterConsumption{{CounterSet: card, Counters: map[string]resourceapi.Counter{"memory": {Value: resource.MustParse(memory)}}}},
		}
	}
	var sets []resourceapi.CounterSet
	var parts []resourceapi.Device
	for _, card := range []string{"1", "2"} {
		sets = append(sets, resourceapi.CounterSet{Name: "card" + card, Counters: map[string]resourceapi.Counter{"memory": {Value: resource.MustParse("80Gi")}}})
		parts = append(parts, part("full-"+card, "full", "card"+card, "80Gi"), part("half-a-"+card, "half", "card"+card, "40Gi"), part("half-b-"+card, "half", "card"+card, "40Gi"))
	}
	objects = append(objects, devicesOn(nodeName(0), sets, parts...)...)
	var pods []*v1.Pod
	for _, kind := range []string{"full", "half"} {
		for i := range 2 {
			pod, claim := claimant(t, fmt.Sprint(kind, i), kind, `device.attributes["gpu.example.com"].kind == "`+kind+`"`, 1)
			pods, objects = append(pods, pod), append(objects, claim)
		}
	}
	r := newRig(t, newBench(t, objects...))
	r.reserves = true
	r.seeNode(roomyNode(0))
	r.seeGroup(gangOf("full", 2))
	r.seeGroup(gangOf("half", 2))
	for _, p := range pods {
		r.seePod(p)
	}
	if v := r.turn(); len(v.accepted) != 2 {
		t.Errorf("%d pods are placed on two cards, each of which is a full one or two halves: %v", len(v.accepted), v.accepted)
	}
}
