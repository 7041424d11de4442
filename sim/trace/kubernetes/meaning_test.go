package kubernetes

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"fairlead.dev/fairlead/sim/trace"
)

// pods reads pods, and returns their picture without the nodes.
func podsOf(t *testing.T, text string) string {
	t.Helper()
	all, s, err := readText(t, text)
	if err != nil {
		t.Fatal(err)
	}
	for len(all) > 0 && all[0].What == trace.NodeAdded {
		all = all[1:]
	}
	return strings.ReplaceAll(picture(s, all), " user=default class=0 priority=0", "")
}

func wantPods(t *testing.T, text, want string) {
	t.Helper()
	if got := podsOf(t, text); got != strings.TrimLeft(want, "\n") {
		t.Errorf("got\n%swant%s", got, want)
	}
}

// What a pod asks for: containers and sidecars together, or the largest moment
// of starting; what it says of itself as a whole; the overhead.
func TestRequests(t *testing.T) {
	wantPods(t, `
kind: Pod
metadata: {name: a}
spec:
  overhead: {cpu: 10m}
  containers: [{resources: {requests: {cpu: 100m, memory: 1Gi}}}, {resources: {requests: {cpu: 200m}}}]
  initContainers:
  - {resources: {requests: {cpu: 250m, memory: 3Gi}}}
  - {restartPolicy: Always, resources: {requests: {cpu: 50m}}}
  - {resources: {requests: {cpu: 500m}}}
  - {restartPolicy: Always, resources: {requests: {cpu: 25m}}}
---
kind: Pod
metadata: {name: b}
spec:
  overhead: {cpu: 10m}
  resources: {requests: {cpu: 2, hugepages-2Mi: 1Gi, example.com/tape: 9}}
  containers: [{resources: {requests: {cpu: 100m, memory: 1Gi, ephemeral-storage: 1Gi, example.com/tape: 1}}}]
---
kind: Pod
metadata: {name: c}
spec: {containers: [{resources: {requests: {cpu: 100u}}}, {resources: {requests: {cpu: 100u, nvidia.com/gpu: 2}}}]}
`, `
default/a 0/0 of 1 cpu=0.56 memory=3 pods=1
default/b 1/0 of 1 cpu=2.01 memory=1 pods=1 ephemeral-storage=1 example.com/tape=1 hugepages-2Mi=1
default/c 2/0 of 1 cpu=0.001 pods=1 nvidia.com/gpu=2
`)
}

// Where nodes share their GPUs by time, they may have more than a device set can
// name; then GPUs are counted like anything else.
func TestManyGPUs(t *testing.T) {
	for _, c := range []struct {
		count   string
		devices bool
	}{{"64", true}, {"80", false}} {
		_, s, err := readText(t, "kind: Node\nmetadata: {name: n}\nstatus: {capacity: {nvidia.com/gpu: "+c.count+"}}")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.kinds[len(s.kinds)-1]; got.Devices != c.devices {
			t.Errorf("%s GPUs: %+v", c.count, got)
		}
	}
}

const ruledNodes = `
kind: Node
metadata: {name: n1, labels: {zone: a, cores: "8", empty: ""}}
spec: {taints: [{key: dedicated, value: gpu, effect: NoSchedule}, {key: soft, effect: PreferNoSchedule}]}
---
kind: Node
metadata: {name: n2, labels: {zone: b, cores: many}}
status: {conditions: [{type: Ready, status: Unknown}, {type: DiskPressure, status: "False"}]}
---
kind: Node
metadata: {name: n3, labels: {zone: c, cores: "-2"}}
`

// affine is a pod whose required node affinity has these terms.
func affine(terms string) string {
	return ruledNodes + `---
kind: Pod
metadata: {name: p}
spec:
  tolerations: [{operator: Exists}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: ` + terms + `}}}
`
}

