package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

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
		"more":    `{importance: 2, sizes: {cpu: "7.5"}, namespaceSelector: {}}`,
		"less":    `{importance: 3, sizes: {cpu: "1.5"}, namespaceSelector: {}}`,
		"rest":    `{importance: 9, default: true}`,
	} {
		_, err := client.Resource(scheduler.ServiceClasses()).Create(t.Context(), serviceClass(t, name, spec), strictly())
		c.must(err)
	}
	all := node.Status.Allocatable.Cpu().MilliValue()
	f := c.start(settings{profile: asksFairlead})

	far := c.refusing()
	c.create(newPod("deferred", inContainer, there(far), classed("more"), cpu(tenths(far, 1))), newPod("infeasible", inContainer, there(far), classed("less"), cpu(tenths(far, 1)), guaranteed))
	tight := c.tight("200m")
	tight.create(newPod("kept", inContainer, classed("elastic"), cpu("100m")))
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

	// The quota would let it be 200m, and it wants 350m: it stays as it came, and is told why.
	tight.awaitRefusedResize("kept", "exceeded quota")
	tight.awaitSize("kept", 100, 100)
	// What a kubelet refuses is taken back.
	tenth := far.Status.Allocatable.Cpu().MilliValue() / 10
	for name, words := range map[string]string{"deferred": "its kubelet says Deferred", "infeasible": "its kubelet says Infeasible"} {
		c.awaitRefusedResize(name, words)
		c.awaitSize(name, tenth, tenth)
	}

	// All but 500m are for another, for which all of the others may be evicted: of these 500m two pods have 100m each, so that 300m are left. What grew gives that up, and nobody is evicted.
	rest := fmt.Sprintf("%dm", all-500)
	grew := c.pod("grows").UID
	c.create(newPod("comes", inContainer, priority(c, 1000), cpu(rest)))
	c.awaitReady("comes")
	if has := c.awaitSize("grows", 200, 300); has < 200 {
		t.Errorf("pod grows has %dm, less than it came with", has)
	}
	if evicted := f.sum("fairlead_evictions_total"); evicted > 0 || c.pod("grows").UID != grew {
		t.Errorf("%d evictions were asked for", evicted)
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
	refused := c.events("ResizeRefused")
	delete(refused, "deferred")
	delete(refused, "infeasible")
	if len(refused) > 0 {
		t.Errorf("resizes were refused: %v", refused)
	}
}

// tight is the cluster in a namespace of which all pods together may request so much cpu.
func (c *cluster) tight(cpu string) *cluster {
	c.t.Helper()
	other := *c
	other.namespace = c.namespace + "-tight"
	ctx, api := c.t.Context(), c.client.CoreV1()
	_, err := api.Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other.namespace}}, metav1.CreateOptions{})
	c.must(err)
	_, err = api.ResourceQuotas(other.namespace).Create(ctx, &v1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "tight"}, Spec: v1.ResourceQuotaSpec{Hard: v1.ResourceList{v1.ResourceRequestsCPU: resource.MustParse(cpu)}},
	}, metav1.CreateOptions{})
	c.must(err)
	c.await(time.Minute, func() string {
		quota, err := api.ResourceQuotas(other.namespace).Get(ctx, "tight", metav1.GetOptions{})
		c.must(err)
		if _, err := api.ServiceAccounts(other.namespace).Get(ctx, "default", metav1.GetOptions{}); err != nil || len(quota.Status.Hard) == 0 {
			return fmt.Sprintf("a quota that counts, and a service account: %+v, %v", quota.Status, err)
		}
		return ""
	})
	return &other
}

// awaitRefusedResize waits until an event of a pod says that it is not resized, in such words.
func (c *cluster) awaitRefusedResize(name, words string) {
	c.t.Helper()
	c.await(time.Minute, func() string {
		events := c.events("ResizeRefused")[name]
		if !slices.ContainsFunc(events, func(e eventsv1.Event) bool { return strings.Contains(e.Note, words) }) {
			return fmt.Sprintf("that a resize of pod %s was refused, and %q: %+v", name, words, events)
		}
		return ""
	})
}

// refusing starts a second node whose kubelet refuses what our scheduler may ask for. It gives whole cores to pods with limits that are their requests, so that to resize these is infeasible; and it runs a pod of which the
// API server takes no word, with four tenths of the node, so that what others may grow by that is deferred. Nobody comes there who does not ask for it.
func (c *cluster) refusing() *v1.Node {
	c.t.Helper()
	kubelet, err := testbed.StartKubeletApart(c.t.Context(), c.bed, "cpuManagerPolicy: static\nreservedSystemCPUs: \"0\"\n")
	c.must(err)
	taint := `{"spec": {"taints": [{"key": "refuses", "effect": "NoSchedule"}]}}`
	node, err := c.client.CoreV1().Nodes().Patch(c.t.Context(), kubelet.Name, types.StrategicMergePatchType, []byte(taint), metav1.PatchOptions{})
	c.must(err)
	c.must(testbed.Kubectl(c.t.Context(), c.bed, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-mirrors}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "!has(object.metadata.annotations) || !('kubernetes.io/config.mirror' in object.metadata.annotations)", message: no-mirrors}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-mirrors}
spec: {policyName: no-mirrors, validationActions: [Deny]}
`, "create", "-f", "-"))
	hidden := newPod("hidden", inContainer, cpu(tenths(node, 4)))
	hidden.APIVersion, hidden.Kind, hidden.Namespace = "v1", "Pod", c.namespace
	hidden.Spec.NodeName, hidden.Annotations = node.Name, map[string]string{"kubernetes.io/config.mirror": "as a mirror"}
	c.await(time.Minute, func() string {
		_, err := c.client.CoreV1().Pods(c.namespace).Create(c.t.Context(), hidden, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "no-mirrors") {
			return fmt.Sprintf("that nobody may make a mirror of a static pod: %v", err)
		}
		return ""
	})
	hidden.Spec.NodeName, hidden.Annotations = "", nil
	manifest, err := yaml.Marshal(hidden)
	c.must(err)
	c.must(kubelet.RunStatic(hidden.Name, manifest))
	return node
}

// tenths is so many tenths of the cpu of a node.
func tenths(node *v1.Node, count int64) string {
	return fmt.Sprintf("%dm", node.Status.Allocatable.Cpu().MilliValue()*count/10)
}

// there has the pod be on the node that refuses.
func there(node *v1.Node) option {
	return func(p *v1.Pod) {
		on(node.Name)(p)
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: "refuses", Operator: v1.TolerationOpExists})
	}
}
