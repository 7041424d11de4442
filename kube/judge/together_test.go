package judge

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"fairlead.dev/fairlead/kube/devices"
)

// enough ticks for any case of a test.
const enough = 1 << 30

// deviceClass is of all devices whose attribute kind is so, and of all if it is empty.
func deviceClass(name, kind string) *resourcev1.DeviceClass {
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if kind != "" {
		class.Spec.Selectors = []resourcev1.DeviceSelector{bySelector(fmt.Sprintf(`device.attributes["dra.example"].kind == %q`, kind))}
	}
	return class
}

func bySelector(expression string) resourcev1.DeviceSelector {
	return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}
}

// offering offers devices on a node.
func offering(node string, all ...resourcev1.Device) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "slice-" + node},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: "dra.example", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}, Devices: all,
		},
	}
}

// kinded is a device with attributes by name.
func kinded(name, kind string) resourcev1.Device {
	return resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"kind": {StringValue: &kind}}}
}

func claimFor(name string, requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}}
	claim.Spec.Devices.Requests = requests
	return claim
}

func exactly(name, class string, count int64) resourcev1.DeviceRequest {
	return resourcev1.DeviceRequest{Name: name, Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}}
}

// either has the first class that can be had.
func either(name string, classes ...string) resourcev1.DeviceRequest {
	r := resourcev1.DeviceRequest{Name: name}
	for i, class := range classes {
		r.FirstAvailable = append(r.FirstAvailable, resourcev1.DeviceSubRequest{Name: fmt.Sprint("sub-", i), DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1})
	}
	return r
}

// claiming makes a pod have the claims.
func claiming(pod *v1.Pod, claims ...string) *v1.Pod {
	for _, name := range claims {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: name, ResourceClaimName: &name})
	}
	return pod
}

// halves are a device and its two halves, which draw on the same counter.
func halves(node string) []runtime.Object {
	counters := func(amount string) []resourcev1.DeviceCounterConsumption {
		return []resourcev1.DeviceCounterConsumption{{CounterSet: "card", Counters: map[string]resourcev1.Counter{"memory": {Value: resource.MustParse(amount)}}}}
	}
	whole, one, two := kinded("whole", "whole"), kinded("half-0", "half"), kinded("half-1", "half")
	whole.ConsumesCounters, one.ConsumesCounters, two.ConsumesCounters = counters("40Gi"), counters("20Gi"), counters("20Gi")
	offer, of := offering(node, whole, one, two), offering(node)
	offer.Name, of.Name = "a-"+node, "b-"+node
	of.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "card", Counters: map[string]resourcev1.Counter{"memory": {Value: resource.MustParse("40Gi")}}}}
	offer.Spec.Pool.ResourceSliceCount, of.Spec.Pool.ResourceSliceCount = 2, 2
	return []runtime.Object{offer, of, deviceClass("whole", "whole"), deviceClass("half", "half")}
}

// The case of kubernetes/kubernetes#138765: two pods like a whole device best, and there is one, or its two halves. Upstream gives it to the first, and
// refuses the second; together they get the halves, and upstream's filters accept that. A third is one too many, and is told so.
func TestTogetherWhereFirstFitFails(t *testing.T) {
	objects := append(halves("n1"), namespace("default", "red"))
	var pods []*v1.Pod
	for i := range 3 {
		name := fmt.Sprint("claim-", i)
		objects = append(objects, claimFor(name, either("gpu", "whole", "half")))
		pods = append(pods, claiming(makePod(fmt.Sprint("pod-", i)), name))
	}
	judge := newBench(t, objects...).judge
	judge.SetNode(makeNode("n1"))
	eventually(t, "a pod finds its device", func() bool { return judge.Diagnose(pods[0]) == nil })

	first := mustReserve(t, judge, pods[0], "n1", nil)
	if refused := judge.Diagnose(pods[1]); refused == nil {
		t.Error("upstream has a device for the second pod although the first was given the whole: is this case still one?")
	}
	first.Unreserve(context.Background())

	all := []string{"n1"}
	joint := Together(judge, []Member{{pods[0], all}, {pods[1], all}}, Search{Budget: enough})
	if joint == nil || joint.Outcome != devices.Assigned {
		t.Fatalf("two halves for two pods: %+v", joint)
	}
	for i := range 2 {
		mustReserve(t, judge, pods[i], joint.Nodes[i], joint.Choices[i])
	}
	if refused := judge.Diagnose(pods[2]); refused == nil {
		t.Error("both halves are reserved, and a third pod has a device")
	}
}

