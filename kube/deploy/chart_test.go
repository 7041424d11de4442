package deploy_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/testbed"
)

// This file checks the chart by what Helm makes of it: with no values the same as the manifests, with others what is in testdata/chart.

// TestMain takes the flag that writes golden files anew.
func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the golden files in testdata")
	m.Run()
}

// TestChartLint: Helm finds nothing to complain about, with any of the values that are tried.
func TestChartLint(t *testing.T) {
	helm := testbed.HelmForTest(t, "chart")
	for _, file := range valuesFiles(t) {
		if out, err := helm.Command(t.Context(), "lint", "chart", "--strict", "--quiet", "--values", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

// TestChartGolden compares what the chart makes of values with what it made, but for what comes from rbac.yaml, api and dashboards as it stands.
func TestChartGolden(t *testing.T) {
	for _, file := range valuesFiles(t) {
		var got strings.Builder
		for _, o := range rendered(t, "fairlead-system", "--values", file) {
			if slices.Contains([]string{"CustomResourceDefinition", "ClusterRole", "Role"}, o.GetKind()) {
				continue
			}
			if strings.HasSuffix(o.GetName(), "-dashboards") {
				delete(o.Object, "data") // which is dashboards/
			}
			text, err := kyaml.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			got.WriteString("---\n" + string(text))
		}
		golden := strings.TrimSuffix(file, ".values.yaml") + ".golden.yaml"
		if flag.Lookup("update").Value.String() == "true" {
			if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got), run with -update if this is meant:\n%s", golden, diff)
		}
	}
}

// TestChartIsTheManifests: who installs by Helm, and says nothing, has what who installs by kubectl has, but for what Helm writes into labels.
func TestChartIsTheManifests(t *testing.T) {
	ofChart := substance(t, rendered(t, "kube-system"))
	ofManifests := substance(t, manifests(t))
	if diff := cmp.Diff(ofManifests, ofChart); diff != "" {
		t.Errorf("the manifests (-) and the chart (+) differ:\n%s", diff)
	}
}

// TestChartPackage: an archive, which has no links, makes the same as the folder.
func TestChartPackage(t *testing.T) {
	helm, dir := testbed.HelmForTest(t, "chart"), t.TempDir()
	if out, err := helm.Command(t.Context(), "package", "chart", "--destination", dir, "--version", "9.9.9").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := substance(t, render(t, filepath.Join(dir, "fairlead-scheduler-9.9.9.tgz"), "kube-system"))
	if diff := cmp.Diff(substance(t, rendered(t, "kube-system")), got); diff != "" {
		t.Errorf("the folder (-) and the archive (+) differ:\n%s", diff)
	}
}

// TestChartElsewhere: under another name and in another namespace nothing has the old ones, but for the role that is Kubernetes' own, and the role lets the
// configuration have its lease.
func TestChartElsewhere(t *testing.T) {
	for _, o := range rendered(t, "elsewhere", "--set", "name=other") {
		text, err := kyaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		kept := map[string]bool{
			"fairlead.dev/fairlead-scheduler": true, // the image
			"fairlead-scheduler-0.1.0":        true, // the chart
		}
		for word := range strings.FieldsSeq(string(text)) {
			image, _, _ := strings.Cut(word, ":")
			old := strings.Contains(word, "fairlead-scheduler") && !kept[image] || word == "kube-system"
			if old && o.GetName() != "other-authentication-reader" && o.GetKind() != "CustomResourceDefinition" && !strings.HasPrefix(o.GetName(), "fairlead-") {
				t.Errorf("%s %s has %s", o.GetKind(), o.GetName(), word)
			}
		}
		if o.GetKind() == "ConfigMap" {
			c := configuration(t, o)
			if l := c.LeaderElection; l.ResourceName != "other" || l.ResourceNamespace != "elsewhere" {
				t.Errorf("the lease is %s/%s", l.ResourceNamespace, l.ResourceName)
			}
		}
	}
}

// TestChartShadow: in mode shadow the release has the role of a shadow, and a configuration that is one, under the lease of that role.
func TestChartShadow(t *testing.T) {
	kinds := []string{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
	ofUsers := append(objects(t, "api/roles.yaml"), objects(t, "plugin/roles.yaml")...)
	roles := func(all []*unstructured.Unstructured) map[string]any {
		return substance(t, slices.DeleteFunc(slices.Clone(all), func(o *unstructured.Unstructured) bool {
			return !slices.Contains(kinds, o.GetKind()) || slices.ContainsFunc(ofUsers, func(r *unstructured.Unstructured) bool { return r.GetName() == o.GetName() })
		}))
	}
	all := rendered(t, "kube-system", "--values", "chart/shadow.values.yaml")
	shipped := append(objects(t, "shadow/rbac.yaml"), objects(t, "plugin/diff.yaml")...)
	if diff := cmp.Diff(roles(shipped), roles(all)); diff != "" {
		t.Errorf("shadow/rbac.yaml and plugin/diff.yaml (-) and the chart (+) differ:\n%s", diff)
	}
	for _, o := range all {
		switch o.GetKind() {
		case "Deployment":
			// By which kubectl fairlead diff finds it, with the lease's name.
			labels, _, err := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
			if err != nil || labels["app.kubernetes.io/component"] != "shadow" || labels["app.kubernetes.io/name"] != config.ShadowLease {
				t.Errorf("the pods have the labels %v: %v", labels, err)
			}
		case "PodDisruptionBudget":
			t.Error("there is a budget, which would keep the only replica on its node for ever")
		case "ConfigMap":
			if c := configuration(t, o); !c.Shadow() || c.LeaderElection.ResourceName != config.ShadowLease || c.Record.Path == "" {
				t.Errorf("a shadow: %t, under the lease %s, recorded in %q", c.Shadow(), c.LeaderElection.ResourceName, c.Record.Path)
			}
		}
	}
}

// TestChartRefuses: values that are wrong are refused before anything is installed, and the path of the value is named.
func TestChartRefuses(t *testing.T) {
	helm := testbed.HelmForTest(t, "chart")
	for set, where := range map[string]string{
		"mode=shadowy":                                "/mode",
		"mode=shadow":                                 "each profile says mode: shadow",
		"config.profiles[0].mode=shadow":              "and else none",
		"replica=3":                                   "replica",
		"replicas=0":                                  "/replicas",
		"antiAffinity=soft":                           "/antiAffinity",
		"name=Not_A_Name":                             "/name",
		"image.digest=sha256:1234":                    "/image/digest",
		"config.profiles=":                            "/config/profiles",
		"config.leaderElection.resourceName=mine":     "/config/leaderElection",
		"monitoring.serviceMonitor.every=1m":          "every",
		"definitions.keep=perhaps":                    "/definitions/keep",
		"config.apiVersion=fairlead.dev/v1":           "/config/apiVersion",
		"arguments[0]=logging-format":                 "/arguments/0",
		"resources.requests.cpu=null,resources.cpu=1": "cpu",
		"recordings.claim.enabled=true":               "config.record.path names no folder",
		"recordings.claim.enabled=true,config.record.path=/var/lib/fairlead/recording": "replicas is 2",
		"recordings.claim.size=much":               "/recordings/claim/size",
		"recordings.claim.accessMode=ReadOnlyMany": "/recordings/claim/accessMode",
	} {
		out, err := helm.Command(t.Context(), "template", "fairlead", "chart", "--set", set).CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte(where)) {
			t.Errorf("%s: %v, want an error at %s:\n%s", set, err, where, out)
		}
	}
}

// TestDefinitionsAreKept: every definition is in the chart as it stands in api, and says that it stays, unless it is told to go.
func TestDefinitionsAreKept(t *testing.T) {
	for keep, want := range map[string]string{"true": "keep", "false": ""} {
		found := map[string]map[string]any{}
		for _, o := range rendered(t, "kube-system", "--set", "definitions.keep="+keep) {
			if o.GetKind() != "CustomResourceDefinition" {
				continue
			}
			notes := o.GetAnnotations()
			if got := notes["helm.sh/resource-policy"]; got != want {
				t.Errorf("definitions.keep=%s: %s has the policy %q, want %q", keep, o.GetName(), got, want)
			}
			delete(notes, "helm.sh/resource-policy")
			o.SetAnnotations(notes)
			found[o.GetName()] = o.Object
		}
		shipped := map[string]map[string]any{}
		files, err := filepath.Glob("api/fairlead.dev_*.yaml")
		if err != nil || len(files) == 0 {
			t.Fatalf("no definitions: %v", err)
		}
		for _, file := range files {
			for _, o := range objects(t, file) {
				shipped[o.GetName()] = o.Object
			}
		}
		if diff := cmp.Diff(shipped, found); diff != "" {
			t.Errorf("definitions.keep=%s (-api +chart):\n%s", keep, diff)
		}
	}
	for _, o := range rendered(t, "kube-system", "--set", "definitions.install=false") {
		if o.GetKind() == "CustomResourceDefinition" || o.GetName() == "fairlead-view" || o.GetName() == "fairlead-reader" {
			t.Errorf("definitions.install=false has %s %s", o.GetKind(), o.GetName())
		}
	}
}

// TestChartKeepsRecordings: the claim has room for all the files that are kept, the program may write there, and it outlives the release.
func TestChartKeepsRecordings(t *testing.T) {
	var claim *corev1.PersistentVolumeClaim
	var pod *corev1.PodSpec
	for _, o := range rendered(t, "kube-system", "--values", "testdata/chart/one.values.yaml") {
		text, err := kyaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		switch typed, _, _ := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil); typed := typed.(type) {
		case *corev1.PersistentVolumeClaim:
			claim = typed
		case *appsv1.Deployment:
			pod = &typed.Spec.Template.Spec
			if typed.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
				t.Errorf("a pod would be replaced (%s) while the one before has the volume", typed.Spec.Strategy.Type)
			}
		}
	}
	if claim == nil || pod == nil {
		t.Fatal("there is no claim, or no deployment")
	}
	record := config.Default().Record
	if room := claim.Spec.Resources.Requests.Storage().Value(); room < record.MaxFileBytes*int64(record.MaxFiles+1) {
		t.Errorf("the claim has %d bytes, for %d files and the next, of %d bytes each", room, record.MaxFiles, record.MaxFileBytes)
	}
	if claim.Annotations["helm.sh/resource-policy"] != "keep" {
		t.Error("the claim goes with the release")
	}
	if group := pod.SecurityContext.FSGroup; group == nil || *group != *pod.SecurityContext.RunAsGroup {
		t.Error("the volume is not of the program's group")
	}
	if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name && v.Name == "recording"
	}) {
		t.Errorf("the pod has not the claim: %+v", pod.Volumes)
	}
}