// Each rule is a requirement that says it in the model's words, and admits the
// nodes that Kubernetes would.
func TestRules(t *testing.T) {
	tolerant := ruledNodes + "---\nkind: Pod\nmetadata: {name: p}\nspec: {tolerations: [{operator: Exists}], "
	for _, c := range []struct{ name, text, requirements, nodes string }{
		{"nothing", tolerant + "}", "", "n1 n2 n3"},
		{"selector", tolerant + "nodeSelector: {zone: b}}", "[zone=b]", "n2"},
		{"selector of an empty value", tolerant + `nodeSelector: {empty: ""}}`, `[empty=""]`, "n1"},
		{"in", affine(`[{matchExpressions: [{key: zone, operator: In, values: [b, a]}]}]`), "[zone=a|b]", "n1 n2"},
		{"not in", affine(`[{matchExpressions: [{key: zone, operator: NotIn, values: [b, a]}]}]`), "[zone!=a|b]", "n3"},
		{"not in, missing", affine(`[{matchExpressions: [{key: empty, operator: NotIn, values: [""]}]}]`), `[empty!=""]`, "n2 n3"},
		{"exists", affine(`[{matchExpressions: [{key: empty, operator: Exists}]}]`), "[empty!=]", "n1"},
		{"does not exist", affine(`[{matchExpressions: [{key: empty, operator: DoesNotExist}]}]`), "[empty=]", "n2 n3"},
		{"over", affine(`[{matchExpressions: [{key: cores, operator: Gt, values: ["4"]}]}]`), "[cores>4]", "n1"},
		{"over less than 0", affine(`[{matchExpressions: [{key: cores, operator: Gt, values: ["-3"]}]}]`), "[cores>-3] [cores!=|many]", "n1 n3"},
		{"below", affine(`[{matchExpressions: [{key: cores, operator: Lt, values: ["4"]}]}]`), "[cores<4] [cores!=|many]", "n3"},
		{"both", affine(`[{matchExpressions: [{key: zone, operator: Exists}, {key: zone, operator: NotIn, values: [a]}]}]`), "[zone!=] [zone!=a]", "n2 n3"},
		{"name", affine(`[{matchFields: [{key: metadata.name, operator: In, values: [n3]}]}]`), "[metadata.name=n3]", "n3"},
		{"no term holds", affine(`[{}]`), "[(nothing)=yes]", ""},
		{
			"either", affine(`[{matchExpressions: [{key: zone, operator: In, values: [a]}, {key: empty, operator: Exists}]}, {matchFields: [{key: metadata.name, operator: NotIn, values: [n2]}]}]`),
			"[(zone in a and empty exists) or (metadata.name not in n2)=yes]", "n1 n3",
		},
		{"intolerant", ruledNodes + "---\nkind: Pod\nmetadata: {name: p}", "[spec.taints=]", "n3"},
		{
			"tolerant of one", ruledNodes + "---\nkind: Pod\nmetadata: {name: p}\nspec: {tolerations: [{key: dedicated, value: gpu}]}",
			"[spec.taints!=node.kubernetes.io/unreachable:NoSchedule]", "n1 n3",
		},
		{"of another effect", ruledNodes + "---\nkind: Pod\nmetadata: {name: p}\nspec: {tolerations: [{operator: Exists, effect: NoExecute}]}", "[spec.taints=]", "n3"},
		{
			"static", ruledNodes + "---\nkind: Pod\nmetadata: {name: p, ownerReferences: [{kind: Node, name: n1, uid: u}]}\nspec: {nodeName: n1, nodeSelector: {zone: b}}",
			"[metadata.name=n1]", "n1",
		},
	} {
		all, _, err := readText(t, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var requirements, nodes []string
		for _, q := range all[3].Task.Requirements {
			requirements = append(requirements, "["+q.String()+"]")
		}
	next:
		for _, r := range all[:3] {
			for _, q := range all[3].Task.Requirements {
				if !q.Matches(r.Node.Labels) {
					continue next
				}
			}
			nodes = append(nodes, r.Node.Name)
		}
		if got := strings.Join(requirements, " "); got != c.requirements {
			t.Errorf("%s: requires %s, want %s", c.name, got, c.requirements)
		}
		if got := strings.Join(nodes, " "); got != c.nodes {
			t.Errorf("%s: admits %s, want %s", c.name, got, c.nodes)
		}
	}
}

// apartPods are two pods of different owners whose anti-affinity is the same.
func apartPods(term, more string) string {
	pod := func(name string) string {
		return "---\nkind: Pod\nmetadata: {name: " + name + ", labels: {app: web, of: " + name + "}}\nspec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [" + term + "]}}}\n"
	}
	return "kind: Node\nmetadata: {name: n1, labels: {kubernetes.io/hostname: n1}}\n" + pod("a") + pod("b") + more
}

const own = "{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}"

// Pods that keep each other away are one job, of which a node may hold one.
func TestApart(t *testing.T) {
	const stranger = "---\nkind: Pod\nmetadata: {name: c, namespace: other, labels: {app: web}}\n"
	wantPods(t, apartPods(own, stranger), `
default/a 0/0 of 2 pods=1 1 a node
default/b 0/1 of 2 pods=1 1 a node
other/c 1/0 of 1 user=other class=0 priority=0 pods=1
`)
	// A selector that selects nothing keeps nobody away.
	wantPods(t, apartPods("{topologyKey: zone}", ""), "\ndefault/a 0/0 of 1 pods=1\ndefault/b 1/0 of 1 pods=1\n")
	// What is more than that is a constraint, for all that ask for the same.
	const name = "default/pod/a: required podAntiAffinity"
	const web = "k8s:default/app=web"
	for _, c := range []struct{ name, text, whom, group string }{
		{"zone", apartPods("{topologyKey: zone, labelSelector: {}}", ""), "k8s:default", "zone"},
		{"others", apartPods("{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}", ""), "k8s:default/app=db", "node"},
		{"other namespaces", apartPods("{topologyKey: kubernetes.io/hostname, namespaceSelector: {}, labelSelector: {}}", ""), `"k8s:*"`, "node"},
		{"twice", apartPods(own+","+own, ""), web, "node"},
		{"not mutual", apartPods(own, strings.Replace(stranger, "namespace: other, ", "", 1)), web, "node"},
		{"no hostname", apartPods(own, "---\nkind: Node\nmetadata: {name: n2}\n"), web, "kubernetes.io/hostname"},
		{"same hostname", apartPods(own, "---\nkind: Node\nmetadata: {name: n2, labels: {kubernetes.io/hostname: n1}}\n"), web, "kubernetes.io/hostname"},
	} {
		got := podsOf(t, c.text)
		who := `"k8s:` + name + `"`
		want := fmt.Sprintf("%s: {%s, {%s, 0, 0}, %s} & {%s, {%s, 0, 0}, %s}: arriving", name, who, c.whom, c.group, c.whom, who, c.group)
		if first, _, _ := strings.Cut(got, "\n"); first != want || strings.Count(got, "arriving") != 1 || strings.Contains(got, "a node") {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, want)
		}
	}
}

