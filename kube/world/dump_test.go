package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
)

// This file holds the simulator's reader of dumps against upstream: what it
// makes of random nodes and pods, as kubectl would print them, means what
// upstream's own helpers say of the objects.

// dump is what the reader makes of objects.
type dump struct {
	kinds []cluster.Kind
	nodes []trace.Node
	tasks map[string]trace.Task // by namespace/name
	notes string

	constraints []cluster.Constraint
}

// readDump writes the objects as kubectl prints them, and reads them.
func readDump(t *rapid.T, lenient bool, nodes []*v1.Node, pods []*v1.Pod) (dump, error) {
	list := struct {
		Kind  string `json:"kind"`
		Items []any  `json:"items"`
	}{Kind: "List"}
	for _, n := range nodes {
		n.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		list.Items = append(list.Items, n)
	}
	for _, p := range pods {
		p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		list.Items = append(list.Items, p)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "dump")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "me.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return openDump(t, file, lenient)
}

func openDump(t *rapid.T, file string, lenient bool) (dump, error) {
	source, err := kubernetes.Open(file, kubernetes.Options{Lenient: lenient})
	if err != nil {
		return dump{}, err
	}
	d := dump{kinds: source.Kinds(), tasks: map[string]trace.Task{}, notes: strings.Join(source.Notes(), "\n")}
	for {
		var r trace.Record
		switch err := source.Next(&r); {
		case errors.Is(err, io.EOF):
			return d, nil
		case err != nil:
			t.Fatal(err)
		case r.What == trace.NodeAdded:
			d.nodes = append(d.nodes, r.Node)
		case r.What == trace.ConstraintAdded:
			d.constraints = append(d.constraints, r.Constraint)
		default:
			d.tasks[r.Task.Name] = r.Task
		}
	}
}

// The nodes that a pod's requirements admit are those that upstream's node affinity,
// taints and cordons let it on, and that have the labels over which it is placed near
// others or spread; and it asks for what upstream adds up.
func TestDumpMeansWhatUpstreamSays(t *testing.T) {
	setCases(t, "500")
	admitted, barred := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		nodes := make([]*v1.Node, 1+number(t, 5, "nodes"))
		for i := range nodes {
			nodes[i] = drawNode(t, i)
			if rank := pick(t, "rank", "-", "", "0", "7", "x"); rank != "-" {
				nodes[i].Labels["rank"] = rank
			}
		}
		pods := make([]*v1.Pod, 1+number(t, 4, "pods"))
		for i := range pods {
			pods[i] = drawPod(t, fmt.Sprintf("p%d", i))
			drawRank(t, pods[i])
		}
		d, err := readDump(t, true, nodes, pods)
		if err != nil || strings.Contains(d.notes, "left out") {
			t.Fatalf("%v; %s", err, d.notes)
		}
		for _, p := range pods {
			task := d.tasks[p.Namespace+"/"+p.Name]
			checkDemand(t, d.kinds, task.Demand, p)
			for i, n := range nodes {
				ours, theirs := meets(task, d.nodes[i]), welcome(t, p, n) && hasKeys(p, n)
				if ours != theirs {
					t.Fatalf("pod %s on node %s: we say %v, upstream %v\n%v\n%v", p.Name, n.Name, ours, theirs, task.Requirements, d.nodes[i].Labels)
				}
				if ours {
					admitted++
				} else {
					barred++
				}
			}
		}
	})
	if admitted == 0 || barred == 0 {
		t.Errorf("%d pairs of pod and node are admitted, %d are not: nothing was compared", admitted, barred)
	}
}

// drawRank draws conditions on a label that is missing, empty, or a number.
func drawRank(t *rapid.T, pod *v1.Pod) {
	if often(t, 4, "selects rank") {
		pod.Spec.NodeSelector = map[string]string{"rank": pick(t, "selected", "", "7")}
	}
	if !often(t, 2, "wants rank") {
		return
	}
	var terms []v1.NodeSelectorTerm
	for range 1 + number(t, 2, "rank terms") {
		r := v1.NodeSelectorRequirement{Key: "rank", Operator: pick(t, "rank operator",
			v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt)}
		switch r.Operator {
		case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
			r.Values = []string{pick(t, "rank value", "", "7", "x"), pick(t, "other rank value", "", "0")}
		case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
			r.Values = []string{pick(t, "rank bound", "0", "1", "7", "8")}
		default:
		}
		terms = append(terms, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{r}})
	}
	nodeAffinity(pod).RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: terms}
}

