package plugin

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/classes"
	"fairlead.dev/fairlead/kube/constraints"
)

// clientOf is a client of a cluster that has these objects, and in which these resources may not be listed.
func clientOf(t *testing.T, text string, forbidden ...string) *fake.FakeDynamicClient {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{}
	for resource, kind := range map[string]string{"pods": "PodList", "nodes": "NodeList", "events": "EventList"} {
		kinds[v1.SchemeGroupVersion.WithResource(resource)] = kind
	}
	kinds[accounts()] = "WorkloadAccountList"
	kinds[podGroups()], kinds[coscheduled()] = "PodGroupList", "PodGroupList"
	for resource, kind := range map[string]string{"serviceclasses": "ServiceClassList", "placementconstraints": "PlacementConstraintList", "clusterplacementconstraints": "ClusterPlacementConstraintList", "nodegroups": "NodeGroupList"} {
		kinds[accounts().GroupVersion().WithResource(resource)] = kind
	}
	var objects []runtime.Object
	for document := range strings.SplitSeq(text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := kyaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
	for _, resource := range forbidden {
		client.PrependReactor("list", resource, func(a clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", nil)
		})
	}
	return client
}

// want compares what was printed.
func want(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimLeft(want, "\n"), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

const promisedTo = `
{apiVersion: fairlead.dev/v1alpha1, kind: ServiceClass, metadata: {name: gold}, spec: {importance: 1, availability: 99.9%}}
---
{apiVersion: fairlead.dev/v1alpha1, kind: ServiceClass, metadata: {name: silver}, spec: {importance: 2}, status: {conditions: [{type: Accepted, status: "False", reason: Invalid, message: "spec.margin: wrong"}]}}
---
{apiVersion: fairlead.dev/v1alpha1, kind: WorkloadAccount, metadata: {name: deployment.web, namespace: shop}, status: {kind: deployment, name: web, class: gold, target: "0.999", available: "0.9997", slack: 12s, replicas: [{pod: web-1, uid: u1, class: gold, state: Running}, {pod: web-0, class: gold, state: Absent}], others: {count: 3}}}
---
{apiVersion: fairlead.dev/v1alpha1, kind: WorkloadAccount, metadata: {name: job.a, namespace: shop}, status: {kind: job, name: a, class: silver, target: "0.9", available: "0.5", slack: -1m0s, atRisk: 2, charge: "2.500000", credit: "1.250000"}}
---
{apiVersion: fairlead.dev/v1alpha1, kind: WorkloadAccount, metadata: {name: job.b, namespace: other}, status: {kind: job, name: b, class: silver, target: "0.9", available: "0.95", slack: 2s}}
---
{apiVersion: fairlead.dev/v1alpha1, kind: WorkloadAccount, metadata: {name: job.c, namespace: other}, status: {kind: job, name: c, class: bronze, target: "0.5", available: "0.9", slack: 1s}}
---
{apiVersion: fairlead.dev/v1alpha1, kind: WorkloadAccount, metadata: {name: job.new, namespace: other}}
`

// Those at risk come first, then by the importance of classes, then those with less slack; classes that are gone or do not count are named, and what may not be read.
func TestPromises(t *testing.T) {
	for _, tc := range []struct {
		name, namespace, table string
		forbidden, notes       []string
	}{
		{
			name: "all", table: `
NAMESPACE   WORKLOAD         CLASS    TARGET   AVAILABLE   SLACK   AT RISK   REPLICAS   CREDIT
shop        job/a            silver   0.9      0.5         -1m0s   2         0          1.250000
shop        deployment/web   gold     0.999    0.9997      12s     0         4          -
other       job/b            silver   0.9      0.95        2s      0         0          -
other       job/c            bronze   0.5      0.9         1s      0         0          -
`, notes: []string{"the ServiceClass silver does not count, or not as it is (Invalid): spec.margin: wrong", "there is no ServiceClass bronze any more: what it promised last holds for pods that have it"},
		},
		{
			name: "no classes", forbidden: []string{"serviceclasses"}, table: `
NAMESPACE   WORKLOAD         CLASS    TARGET   AVAILABLE   SLACK   AT RISK   REPLICAS   CREDIT
shop        job/a            silver   0.9      0.5         -1m0s   2         0          1.250000
other       job/c            bronze   0.5      0.9         1s      0         0          -
other       job/b            silver   0.9      0.95        2s      0         0          -
shop        deployment/web   gold     0.999    0.9997      12s     0         4          -
`, notes: []string{"left out serviceclasses: serviceclasses.fairlead.dev is forbidden: <nil>; workloads are not ordered by the importance of their classes"},
		},
		{name: "none", namespace: "empty", notes: []string{"no workload of namespace empty has an account: nothing is promised there, or fairlead-scheduler has not written it yet"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := readPromises(t.Context(), clientOf(t, promisedTo, tc.forbidden...), tc.namespace)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := p.table(&out, tc.namespace == ""); err != nil {
				t.Fatal(err)
			}
			want(t, out.String(), tc.table)
			if diff := cmp.Diff(tc.notes, p.notes); diff != "" {
				t.Errorf("notes (-want +got)\n%s", diff)
			}
		})
	}
	for namespace, words := range map[string]string{"": "of all namespaces; without -A", "shop": "in namespace shop; the role view"} {
		if _, err := readPromises(t.Context(), clientOf(t, promisedTo, "workloadaccounts"), namespace); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", namespace, err)
		}
	}
}

const waits = `
{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, uid: u1, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {schedulerName: fairlead}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: 0/3 nodes are available., lastTransitionTime: "2026-01-01T00:00:05Z"}]}}
---
{apiVersion: v1, kind: Event, metadata: {name: e1, namespace: shop}, involvedObject: {uid: u1}, reason: FailedScheduling, message: 0/3 nodes are available., count: 3}
---
{apiVersion: v1, kind: Event, metadata: {name: e2, namespace: shop}, involvedObject: {uid: u1}, reason: ClassKept, message: It keeps its class., count: 2, lastTimestamp: "2026-01-01T00:01:00Z"}
---
{apiVersion: v1, kind: Event, metadata: {name: e3, namespace: shop}, involvedObject: {uid: another}, reason: Other, message: Of another pod., lastTimestamp: "2026-01-01T00:01:00Z"}
---
`

// Who may not list the cluster is told what is written on his pod, and what of that he may not read either.
func TestTold(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 2, 0, 0, time.UTC)
	for _, tc := range []struct {
		forbidden []string
		text      string
	}{
		{nil, `
pod shop/web-1 waits since 2m; scheduler fairlead
You may not list nodes, nor pods of all namespaces, so that nodes are not compared here.

The scheduler says of it (Unschedulable, for 115s):
  0/3 nodes are available.

Event ClassKept, 60s ago, 2 times:
  It keeps its class.

Promised to deployment/web by class gold: 0.999 of its time; it has had 0.9997, with a slack of 12s, and 0 of 4 replicas are at risk.
`},
		{[]string{"events", "workloadaccounts"}, `
pod shop/web-1 waits since 2m; scheduler fairlead
You may not list nodes, nor pods of all namespaces, so that nodes are not compared here.

The scheduler says of it (Unschedulable, for 115s):
  0/3 nodes are available.

Not read: events: events is forbidden: <nil>

Not read: what is promised to it: workloadaccounts.fairlead.dev is forbidden: <nil>
`},
	} {
		r := &reader{clientOf(t, waits+promisedTo, tc.forbidden...), at}
		told, err := r.read(t.Context(), subject{podKind, "shop", "web-1"})
		if err != nil {
			t.Fatal(err)
		}
		told.NotListed = []string{"nodes", "pods of all namespaces"}
		var out bytes.Buffer
		if err := told.write(&out, "text"); err != nil {
			t.Fatal(err)
		}
		want(t, out.String(), tc.text)
	}
	r := &reader{clientOf(t, waits), at}
	if _, err := r.read(t.Context(), subject{podKind, "shop", "wbe-1"}); err == nil || err.Error() != "there is no pod shop/wbe-1; did you mean web-1?" {
		t.Error(err)
	}
	if _, err := r.read(t.Context(), subject{podKind, "other", "web-1"}); err == nil || err.Error() != "there is no pod other/web-1; there is none in that namespace, -n names another" {
		t.Error(err)
	}
}

