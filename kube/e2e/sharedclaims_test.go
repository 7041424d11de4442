package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
)

// offerSwitch says that the nodes can reach a switch.
func (c *cluster) offerSwitch(driver, name string, nodes ...string) {
	c.t.Helper()
	kind := "switch"
	c.offer(&resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: driver + "-" + name},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, Pool: resourcev1.ResourcePool{Name: name, ResourceSliceCount: 1},
			NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: nodes}}}}},
			Devices:      []resourcev1.Device{{Name: "port", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"kind": {StringValue: &kind}}}},
		},
	})
}

// with makes a pod have another claim.
func with(claim string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, v1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
		p.Spec.Containers[0].Resources.Claims = append(p.Spec.Containers[0].Resources.Claims, v1.ResourceClaim{Name: claim})
	}
}

// claims gives a group a claim of its own.
func claims(name string) func(*schedulingv1beta1.PodGroupSpec) {
	return func(s *schedulingv1beta1.PodGroupSpec) {
		s.ResourceClaims = append(s.ResourceClaims, schedulingv1beta1.PodGroupResourceClaim{Name: name, ResourceClaimName: &name})
	}
}

// reservedFor are the names of whom the claim is reserved for, in order.
func (c *cluster) reservedFor(name string) string {
	c.t.Helper()
	claim, err := c.client.ResourceV1().ResourceClaims(c.namespace).Get(c.t.Context(), name, metav1.GetOptions{})
	c.must(err)
	var names []string
	for _, of := range claim.Status.ReservedFor {
		names = append(names, of.Resource+"/"+of.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// groupsShareClaims has our scheduler know that pods of a group may share claims.
func groupsShareClaims(t *testing.T) {
	t.Helper()
	featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{features.GenericWorkload: true, features.DRAWorkloadResourceClaims: true})
}

// Four pods of a gang each want half a card, and share a switch by a claim of their group, or by one that all of them name. The first switch leads to one node alone. They are placed
// at the other, where there are cards for all; the claim is allocated once, and reserved for the group, or for each of them. Another pod of the gang follows.
func TestGangSharesAClaim(t *testing.T) {
	for _, test := range []struct {
		name    string
		options []func(*schedulingv1beta1.PodGroupSpec)
		users   string
	}{
		{"of the group", []func(*schedulingv1beta1.PodGroupSpec){claims("net")}, "podgroups/gang"},
		{"of nobody", nil, "pods/p-0 pods/p-1 pods/p-2 pods/p-3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			groupsShareClaims(t)
			c := grouping(t)
			driver := c.namespace + ".fairlead.dev"
			c.addNodes(3, "n-", "8")
			c.kinds(driver, "half", "switch")
			for i := range 3 {
				c.offerCard(driver, fmt.Sprint("n-0000", i))
			}
			c.offerSwitch(driver, "a-small", "n-00000")
			c.offerSwitch(driver, "b-large", "n-00001", "n-00002")
			c.claim("net", "switch."+driver)
			for i := range 4 {
				c.claim(fmt.Sprint("p-", i), "half."+driver)
			}
			c.group("gang", 4, test.options...)
			c.start(settings{})
			c.create(several(4, "p", member("gang"), cpu("1"), claiming, with("net"))...)
			c.awaitBound(30*time.Second, 4)
			for _, p := range c.bound() {
				if p.Spec.NodeName == "n-00000" {
					t.Errorf("pod %s is on node %s, which cannot reach the large switch", p.Name, p.Spec.NodeName)
				}
			}
			given := c.given()
			if given["net"] != "b-large/port" || len(given) != 5 {
				t.Errorf("claims have %v", given)
			}
			if got := c.reservedFor("net"); got != test.users {
				t.Errorf("the shared claim is reserved for %q, want %q", got, test.users)
			}
			c.create(newPod("late", member("gang"), cpu("1"), with("net")))
			c.awaitBound(30*time.Second, 5)
			if node := c.pod("late").Spec.NodeName; node == "n-00000" {
				t.Errorf("the late pod is on node %s", node)
			}
		})
	}
}

// Where the API server refuses the devices of one pod of a gang, those that were written to the group's claim are given back, and the gang is placed once it does not any more.
func TestGangGivesItsClaimBack(t *testing.T) {
	groupsShareClaims(t)
	c := grouping(t)
	driver := c.namespace + ".fairlead.dev"
	c.addNodes(1, "n-", "4")
	c.kinds(driver, "half", "switch")
	c.offerCard(driver, "n-00000")
	c.offerSwitch(driver, "net", "n-00000")
	c.claim("net", "switch."+driver)
	for i := range 2 {
		c.claim(fmt.Sprint("pair-", i), "half."+driver)
	}
	c.group("pair", 2, claims("net"))
	admit := c.refuseDevices("pair-1")
	c.start(settings{})
	c.create(several(2, "pair", member("pair"), cpu("1"), func(p *v1.Pod) { with("net")(p); with(p.Name)(p) })...)
	c.await(30*time.Second, func() string {
		if said := condition(c.pod("pair-1")).Message; !strings.Contains(said, "is not to have devices") {
			return fmt.Sprintf("a pod to say that it could not be prepared for; it says %q", said)
		}
		return ""
	})
	c.await(30*time.Second, func() string {
		if given, users := c.given(), c.reservedFor("net"); len(given) > 0 || users != "" {
			return fmt.Sprintf("no devices for a gang that is not bound; claims have %v, and the group's is reserved for %q", given, users)
		}
		return ""
	})
	admit()
	c.awaitBound(30*time.Second, 2)
	if given := c.given(); len(given) != 3 || c.reservedFor("net") != "podgroups/pair" {
		t.Errorf("claims have %v, and the group's is reserved for %q", given, c.reservedFor("net"))
	}
}

// Two pods of a gang get devices by an extended resource that a class provides, of which the first is the whole card: they get the halves.
func TestGangSharesExtendedResources(t *testing.T) {
	c := grouping(t)
	driver := c.namespace + ".fairlead.dev"
	c.addNodes(1, "n-", "4")
	name := "cards." + driver
	_, err := c.client.ResourceV1().DeviceClasses().Create(t.Context(), &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.DeviceClassSpec{
			Selectors:            []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)}}},
			ExtendedResourceName: new("example.com/" + c.namespace),
		},
	}, metav1.CreateOptions{})
	c.must(err)
	t.Cleanup(func() {
		c.must(c.client.ResourceV1().DeviceClasses().Delete(context.Background(), name, metav1.DeleteOptions{}))
	})
	c.offerCard(driver, "n-00000")
	c.start(settings{})
	c.group("pair", 2)
	c.create(several(2, "pair", member("pair"), cpu("1"), func(p *v1.Pod) {
		r := &p.Spec.Containers[0].Resources
		one := v1.ResourceList{v1.ResourceName("example.com/" + c.namespace): resource.MustParse("1")}
		maps.Copy(r.Requests, one)
		r.Limits = one
	})...)
	c.awaitBound(30*time.Second, 2)
	devices := slices.Sorted(maps.Values(c.given()))
	if !slices.Equal(devices, []string{"n-00000/b-half", "n-00000/c-half"}) {
		t.Errorf("two pods have the devices %v, want each a half", devices)
	}
}