// One pod more than there are devices is told which claims are in each other's way, and how few devices there are.
func TestTogetherIsImpossible(t *testing.T) {
	objects := []runtime.Object{namespace("default", "red"), deviceClass("gpu", "gpu"), offering("n1", kinded("a", "gpu"), kinded("b", "gpu")), offering("n2", kinded("c", "gpu"), kinded("d", "net"))}
	var members []Member
	for i := range 4 {
		name := fmt.Sprint("claim-", i)
		objects = append(objects, claimFor(name, exactly("gpu", "gpu", 1)))
		members = append(members, Member{claiming(makePod(fmt.Sprint("pod-", i)), name), []string{"n1", "n2"}})
	}
	judge := newBench(t, objects...).judge
	judge.SetNode(makeNode("n1"))
	judge.SetNode(makeNode("n2"))
	eventually(t, "a pod finds its device", func() bool { return judge.Diagnose(members[0].Pod) == nil })
	if joint := Together(judge, members[:3], Search{Budget: enough}); joint == nil || joint.Outcome != devices.Assigned || strings.Join(joint.Nodes, " ") != "n1 n1 n2" {
		t.Errorf("three devices for three pods: %+v", joint)
	}
	const want = "the claims of 4 of its pods (claim-0, claim-1, claim-2, claim-3) need 4 devices, and there are 3 free that they may have"
	if joint := Together(judge, members, Search{Budget: enough}); joint == nil || joint.Outcome != devices.Impossible || joint.Why != want {
		t.Errorf("three devices for four pods: %+v, want %q", joint, want)
	}
	large := makePod("large")
	large.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("3")
	for i := range members[:3] {
		members[i].Pod.Spec.Containers[0].Resources.Requests = large.Spec.Containers[0].Resources.Requests
	}
	if joint := Together(judge, members[:3], Search{Budget: enough}); joint == nil || joint.Outcome != devices.Impossible || !strings.Contains(joint.Why, "room for 2") {
		t.Errorf("three large pods for two nodes: %+v", joint)
	}
	if joint := Together(judge, members[:3], Search{Roomless: true, Budget: enough}); joint == nil || joint.Outcome != devices.Assigned {
		t.Errorf("three large pods where room is made: %+v", joint)
	}
}

// Where a node offers an extended resource itself, a pod needs no device for it there, which is not posed.
func TestExtendedResourceThatANodeOffers(t *testing.T) {
	class := deviceClass("gpu", "gpu")
	class.Spec.ExtendedResourceName = new("example.com/gpu")
	var members []Member
	for i := range 2 {
		pod := makePod(fmt.Sprint("pod-", i))
		pod.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
		members = append(members, Member{pod, []string{"n1", "n2"}})
	}
	judge := newBench(t, namespace("default", "red"), class, offering("n1", kinded("a", "gpu"), kinded("b", "gpu"))).judge
	judge.SetNode(makeNode("n1"))
	judge.SetNode(makeNode("n2"))
	eventually(t, "both have devices", func() bool {
		joint := Together(judge, members, Search{Budget: enough})
		return joint != nil && joint.Found()
	})
	offers := makeNode("n2")
	offers.Status.Allocatable["example.com/gpu"] = resource.MustParse("1")
	judge.SetNode(offers)
	if joint := Together(judge, members, Search{Budget: enough}); joint != nil {
		t.Errorf("it is posed: %+v", joint)
	}
}

// mustReserve reserves for the pod, with the devices that were chosen for it.
func mustReserve(t *testing.T, judge *Judge, pod *v1.Pod, node string, choice *Choice) *Reservation {
	t.Helper()
	c := mustCase(t, judge, pod)
	defer c.Close()
	c.Choose(choice)
	if status := c.LastWord(pod, node); !status.IsSuccess() {
		t.Fatalf("pod %s on node %s: %s", pod.Name, node, words(status))
	}
	r, status := judge.Reserve(context.Background(), c, pod, node)
	if !status.IsSuccess() {
		t.Fatalf("reserving for pod %s on node %s: %s", pod.Name, node, words(status))
	}
	return r
}

