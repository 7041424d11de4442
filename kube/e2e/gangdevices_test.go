package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// offer makes a slice of devices, for as long as the test lasts.
func (c *cluster) offer(slice *resourcev1.ResourceSlice) {
	c.t.Helper()
	_, err := c.client.ResourceV1().ResourceSlices().Create(c.t.Context(), slice, metav1.CreateOptions{})
	c.must(err)
	c.t.Cleanup(func() {
		c.must(c.client.ResourceV1().ResourceSlices().Delete(context.Background(), slice.Name, metav1.DeleteOptions{}))
	})
}

// offerCard says, as a driver does, that a node has a card, which can be had whole, or as two halves.
func (c *cluster) offerCard(driver, node string) {
	c.t.Helper()
	pool := resourcev1.ResourcePool{Name: node, ResourceSliceCount: 2}
	device := func(name, kind, memory string) resourcev1.Device {
		return resourcev1.Device{
			Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"kind": {StringValue: &kind}},
			ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "card", Counters: map[string]resourcev1.Counter{"memory": {Value: resource.MustParse(memory)}}}},
		}
	}
	c.offer(&resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: driver + "-devices-" + node},
		Spec: resourcev1.ResourceSliceSpec{Driver: driver, NodeName: &node, Pool: pool, Devices: []resourcev1.Device{
			device("a-whole", "whole", "40Gi"), device("b-half", "half", "20Gi"), device("c-half", "half", "20Gi"),
		}},
	})
	c.offer(&resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: driver + "-counters-" + node},
		Spec: resourcev1.ResourceSliceSpec{Driver: driver, NodeName: &node, Pool: pool, SharedCounters: []resourcev1.CounterSet{
			{Name: "card", Counters: map[string]resourcev1.Counter{"memory": {Value: resource.MustParse("40Gi")}}},
		}},
	})
}

// kinds makes a class of the driver's devices of each kind, KIND.DRIVER.
func (c *cluster) kinds(driver string, kinds ...string) {
	c.t.Helper()
	for _, kind := range kinds {
		name := kind + "." + driver
		expression := fmt.Sprintf("device.driver == %q && device.attributes[%q].kind == %q", driver, driver, kind)
		_, err := c.client.ResourceV1().DeviceClasses().Create(c.t.Context(), &resourcev1.DeviceClass{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}},
		}, metav1.CreateOptions{})
		c.must(err)
		c.t.Cleanup(func() {
			c.must(c.client.ResourceV1().DeviceClasses().Delete(context.Background(), name, metav1.DeleteOptions{}))
		})
	}
}

// claim makes a claim for the first of the classes of which there is a device.
func (c *cluster) claim(name string, classes ...string) {
	c.t.Helper()
	request := resourcev1.DeviceRequest{Name: "gpu"}
	for i, class := range classes {
		request.FirstAvailable = append(request.FirstAvailable, resourcev1.DeviceSubRequest{Name: fmt.Sprint("choice-", i), DeviceClassName: class})
	}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{request}
	_, err := c.client.ResourceV1().ResourceClaims(c.namespace).Create(c.t.Context(), claim, metav1.CreateOptions{})
	c.must(err)
}

// claiming makes a pod have the claim of its own name.
func claiming(p *v1.Pod) {
	name := p.Name
	p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &name}}
	p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
}

// given are the devices of all claims of the namespace, by claim.
func (c *cluster) given() map[string]string {
	c.t.Helper()
	given := map[string]string{}
	claims, err := c.client.ResourceV1().ResourceClaims(c.namespace).List(c.t.Context(), metav1.ListOptions{})
	c.must(err)
	for _, claim := range claims.Items {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, d := range claim.Status.Allocation.Devices.Results {
			given[claim.Name] += d.Pool + "/" + d.Device
		}
	}
	return given
}