func meets(task trace.Task, node trace.Node) bool {
	for _, q := range task.Requirements {
		if !q.Matches(node.Labels) {
			return false
		}
	}
	return true
}

// hasKeys is whether the node is in a domain of all that the pod requires; terms by
// labels of namespaces, which a dump of nodes and pods has not, are ignored.
func hasKeys(p *v1.Pod, n *v1.Node) bool {
	var keys []string
	if p.Spec.Affinity != nil && p.Spec.Affinity.PodAffinity != nil {
		for _, term := range p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			if term.NamespaceSelector == nil {
				keys = append(keys, term.TopologyKey)
			}
		}
	}
	for _, c := range p.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == v1.DoNotSchedule {
			keys = append(keys, c.TopologyKey)
		}
	}
	return !slices.ContainsFunc(keys, func(key string) bool { _, there := n.Labels[key]; return !there })
}

// welcome is whether upstream lets the pod on the node, apart from room.
func welcome(t *rapid.T, p *v1.Pod, n *v1.Node) bool {
	ok, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n)
	if err != nil {
		t.Fatal(err)
	}
	taints := n.Spec.Taints
	if n.Spec.Unschedulable {
		taints = append(slices.Clip(taints), v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	hard := func(x *v1.Taint) bool { return x.Effect != v1.TaintEffectPreferNoSchedule }
	_, hostile := corev1.FindMatchingUntoleratedTaint(klog.Background(), taints, p.Spec.Tolerations, hard, true)
	return ok && !hostile
}

// checkDemand compares a demand, but for host ports, with upstream's sums.
func checkDemand(t *rapid.T, kinds []cluster.Kind, demand cluster.Vector, p *v1.Pod) {
	requests := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
	for k, kind := range kinds {
		want := int64(1)
		switch name := v1.ResourceName(kind.Name); {
		case strings.HasPrefix(kind.Name, "host port"):
			continue
		case name == v1.ResourceCPU:
			want = requests.Cpu().MilliValue()
		case name != v1.ResourcePods:
			q := requests[name]
			want = q.Value()
		}
		if demand[k] != want {
			t.Fatalf("pod %s asks for %d of %s, upstream says %d", p.Name, demand[k], kind.Name, want)
		}
		delete(requests, v1.ResourceName(kind.Name))
	}
	for name, q := range requests {
		if !q.IsZero() {
			t.Fatalf("pod %s asks for %s of %s, which is no kind", p.Name, q.String(), name)
		}
	}
}

// Two pods that could be on one node can be there together as far as host ports
// go if upstream says so.
func TestDumpPorts(t *testing.T) {
	setCases(t, "500")
	conflicts := 0
	rapid.Check(t, func(t *rapid.T) {
		pods := make([]*v1.Pod, 2+number(t, 2, "pods"))
		for i := range pods {
			pods[i] = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i), Namespace: "default"}, Spec: v1.PodSpec{Containers: make([]v1.Container, 1)}}
			drawPorts(t, pods[i])
		}
		d, err := readDump(t, false, []*v1.Node{drawNode(t, 0)}, pods)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range pods {
			used := fwk.HostPortInfo{}
			for _, port := range util.GetHostPorts(p) {
				used.Add(port.HostIP, string(port.Protocol), port.HostPort)
			}
			for _, other := range pods[:i] {
				theirs := false
				for _, port := range util.GetHostPorts(other) {
					theirs = theirs || used.CheckConflict(port.HostIP, string(port.Protocol), port.HostPort)
				}
				ours := false
				a, b := d.tasks["default/"+p.Name].Demand, d.tasks["default/"+other.Name].Demand
				for k, kind := range d.kinds {
					ours = ours || strings.HasPrefix(kind.Name, "host port") && a[k]+b[k] > d.nodes[0].Capacity[k]
				}
				if ours != theirs {
					t.Fatalf("%+v and %+v: we say %v, upstream %v; kinds %v, demands %v and %v", p.Spec.Containers[0].Ports, other.Spec.Containers[0].Ports, ours, theirs, d.kinds, a, b)
				}
				if theirs {
					conflicts++
				}
			}
		}
	})
	if conflicts == 0 {
		t.Error("no two pods wanted the same port: nothing was compared")
	}
}