// What is said of a pod alone is what upstream says, whose search within a pod leaves nothing out, over devices, claims and constraints by chance. What is
// assigned to several pods upstream's filters accept.
func TestTogetherAsUpstream(t *testing.T) {
	alone, none, several, refused, apart := 0, 0, 0, 0, 0
	for seed := range uint64(300) {
		m := maker{Rand: rand.New(rand.NewPCG(seed, 24))}
		nodes, pods := m.cluster()
		judge := newBench(t, m.objects...).judge
		for _, n := range nodes {
			judge.SetNode(makeNode(n))
		}
		for _, pod := range pods {
			joint := Together(judge, []Member{{pod, nodes}}, Search{Budget: enough})
			if joint == nil {
				t.Fatalf("seed %d: pod %s is not posed", seed, pod.Name)
			}
			c, status := judge.Case(pod, nil)
			if !status.IsSuccess() {
				t.Fatalf("seed %d: PreFilter refuses pod %s: %s", seed, pod.Name, words(status))
			}
			feasible := c.Feasible(0)
			for _, n := range nodes {
				one := Together(judge, []Member{{pod, []string{n}}}, Search{Budget: enough})
				if status := c.LastWord(pod, n); status.Code() == fwk.Error {
					continue // upstream gives up where the first devices rule out all of a kind
				}
				if (one.Outcome == devices.Assigned) != slices.Contains(feasible, n) {
					t.Fatalf("seed %d: pod %s on node %s is %+v here, and upstream has %v\n%s", seed, pod.Name, n, one, feasible, m.print())
				}
			}
			c.Close()
			if joint.Outcome == devices.Assigned {
				alone++
				mustReserve(t, judge, pod, joint.Nodes[0], joint.Choices[0]).Unreserve(context.Background())
			} else {
				none++
			}
		}
		var members []Member
		for _, pod := range pods {
			members = append(members, Member{pod, nodes})
			joint := Together(judge, members, Search{Budget: enough})
			if joint.Outcome != devices.Assigned {
				members = members[:len(members)-1]
			}
		}
		if len(members) < 2 {
			continue
		}
		several++
		joint := Together(judge, members, Search{Budget: enough})
		if sharedFrom(members, joint.Nodes) {
			apart++
		}
		Accompany(judge, NewCompany())
		for i, member := range members {
			c := mustCase(t, judge, member.Pod)
			c.Choose(joint.Choices[i])
			r, status := judge.Reserve(context.Background(), c, member.Pod, joint.Nodes[i])
			c.Close()
			if status.IsSuccess() && len(r.pod.Spec.ResourceClaims) > 0 {
				continue
			}
			// Shown the devices of a pod, upstream may consume more of a shared one than was meant for a request.
			if refused++; !m.shares {
				t.Fatalf("seed %d: pod %s on node %s: %s", seed, member.Pod.Name, joint.Nodes[i], words(status))
			}
			break
		}
	}
	t.Logf("%d pods have devices, %d do not; %d clusters have some for several, of which upstream refused %d; in %d pods share a claim from several nodes", alone, none, several, refused, apart)
	if refused > several/10 {
		t.Errorf("upstream refused what was assigned in %d of %d clusters", refused, several)
	}
	if alone < 100 || none < 100 || several < 20 || apart < 5 {
		t.Errorf("the cases are too much alike: %d pods have devices, %d do not, %d clusters have some for several", alone, none, several)
	}
}

// sharedFrom reports whether pods on several nodes share a claim.
func sharedFrom(members []Member, nodes []string) bool {
	at := map[string]string{}
	for i, m := range members {
		for _, c := range m.Pod.Spec.ResourceClaims {
			if before, known := at[c.Name]; known && before != nodes[i] {
				return true
			}
			at[c.Name] = nodes[i]
		}
	}
	return false
}

// maker makes clusters of devices by chance.
type maker struct {
	*rand.Rand
	objects []runtime.Object
	shares  bool // some device is shared
}