// What is to be explained is named as kubectl names it.
func TestSubjects(t *testing.T) {
	for text, want := range map[string]string{
		"web-0": "n/web-0", "pod/web-0": "n/web-0", "po/web-0": "n/web-0", "PodGroup/train": "n/podgroup/train", "deploy/web": "n/deployment/web", "sts/db": "n/statefulset/db",
		"": "error", "pod/": "error", "a/b": "error", "pod/a/b": "error", "svc/a": "error",
	} {
		got := "error"
		if s, err := subjectOf(text, "n"); err == nil {
			got = s.task()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A dump is asked about in the same words, without a cluster.
func TestExplainOfDump(t *testing.T) {
	file := filepath.Join(t.TempDir(), "me.yaml")
	const dump = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "1", pods: "110"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: shop, ownerReferences: [{kind: StatefulSet, name: web, uid: w, controller: true}]}, spec: {containers: [{resources: {requests: {cpu: "2"}}}]}}
`
	if err := os.WriteFile(file, []byte(dump), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, tc := range []struct {
		words []string
		code  int
		want  string
	}{
		{[]string{"explain", "web-0", "-n", "shop"}, 0, "task shop/web-0: waiting; policy fairlead"},
		{[]string{"explain", "sts/web", "-n", "shop"}, 0, "1 pod waits:"},
		{[]string{"explain", "web-1", "-n", "shop"}, 1, "kubectl fairlead: --task: there is no pod shop/web-1, or it is not simulated; did you mean shop/web-0?"},
		{[]string{"explain"}, 0, "1 pod waits:"},
		{[]string{"plan", "--add-nodes", "1:like=n1"}, 0, "nodes           1       2"},
	} {
		var out, failed bytes.Buffer
		code := Main(append(tc.words, "--cluster", file), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &failed})
		if said := out.String() + failed.String(); code != tc.code || !strings.Contains(said, tc.want) {
			t.Errorf("%v: want %d and %q, got %d and %s", tc.words, tc.code, tc.want, code, said)
		}
	}
}

// Help and completion are there without a cluster, and call the program as it is called.
func TestHelpAndCompletion(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, tc := range []struct {
		words []string
		want  string
	}{
		{[]string{"--help"}, "kubectl fairlead explain web-0 -n shop"},
		{[]string{"plan", "--help"}, "kubectl fairlead plan -f app.yaml"},
		{[]string{"advise", "--help"}, "kubectl fairlead advise"},
		{[]string{"__complete", "pro"}, "promises\tSay what was promised"},
		{[]string{"__complete", "promises", "-o", ""}, "json\nyaml\n"},
		{[]string{"__complete", "explain", ""}, ":4"},
		{[]string{"completion", "bash"}, "kubectl-fairlead"},
	} {
		var out, failed bytes.Buffer
		if code := Main(tc.words, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &failed}); code != 0 || !strings.Contains(out.String(), tc.want) || strings.Contains(out.String(), "  fairlead plan --cluster") {
			t.Errorf("%v: %d %s%s", tc.words, code, &out, &failed)
		}
	}
}

// Ctrl-C while the cluster is read ends each command as one that was interrupted, whatever else would be said of a request that fails.
func TestInterruptedWhileTheClusterIsRead(t *testing.T) {
	var armed atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if armed.CompareAndSwap(true, false) {
			if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
		<-r.Context().Done() // nobody is answered
	}))
	defer server.Close()
	dir := t.TempDir()
	kubeconfig, texts := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "constraints.txt")
	for file, text := range map[string]string{
		kubeconfig: "clusters: [{name: c, cluster: {server: \"" + server.URL + "\"}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n",
		texts:      "{app=web, {app=web, 0, 0}, node}: hard\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, words := range [][]string{
		{"explain"},
		{"explain", "web-0"},
		{"explain", "podgroup/train"},
		{"explain", "deploy/web"},
		{"promises"},
		{"plan"},
		{"advise"},
		{"simulate"},
		{"capacity", "free"},
		{"constraints", "check", "-f", texts},
		{"diff"},
	} {
		var out, failed bytes.Buffer
		armed.Store(true)
		code := Main(append(words, "--kubeconfig", kubeconfig), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &failed})
		if said := out.String() + failed.String(); code != 130 || said != "kubectl fairlead: interrupted\n" {
			t.Errorf("%v: %d, and %q, want 130", words, code, said)
		}
	}
}

// A form of answers that there is not is refused before the cluster is asked for anything: there is none here.
func TestFormsAreLookedAtFirst(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, words := range [][]string{{"explain"}, {"explain", "web-0"}, {"plan"}, {"advise"}, {"simulate"}, {"capacity", "free"}, {"constraints", "check", "-f", "none"}, {"diff"}} {
		var out, failed bytes.Buffer
		code := Main(append(words, "-o", "jsn"), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &failed})
		if code != 2 || !strings.Contains(failed.String(), `--output: unknown format "jsn"; did you mean json?`) {
			t.Errorf("%v: %d, and %s%s", words, code, &out, &failed)
		}
	}
}

const peopled = `
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: a, example.com/row: r1}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2, topology.kubernetes.io/zone: b}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, labels: {app: web}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: cache, namespace: shop, labels: {app: cache}}}
---
{apiVersion: fairlead.dev/v1alpha1, kind: PlacementConstraint, metadata: {name: near, namespace: shop}, spec: {constraint: {text: "{app=web, {app=cache, 1, inf}, node}: hard"}}}
---
{apiVersion: fairlead.dev/v1alpha1, kind: PlacementConstraint, metadata: {name: old, namespace: shop}, spec: {constraint: {text: "{app=web, {app=web, 0, 0}, zone}"}}}
---
{apiVersion: fairlead.dev/v1alpha1, kind: ClusterPlacementConstraint, metadata: {name: cluster}, spec: {constraint: {text: "{app=cache, {app=web, 0, 0}, node}: hard"}}}
`

// Constraints are read as the scheduler reads them, beside those that the cluster has, and what nobody has that they name is a warning.
func TestCheckOfConstraints(t *testing.T) {
	for _, tc := range []struct {
		name, text, want string
		forbidden, notes []string
		fails            int
	}{
		{name: "manifests", fails: 2, text: `
