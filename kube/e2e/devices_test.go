package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/policies/chosen"
)

// Pods that claim devices go where devices are; each device is given once, and
// the pod too many waits until one is given back.
func TestDevices(t *testing.T) {
	c := living(t)
	c.start(settings{})
	driver := c.namespace + ".fairlead.dev"
	for _, node := range []string{"node-00003", "node-00004"} {
		c.offerDevices(driver, node, 2)
	}
	c.claimTemplate(driver)
	c.create(several(5, "gpu", cpu("100m"), func(p *v1.Pod) {
		name := "gpu"
		p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &name}}
		p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
	})...)
	c.awaitBound(30*time.Second, 4)
	if nodes := perNode(c.bound()); nodes["node-00003"] != 2 || nodes["node-00004"] != 2 {
		t.Errorf("two nodes have two devices each, and the pods are on %v", nodes)
	}
	given := map[string]string{}
	claims, err := c.client.ResourceV1().ResourceClaims(c.namespace).List(t.Context(), metav1.ListOptions{})
	c.must(err)
	for _, claim := range claims.Items {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, d := range claim.Status.Allocation.Devices.Results {
			if other, taken := given[d.Pool+d.Device]; taken {
				t.Errorf("the claims %s and %s were given the same device %s of %s", other, claim.Name, d.Device, d.Pool)
			}
			given[d.Pool+d.Device] = claim.Name
		}
	}
	waiting := c.theWaiting()
	// Before that it was told that its claim was not created yet.
	want := regexp.MustCompile(`^0/30 nodes are available: 30 cannot allocate all claims\..* Fairlead: .+\.$`)
	c.await(20*time.Second, func() string {
		if said := condition(c.pod(waiting)).Message; !want.MatchString(said) {
			return fmt.Sprintf("the reason %s; it says %q", want, said)
		}
		return ""
	})
	c.delete(c.bound()[0].Name)
	c.await(30*time.Second, func() string {
		if c.pod(waiting).Spec.NodeName == "" {
			return "a node for " + waiting
		}
		return ""
	})
}

// The least important pods with a device leave for one that has none, which is bound to the node where its claim is given the device once their claims have been given back. Those that their owner makes
// in their place wait, and nobody else leaves.
func TestOthersLeaveForDevices(t *testing.T) {
	for _, policy := range []string{"fairlead", "kube-scheduler"} {
		t.Run(policy, func(t *testing.T) {
			c := living(t)
			f := c.start(settings{profile: func(p *config.Profile) {
				p.Policy = chosen.Policy{Name: policy}
				p.Evictions.Enabled = true
			}})
			driver := c.namespace + ".fairlead.dev"
			least, less := c.twoNodes()
			for _, node := range []string{least, less} {
				c.offerDevices(driver, node, 1)
			}
			c.claimTemplate(driver)
			gpu := func(p *v1.Pod) {
				name := "gpu"
				p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &name}}
				p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
			}
			c.create(newPod("least", gpu, on(least), priority(c, -10)), newPod("less", gpu, on(less), priority(c, -5)), newPod("beside", on(least), priority(c, -20)))
			c.awaitBound(time.Minute, 3)
			c.create(newPod("high", gpu, on(least, less), priority(c, 1000)))
			c.await(time.Minute, func() string {
				if c.pod("high").Status.NominatedNodeName == "" && c.pod("high").Spec.NodeName == "" {
					return "others told to leave for the pod"
				}
				return ""
			})
			c.create(newPod("again", gpu, on(least, less), priority(c, -10)))
			c.awaitBound(time.Minute, 1, named("high"))
			if on := c.pod("high").Spec.NodeName; on != least {
				t.Errorf("the pod is on node %s, want %s", on, least)
			}
			for _, p := range c.pods() {
				if p.Name == "least" && p.DeletionTimestamp == nil || p.Name != "least" && p.DeletionTimestamp != nil || p.Name == "again" && p.Spec.NodeName != "" {
					t.Errorf("pod %s is there, on node %q, deleted %v", p.Name, p.Spec.NodeName, p.DeletionTimestamp)
				}
			}
			if evicted := f.sum("fairlead_evictions_total", "evicted"); evicted != 1 {
				t.Errorf("%d pods were evicted, want 1", evicted)
			}
		})
	}
}