func (m *maker) print() string {
	var text strings.Builder
	for _, o := range m.objects {
		switch o := o.(type) {
		case *resourcev1.ResourceSlice:
			fmt.Fprintf(&text, "%s: %+v\n", o.Name, o.Spec)
		case *resourcev1.ResourceClaim:
			fmt.Fprintf(&text, "%s: %+v\n", o.Name, o.Spec.Devices)
		}
	}
	return text.String()
}

func (m *maker) cluster() (nodes []string, pods []*v1.Pod) {
	m.objects = []runtime.Object{namespace("default", "red"), deviceClass("gpu", "gpu"), deviceClass("net", "net"), deviceClass("any", "")}
	m.objects[1].(*resourcev1.DeviceClass).Spec.ExtendedResourceName = new("example.com/gpu")
	for i := range 1 + m.IntN(3) {
		node := fmt.Sprint("n", i)
		nodes = append(nodes, node)
		offer, counters := offering(node), offering(node)
		offer.Spec.Pool.ResourceSliceCount, counters.Spec.Pool.ResourceSliceCount = 2, 2
		counters.Name = "counters-" + node
		counters.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "card", Counters: map[string]resourcev1.Counter{"memory": {Value: *resource.NewQuantity(int64(m.IntN(7)), resource.DecimalSI)}}}}
		for d := range 1 + m.IntN(6) {
			offer.Spec.Devices = append(offer.Spec.Devices, m.device(fmt.Sprint("dev-", d)))
		}
		m.objects = append(m.objects, offer, counters)
	}
	if m.IntN(2) == 0 {
		fabric := offering("fabric", m.device("dev-0"), m.device("dev-1"))
		fabric.Spec.NodeName, fabric.Spec.AllNodes = nil, new(true)
		for i := range fabric.Spec.Devices {
			fabric.Spec.Devices[i].ConsumesCounters = nil
		}
		m.objects = append(m.objects, fabric)
	}
	for i := range 2 + m.IntN(3) {
		pod := makePod(fmt.Sprint("pod-", i))
		if m.IntN(2) == 0 {
			pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("3") // one on each node
		}
		if i > 0 && m.IntN(3) == 0 {
			claiming(pod, pods[m.IntN(i)].Spec.ResourceClaims[0].Name)
			if m.IntN(2) == 0 { // nothing is its own
				pods = append(pods, pod)
				continue
			}
		}
		m.extend(pod)
		for c := range 1 + m.IntN(2) {
			claim := m.claim(fmt.Sprint(pod.Name, "-", c))
			m.objects = append(m.objects, claim)
			claiming(pod, claim.Name)
		}
		pods = append(pods, pod)
	}
	return nodes, pods
}

// extend has containers of some pods request devices by an extended resource.
func (m *maker) extend(pod *v1.Pod) {
	if m.IntN(3) > 0 {
		return
	}
	container := func() v1.Container {
		name := []v1.ResourceName{"example.com/gpu", "deviceclass.resource.kubernetes.io/net"}[m.IntN(2)]
		return v1.Container{Name: fmt.Sprint("c-", m.IntN(1000)), Resources: v1.ResourceRequirements{Requests: v1.ResourceList{name: *resource.NewQuantity(int64(m.IntN(3)), resource.DecimalSI)}}}
	}
	for range m.IntN(3) {
		init := container()
		if m.IntN(3) == 0 {
			init.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, init)
	}
	pod.Spec.Containers = append(pod.Spec.Containers, container())
}

func (m *maker) device(name string) resourcev1.Device {
	d := kinded(name, []string{"gpu", "gpu", "net"}[m.IntN(3)])
	if m.IntN(4) > 0 {
		d.Attributes["socket"] = resourcev1.DeviceAttribute{IntValue: new(int64(m.IntN(2)))}
	}
	if m.IntN(3) == 0 {
		d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "card", Counters: map[string]resourcev1.Counter{"memory": {Value: *resource.NewQuantity(int64(1+m.IntN(4)), resource.DecimalSI)}}}}
	}
	if m.IntN(8) == 0 {
		d.Taints = []resourcev1.DeviceTaint{{Key: "worn", Effect: []resourcev1.DeviceTaintEffect{resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNone}[m.IntN(2)]}}
	}
	if m.IntN(3) == 0 {
		capacity := resourcev1.DeviceCapacity{Value: *resource.NewQuantity(int64(2+m.IntN(6)), resource.DecimalSI)}
		quantity := func(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }
		switch m.IntN(4) {
		case 0:
			capacity.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: quantity(1), ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: quantity(1), Step: quantity(2), Max: quantity(5)}}
		case 1:
			capacity.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: quantity(2), ValidValues: []resource.Quantity{*quantity(2), *quantity(4)}}
		}
		d.AllowMultipleAllocations = new(m.IntN(3) > 0)
		m.shares = m.shares || *d.AllowMultipleAllocations
		d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"bandwidth": capacity}
	}
	return d
}

