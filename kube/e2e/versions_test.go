package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file is about Kubernetes of other versions than ours: what a bed of theirs does not serve, tests are skipped for, and Fairlead does without.
// `make versions` reads what the tests log after says, and skip for as not served.

const (
	says      = "says: "
	notServed = "not served: "
)

// needs skips the test if the bed's Kubernetes, which is not ours, does not serve a resource.
func (c *cluster) needs(version, resource string) {
	c.t.Helper()
	list, err := c.client.Discovery().ServerResourcesForGroupVersion(version)
	if err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }) {
		return
	}
	c.absent(fmt.Sprintf("%s of %s", resource, version))
}

// absent skips the test for what the bed's Kubernetes, which is not ours, does not have.
func (c *cluster) absent(what string) {
	c.t.Helper()
	if testbed.Kubernetes() == "" {
		c.t.Fatalf("the API server does not serve %s", what)
	}
	c.t.Skip(notServed + what)
}

// grouping is a bare cluster with pod groups.
func grouping(t *testing.T) *cluster {
	t.Helper()
	c := bare(t)
	c.needs("scheduling.k8s.io/v1beta1", "podgroups")
	return c
}

// The program becomes ready, and says in its log what it does without, also where it is told to look at pod groups, which the bed does not serve.
func TestReady(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
	}{
		{"as by default", nil},
		{"with gates", []string{"--feature-gates=GenericWorkload=true,DRAWorkloadResourceClaims=true"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			bed := ownBed(t)
			c := newCluster(t, bed)
			c.must(bed.StartFairlead(t.Context(), build(t), testbed.ProfileOf("fairlead"), 10_000, test.args...))
			c.addNodes(1, "n", "4")
			c.create(newPod("first"))
			c.awaitBound(20*time.Second, 1)
			c.relay(testbed.FairleadName, "Does without an API")
		})
	}
}

// relay logs what a process of the bed said with these words.
func (c *cluster) relay(process, words string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.bed.Dir(), process+".log"))
	c.must(err)
	for line := range strings.Lines(string(text)) {
		if _, said, ok := strings.Cut(line, "] "); ok && strings.Contains(said, words) {
			c.t.Log(says + strings.TrimSpace(said))
		}
	}
}

// olderGroups are the bed's options by which a Kubernetes before 1.37 serves pod groups of its own.
func olderGroups() testbed.Options {
	version := "v1alpha2"
	if testbed.Before(36) {
		version = "v1alpha1"
	}
	return testbed.Options{
		Tmpfs: true, FeatureGates: "GenericWorkload=true", APIServerFlags: []string{"--runtime-config=scheduling.k8s.io/" + version + "=true"},
	}
}

// Pod groups of an older Kubernetes are not read: the log says so, and so do the pods that are held for it, by spec.schedulingGroup, or on 1.35 by spec.workloadRef.
func TestOlderPodGroups(t *testing.T) {
	testbed.SkipUnlessBuilt(t)
	if !testbed.Before(37) {
		t.Skip(notServed + "pod groups of versions before 1.37")
	}
	bed := ownBedOf(t, olderGroups())
	c := newCluster(t, bed)
	c.must(bed.StartFairlead(t.Context(), build(t), testbed.ProfileOf("fairlead"), 10_000))
	c.relay(testbed.FairleadName, "reads pod groups")
	c.addNodes(1, "n", "4")
	field := "spec.schedulingGroup"
	if testbed.Before(36) {
		field = "spec.workloadRef"
		c.createOfWorkload("grouped")
	} else {
		c.create(newPod("grouped", member("gang")))
	}
	c.create(newPod("free"))
	c.awaitBound(20*time.Second, 1)
	why := c.awaitCondition("grouped", held)
	if !strings.Contains(why, "upgrade it to 1.37, or take "+field+" off the pod") {
		t.Errorf("a pod of a group says %q", why)
	}
	t.Log(says + why)
}

// Pods that are read as JSON, as they are on Kubernetes 1.35 with workloads, are seen as others are: those that are there when the scheduler begins, those that come, and those that go.
func TestPodsReadAsOn135(t *testing.T) {
	c := bare(t)
	c.addNodes(1, "n", "4")
	c.create(several(2, "first")...)
	c.start(settings{workloads: true})
	c.awaitBound(20*time.Second, 2)
	c.create(several(3, "second")...)
	c.awaitBound(20*time.Second, 4)
	c.must(c.client.CoreV1().Pods(c.namespace).Delete(t.Context(), "first-0", metav1.DeleteOptions{}))
	c.await(20*time.Second, func() string {
		if pods := c.pods(); len(pods) != 4 || len(c.bound()) != 4 {
			return "the last pod on a node, in the place of one that is gone"
		}
		return ""
	})
}

