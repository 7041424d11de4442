package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file shows our scheduler with a real kubelet, whose pods are processes on
// this machine: a smoke test of what kwok only plays.

// TestKubelet is one story, because a bed and a node take ten seconds to start.
func TestKubelet(t *testing.T) {
	skipIfShort(t)
	testbed.SkipUnlessContainers(t)
	c, node := realCluster(t)
	allocatable := node.Status.Allocatable.Cpu()
	t.Logf("node %s, kubelet %s, %s: allocatable %v", node.Name, node.Status.NodeInfo.KubeletVersion,
		node.Status.NodeInfo.ContainerRuntimeVersion, node.Status.Allocatable)
	c.start(settings{})

	c.create(newPod("runs", inContainer, cpu("100m")))
	c.awaitReady("runs")
	if got := c.pod("runs").Spec.NodeName; got != node.Name {
		t.Errorf("pod runs is on %q, want %q", got, node.Name)
	}

	c.completeJob()

	larger := allocatable.DeepCopy()
	larger.Add(resource.MustParse("1"))
	c.create(newPod("too-large", inContainer, cpu(larger.String())))
	if why := c.awaitRefused("too-large"); !strings.Contains(why, "cpu") {
		t.Errorf("pod too-large waits because of %q, want cpu", why)
	}

	// The running pod grows to all but 300m: 500m no longer fit. It shrinks
	// again, and they do.
	most := allocatable.DeepCopy()
	most.Sub(resource.MustParse("300m"))
	c.resize("runs", most.String())
	c.create(newPod("second", inContainer, cpu("500m")))
	if why := c.awaitRefused("second"); !strings.Contains(why, "cpu") {
		t.Errorf("pod second waits because of %q, want cpu", why)
	}
	c.resize("runs", "100m")
	c.awaitReady("second")
	if n := c.pod("runs").Status.ContainerStatuses[0].RestartCount; n != 0 {
		t.Errorf("pod runs was started anew %d times; it should be resized where it is", n)
	}
	c.checkRoom()
}

// realCluster is a cluster of one real node, which ends with the test.
func realCluster(t *testing.T) (*cluster, *v1.Node) {
	t.Helper()
	bed := testbed.ForTest(t, testbed.Options{Tmpfs: true, ControllerManager: true})
	if err := testbed.GrantRoles(t.Context(), bed); err != nil {
		t.Fatal(err)
	}
	kubelet, err := bed.StartKubelet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, bed)
	c.await(time.Minute, func() string {
		if _, err := c.client.CoreV1().ServiceAccounts(c.namespace).Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
			return fmt.Sprintf("the service account: %v", err)
		}
		return ""
	})
	node, err := c.client.CoreV1().Nodes().Get(t.Context(), kubelet.Name, metav1.GetOptions{})
	c.must(err)
	return c, node
}

// inContainer makes the pod one that the real node can run.
func inContainer(p *v1.Pod) {
	p.Spec.HostNetwork = true
	p.Spec.Containers[0].Image = testbed.SleeperImage
	p.Spec.Containers[0].ImagePullPolicy = v1.PullNever
}

func (c *cluster) awaitReady(name string) {
	c.t.Helper()
	c.await(time.Minute, func() string {
		p := c.pod(name)
		for _, condition := range p.Status.Conditions {
			if condition.Type == v1.PodReady && condition.Status == v1.ConditionTrue {
				return ""
			}
		}
		return fmt.Sprintf("pod %s ready; it is on node %q with %+v", name, p.Spec.NodeName, p.Status.ContainerStatuses)
	})
}

// completeJob runs a job of two pods, one after the other, to its end.
func (c *cluster) completeJob() {
	c.t.Helper()
	pod := newPod("", inContainer, cpu("100m"))
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pod.Spec.Containers[0].Args = []string{"exit"}
	twice := int32(2)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: batchv1.JobSpec{
		Completions: &twice, Template: v1.PodTemplateSpec{Spec: pod.Spec},
	}}
	_, err := c.client.BatchV1().Jobs(c.namespace).Create(c.t.Context(), job, metav1.CreateOptions{})
	c.must(err)
	c.awaitJob("job")
}

// resize changes what a running pod asks for and waits until the kubelet has
// done so.
func (c *cluster) resize(name, cpu string) {
	c.t.Helper()
	patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":%q}}}]}}`, cpu)
	_, err := c.client.CoreV1().Pods(c.namespace).Patch(c.t.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize")
	c.must(err)
	want := resource.MustParse(cpu)
	c.await(time.Minute, func() string {
		p := c.pod(name)
		has := p.Status.ContainerStatuses[0].Resources
		if has == nil || has.Requests.Cpu().Cmp(want) != 0 {
			return fmt.Sprintf("pod %s with %s of cpu; it has %+v, and the conditions %+v", name, cpu, has, p.Status.Conditions)
		}
		return ""
	})
}