func (m *maker) claim(name string) *resourcev1.ResourceClaim {
	class := func() string { return []string{"gpu", "gpu", "net", "any"}[m.IntN(4)] }
	claim := claimFor(name)
	var names []string
	for i := range 1 + m.IntN(2) {
		request := fmt.Sprint("req-", i)
		r := exactly(request, class(), int64(1+m.IntN(5)/4))
		switch m.IntN(6) {
		case 0:
			r = either(request, class(), class())
			names = append(names, request+"/sub-0")
		case 1:
			r.Exactly.AllocationMode, r.Exactly.Count = resourcev1.DeviceAllocationModeAll, 0
		case 2:
			r.Exactly.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"bandwidth": *resource.NewQuantity(int64(1+m.IntN(5)), resource.DecimalSI)}}
		case 3:
			r.Exactly.Tolerations = []resourcev1.DeviceToleration{{Operator: resourcev1.DeviceTolerationOpExists}}
		case 4:
			r.Exactly.Selectors = []resourcev1.DeviceSelector{bySelector(`"socket" in device.attributes["dra.example"] && device.attributes["dra.example"].socket == 1`)}
		}
		names = append(names, request)
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, r)
	}
	if m.IntN(3) == 0 {
		c := resourcev1.DeviceConstraint{}
		if attribute := resourcev1.FullyQualifiedName("dra.example/socket"); m.IntN(2) == 0 {
			c.MatchAttribute = &attribute
		} else {
			c.DistinctAttribute = &attribute
		}
		if m.IntN(2) == 0 {
			c.Requests = []string{names[m.IntN(len(names))]}
		}
		claim.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{c}
	}
	return claim
}

// Devices that PreBind has written to a claim are free again where the pod is given up after that with its gang.
func TestReleaseGivesDevicesBack(t *testing.T) {
	pod := claiming(makePod("pod"), "claim")
	b := newBench(t, namespace("default", "red"), deviceClass("gpu", "gpu"), offering("n1", kinded("a", "gpu")), claimFor("claim", exactly("gpu", "gpu", 1)), claimFor("other", exactly("gpu", "gpu", 1)), pod)
	b.judge.SetNode(makeNode("n1"))
	eventually(t, "the pod finds its device", func() bool { return b.judge.Diagnose(pod) == nil })
	r := mustReserve(t, b.judge, pod, "n1", nil)
	ctx := t.Context()
	if status := r.PreBind(ctx); !status.IsSuccess() {
		t.Fatalf("PreBind: %s", words(status))
	}
	allocated := func() *resourcev1.ResourceClaim {
		claim, err := b.client.ResourceV1().ResourceClaims("default").Get(ctx, "claim", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return claim
	}
	if allocated().Status.Allocation == nil {
		t.Fatal("PreBind wrote no device")
	}
	used := allocated()
	used.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "user", UID: "uid-user"}}
	if _, err := b.client.ResourceV1().ResourceClaims("default").UpdateStatus(ctx, used, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Release(ctx); err != nil || allocated().Status.Allocation == nil {
		t.Fatalf("a claim that is reserved for another pod lost its device: %v", err)
	}
	used.Status.ReservedFor = nil
	if _, err := b.client.ResourceV1().ResourceClaims("default").UpdateStatus(ctx, used, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if claim := allocated(); claim.Status.Allocation != nil {
		t.Errorf("the claim keeps %v", claim.Status.Allocation)
	}
	other := claiming(makePod("other"), "other")
	eventually(t, "another pod has the device", func() bool { return b.judge.Diagnose(other) == nil })
}
