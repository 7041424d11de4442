package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
)

const gpus = v1.ResourceName("nvidia.com/gpu")

// A cluster of 1,000 nodes whose pods kube-scheduler has placed, printed as
// kubectl prints it and read by the simulator, has the same nodes, the same pods
// on them, and the same room left as the API server says; and every pod is where
// its requirements admit it.
func TestDumpRoundTrip(t *testing.T) {
	skipIfShort(t)
	c := bare(t)
	c.fillNodes()
	startKubeScheduler(c)
	count := normally(100, 400)
	c.create(slices.Concat(dumpWorkload(count)...)...)
	c.await(5*time.Minute, func() string {
		for _, p := range c.pods() {
			if p.Spec.NodeName == "" && condition(&p).Message == "" {
				return "a decision about pod " + p.Name
			}
		}
		return ""
	})
	nodes, pods := c.nodes(), c.pods()
	text := printList(t, nodes, pods)
	asYAML, err := yaml.JSONToYAML(text)
	c.must(err)
	for name, text := range map[string][]byte{"me.json": text, "me.yaml": asYAML} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			compareDump(t, file, nodes, pods)
		})
	}
}

// fillNodes adds 1,000 nodes: plain ones, some with labels, with taints, with
// GPUs, and a few that are cordoned.
func (c *cluster) fillNodes() {
	c.t.Helper()
	for _, o := range []testbed.NodeOptions{
		{Count: 700, Prefix: "plain-", CPU: "3920m", Memory: "15Gi"},
		{Count: 150, Prefix: "ssd-", CPU: "8", Memory: "30Gi", Labels: map[string]string{"disk": "ssd", "cores": "8"}},
		{Count: 100, Prefix: "tainted-", CPU: "8", Memory: "30Gi", Taint: true},
		{Count: 50, Prefix: "gpu-", CPU: "32", Memory: "120Gi", Labels: map[string]string{"cores": "32"}},
	} {
		c.must(testbed.AddNodes(c.t.Context(), c.client, o))
	}
	group, ctx := errgroup.WithContext(c.t.Context())
	group.SetLimit(32)
	api := c.client.CoreV1().Nodes()
	for i, n := range c.nodes() {
		switch {
		case n.Labels["cores"] == "32":
			group.Go(func() error {
				n.Status.Capacity[gpus], n.Status.Allocatable[gpus] = resource.MustParse("8"), resource.MustParse("8")
				_, err := api.UpdateStatus(ctx, &n, metav1.UpdateOptions{})
				return err
			})
		case i%50 == 0:
			group.Go(func() error {
				n.Spec.Unschedulable = true
				_, err := api.Update(ctx, &n, metav1.UpdateOptions{})
				return err
			})
		}
	}
	c.must(group.Wait())
}

// dumpWorkload is pods of many sorts, so many of each, of which some wait.
func dumpWorkload(count int) [][]*v1.Pod {
	by := scheduledBy(v1.DefaultSchedulerName)
	tolerant := func(p *v1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: "kwok.x-k8s.io/node", Operator: v1.TolerationOpExists})
	}
	owned := func(p *v1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "5c1b0d3e-web", Controller: new(true)}}
	}
	return [][]*v1.Pod{
		several(6*count, "plain", by, cpu("350m"), request(v1.ResourceMemory, "700Mi"), owned),
		several(2*count, "small", by, cpu("1500u"), request(v1.ResourceMemory, "100M"), starting),
		several(2*count, "ssd", by, cpu("900m"), request(v1.ResourceEphemeralStorage, "1.5Gi"), selecting("disk", "ssd")),
		several(2*count, "tolerant", by, cpu("2"), tolerant),
		several(2*count, "cores", by, cpu("1"), cores(v1.NodeSelectorOpGt, "4")),
		several(2*count, "few", by, cpu("200m"), cores(v1.NodeSelectorOpLt, "16"), cores(v1.NodeSelectorOpDoesNotExist)),
		several(count, "gpu", by, cpu("2"), gpu("1")),
		several(count/4, "gpus", by, cpu("8"), gpu("4")),
		several(count, "apart", by, cpu("100m"), label("app", "apart"), awayFrom("apart", v1.LabelHostname)),
		several(count, "port", by, cpu("100m"), hostPort(8080)),
		several(count/2, "near", by, cpu("100m"), label("app", "pair"), hostPort(8080), func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: "z1"} }),
		several(20, "huge", by, cpu("33")), // fit nowhere
		several(20, "nowhere", by, selecting("disk", "tape")),
	}
}

func gpu(count string) option {
	return func(p *v1.Pod) {
		r := &p.Spec.Containers[0].Resources
		r.Requests[gpus] = resource.MustParse(count)
		r.Limits = v1.ResourceList{gpus: resource.MustParse(count)}
	}
}