// Of two selectors that overlap, each is a constraint.
func TestOverlappingSelectors(t *testing.T) {
	wider := strings.Replace(own, "matchLabels: {app: web}", "matchExpressions: [{key: app, operator: Exists}]", 1)
	text := apartPods(own, strings.NewReplacer("name: n1", "name: n2", "hostname: n1", "hostname: n2", "name: a,", "name: c,", "name: b,", "name: d,").Replace("---\n"+apartPods(wider, "")))
	wantPods(t, text, `
default/pod/a: required podAntiAffinity: {"k8s:default/pod/a: required podAntiAffinity", {k8s:default/app=web, 0, 0}, node} & {k8s:default/app=web, {"k8s:default/pod/a: required podAntiAffinity", 0, 0}, node}: arriving
default/pod/c: required podAntiAffinity: {"k8s:default/pod/c: required podAntiAffinity", {"k8s:default/app exists", 0, 0}, node} & {"k8s:default/app exists", {"k8s:default/pod/c: required podAntiAffinity", 0, 0}, node}: arriving
default/a 0/0 of 1 pods=1 <k8s:default/app exists> <k8s:default/app=web> <k8s:default/pod/a: required podAntiAffinity>
default/b 1/0 of 1 pods=1 <k8s:default/app exists> <k8s:default/app=web> <k8s:default/pod/a: required podAntiAffinity>
default/c 2/0 of 1 pods=1 <k8s:default/app exists> <k8s:default/app=web> <k8s:default/pod/c: required podAntiAffinity>
default/d 3/0 of 1 pods=1 <k8s:default/app exists> <k8s:default/app=web> <k8s:default/pod/c: required podAntiAffinity>
`)
}

