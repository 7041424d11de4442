package perf

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/fairlead/kube/testbed"
)

// everyWorkload reads all of upstream's files. They are there wherever Kubernetes' libraries are, unless somebody removed them since.
func everyWorkload(t *testing.T) (all []Workload, files int) {
	t.Helper()
	if source, err := testbed.KubernetesSource(t.Context()); err != nil {
		t.Skipf("%v; CI has it, as go.mod requires it", err)
	} else if _, err := os.Stat(source); err != nil {
		t.Skipf("the module cache has lost %s; CI has it, as go.mod requires it", source)
	}
	root, configs, err := Configs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range configs {
		list, err := Load(filepath.Join(root, config, configFile), config)
		if err != nil {
			t.Error(err)
		}
		all = append(all, list...)
	}
	return all, len(configs)
}

// TestUpstreamsFiles: all of upstream's files are read, every template makes an object for every workload, and of the workloads that are said to
// be short one alone cannot be run by any scheduler. The numbers are those of Kubernetes 1.37; another version may have others.
func TestUpstreamsFiles(t *testing.T) {
	all, files := everyWorkload(t)
	short := 0
	var skipped []string
	for i := range all {
		w := &all[i]
		for n, op := range w.Ops {
			if err := fillFirst(op); err != nil {
				t.Errorf("%s %s, operation %d: %v", w.Config, w.FullName(), n, err)
			}
		}
		skip, err := w.Skipped()
		if err != nil {
			t.Errorf("%s: %v", w.Config, err)
		}
		if !slices.Contains(w.Labels, "short") {
			continue
		}
		short++
		if skip != nil {
			skipped = append(skipped, w.FullName()+": "+string(skip.Reason))
		}
	}
	if files != 23 || len(all) != 267 || short != 81 {
		t.Errorf("%d files, %d workloads of which %d are short; want 23, 267 and 81", files, len(all), short)
	}
	if want := []string{"NodeDeclaredFeaturesEnabled/5Nodes5DeclaredFeatures: " + string(InProcess)}; !slices.Equal(skipped, want) {
		t.Errorf("skipped are %q, want %q", skipped, want)
	}
}

// fillFirst makes the first object of each template of an operation.
func fillFirst(op Op) error {
	for _, path := range op.templates() {
		var object any = &unstructured.Unstructured{}
		var params map[string]any
		switch op := op.(type) {
		case *CreatePods:
			if path == op.Template {
				object, params = &corev1.Pod{}, op.TemplateParams
			}
		case *CreateNodes:
			object, params = &corev1.Node{}, op.TemplateParams
		case *CreatePodGroups:
			object, params = &schedulingv1beta1.PodGroup{}, op.TemplateParams
		case *CreateAny:
			params = op.TemplateParams
		default:
		}
		if _, ok := object.(*unstructured.Unstructured); ok {
			object = &map[string]any{} // volumes have no name yet, and claims no kind that counts
		}
		s, err := newStencil(path, params, 1)
		if err != nil {
			return err
		}
		if err := s.fill(0, object); err != nil {
			return err
		}
	}
	return nil
}

// sample has a workload with most of what workloads have.
const sample = `
- name: Sample
  labels: [integration-test]
  featureGates: {One: true, Two: true}
  defaultPodTemplatePath: pod.yaml
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes, nodeTemplatePath: ../node.yaml}
  - {opcode: createPodSets, countParam: $sets, namespacePrefix: set, createPodsOp: {opcode: createPods, count: 2}}
  - opcode: createPods
    countParam: $groups
    countMultiplierParam: $each
    namespace: one
    templateParams: {each: $each, half: $half|0.5, name: text}
    collectMetrics: true
  workloads:
  - {name: small, labels: [short], threshold: 3, params: {nodes: 5, sets: 3, groups: 2, each: 4, extra: 1}}
  - {name: large, threshold: {topic: 7}, featureGates: {Two: false}, params: {nodes: 50, sets: 0, groups: 20, each: 4, half: 9}}
`

