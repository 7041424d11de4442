package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/constraints"
	"fairlead.dev/fairlead/whatif"
)

// oneAtMost has one pod with app=web at most run on the nodes of hall, in namespace shop, and one with app=db in those of team a.
func oneAtMost() *marker {
	set, _ := constraints.Read(&constraints.Objects{
		Namespaced: []*v1alpha1.PlacementConstraint{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "alone"},
			Spec:       v1alpha1.PlacementConstraintSpec{Constraint: v1alpha1.Constraint{Text: "{app=web, {app=web, 0, 0}, group:halls}: hard"}},
		}},
		Cluster: []*v1alpha1.ClusterPlacementConstraint{{
			ObjectMeta: metav1.ObjectMeta{Name: "far"},
			Spec: v1alpha1.ClusterPlacementConstraintSpec{
				Constraint:        v1alpha1.Constraint{Text: "{app=db, {app=db, 0, 0}, group:halls}: hard"},
				SubjectNamespaces: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
			},
		}},
		Groups: []*v1alpha1.NodeGroup{{ObjectMeta: metav1.ObjectMeta{Name: "halls"}, Spec: v1alpha1.NodeGroupSpec{Sets: []v1alpha1.NodeSet{{Name: "hall"}}}}},
	})
	return newMarker(nil, standingOf(set, ""))
}

// Pods of manifests, and of templates in them, are held to the constraints of the cluster, whatever they write there themselves.
func TestManifestsAreHeldToConstraints(t *testing.T) {
	m := oneAtMost()
	var list []any
	for _, o := range m.standing.objects() {
		list = append(list, o)
	}
	for document := range strings.SplitSeq(`
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "16", memory: 4Gi, pods: "110"}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: shop, labels: {app: web}}, spec: {nodeName: n1, containers: [{resources: {requests: {cpu: "1"}}}]}}
`, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := kyaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		m.mark(o)
		list = append(list, o.Object)
	}
	const app = `# an application
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  template:
    metadata: {labels: {app: web}, annotations: {fairlead.dev/tags: "[]"}}
    spec: {containers: [{name: c, resources: {requests: {cpu: 1, memory: 1073741824}}}]}
---
{apiVersion: v1, kind: Namespace, metadata: {name: late, labels: {team: a}}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: late}, spec: {replicas: 2, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, labels: {app: web}}, spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: web-2, namespace: other, labels: {app: web}}, spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}]}
`
	dir := t.TempDir()
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": list})
	if err != nil {
		t.Fatal(err)
	}
	dump, as, marked := filepath.Join(dir, "me.json"), filepath.Join(dir, "as.yaml"), filepath.Join(dir, "marked.yaml")
	for file, text := range map[string][]byte{dump: text, as: []byte(app), marked: m.markAll([]byte(app), "shop")} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
	for file, want := range map[string]string{
		as:     "late/db-0 late/db-1 other/web-2 shop/web-1 shop/web-new-0; waiting:",
		marked: "late/db-0 other/web-2; waiting: late/db-1 shop/web-1 shop/web-new-0",
	} {
		var out, failed bytes.Buffer
		if code := Main([]string{"plan", "--cluster", "kubernetes:" + dump, "-n", "shop", "-f", file, "-o", "json"}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &failed}); code != 3 {
			t.Fatalf("%s: %d %s%s", file, code, &out, &failed)
		}
		var answer whatif.Diff
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		var placed, waiting []string
		for _, p := range answer.Placed {
			placed = append(placed, p.Pod)
		}
		for _, p := range answer.Pending {
			waiting = append(waiting, p.Names...)
		}
		slices.Sort(placed)
		slices.Sort(waiting)
		if got := strings.TrimSpace(strings.Join(placed, " ") + "; waiting: " + strings.Join(waiting, " ")); got != want {
			t.Errorf("%s: %s, want %s\n%s", file, got, want, &out)
		}
	}
}

// What is no object, and what is not concerned, stays as it is written; and mistakes are said of the file that the caller has named.
func TestManifestsThatAreNotMarked(t *testing.T) {
	m := oneAtMost()
	for _, text := range []string{
		"kind: [\n",
		"\n# nothing\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {metadata: {labels: {app: other}}}}\n",
	} {
		if got := string(m.markAll([]byte(text), "shop")); got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
	cause := errors.New("/tmp/x/manifests.yaml: pod web: spec: wrong")
	err := renaming{"/tmp/x/manifests.yaml", "app.yaml"}.in(cause)
	if err.Error() != "app.yaml: pod web: spec: wrong" || !errors.Is(err, cause) {
		t.Error(err)
	}
}

// Manifests are read before the cluster is asked for anything: there is none here. One that is not there or that is compressed, as constraints could not be held against what it brings, is refused.
func TestManifestsAreReadFirst(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBECONFIG", filepath.Join(dir, "none"))
	packed := filepath.Join(dir, "app.yaml.gz")
	if err := os.WriteFile(packed, []byte{0x1f, 0x8b, 8, 0}, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		packed:                         packed + " is compressed by gzip: unpack it first",
		filepath.Join(dir, "app.yaml"): "app.yaml: no such file",
	} {
		var out, failed bytes.Buffer
		code := Main([]string{"plan", "-f", path}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &failed})
		if code != 1 || !strings.Contains(failed.String(), want) {
			t.Errorf("%s: %d, and %s%s, want %q", path, code, &out, &failed, want)
		}
	}
}