// createOfWorkload makes a pod that names a workload of Kubernetes 1.35, in a field that our types do not have.
func (c *cluster) createOfWorkload(name string) {
	c.t.Helper()
	pod := newPod(name)
	pod.APIVersion, pod.Kind = "v1", "Pod"
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	c.must(err)
	c.must(unstructured.SetNestedStringMap(fields, map[string]string{"name": "training", "podGroup": "workers"}, "spec", "workloadRef"))
	client, err := dynamic.NewForConfig(c.bed.Config(testbed.Admin))
	c.must(err)
	_, err = client.Resource(v1.SchemeGroupVersion.WithResource("pods")).Namespace(c.namespace).Create(c.t.Context(), &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
	c.must(err)
}

// offerTwo says, as a driver does, that a node has two devices, of which the first is tainted, if so.
func (c *cluster) offerTwo(driver, node string, taints ...resourcev1.DeviceTaint) {
	c.t.Helper()
	name := driver + "-" + node
	c.offer(&resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "a", Taints: taints}, {Name: "b"}},
		},
	})
	kept, err := c.client.ResourceV1().ResourceSlices().Get(c.t.Context(), name, metav1.GetOptions{})
	if c.must(err); len(kept.Spec.Devices[0].Taints) != len(taints) {
		c.absent("taints of devices in " + resourcev1.SchemeGroupVersion.String())
	}
}

// claimants makes pods that claim a device of the driver's each.
func (c *cluster) claimants(driver string, names ...string) {
	c.t.Helper()
	for _, name := range names {
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: driver}}}
		_, err := c.client.ResourceV1().ResourceClaims(c.namespace).Create(c.t.Context(), claim, metav1.CreateOptions{})
		c.must(err)
		c.create(newPod(name, claiming))
	}
}

// oneOf waits until one of two pods that claim devices is bound, and returns the other, which waits for the device with a taint.
func (c *cluster) oneOf() (waiting string) {
	c.t.Helper()
	c.awaitBound(30*time.Second, 1)
	waiting = c.theWaiting()
	c.await(20*time.Second, func() string {
		if said := condition(c.pod(waiting)).Message; !strings.Contains(said, "cannot allocate all claims") {
			return fmt.Sprintf("pod %s to wait for a device; it says %q", waiting, said)
		}
		return ""
	})
	for claim, device := range c.given() {
		if device != "n-00000/b" {
			c.t.Errorf("claim %s has %s, which has a taint", claim, device)
		}
	}
	return waiting
}

func busy() resourcev1.DeviceTaint {
	return resourcev1.DeviceTaint{Key: "fairlead.dev/busy", Effect: resourcev1.DeviceTaintEffectNoSchedule}
}

// A device that its driver has tainted goes to no claim that does not tolerate it.
func TestTaintedDevice(t *testing.T) {
	c := bare(t)
	c.start(settings{})
	driver := c.namespace + ".fairlead.dev"
	c.addNodes(1, "n-", "4")
	c.claimTemplate(driver)
	c.offerTwo(driver, "n-00000", busy())
	c.claimants(driver, "first", "second")
	c.oneOf()
}

// A DeviceTaintRule keeps a device from claims until it is gone.
func TestDeviceTaintRule(t *testing.T) {
	c := bare(t)
	c.needs(resourcev1.SchemeGroupVersion.String(), "devicetaintrules")
	c.start(settings{})
	driver, node, device := c.namespace+".fairlead.dev", "n-00000", "a"
	c.addNodes(1, "n-", "4")
	c.claimTemplate(driver)
	rules := c.client.ResourceV1().DeviceTaintRules()
	rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	rule.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{Driver: &driver, Pool: &node, Device: &device}
	rule.Spec.Taint = busy()
	_, err := rules.Create(t.Context(), rule, metav1.CreateOptions{})
	c.must(err)
	lift := func() error { return rules.Delete(context.Background(), rule.Name, metav1.DeleteOptions{}) }
	t.Cleanup(func() { _ = lift() }) // Unless it is gone.
	c.offerTwo(driver, node)
	c.claimants(driver, "first", "second")
	waiting := c.oneOf()
	c.must(lift())
	c.await(30*time.Second, func() string {
		if c.pod(waiting).Spec.NodeName == "" {
			return "a node for " + waiting
		}
		return ""
	})
}