// TestShapes: the workloads of our own are read as upstream's are, and every template makes an object.
func TestShapes(t *testing.T) {
	all, err := Load(filepath.Join("shapes", configFile), "shapes")
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		w := &all[i]
		for n, op := range w.Ops {
			if err := fillFirst(op); err != nil {
				t.Errorf("%s, operation %d: %v", w.FullName(), n, err)
			}
		}
		if skip, err := w.Skipped(); skip != nil || err != nil {
			t.Errorf("%s is skipped: %v, %v", w.FullName(), skip, err)
		}
	}
}

// TestParse: parameters are in their places, sets are unrolled, and paths lead from the folder of the file.
func TestParse(t *testing.T) {
	list, err := Parse([]byte(sample), "/upstream/affinity")
	if err != nil || len(list) != 2 {
		t.Fatalf("%d workloads, %v", len(list), err)
	}
	small, large := list[0], list[1]
	if got := small.FullName(); got != "Sample/small" {
		t.Error("the name is", got)
	}
	if !slices.Equal(small.Labels, []string{"integration-test", "short"}) || !slices.Equal(small.Unread, []string{"extra"}) || large.Unread != nil {
		t.Errorf("labels %q, not read %q and %q", small.Labels, small.Unread, large.Unread)
	}
	if small.FeatureGates() != "One=true,Two=true" || large.FeatureGates() != "One=true,Two=false" {
		t.Errorf("gates %s and %s", small.FeatureGates(), large.FeatureGates())
	}
	if len(small.Ops) != 5 || len(large.Ops) != 2 {
		t.Fatalf("%d and %d operations, want 5 and 2", len(small.Ops), len(large.Ops))
	}
	nodes, ok := small.Ops[0].(*CreateNodes)
	if !ok || nodes.Count != 5 || nodes.Template != "/upstream/node.yaml" {
		t.Errorf("nodes: %+v", small.Ops[0])
	}
	set, ok := small.Ops[3].(*CreatePods)
	if !ok || set.Namespace != "set-2" || set.count() != 2 || set.Template != "/upstream/affinity/pod.yaml" {
		t.Errorf("the last set: %+v", small.Ops[3])
	}
	for _, c := range []struct {
		op    Op
		count int
		half  float64
	}{{small.Ops[4], 8, .5}, {large.Ops[1], 80, 9}} {
		pods, ok := c.op.(*CreatePods)
		if !ok || pods.count() != c.count || pods.TemplateParams["half"] != c.half || pods.TemplateParams["each"] != 4. || pods.TemplateParams["name"] != "text" || !pods.Measure {
			t.Errorf("pods: %+v, want %d with half of %g", c.op, c.count, c.half)
		}
	}
}

