package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/kube/scheduler"
)

// A pod of what a VerticalPodAutoscaler targets stays as it is, and says whose it is, while another one grows.
func TestAutoscalerOwnsItsTarget(t *testing.T) {
	c, classes := defined(t)
	spec := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	autoscalers := c.extend(scheduler.Autoscalers(), "VerticalPodAutoscaler", "https://github.com/kubernetes/kubernetes/pull/63797", spec)
	_, err := autoscalers.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": scheduler.Autoscalers().GroupVersion().String(), "kind": "VerticalPodAutoscaler", "metadata": map[string]any{"name": "vpa"},
		"spec": map[string]any{"targetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
	}}, metav1.CreateOptions{})
	c.must(err)
	_, err = classes.Create(t.Context(), serviceClass(t, "elastic", `{importance: 1, sizes: {cpu: "2"}, default: true}`), strictly())
	c.must(err)
	c.addNodes(1, "n", "8")
	c.start(settings{profile: asksFairlead})
	c.create(newPod("owned", ofDeployment("a"), cpu("1")), newPod("free", cpu("1")))
	c.awaitBound(20*time.Second, 2)
	for _, name := range []string{"owned", "free"} { // as no kubelet does
		_, err := c.client.CoreV1().Pods(c.namespace).Patch(t.Context(), name, types.MergePatchType, []byte(`{"status": {"phase": "Running"}}`), metav1.PatchOptions{}, "status")
		c.must(err)
	}
	requests := func(name string, cores int64) {
		t.Helper()
		c.await(time.Minute, func() string {
			if has := c.pod(name).Spec.Containers[0].Resources.Requests.Cpu().Value(); has != cores {
				return fmt.Sprintf("that pod %s requests %d cores: it does %d, and says %+v", name, cores, has, sizedAs(c.pod(name)))
			}
			return ""
		})
	}
	requests("free", 2)
	requests("owned", 1)
	c.await(20*time.Second, func() string {
		if says := sizedAs(c.pod("owned")); says.Status != v1.ConditionFalse || !strings.Contains(says.Message, "the VerticalPodAutoscaler vpa owns its size") {
			return fmt.Sprintf("why pod owned stays as it is: %+v", says)
		}
		return ""
	})
}