// TestKustomization: it names every manifest, each once.
func TestKustomization(t *testing.T) {
	text, err := os.ReadFile("kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var k struct{ Resources []string }
	if err := kyaml.Unmarshal(text, &k); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, pattern := range []string{"*.yaml", "api/*.yaml", "plugin/roles.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, files...)
	}
	want = slices.DeleteFunc(want, func(file string) bool { return file == "kustomization.yaml" })
	slices.Sort(want)
	slices.Sort(k.Resources)
	if diff := cmp.Diff(want, k.Resources); diff != "" {
		t.Errorf("(-manifests +kustomization.yaml):\n%s", diff)
	}
}

// TestUninstallPage: whoever takes everything away is told of every definition.
func TestUninstallPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range definitions(t) {
		if !bytes.Contains(page, []byte(" "+d.Name)) {
			t.Errorf("docs/install.md does not name %s among what kubectl delete crd takes away", d.Name)
		}
	}
}

// valuesFiles are the sets of values that are tried.
func valuesFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/chart/*.values.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("found only %q, %v", files, err)
	}
	return files
}

// rendered is what Helm makes of the chart.
func rendered(t *testing.T, namespace string, args ...string) []*unstructured.Unstructured {
	t.Helper()
	return render(t, "chart", namespace, args...)
}

// render is what Helm makes of a chart, a folder or an archive.
func render(t *testing.T, chart, namespace string, args ...string) []*unstructured.Unstructured {
	t.Helper()
	c := testbed.HelmForTest(t, "chart").Command(t.Context(), append([]string{"template", "fairlead", chart, "--namespace", namespace}, args...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, stderr.String())
	}
	return parse(t, "helm template", string(out))
}

// manifests are those that kustomization.yaml names.
func manifests(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, file := range []string{"rbac.yaml", "deployment.yaml", "api/roles.yaml", "plugin/roles.yaml"} {
		all = append(all, objects(t, file)...)
	}
	files, err := filepath.Glob("api/fairlead.dev_*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		all = append(all, objects(t, file)...)
	}
	return all
}

func objects(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, file, string(text))
}

// parse reads YAML documents, of which some may be nothing but a comment.
func parse(t *testing.T, from, text string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for part := range strings.SplitSeq("\n"+text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := kyaml.UnmarshalStrict([]byte(part), &o.Object); err != nil {
			t.Fatalf("%s: %v\n%s", from, err, part)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
	return all
}

// substance is what objects say, by kind, namespace and name: as the API server reads them, where their types are Kubernetes' own, without Helm's labels and
// annotations, and the configuration with its defaults.
func substance(t *testing.T, all []*unstructured.Unstructured) map[string]any {
	t.Helper()
	says := map[string]any{}
	for _, o := range all {
		text, err := kyaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		typed, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
		var is any = typed
		if err != nil { // a definition
			is = o.Object["spec"]
		}
		switch typed := typed.(type) {
		case *corev1.ConfigMap:
			is = configuration(t, o)
		case *appsv1.Deployment:
			pod := &typed.Spec.Template
			pod.Labels = withoutHelm(pod.Labels)
			delete(pod.Annotations, "fairlead.dev/configuration")
			if len(pod.Annotations) == 0 {
				pod.Annotations = nil
			}
			if pod.Spec.Containers[0].ImagePullPolicy == corev1.PullIfNotPresent { // what it is by default, of a tag
				pod.Spec.Containers[0].ImagePullPolicy = ""
			}
			typed.Labels = withoutHelm(typed.Labels)
		case interface {
			GetLabels() map[string]string
			SetLabels(map[string]string)
		}:
			typed.SetLabels(withoutHelm(typed.GetLabels()))
		}
		key := strings.Join([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, " ")
		if says[key] != nil {
			t.Errorf("there are two of %s", key)
		}
		says[key] = is
	}
	return says
}

func withoutHelm(labels map[string]string) map[string]string {
	for _, label := range []string{"app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"} {
		delete(labels, label)
	}
	return labels
}

// configuration is the one in a ConfigMap, which has to be valid.
func configuration(t *testing.T, o *unstructured.Unstructured) *config.SchedulerConfiguration {
	t.Helper()
	text, _, err := unstructured.NestedString(o.Object, "data", "config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("config.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if errs := c.Validate(); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
	return c
}