// TestParseComplains: every mistake is an error that says where it is.
func TestParseComplains(t *testing.T) {
	op := func(text string) string {
		return "[{name: C, workloadTemplate: [{opcode: createPods, collectMetrics: true}, " + text + "], workloads: [{name: W, params: {num: 3, text: text, really: true}}]}]"
	}
	const at = `test case C: workload W: workloadTemplate[1] `
	for _, c := range []struct{ name, text, want string }{
		{"no YAML", "[", "yaml"},
		{"nothing", "[]", "no test case"},
		{"no list", "name: C", "want a list of test cases"},
		{"a field of a case", "[{name: C, workload: []}]", `test case 0 (C): unknown field "workload"`},
		{"a field twice", "[{name: C, name: D}]", `key "name" already set`},
		{"no name", "[{workloads: []}]", `test case 0 has the name ""`},
		{"no workload", "[{name: C}]", "test case C: no workload"},
		{"no operation", "[{name: C, workloads: [{name: W}]}]", "test case C: no operation"},
		{"a field of a workload", "[{name: C, workloadTemplate: [{}], workloads: [{name: W, param: {}}]}]", `workload 0 (W): unknown field "param"`},
		{"a workload twice", strings.Replace(op("{opcode: sleep}"), "[{name: W,", "[{name: W}, {name: W,", 1), `workload 1 has the name "W"`},
		{"a threshold", "[{name: C, workloadTemplate: [{}], workloads: [{name: W, threshold: high}]}]", "a threshold is a number"},
		{"a threshold below", "[{name: C, workloadTemplate: [{}], workloads: [{name: W, threshold: {a: -1}}]}]", "a threshold of -1"},
		{"nothing measured", "[{name: C, workloadTemplate: [{opcode: sleep}], workloads: [{name: W}]}]", "no operation measures"},
		{"no opcode", op("{count: 3}"), `test case C: workload W: workloadTemplate[1]: there is no opcode ""`},
		{"an opcode", op("{opcode: deleteNodes}"), `workloadTemplate[1]: there is no opcode "deleteNodes"`},
		{"no mapping", op("7"), "workloadTemplate[1]: want a mapping"},
		{"a field of an operation", op("{opcode: createPods, counts: 3}"), at + `(createPods): unknown field "counts"`},
		{"a field of another operation", op("{opcode: sleep, count: 3}"), at + `(sleep): unknown field "count"`},
		{"a parameter of another operation", op("{opcode: barrier, countParam: $num}"), at + `(barrier): unknown field "count"`},
		{"an unknown parameter", op("{opcode: createPods, countParam: $m}"), at + `(createPods): countParam: the workload has no parameter "m"`},
		{"no parameter", op("{opcode: createPods, countParam: num}"), `countParam: num; want $`},
		{"a text for a number", op("{opcode: createPods, countParam: $text}"), at + "(createPods): "},
		{"a parameter of a template", op("{opcode: createAny, templatePath: a, templateParams: {x: $m}}"), `templateParams: x: the workload has no parameter "m"`},
		{"a default", op("{opcode: createAny, templatePath: a, templateParams: {x: '$m|['}}"), `templateParams: x: the default of "m"`},
		{"less than none", op("{opcode: createPods, count: -1}"), at + "(createPods): count: -1"},
		{"too many", op("{opcode: createNodes, count: 10000001}"), "count: 10000001"},
		{"too many sets", op("{opcode: createPodSets, count: 10001, createPodsOp: {opcode: createPods}}"), "(createPodSets): count: 10001"},
		{"a set of nothing", op("{opcode: createPodSets, count: 1}"), "createPodsOp: want a createPods"},
		{"in a set", op("{opcode: createPodSets, count: 1, createPodsOp: {opcode: createPods, a: 1}}"), `(createPodSets): createPodsOp (createPods): unknown field "a"`},
		{"measured and not awaited", op("{opcode: createPods, collectMetrics: true, skipWaitToCompletion: true}"), "what is not awaited cannot be measured"},
		{"steady and not awaited", op("{opcode: createPods, steadyState: true, skipWaitToCompletion: true}"), "what is not awaited is not steady"},
		{"steady for no time", op("{opcode: createPods, steadyStateParam: $really}"), "for how long?"},
		{"a volume without a claim", op("{opcode: createPods, persistentVolumeTemplatePath: a}"), "one of them is missing"},
		{"no template", op("{opcode: createAny}"), "(createAny): templatePath is missing"},
		{"no group", op("{opcode: createPodGroups, templatePath: a, namespace: b}"), "namespace and count are missing"},
		{"a mode", op("{opcode: churn, mode: destroy, templatePaths: [a]}"), `mode: "destroy"`},
		{"again without a number", op("{opcode: churn, mode: recreate, templatePaths: [a]}"), "number: 0"},
		{"churn of nothing", op("{opcode: churn, mode: create}"), "templatePaths: want at least one"},
		{"a stage", op("{opcode: barrier, stageRequirement: Seen}"), `stageRequirement: "Seen"`},
		{"no namespace", op("{opcode: startCollectingMetrics}"), "namespaces: want at least one"},
		{"a rate", op("{opcode: deletePods, deletePodsPerSecond: -1}"), "deletePodsPerSecond: -1"},
		{"labels without values", op("{opcode: createNodes, labelNodePrepareStrategy: {labelKey: a}}"), "labelValues: want at least one"},
	} {
		if list, err := Parse([]byte(c.text), "/"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d workloads, error %v; want %q", c.name, len(list), err, c.want)
		}
	}
}