// Pods with a device each leave for a pod group that lacks two, the least important of three, and nobody for one that cannot be placed even so. They are bound, all of the group, once the claims of those have been
// given back; those that their owner makes in their place wait.
func TestOthersLeaveForDevicesOfGangs(t *testing.T) {
	c := living(t)
	c.needs("scheduling.k8s.io/v1beta1", "podgroups")
	f := c.start(settings{profile: func(p *config.Profile) { p.Evictions.Enabled = true }})
	driver := c.namespace + ".fairlead.dev"
	for i := range 3 {
		c.offerDevices(driver, fmt.Sprintf("node-%05d", i), 1)
	}
	c.claimTemplate(driver)
	gpu := func(p *v1.Pod) {
		name := "gpu"
		p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &name}}
		p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
	}
	c.create(newPod("least", gpu, cpu("1"), priority(c, -10)), newPod("less", gpu, cpu("1"), priority(c, -5)), newPod("low", gpu, cpu("1"), priority(c, -1)), newPod("beside", cpu("1"), priority(c, -20)))
	c.awaitBound(time.Minute, 4)
	c.group("many", 4)
	c.create(several(4, "many", member("many"), gpu, cpu("1"), priority(c, 1000))...)
	c.awaitGroup("many", metav1.ConditionFalse, "a gang of 4: ")
	if n := len(c.bound()); n != 4 {
		t.Fatalf("%d of 4 pods were evicted for a group that has no place even so", 4-n)
	}
	for _, p := range c.pods() {
		if strings.HasPrefix(p.Name, "many") {
			c.delete(p.Name)
		}
	}
	c.group("pair", 2)
	c.create(several(2, "pair", member("pair"), gpu, cpu("1"), priority(c, 1000))...)
	c.await(time.Minute, func() string {
		for _, name := range []string{"pair-0", "pair-1"} {
			if p := c.pod(name); p.Status.NominatedNodeName == "" && p.Spec.NodeName == "" {
				return "others told to leave for " + name
			}
		}
		return ""
	})
	c.create(newPod("again", gpu, cpu("1"), priority(c, -10)))
	c.awaitBound(time.Minute, 2, prefixed("pair"))
	c.awaitGroup("pair", metav1.ConditionTrue, "")
	given := map[string]string{}
	claims, err := c.client.ResourceV1().ResourceClaims(c.namespace).List(t.Context(), metav1.ListOptions{})
	c.must(err)
	for _, claim := range claims.Items {
		if claim.Status.Allocation == nil || claim.DeletionTimestamp != nil {
			continue
		}
		for _, d := range claim.Status.Allocation.Devices.Results {
			if other, taken := given[d.Pool+d.Device]; taken {
				t.Errorf("the claims %s and %s were given the same device %s of %s", other, claim.Name, d.Device, d.Pool)
			}
			given[d.Pool+d.Device] = claim.Name
		}
	}
	for _, p := range c.pods() {
		leaves := p.Name == "least" || p.Name == "less"
		if leaves == (p.DeletionTimestamp == nil) || p.Name == "again" && p.Spec.NodeName != "" {
			t.Errorf("pod %s is there, on node %q, deleted %v", p.Name, p.Spec.NodeName, p.DeletionTimestamp)
		}
	}
	if evicted := f.sum("fairlead_evictions_total", "evicted"); evicted != 2 {
		t.Errorf("%d pods were evicted, want 2", evicted)
		for _, p := range c.pods() {
			t.Logf("there is %s on %s", p.Name, p.Spec.NodeName)
		}
	}
}

// offerDevices says, as a driver does, that a node has devices.
func (c *cluster) offerDevices(driver, node string, count int) {
	c.t.Helper()
	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: strings.Join([]string{driver, node}, "-")},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
		},
	}
	for i := range count {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	_, err := c.client.ResourceV1().ResourceSlices().Create(c.t.Context(), slice, metav1.CreateOptions{})
	c.must(err)
	c.t.Cleanup(func() {
		c.must(c.client.ResourceV1().ResourceSlices().Delete(context.Background(), slice.Name, metav1.DeleteOptions{}))
	})
}

// claimTemplate makes the class of the driver's devices, and the template gpu of
// claims for one of them.
func (c *cluster) claimTemplate(driver string) {
	c.t.Helper()
	_, err := c.client.ResourceV1().DeviceClasses().Create(c.t.Context(), &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: driver},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{
			CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)},
		}}},
	}, metav1.CreateOptions{})
	c.must(err)
	c.t.Cleanup(func() {
		c.must(c.client.ResourceV1().DeviceClasses().Delete(context.Background(), driver, metav1.DeleteOptions{}))
	})
	_, err = c.client.ResourceV1().ResourceClaimTemplates(c.namespace).Create(c.t.Context(), &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: driver}}},
		}}},
	}, metav1.CreateOptions{})
	c.must(err)
}
