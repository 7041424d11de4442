package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/scheduler"
	"fairlead.dev/fairlead/kube/testbed"
)

// Pods of a class with a tier and replicas stand within that, each on a node of its own; who waits says for what; the account says whether there are enough of them, and the class to how many it is kept.
func TestTiersAndReplicas(t *testing.T) {
	c, of := defined(t)
	for name, spec := range map[string]string{
		"gold": `{importance: 1, availability: 50%, tier: {disk: ssd}, replicas: 3, namespaceSelector: {}}`,
		"rest": `{importance: 9, default: true}`,
	} {
		_, err := of.Create(t.Context(), serviceClass(t, name, spec), strictly())
		c.must(err)
	}
	c.addNodes(2, "n", "8")
	c.addNodes(2, "tier", "8")
	for _, n := range []string{"tier00000", "tier00001"} {
		_, err := c.client.CoreV1().Nodes().Patch(t.Context(), n, types.MergePatchType, []byte(`{"metadata": {"labels": {"disk": "ssd"}}}`), metav1.PatchOptions{})
		c.must(err)
	}
	c.start(settings{profile: asksFairlead})
	c.create(newPod("db", classed("gold"), cpu("1"))) // to which it is kept, as it runs from the first moment on
	c.awaitBound(20*time.Second, 1)
	gold := func(p *v1.Pod) { ofDeployment("a")(p); classed("gold")(p) }
	c.create(several(2, "web", gold, cpu("1"))...)
	c.awaitBound(20*time.Second, 3)
	nodes := map[string]bool{}
	for _, p := range c.pods() {
		nodes[p.Spec.NodeName] = nodes[p.Spec.NodeName] || p.Name != "db"
	}
	if !nodes["tier00000"] || !nodes["tier00001"] {
		t.Errorf("the pods are on %v, want one on each node of the tier", nodes)
	}
	client, err := dynamic.NewForConfig(c.bed.Config(testbed.Admin))
	c.must(err)
	enough := func(status metav1.ConditionStatus, words string) {
		t.Helper()
		c.await(20*time.Second, func() string {
			object, err := client.Resource(scheduler.WorkloadAccounts()).Namespace(c.namespace).Get(t.Context(), "deployment.web", metav1.GetOptions{})
			if err != nil {
				return err.Error()
			}
			account := &v1alpha1.WorkloadAccount{}
			c.must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, account))
			if is := meta.FindStatusCondition(account.Status.Conditions, v1alpha1.EnoughReplicas); is == nil || is.Status != status || is.Message != words {
				return fmt.Sprintf("EnoughReplicas=%s, %q: %+v", status, words, is)
			}
			return ""
		})
	}
	enough(metav1.ConditionFalse, "ServiceClass gold wants 3 pods at once, and there are 2. Scale the deployment web.")
	c.create(newPod("web-2", gold, cpu("1")))
	why := c.awaitRefused("web-2")
	for _, words := range []string{"2 lack the label disk=ssd", "the tier of ServiceClass gold wants disk=ssd"} {
		if !strings.Contains(why, words) {
			t.Errorf("it waits because of %q, want %q", why, words)
		}
	}
	enough(metav1.ConditionTrue, "ServiceClass gold wants 3 pods at once, and there are 3.")
	c.await(time.Minute, func() string {
		object, err := of.Get(t.Context(), "gold", metav1.GetOptions{})
		c.must(err)
		class := &v1alpha1.ServiceClass{}
		c.must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, class))
		// web-2 has waited for all of its time.
		if s := class.Status; s.Workloads != 2 || s.Kept != 1 || s.AtRisk != 1 || len(s.Conditions) != 1 {
			return fmt.Sprintf("that gold has two workloads, is kept to one, and that the other is at risk: %+v", s)
		}
		return ""
	})
}