// A host port that two pods could want on one node is a kind.
func TestPorts(t *testing.T) {
	pod := func(name, ports, more string) string {
		return "---\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{ports: [" + ports + "]}]" + more + "}\n"
	}
	pinned := func(node string) string {
		return ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [" + node + "]}]}]}}}"
	}
	wantPods(t, "kind: Node\nmetadata: {name: n1}\n"+
		pod("a", "{hostPort: 80}, {containerPort: 9}, {hostPort: 80}, {hostPort: 7}", "")+
		pod("b", "{hostPort: 80, hostIP: 10.0.0.1}", "")+
		pod("c", "{hostPort: 80, protocol: UDP, hostIP: 0.0.0.0}", ", initContainers: [{restartPolicy: Always, ports: [{hostPort: 53}]}, {ports: [{hostPort: 54}]}]")+
		pod("d", "{hostPort: 80, protocol: UDP}", ", initContainers: [{restartPolicy: Always, ports: [{hostPort: 53}]}, {ports: [{hostPort: 54}]}]")+
		pod("e", "{hostPort: 9100}", pinned("n1"))+
		pod("f", "{hostPort: 9100}", pinned("n2")), `
default/a 0/0 of 1 pods=1 host port TCP/80=1
default/b 1/0 of 1 pods=1 host port TCP/80=0.00000095367431640625 host port TCP/80 on 10.0.0.1=1
default/c 2/0 of 1 pods=1 host port TCP/53=1 host port UDP/80=1
default/d 3/0 of 1 pods=1 host port TCP/53=1 host port UDP/80=1
default/e 4/0 of 1 pods=1 [metadata.name=n1]
default/f 5/0 of 1 pods=1 [metadata.name=n2]
`)
	// Pinned to the same node, they compete for it; and so does one that is not.
	for _, last := range []string{pinned("n1"), ""} {
		text := "kind: Node\nmetadata: {name: n1}\n" + pod("e", "{hostPort: 9100}", pinned("n1")) + pod("f", "{hostPort: 9100}", last)
		all, s, err := readText(t, text)
		if err != nil || s.kinds[len(s.kinds)-1].Name != "host port TCP/9100" || all[0].Node.Capacity[len(s.kinds)-1] != wholePort {
			t.Errorf("%v; kinds %v", err, s.kinds)
		}
	}
}

// What restricts a pod and is not simulated is refused, a line for each sort.
func TestGaps(t *testing.T) {
	const pods = `
kind: Node
metadata: {name: n}
---
kind: Pod
metadata: {name: a}
spec:
  affinity:
    podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, namespaceSelector: {matchLabels: {team: a}}}], preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, namespaceSelector: {matchLabels: {team: a}}}}]}
    podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone}}]}
    nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {}}]}
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
  volumes: [{emptyDir: {}}, {ephemeral: {}}, {persistentVolumeClaim: {}}]
  resourceClaims: [{name: gpu}]
---
kind: Pod
metadata: {name: b}
spec: {volumes: [{ephemeral: {}}]}
`
	_, _, err := readText(t, pods)
	const want = `: pod default/a: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector: want a field that is simulated: the labels of namespaces are not in the files; kubectl get namespaces,nodes,pods has them
: pod default/a: spec.resourceClaims[0]: want a field that is simulated: claims of devices are not simulated
: pod default/a: spec.volumes[1]: want a field that is simulated: where the volume behind a claim can be is not in the files; kubectl get persistentvolumeclaims,persistentvolumes,storageclasses,csinodes,csidrivers,csistoragecapacities has it (2 pods have such a field)
with --lenient such fields are ignored and counted`
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("got %v\nwithout %q", err, line)
		}
	}
	if _, broken := errors.AsType[*trace.Error](err); !broken {
		t.Errorf("%v is no *trace.Error", err)
	}
	_, s, err := read(t, write(t, "a.yaml", pods), Options{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Notes(), "\n"); strings.Count(got, "\n") != 3 || strings.Count(got, "ignored a preference") != 1 || !strings.Contains(got, "ignored a preference: spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution of pods (1)") {
		t.Errorf("notes:\n%s", got)
	}
}