// Two pods may not share a node, as tasks of a job that has one a node or by a constraint,
// exactly if upstream says that one of them keeps the other away.
func TestDumpAntiAffinity(t *testing.T) {
	setCases(t, "2000")
	apart, bound, together := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		pods := make([]*v1.Pod, 2+number(t, 3, "pods"))
		for i := range pods {
			p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i), Namespace: pick(t, "namespace", "default", "default", "other"), Labels: map[string]string{"app": pick(t, "app", "web", "db")}}}
			if often(t, 2, "away") {
				term := v1.PodAffinityTerm{TopologyKey: v1.LabelHostname, LabelSelector: drawPodSelector(t)}
				affinity(p).PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}
			}
			pods[i] = p
		}
		d, err := readDump(t, false, []*v1.Node{drawNode(t, 0)}, pods)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range pods {
			for _, other := range pods[:i] {
				a, b := d.tasks[p.Namespace+"/"+p.Name], d.tasks[other.Namespace+"/"+other.Name]
				perNode := a.Job == b.Job && a.PerNode == 1 && b.PerNode == 1
				ours := perNode || d.shuns(a.Tags, b.Tags) || d.shuns(b.Tags, a.Tags)
				if theirs := keepsAway(t, p, other) || keepsAway(t, other, p); ours != theirs {
					t.Fatalf("%v and %v: we say %v, upstream %v", p, other, ours, theirs)
				}
				switch {
				case perNode:
					apart++
				case ours:
					bound++
				default:
					together++
				}
			}
		}
	})
	if apart == 0 || bound == 0 || together == 0 {
		t.Errorf("%d pairs apart as one job, %d by constraints, %d together: not everything was compared", apart, bound, together)
	}
}

// shuns reports whether a constraint keeps a task with the one tags off one with the others.
func (d *dump) shuns(tags, others []string) bool {
	return slices.ContainsFunc(d.constraints, func(c cluster.Constraint) bool {
		subject, _ := c.Any[0][0].Affects(tags)
		_, target := c.Any[0][0].Affects(others)
		return subject && target && c.Any[0][0].Max == 0
	})
}

func keepsAway(t *rapid.T, p, other *v1.Pod) bool {
	terms, err := fwk.GetAffinityTerms(p, fwk.GetPodAntiAffinityTerms(p.Spec.Affinity))
	if err != nil {
		t.Fatal(err)
	}
	for i := range terms {
		if terms[i].Matches(other, nil) {
			return true
		}
	}
	return false
}

// A text is a quantity, and the same one, if upstream says so. Ours are not
// negative, and end at what can be counted. (Upstream also takes a suffix without
// a digit for 0, against its own grammar; no API server hands that out.)
func TestDumpQuantities(t *testing.T) {
	setCases(t, "3000")
	quantities := 0
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`\+?([0-9]{1,9}(\.[0-9]{0,12})?|\.[0-9]{1,12})(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e-?[0-9]{1,2}|E[+]?[0-9]|i|Gx|)`).Draw(t, "text")
		if often(t, 20, "else") {
			text = pick(t, "other text", "", "-1", "--1", " 1", "1 ", "1e", "0x1", "1_000", "1.2.3", "1e1e1", "1KiB", "NaN", "١")
		}
		name := pick(t, "resource", v1.ResourceCPU, v1.ResourceMemory)
		file := filepath.Join(os.TempDir(), fmt.Sprintf("fairlead-quantity-%d.json", os.Getpid()))
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		pod := fmt.Sprintf(`{"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"resources": {"requests": {%q: %s}}}]}}`, name, quoted)
		if err := os.WriteFile(file, []byte(pod), 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(file)
		d, ours := openDump(t, file, false)
		var q resource.Quantity
		theirs := json.Unmarshal(quoted, &q) // which takes no notice of spaces around it, as nobody does who reads manifests
		most := resource.NewQuantity(cluster.MaxQuantity, resource.BinarySI)
		if name == v1.ResourceCPU {
			most = resource.NewMilliQuantity(cluster.MaxQuantity, resource.DecimalSI)
		}
		switch {
		case theirs == nil && q.Sign() >= 0 && q.Cmp(*most) < 0:
			if ours != nil {
				t.Fatalf("%q: %v", text, ours)
			}
		case ours == nil:
			t.Fatalf("%q is taken for %v; upstream says %v, %v", text, d.tasks["default/p"].Demand, &q, theirs)
		default:
			return
		}
		want := q.Value()
		if name == v1.ResourceCPU {
			want = q.MilliValue()
		}
		for k, kind := range d.kinds {
			if got := d.tasks["default/p"].Demand[k]; kind.Name == string(name) && got != want {
				t.Fatalf("%q is %d, upstream says %d", text, got, want)
			}
		}
		quantities++
	})
	if quantities == 0 {
		t.Error("no text was a quantity: nothing was compared")
	}
}