// cores adds a term of node affinity on the label cores.
func cores(operator v1.NodeSelectorOperator, values ...string) option {
	return func(p *v1.Pod) {
		a := affinity(p)
		if a.NodeAffinity == nil {
			a.NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{}}
		}
		terms := &a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		*terms = append(*terms, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "cores", Operator: operator, Values: values}}})
	}
}

// starting adds an init container and a sidecar.
func starting(p *v1.Pod) {
	requests := func(cpu string) v1.ResourceRequirements {
		return v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}
	}
	p.Spec.InitContainers = []v1.Container{
		{Name: "sidecar", Image: "pause", Resources: requests("10m"), RestartPolicy: new(v1.ContainerRestartPolicyAlways)},
		{Name: "init", Image: "pause", Resources: requests("120m")},
	}
}

// printList prints what kubectl get nodes,pods -A -o json would.
func printList(t *testing.T, nodes []v1.Node, pods []v1.Pod) []byte {
	t.Helper()
	list := struct {
		APIVersion string            `json:"apiVersion"`
		Items      []any             `json:"items"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
	}{"v1", nil, "List", map[string]string{"resourceVersion": ""}}
	for _, n := range nodes {
		n.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		list.Items = append(list.Items, n)
	}
	for _, p := range pods {
		p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		list.Items = append(list.Items, p)
	}
	text, err := json.MarshalIndent(list, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// compareDump reads the file and compares it with what the API server says.
func compareDump(t *testing.T, file string, nodes []v1.Node, pods []v1.Pod) {
	t.Helper()
	source, err := kubernetes.Open(file, kubernetes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if notes := source.Notes(); len(notes) > 0 {
		t.Errorf("the reader has notes: %q", notes)
	}
	var known []trace.Node
	free := map[string]map[string]int64{} // by node and kind
	places := map[string]string{}         // by pod
	for {
		var r trace.Record
		if err := source.Next(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if r.What == trace.NodeAdded {
			known = append(known, r.Node)
			free[r.Node.Name] = map[string]int64{}
			for k, kind := range source.Kinds() {
				free[r.Node.Name][kind.Name] = r.Node.Capacity[k]
			}
			continue
		}
		places[r.Task.Name] = ""
		if !r.Task.Running {
			continue
		}
		on := known[r.Task.OnNode]
		places[r.Task.Name] = on.Name
		for k, kind := range source.Kinds() {
			free[on.Name][kind.Name] -= r.Task.Demand[k]
		}
		for _, q := range r.Task.Requirements {
			if !q.Matches(on.Labels) {
				t.Errorf("pod %s is on node %s, which does not meet %s", r.Task.Name, on.Name, q)
			}
		}
	}
	waiting := 0
	want := map[string]string{}
	for _, p := range pods {
		want[p.Namespace+"/"+p.Name] = p.Spec.NodeName
		if p.Spec.NodeName == "" {
			waiting++
		}
	}
	if !maps.Equal(places, want) {
		t.Errorf("%d pods are not where the API server says; of %d", differences(places, want), len(want))
	}
	room := roomLeft(nodes, pods)
	if len(known) != len(nodes) || len(free) != len(room) {
		t.Errorf("%d nodes were read, there are %d", len(known), len(nodes))
	}
	for name, want := range room {
		for kind, q := range want {
			if got := free[name][kind]; got != q {
				t.Errorf("node %s has %d of %s left, the API server's pods leave %d", name, got, kind, q)
			}
		}
		if port := free[name]["host port TCP/8080"]; port < 0 {
			t.Errorf("two pods of node %s have host port 8080", name)
		}
	}
	t.Logf("%d nodes, %d pods of which %d wait, kinds %v", len(known), len(places), waiting, source.Kinds())
	if waiting == 0 || waiting == len(pods) {
		t.Errorf("%d of %d pods wait; want some that run and some that do not", waiting, len(pods))
	}
}

func differences(a, b map[string]string) int {
	n := max(0, len(b)-len(a))
	for key, v := range a {
		if other, there := b[key]; !there || other != v {
			n++
		}
	}
	return n
}

// roomLeft is what the pods leave of each node, as upstream's helper adds it up:
// cpu and GPUs in thousandths, all else in units.
func roomLeft(nodes []v1.Node, pods []v1.Pod) map[string]map[string]int64 {
	count := func(name v1.ResourceName, q resource.Quantity) int64 {
		if name == v1.ResourceCPU || name == gpus {
			return q.MilliValue()
		}
		return q.Value()
	}
	room := map[string]map[string]int64{}
	for _, n := range nodes {
		left := map[string]int64{}
		for name, q := range n.Status.Allocatable {
			left[string(name)] = count(name, q)
		}
		room[n.Name] = left
	}
	for _, p := range pods {
		if p.Spec.NodeName == "" {
			continue
		}
		left := room[p.Spec.NodeName]
		left[string(v1.ResourcePods)]--
		for name, q := range resourcehelper.PodRequests(&p, resourcehelper.PodResourcesOptions{}) {
			left[string(name)] -= count(name, q)
		}
	}
	return room
}