apiVersion: fairlead.dev/v1alpha1
kind: PlacementConstraint
metadata: {name: apart}
spec: {constraint: {text: "{app=web, {app=cache, 0, 0}, node}: hard"}}
---
{apiVersion: fairlead.dev/v1alpha1, kind: PlacementConstraint, metadata: {name: old, namespace: shop}, spec: {constraint: {anyOf: [{allOf: [{subject: {matchLabels: {app: wbe}}, target: {}, max: 2, topologyKey: example.com/row}]}]}}}
---
{apiVersion: fairlead.dev/v1alpha1, kind: PlacementConstraint, metadata: {name: lost, namespace: shop}, spec: {constraint: {text: "{app=web, {app=web, 0, 0}, group:rows}"}}}
---
{apiVersion: fairlead.dev/v1alpha1, kind: NodeGroup, metadata: {name: halves}, spec: {sets: [{name: left, selector: {matchLabels: {topology.kubernetes.io/zone: a}}}, {name: right, selector: {matchLabels: {topology.kubernetes.io/zone: c}}}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}}
`, want: `
PlacementConstraint shop/apart: Accepted: Pods are placed by it.
  No node that holds app=web holds another app=cache. Hard: nothing is placed that violates it.
  contradiction: It cannot hold together with near for pods with app=web: at least 1 of app=cache are wanted and at most 0 of app=cache allowed.
PlacementConstraint shop/old: Accepted: Pods are placed by it where that is worth more than it costs, under policies that weigh constraints, as fairlead does.
  Each set of example.com/row that holds app=wbe holds at most 2 other pods. Soft: each violation costs 1.
  warning: no pod of namespace shop has app=wbe; did you mean app=web?
  warning: 1 of 2 nodes lack the label example.com/row, and are in no set
PlacementConstraint shop/lost: NoNodeGroup: No NodeGroup rows is accepted; it does not count until one is.
NodeGroup halves: Accepted: Constraints may name it.
  warning: no node is in the set right: none has topology.kubernetes.io/zone=c, or those that do are in one before it
file.yaml: document 5: passed over a Service`},
		{name: "text", fails: 1, text: "{app=web, {app=web, 0, 0}, node}: hard\n{app=web, {app=web, 0, 0}, nod}\n", forbidden: []string{"nodes", "pods", "clusterplacementconstraints"}, want: `
PlacementConstraint shop/line-1: Accepted: Pods are placed by it.
  No node holds more than 1 app=web (no others beside each). Hard: nothing is placed that violates it.
PlacementConstraint shop/line-2: Invalid: spec.constraint.text: "nod" is no group of nodes: did you mean node?; or the key of a label, with its prefix, as example.com/row, or a NodeGroup as group:NAME
left out clusterplacementconstraints: clusterplacementconstraints.fairlead.dev is forbidden: <nil>
left out nodes, so that labels of theirs are not compared: nodes is forbidden: <nil>
left out pods, so that labels of theirs are not compared: pods is forbidden: <nil>`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := &check{objects: &constraints.Objects{}}
			if err := k.take("file.yaml", []byte(tc.text), "shop"); err != nil {
				t.Fatal(err)
			}
			if err := k.know(t.Context(), clientOf(t, peopled, tc.forbidden...)); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			findings, fails := k.find(), 0
			for _, f := range findings {
				if f.fails {
					fails++
				}
			}
			if err := printFindings(&out, findings); err != nil {
				t.Fatal(err)
			}
			want(t, out.String()+strings.Join(k.notes, "\n"), tc.want)
			if fails != tc.fails {
				t.Errorf("%d fail, want %d", fails, tc.fails)
			}
		})
	}
	for text, words := range map[string]string{
		"kind: PlacementConstraint\nmetadata: {name: x}\nspec: {constrant: {}}\n": `file.yaml: document 1: error unmarshaling JSON: while decoding JSON: json: unknown field "constrant"`,
		"kind: NodeGroup\n": "file.yaml: document 1: metadata.name: want a name",
		"{web}":             "file.yaml:1",
	} {
		if err := (&check{objects: &constraints.Objects{}}).take("file.yaml", []byte(text), "shop"); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Racks are known by the label that is said, and who says none is told how.
func TestRackLabel(t *testing.T) {
	for label, want := range map[string]string{
		"": `
PlacementConstraint shop/line-1: Invalid: spec.constraint.text: "rack" is no group of nodes: there are node, region, zone; or the key of a label, with its prefix, as example.com/row, or a NodeGroup as group:NAME
  warning: by which label nodes name their rack, --rack-label says here, and rackLabel in the configuration of fairlead-scheduler
`,
		"example.com/row": `
PlacementConstraint shop/line-1: Accepted: Pods are placed by it.
  No set of example.com/row holds more than 1 app=web (no others beside each). Hard: nothing is placed that violates it.
  warning: 1 of 2 nodes lack the label example.com/row, and are in no set
`,
	} {
		k := &check{objects: &constraints.Objects{RackLabel: label}}
		if err := k.take("file.txt", []byte("{app=web, {app=web, 0, 0}, rack}: hard\n"), "shop"); err != nil {
			t.Fatal(err)
		}
		if err := k.know(t.Context(), clientOf(t, peopled)); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := printFindings(&out, k.find()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimLeft(want, "\n"), out.String()); diff != "" {
			t.Errorf("%q (-want +got)\n%s", label, diff)
		}
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var out, failed bytes.Buffer
	if code := Main([]string{"plan", "--rack-label", "a b"}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &failed}); code != 2 || !strings.Contains(failed.String(), `--rack-label: "a b" is no label`) {
		t.Errorf("%d: %s%s", code, &out, &failed)
	}
	for _, args := range [][]string{{"plan", "--rack-label", "rack", "--cluster", "kubernetes:dump.yaml"}, {"constraints", "check", "file.txt", "--rack-label", "rack", "--tags", "a"}} {
		out.Reset()
		failed.Reset()
		if code := Main(args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &failed}); code != 2 || !strings.Contains(failed.String(), "--rack-label: counts for the cluster that kubectl talks to alone") {
			t.Errorf("%s: %d: %s%s", args, code, &out, &failed)
		}
	}
}

// A pod of the list names the class that it has, and one that is held for its class stands behind a gate.
func TestMarks(t *testing.T) {
	all, _, err := readClasses(t.Context(), clientOf(t, `
{apiVersion: fairlead.dev/v1alpha1, kind: ServiceClass, metadata: {name: gold}, spec: {importance: 1, availability: 99.9%, namespaceSelector: {matchLabels: {team: shop}}}}
---
{apiVersion: fairlead.dev/v1alpha1, kind: ServiceClass, metadata: {name: rest}, spec: {importance: 9, default: true}}
`))
	if err != nil {
		t.Fatal(err)
	}
	promises, _ := classes.Read(all)
	m := newMarker(promises, standingOf(&constraints.Set{}, ""))
	pod := func(namespace, node string, labels map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "metadata": map[string]any{"namespace": namespace, "labels": labels}, "spec": map[string]any{"nodeName": node}}}
	}
	m.mark(&unstructured.Unstructured{Object: map[string]any{"kind": "Namespace", "metadata": map[string]any{"name": "a", "labels": map[string]any{"team": "shop"}}}})
	m.mark(&unstructured.Unstructured{Object: map[string]any{"kind": "Namespace", "metadata": map[string]any{"name": "b"}}})
	for _, tc := range []struct {
		pod   *unstructured.Unstructured
		class string
		held  bool
	}{
		{pod("a", "", map[string]any{"fairlead.dev/class": "gold"}), "gold", false},
		{pod("b", "", map[string]any{"fairlead.dev/class": "gold"}), "rest", true},
		{pod("b", "n1", map[string]any{"fairlead.dev/class": "gold"}), "rest", false},
		{pod("a", "", map[string]any{"fairlead.dev/class": "lead"}), "rest", true},
		{pod("b", "", nil), "rest", false},
	} {
		m.mark(tc.pod)
		_, held, _ := unstructured.NestedSlice(tc.pod.Object, "spec", "schedulingGates")
		if got := tc.pod.GetLabels()["fairlead.dev/class"]; got != tc.class || held != tc.held {
			t.Errorf("%v: class %s, held %t; want %s, %t", tc.pod.Object, got, held, tc.class, tc.held)
		}
	}
	if table := string(m.promises.Alone().Encode()); strings.Index(table, "name: none") > strings.Index(table, "name: rest") {
		t.Errorf("the default is not the last: %s", table)
	}
}

// What constraints select, pods and nodes of the list say, and a pod that only such a constraint keeps off waits for it.
func TestStandingConstraintsCount(t *testing.T) {
	set, _ := constraints.Read(&constraints.Objects{
		Namespaced: []*v1alpha1.PlacementConstraint{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "alone"},
			Spec:       v1alpha1.PlacementConstraintSpec{Constraint: v1alpha1.Constraint{Text: "{app=web, {app=web, 0, 0}, group:halls}: hard"}},
		}},
		Cluster: []*v1alpha1.ClusterPlacementConstraint{{
			ObjectMeta: metav1.ObjectMeta{Name: "far"},
			Spec: v1alpha1.ClusterPlacementConstraintSpec{
				Constraint:        v1alpha1.Constraint{Text: "{app, {app=db, 0, 0}, zone}"},
				SubjectNamespaces: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
			},
		}},
		Groups: []*v1alpha1.NodeGroup{{ObjectMeta: metav1.ObjectMeta{Name: "halls"}, Spec: v1alpha1.NodeGroupSpec{Sets: []v1alpha1.NodeSet{{Name: "hall"}}}}},
	})
	s := standingOf(set, "example.com/rack")
	m := newMarker(nil, s)
	var list []any
	for _, o := range s.objects() {
		list = append(list, o)
	}
	for document := range strings.SplitSeq(`
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/zone: z, example.com/rack: r1}}, status: {allocatable: {cpu: "4", pods: "110"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "4", pods: "110"}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: a}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: shop, labels: {app: web}}, spec: {nodeName: n1, containers: [{resources: {requests: {cpu: "1"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, labels: {app: web}}, spec: {containers: [{resources: {requests: {cpu: "1"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-2, namespace: other, labels: {app: web}}, spec: {containers: [{resources: {requests: {cpu: "1"}}}]}}
`, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := kyaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		m.mark(o)
		list = append(list, o.Object)
		if in := o.GetAnnotations()["fairlead.dev/groups"]; o.GetKind() == "Node" && strings.Contains(in, `"rack":"r1"`) != (o.GetName() == "n1") {
			t.Errorf("node %s is in %s", o.GetName(), in)
		}
	}
	text, err := kyaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": list})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "me.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var out, failed bytes.Buffer
	code := Main([]string{"explain", "--cluster", "kubernetes:" + file}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &failed})
	for _, want := range []string{"1 pod waits:", "shop/web-1", "2 violate PlacementConstraint shop/alone: 1 counted, at most 0", "other/web-2 on n"} {
		if code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s%s\n%s", want, &out, &failed, text)
		}
	}
}

// What the owner of a pod has written in the place of what constraints select is dropped: it could name those of others, or be no list at all.
func TestForgedTagsAreDropped(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "metadata": map[string]any{"name": "a", "annotations": map[string]any{"fairlead.dev/tags": "x", "other": "stays"}}}}
	standingOf(&constraints.Set{}, "").markPod(o, nil)
	if got := o.GetAnnotations(); len(got) != 1 || got["other"] != "stays" {
		t.Errorf("the pod has the annotations %v", got)
	}
}

// A file in which nothing is to be checked, or which is no YAML in part, is an error; the items of a list are checked.
func TestCheckTakesAllOrSaysWhatNot(t *testing.T) {
	one := "kind: PlacementConstraint\nmetadata: {name: a}\nspec: {constraint: {text: \"{app=web, {app=web, 0, 0}, node}\"}}\n"
	for text, want := range map[string]string{
		one + "---\nkind: ConfigMap\n": "",
		"kind: ConfigMap\n":            "want a PlacementConstraint",
		one + "---\nkind: [\n":         "document 2",
		"kind: List\nitems:\n- {kind: PlacementConstraint, metadata: {name: a}, spec: {constraint: {text: x}}}\n": "",
	} {
		k := &check{objects: &constraints.Objects{}}
		switch err := k.take("f", []byte(text), "shop"); {
		case want == "" && (err != nil || len(k.own) != 1):
			t.Errorf("%q: %v, %d objects", text, err, len(k.own))
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