// The claim of a gang is made from a template for the group, by Kubernetes' controller, and all of its pods use that one.
func TestGangSharesAClaimFromATemplate(t *testing.T) {
	groupsShareClaims(t)
	c := living(t)
	c.needs("scheduling.k8s.io/v1beta1", "podgroups")
	driver := c.namespace + ".fairlead.dev"
	c.offerDevices(driver, "node-00003", 2)
	c.claimTemplate(driver)
	template := "gpu"
	c.group("gang", 3, func(s *schedulingv1beta1.PodGroupSpec) {
		s.ResourceClaims = []schedulingv1beta1.PodGroupResourceClaim{{Name: template, ResourceClaimTemplateName: &template}}
	})
	c.start(settings{})
	c.create(several(3, "p", member("gang"), cpu("1"), func(p *v1.Pod) {
		p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: template, ResourceClaimTemplateName: &template}}
		p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: template}}
	})...)
	c.awaitBound(40*time.Second, 3)
	if nodes := perNode(c.bound()); nodes["node-00003"] != 3 {
		t.Errorf("one node has the device, and the pods are on %v", nodes)
	}
	given := c.given()
	if len(given) != 1 {
		t.Errorf("three pods have the claims %v, want one", given)
	}
	for name := range given {
		if got := c.reservedFor(name); got != "podgroups/gang" {
			t.Errorf("the claim is reserved for %q", got)
		}
	}
}
