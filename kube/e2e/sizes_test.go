package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/classes"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/scheduler"
	"fairlead.dev/fairlead/kube/testbed"
)

// asksFairlead has policy fairlead decide.
func asksFairlead(p *config.Profile) { p.Policy.Name = "fairlead" }

// guaranteed gives the pod limits that are its requests.
func guaranteed(p *v1.Pod) {
	c := &p.Spec.Containers[0]
	c.Resources.Requests[v1.ResourceMemory] = resource.MustParse("32Mi")
	c.Resources.Limits = c.Resources.Requests.DeepCopy()
}

// restarts has a container be started anew where its cpu changes.
func restarts(p *v1.Pod) {
	p.Spec.Containers[0].ResizePolicy = []v1.ContainerResizePolicy{{ResourceName: v1.ResourceCPU, RestartPolicy: v1.RestartContainer}}
}

// classed has the pod name its class.
func classed(name string) option { return label(classes.Label, name) }

// awaitSize waits until the kubelet has given the pod as much cpu, from least to most millicores, and returns how much.
func (c *cluster) awaitSize(name string, least, most int64) int64 {
	c.t.Helper()
	has := int64(0)
	c.await(time.Minute, func() string {
		p := c.pod(name)
		if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].Resources == nil {
			return fmt.Sprintf("that pod %s runs: %+v", name, p.Status)
		}
		is := p.Status.ContainerStatuses[0].Resources.Requests.Cpu().MilliValue()
		asks := p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
		if has = is; is < least || is > most || asks != is {
			return fmt.Sprintf("pod %s with %d to %d thousandths of a core; it has %d and requests %d, with the conditions %+v", name, least, most, is, asks, p.Status.Conditions)
		}
		return ""
	})
	return has
}

// sizedAs is the pod's condition that says whether it grows and shrinks.
func sizedAs(p *v1.Pod) v1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == v1alpha1.Sized {
			return c
		}
	}
	return v1.PodCondition{}
}

// A pod of a class with sizes is placed with its requests, grows where there is room, becomes smaller when another comes, and grows again when that has gone: its kubelet does so, and no container begins anew. Who must not be resized is not, and says why.
func TestSizesOnAKubelet(t *testing.T) {
	skipIfShort(t)
	testbed.SkipUnlessContainers(t)
	c, node := realCluster(t)
	c.must(testbed.Define(t.Context(), c.bed))
	client, err := dynamic.NewForConfig(c.bed.Config(testbed.Admin))
	c.must(err)
	for name, spec := range map[string]string{
		"elastic": `{importance: 1, sizes: {cpu: "3.5"}, namespaceSelector: {}}`,
		"rest":    `{importance: 9, default: true}`,
	} {
		_, err := client.Resource(scheduler.ServiceClasses()).Create(t.Context(), serviceClass(t, name, spec), strictly())
		c.must(err)
	}
	all := node.Status.Allocatable.Cpu().MilliValue()
	f := c.start(settings{profile: asksFairlead})

	c.create(newPod("grows", inContainer, classed("elastic"), cpu("200m"), guaranteed))
	c.awaitSize("grows", 700, 700)
	if p := c.pod("grows"); sizedAs(p).Status != v1.ConditionTrue || p.Status.QOSClass != v1.PodQOSGuaranteed || p.Spec.Containers[0].Resources.Limits.Cpu().MilliValue() != 700 {
		t.Errorf("its QoS class is %s, its limits are %v, and it says %+v", p.Status.QOSClass, p.Spec.Containers[0].Resources.Limits, sizedAs(p))
	}

	c.create(newPod("restarts", inContainer, classed("elastic"), restarts, cpu("100m")))
	c.awaitReady("restarts")
	c.await(20*time.Second, func() string {
		if says := sizedAs(c.pod("restarts")); says.Status != v1.ConditionFalse || !strings.Contains(says.Message, "container c would be restarted to change its cpu") {
			return fmt.Sprintf("why pod restarts stays as it is: %+v", says)
		}
		return ""
	})

	// All but 400m are for another: of these 100m have the other one's, so that 300m are left.
	rest := fmt.Sprintf("%dm", all-400)
	c.create(newPod("comes", inContainer, cpu(rest)))
	c.awaitReady("comes")
	if has := c.awaitSize("grows", 200, 300); has < 200 {
		t.Errorf("pod grows has %dm, less than it came with", has)
	}
	c.checkRoom()

	// Another scheduler of ours takes over, and knows what the pod came with.
	f.stop()
	c.start(settings{profile: asksFairlead})
	c.delete("comes")
	c.awaitSize("grows", 700, 700)
	for _, name := range []string{"grows", "restarts"} {
		if n := c.pod(name).Status.ContainerStatuses[0].RestartCount; n != 0 {
			t.Errorf("pod %s was started anew %d times", name, n)
		}
	}
	c.checkRoom()
	if refused := c.events("ResizeRefused"); len(refused) > 0 {
		t.Errorf("resizes were refused: %v", refused)
	}
}