// TestLoadFindsTemplates: a template that is not there, or is none, is found before anything runs.
func TestLoadFindsTemplates(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, configFile)
	write(configFile, "[{name: C, workloadTemplate: [{opcode: createPods, podTemplatePath: pod.yaml, collectMetrics: true}], workloads: [{name: W}]}]")
	if _, err := Load(file, "c"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without its template: %v", err)
	}
	write("pod.yaml", "name: {{ Round .Index }}")
	if _, err := Load(file, "c"); err == nil || !strings.Contains(err.Error(), `"Round" not defined`) {
		t.Errorf("with a function that is not there: %v", err)
	}
	write("pod.yaml", "name: {{ .Index }}")
	if list, err := Load(file, "c"); err != nil || len(list) != 1 || list[0].Config != "c" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestSkipped: each reason that the file alone tells has a case here; Configuration is the scheduler's.
func TestSkipped(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"claim.yaml": "kind: ResourceClaim", "class.yaml": "kind: DeviceClass"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ ops, more, want string }{
		{"{opcode: sleep}", "", ""},
		{"{opcode: sleep}", "featureGates: {DRAConsumableCapacity: false}", ""},
		{"{opcode: sleep}", "featureGates: {NoSuchGate: true}", string(Gate)},
		{"{opcode: sleep}", "featureGates: {DynamicResourceAllocation: false}", string(Gate)}, // it is locked
		{"{opcode: startCollectingProfile, type: CPU, filePath: a}", "", string(InProcess)},
		{"{opcode: sleep}", "params: {numNodeDeclaredFeatures: 5}", string(InProcess)},
		{"{opcode: sleep}", "params: {typo: 5}", `no operation reads the parameters ["typo"]`},
		{"{opcode: createAny, templatePath: claim.yaml, namespace: a, count: 2}, {opcode: allocResourceClaims, namespace: a}", "", string(Allocation)},
		{"{opcode: createAny, templatePath: claim.yaml, namespace: a, count: 0}, {opcode: allocResourceClaims, namespace: a}", "", ""},
		{"{opcode: createAny, templatePath: claim.yaml, namespace: a, count: 2}, {opcode: allocResourceClaims, namespace: b}", "", ""},
		{"{opcode: createAny, templatePath: class.yaml}, {opcode: allocResourceClaims}", "", ""},
	} {
		text := "[{name: C, workloadTemplate: [" + c.ops + ", {opcode: stopCollectingMetrics}], workloads: [{name: W, " + c.more + "}]}]"
		list, err := Parse([]byte(text), dir)
		if err != nil {
			t.Fatal(err)
		}
		skip, err := list[0].Skipped()
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case skip != nil:
			got = skip.String()
		}
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s with %q: %q, want %q", c.ops, c.more, got, c.want)
		}
	}
}

// FuzzParse: whatever is read, there is no panic, and of what is accepted every operation is valid and every name known.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("[{name: C, workloadTemplate: [{opcode: churn, mode: recreate, number: 2, templatePaths: [a, b]}, {opcode: stopCollectingMetrics}], workloads: [{name: W}]}]"))
	f.Add([]byte("[{name: C, workloadTemplate: [{opcode: createPods, steadyStateParam: $s, durationParam: $d, collectMetrics: true}], workloads: [{name: W, params: {s: true, d: 10s}}]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := Parse(text, "/upstream")
		if err != nil {
			return
		}
		names := map[string]bool{}
		for i := range list {
			w := &list[i]
			if w.Name == "" || w.Case == "" || !slices.ContainsFunc(w.Ops, measures) {
				t.Errorf("workload %+v", w)
			}
			for _, op := range w.Ops {
				if err := op.validate(); err != nil {
					t.Errorf("%s: %v", w.FullName(), err)
				}
				for _, path := range op.templates() {
					if !filepath.IsAbs(path) {
						t.Errorf("%s: the path %q leads from nowhere", w.FullName(), path)
					}
				}
			}
			names[w.Case+"\x00"+w.Name] = true
		}
		if len(names) != len(list) {
			t.Errorf("%d workloads have %d names", len(list), len(names))
		}
	})
}