// What cannot be read is named by file, object and field, or left out and
// counted.
func TestBroken(t *testing.T) {
	const node = `{"kind": "Node", "metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "1"}}}`
	pod := func(rest string) string { return `{"kind": "Pod", "metadata": {"name": "p"}` + rest + `}` }
	affinity := func(terms string) string {
		return pod(`, "spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": ` + terms + `}}}}`)
	}
	for _, c := range []struct{ object, want string }{
		{`{"metadata": {"name": "x"}}`, `items[1]: kind: want Node or Pod`},
		{`{"kind": "Pod"}`, `items[1]: metadata.name: want a name`},
		{`{"kind": "Node"}`, `items[1]: metadata.name: want a name`},
		{`3`, `items[1]: want a value of type manifest.Object, got "number"`},
		{`{"kind": "Pod", "metadata": {"name": 3}}`, `items[1]: metadata.name: want a value of type string, got "number"`},
		{pod(`, "spec": {"priority": 3000000000}`), `spec.priority: want a value of type int32`},
		{node, `node n1: metadata.name: want each object once`},
		{pod(`, "spec": {"containers": [{}, {"resources": {"requests": {"cpu": "1.5Gx"}}}]}`), `pod default/p: spec.containers[1].resources.requests.cpu: want a quantity that is not negative, such as 2, 500m or 1.5Gi, got "1.5Gx"`},
		{pod(`, "spec": {"initContainers": [{"resources": {"requests": {"cpu": -1}}}]}`), `pod default/p: spec.initContainers[0].resources.requests.cpu: want a quantity`},
		{pod(`, "spec": {"overhead": {"cpu": {}}}`), `pod default/p: spec.overhead.cpu: want a quantity`},
		{pod(`, "spec": {"resources": {"requests": {"cpu": "x"}}}`), `pod default/p: spec.resources.requests.cpu: want a quantity`},
		{pod(`, "spec": {"containers": [{"resources": {"requests": {"memory": "1Ei"}}}]}`), `pod default/p: requests of memory: want at most 32768 GiB in all`},
		{`{"kind": "Node", "metadata": {"name": "n2"}, "status": {"allocatable": {"cpu": "four"}}}`, `node n2: status.allocatable.cpu: want a quantity`},
		{`{"kind": "Node", "metadata": {"name": "n2", "labels": {"a": "b|c"}}}`, `node n2: metadata.labels.a: want a label's value`},
		{`{"kind": "Node", "metadata": {"name": "n2", "labels": {"spec.taints": "b"}}}`, `node n2: metadata.labels.spec.taints: want a label's value`},
		{`{"kind": "Node", "metadata": {"name": "n2"}, "spec": {"taints": [{"key": "a", "effect": "Never"}]}}`, `node n2: spec.taints[0].effect: want NoSchedule, PreferNoSchedule or NoExecute, got "Never"`},
		{`{"kind": "Node", "metadata": {"name": "n2"}, "spec": {"taints": [{"effect": "NoSchedule"}]}}`, `node n2: spec.taints[0]: want a key`},
		{pod(`, "spec": {"nodeName": "n9"}`), `pod default/p: spec.nodeName: want a node that is there, got "n9"`},
		{pod(`, "spec": {"nodeSelector": {"a": "b|c"}}`), `pod default/p: spec.nodeSelector.a: want a label's value`},
		{pod(`, "status": {"qosClass": "Golden"}`), `pod default/p: status.qosClass: want BestEffort, Burstable or Guaranteed`},
		{`{"kind": "Pod", "metadata": {"name": "p", "creationTimestamp": "yesterday"}}`, `pod default/p: metadata.creationTimestamp: want a time`},
		{affinity(`[]`), `nodeSelectorTerms: want at least one term`},
		{affinity(`[{"matchExpressions": [{"key": "a", "operator": "Near"}]}]`), `nodeSelectorTerms[0].matchExpressions[0].operator: want one of [In NotIn`},
		{affinity(`[{"matchExpressions": [{"key": "a", "operator": "In"}]}]`), `nodeSelectorTerms[0].matchExpressions[0].values: want at least one`},
		{affinity(`[{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]}]`), `matchExpressions[0].values: want one integer`},
		{affinity(`[{"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}]`), `matchExpressions[0].values: want no value`},
		{affinity(`[{"matchExpressions": [{"operator": "Exists"}]}]`), `matchExpressions[0].key: want a label's key`},
		{affinity(`[{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b|c"]}]}]`), `matchExpressions[0].values[0]: want a label's value`},
		{affinity(`[{"matchFields": [{"key": "spec.name", "operator": "In", "values": ["b"]}]}]`), `matchFields[0].key: want metadata.name`},
		{affinity(`[{"matchFields": [{"key": "metadata.name", "operator": "Gt", "values": ["1"]}]}]`), `matchFields[0].operator: want one of [In NotIn]`},
		{pod(`, "spec": {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}}]}}}`), `[0].labelSelector.matchExpressions[0].operator: want one of [In NotIn Exists DoesNotExist]`},
	} {
		file := write(t, "a.json", `{"items": [`+node+`,`+c.object+`]}`)
		_, _, err := read(t, file, Options{})
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.HasPrefix(err.Error(), file+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %q", c.object, err, c.want)
		}
		all, s, err := read(t, file, Options{Lenient: true})
		if err != nil || len(all) != 1 || len(s.Notes()) != 1 || !strings.HasPrefix(s.Notes()[0], "left out 1 objects that cannot be read; the first: ") {
			t.Errorf("%s, lenient: %d records, %v", c.object, len(all), err)
		}
	}
	twice := `{"kind": "Pod", "metadata": {"name": "p"}}`
	if _, _, err := readText(t, twice+twice); err == nil || !strings.Contains(err.Error(), "pod default/p: metadata.name: want each object once") {
		t.Errorf("a pod twice: %v", err)
	}
}