// Pods of a gang each like a whole card best, and there is one card for two of them, or its halves. By the first that fits one of them would take the whole, and
// no other have a device (kubernetes/kubernetes#138765). They are placed with the halves. A gang that needs one more than there is waits, says so, and
// has nothing, until there is one more.
func TestGangSharesDevicesOut(t *testing.T) {
	c := grouping(t)
	c.start(settings{})
	driver := c.namespace + ".fairlead.dev"
	c.addNodes(3, "n-", "4")
	c.kinds(driver, "whole", "half")
	c.offerCard(driver, "n-00000")
	c.group("pair", 2)
	for i := range 2 {
		c.claim(fmt.Sprint("pair-", i), "whole."+driver, "half."+driver)
	}
	c.create(several(2, "pair", member("pair"), cpu("1"), claiming)...)
	c.awaitBound(30*time.Second, 2)
	given := c.given()
	if len(given) != 2 || given["pair-0"] == given["pair-1"] {
		t.Errorf("two pods have the devices %v, want each a half", given)
	}
	c.awaitGroup("pair", metav1.ConditionTrue, "")

	c.offerCard(driver, "n-00001")
	c.group("many", 3)
	for i := range 3 {
		c.claim(fmt.Sprint("many-", i), "whole."+driver, "half."+driver)
	}
	c.create(several(3, "many", member("many"), cpu("1"), claiming)...)
	c.awaitGroup("many", metav1.ConditionFalse, "Fairlead: a gang of 3: the claims of 3 of its pods (many-0, many-1, many-2) need devices that draw at least")
	want := regexp.MustCompile(`^Fairlead: a gang of 3: the claims of 3 of its pods .* draw at least [^ ]+ of memory, and [^ ]+ are left\.$`)
	c.await(30*time.Second, func() string {
		if said := condition(c.pod("many-0")).Message; !want.MatchString(said) {
			return fmt.Sprintf("a pod of the gang to say %s; it says %q", want, said)
		}
		return ""
	})
	if given := c.given(); len(given) != 2 {
		t.Errorf("a gang that waits has devices: %v", given)
	}
	c.offerCard(driver, "n-00002")
	c.awaitBound(30*time.Second, 5)
	given = c.given()
	used := map[string]string{}
	for claim, device := range given {
		if other, twice := used[device]; twice {
			t.Errorf("claims %s and %s have the same device %s", other, claim, device)
		}
		used[device] = claim
	}
	if len(given) != 5 {
		t.Errorf("five pods are bound, and claims have %v", given)
	}
	c.awaitGroup("many", metav1.ConditionTrue, "")
}

// Where the API server refuses the devices of one pod of a gang, no other is bound, and those that were allocated for others are given back; once it does not any
// more, all are bound.
func TestGangGivesDevicesBack(t *testing.T) {
	c := grouping(t)
	driver := c.namespace + ".fairlead.dev"
	c.addNodes(1, "n-", "4")
	c.kinds(driver, "whole", "half")
	c.offerCard(driver, "n-00000")
	c.group("pair", 2)
	for i := range 2 {
		c.claim(fmt.Sprint("pair-", i), "half."+driver)
	}
	admit := c.refuseDevices("pair-1")
	c.start(settings{})
	c.create(several(2, "pair", member("pair"), cpu("1"), claiming)...)
	c.await(30*time.Second, func() string {
		for _, name := range []string{"pair-0", "pair-1"} {
			if said := condition(c.pod(name)).Message; !strings.Contains(said, "is not to have devices") {
				return fmt.Sprintf("pod %s to say that its gang could not be prepared for; it says %q", name, said)
			}
		}
		return ""
	})
	c.await(30*time.Second, func() string {
		if given := c.given(); len(given) > 0 {
			return fmt.Sprintf("no devices for a gang that is not bound; claims have %v", given)
		}
		return ""
	})
	if n := len(c.bound()); n > 0 {
		t.Errorf("%d pods of a gang that cannot be prepared for are bound", n)
	}
	admit()
	c.awaitBound(30*time.Second, 2)
	if given := c.given(); len(given) != 2 || given["pair-0"] == given["pair-1"] {
		t.Errorf("two pods have the devices %v", given)
	}
}

// refuseDevices has the API server refuse devices for the claim, from now on until what it returns is called.
func (c *cluster) refuseDevices(claim string) (admit func()) {
	c.t.Helper()
	name := c.namespace + "-" + claim
	policies, bindings := c.client.AdmissionregistrationV1().ValidatingAdmissionPolicies(), c.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{"resource.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"resourceclaims", "resourceclaims/status"}},
	}}}}
	policy.Spec.Validations = []admissionv1.Validation{{
		Expression: fmt.Sprintf("object.metadata.namespace != %q || object.metadata.name != %q", c.namespace, claim), Message: claim + " is not to have devices",
	}}
	_, err := policies.Create(c.t.Context(), policy, metav1.CreateOptions{})
	c.must(err)
	_, err = bindings.Create(c.t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}}, metav1.CreateOptions{})
	c.must(err)
	refuses := func() bool { // a policy takes a while to be honoured
		patch := []byte(`{"metadata":{"annotations":{"tried":"yes"}}}`)
		_, err := c.client.ResourceV1().ResourceClaims(c.namespace).Patch(c.t.Context(), claim, types.MergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil
	}
	c.await(30*time.Second, func() string {
		if !refuses() {
			return "the API server to refuse devices for " + claim
		}
		return ""
	})
	admit = sync.OnceFunc(func() {
		c.must(bindings.Delete(context.Background(), name, metav1.DeleteOptions{}))
		c.must(policies.Delete(context.Background(), name, metav1.DeleteOptions{}))
	})
	c.t.Cleanup(admit)
	return admit
}