// Files that are something else end the reading, lenient or not.
func TestNoFile(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.json", "", "the file is empty"},
		{"a.json", " \n\t", "the file is empty"},
		{"a.json", "<!doctype html>\n<html><body>Not Found</body></html>", "want Nodes and Pods"},
		{"a.json", "Error from server (Forbidden)", "want Nodes and Pods"},
		{"a.json", `{"kind": "List", "items": [{"kind": "Service"}, {"kind": "No`, "after 1 objects: want Nodes and Pods as kubectl get -o json prints them: unexpected EOF"},
		{"a.json", `{"kind": "List", "items": [{"kind": "Service"}`, "unexpected EOF"},
		{"a.json", `{"kind": "Li`, "unexpected EOF"},
		{"a.json", `{"kind": "List", "items": [{"kind": "Service"} {}]}`, "after 1 objects: want Nodes and Pods"},
		{"a.json", `{"kind": }`, "byte"},
		{"a.json", `{"items": 3}`, `items: want a list, got "3"`},
		{"a.json", `{"kind": "List", "items": []}`, "no Node is in it"},
		{"a.json", `{"kind": "Deployment", "metadata": {"name": "web"}}`, "no Node is in it"},
		{"a.json", `{} 3`, "kind: want Node or Pod"},
		{"a.yaml", "# nothing\n", "no Node is in it"},
		{"a.yaml", "- 1\n- 2\n", "want Nodes and Pods"},
		{"a.yaml", "kind: Pod\n  metadata: x\n", "yaml: line 2"},
		{"a.yaml", "kind: Pod\nx: .nan\n", `document 1: x: want a number, got "NaN"`},
		{"a.yaml", "kind: Service\n---\nitems:\n- kind: Pod\n  metadata: {labels: {a: b, 7: c}}\n", `document 2: items[0].metadata.labels: want keys that are text, in quotes if they look like something else, got "7, a"`},
		{"a.yaml", "true: b\n", "document 1: want keys"},
		{"a.yaml", "a: {!b c: d}\n", `document 1: a: want keys that are text, in quotes if they look like something else, got "c"`},
		{"a.gz", "\x1f\x8bnonsense", "intact gzip data"},
	} {
		for _, lenient := range []bool{false, c.text == "{} 3"} {
			file := write(t, c.name, c.text)
			if _, _, err := read(t, file, Options{Lenient: lenient}); err == nil || !strings.HasPrefix(err.Error(), file) || !strings.Contains(err.Error(), c.want) && !lenient {
				t.Errorf("%q: got %v, want %q", c.text, err, c.want)
			}
		}
	}
	empty := t.TempDir()
	if _, _, err := read(t, empty, Options{}); err == nil || !strings.Contains(err.Error(), "want a .json, .yaml or .yml file in the folder") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, _, err := read(t, empty+"/none", Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A file in which nothing can be read is no cluster, however lenient one is.
func TestNothingRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`: "object 1: kind: want Node or Pod; nothing that is there could be read",
		`{"kind": "Pod", "metadata": {}}{"a": 1}`:        "object 1: metadata.name: want a name; nothing that is there could be read",
		`{"kind": "Service", "metadata": {"name": "s"}}`: "no Node is in it, and no Pod that is there to stay",
	} {
		file := write(t, "a.json", text)
		if _, _, err := read(t, file, Options{Lenient: true}); err == nil || !strings.HasPrefix(err.Error(), file+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %q", text, err, want)
		}
	}
}

// FuzzKubernetes holds that no file makes the reader panic, that its errors name
// the file, that what it gives is what a run can take, and that it is written and
// read again as it was.
func FuzzKubernetes(f *testing.F) {
	f.Add(small)
	f.Add(affine(`[{matchExpressions: [{key: cores, operator: Lt, values: ["4"]}]}, {}]`))
	f.Add(apartPods(own, ""))
	f.Add(apartPods("{topologyKey: zone, labelSelector: {}}", ""))
	f.Add(zones + companion("web-0", "web", "n1", evenly) + companion("web-1", "web", "", evenly))
	f.Add(bound)
	f.Add(threeZones + claim("c", "storageClassName: local", "") + mounting("p", "", "c"))
	f.Add(web(4) + guarding("maxUnavailable: 25%", "app: web"))
	f.Add(`{"kind": "PodList", "items": [{"metadata": {"name": "p"}, "spec": {"containers": [{"ports": [{"hostPort": 1}], "resources": {"requests": {"cpu": "1.5Gx"}}}]}}]}`)
	f.Add(`{"items": [{"kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"nvidia.com/gpu": "1e30", "pods": "0.5"}}}]}{`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"a.json", "a.yaml"} {
			for _, lenient := range []bool{false, true} {
				file := write(t, name, text)
				all, s, err := read(t, file, Options{Lenient: lenient})
				if err != nil {
					if !strings.Contains(err.Error(), file) {
						t.Fatalf("%v does not name %s", err, file)
					}
					continue
				}
				checkRecords(t, s, all)
				if len(all) == 0 {
					continue
				}
				s.given = 0
				got, second := again(t, s, lossless(t))
				if was, is := picture(s, all), picture(second, got); was != is {
					t.Fatalf("was\n%sis\n%s", was, is)
				}
			}
		}
	})
}

// checkRecords says what of the records a run could not take.
func checkRecords(t *testing.T, s *Source, all []trace.Record) {
	t.Helper()
	nodes := 0
	for i, r := range all {
		if r.What == trace.ConstraintAdded || r.What == trace.BudgetAdded {
			continue
		}
		v := r.Task.Demand
		if r.What == trace.NodeAdded {
			nodes++
			v = r.Node.Capacity
			for k := 1; k < len(r.Node.Labels); k++ {
				if r.Node.Labels[k-1].Key >= r.Node.Labels[k].Key {
					t.Fatalf("node %s has the labels %v", r.Node.Name, r.Node.Labels)
				}
			}
		}
		if len(v) != len(s.kinds) || r.Task.Running && r.Task.OnNode >= uint64(nodes) {
			t.Fatalf("record %d: %+v", i, r)
		}
		for k, q := range v {
			if q < 0 || q > 1<<45 || s.kinds[k].Devices && (q%s.kinds[k].PerUnit != 0 || q > 64*s.kinds[k].PerUnit && r.What == trace.NodeAdded) {
				t.Fatalf("record %d has %d of %s", i, q, s.kinds[k].Name)
			}
		}
	}
}
