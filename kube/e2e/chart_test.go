package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file shows the chart and the manifests to a real API server. What it makes of pods is kubeletchart_test.go.

const (
	chartFolder = "../deploy/chart"
	release     = "fairlead"
	systems     = "fairlead-system" // the namespace of the release
)

// TestManifestsAreStrict: the API server takes all that we ship, with any of the values that are tried, and knows every field of it.
func TestManifestsAreStrict(t *testing.T) {
	helm := testbed.HelmForTest(t, chartFolder)
	bed := ownBed(t)
	c := newCluster(t, bed)
	c.must(testbed.DefinePrometheus(t.Context(), bed))
	c.must(testbed.Kubectl(t.Context(), bed, "", "create", "namespace", systems))
	strict := func(input string, args ...string) {
		t.Helper()
		// Into which namespace each goes is said by itself.
		if err := testbed.Kubectl(t.Context(), bed, input, append([]string{"apply", "--dry-run=server", "--validate=strict"}, args...)...); err != nil {
			t.Error(err)
		}
	}
	values, err := filepath.Glob("../deploy/testdata/chart/*.values.yaml")
	c.must(err)
	for _, file := range append(values, "") {
		args := []string{"template", release, chartFolder, "--namespace", systems}
		if file != "" {
			args = append(args, "--values", file)
		}
		out, err := helm.Command(t.Context(), args...).Output()
		if err != nil || len(out) < 5_000 {
			t.Fatalf("helm template --values %q: %v, %d bytes", file, err, len(out))
		}
		strict(string(out), "-f", "-")
	}
	strict("", "-k", "../deploy")
	strict("", "-f", "../deploy/rbac.yaml", "-f", "../deploy/deployment.yaml", "-f", "../deploy/api/")
	strict("", "-f", "../deploy/rbac.yaml", "-f", "../deploy/replace/rbac.yaml", "-f", "../deploy/replace/kube-scheduler.yaml")

	// And it would say so otherwise.
	wrong := strings.Replace(readFile(t, "../deploy/deployment.yaml"), "replicas: 2", "replica: 2", 1)
	if err := testbed.Kubectl(t.Context(), bed, wrong, "apply", "--dry-run=server", "--validate=strict", "-f", "-"); err == nil || !strings.Contains(err.Error(), `unknown field "spec.replica"`) {
		t.Errorf("the API server took a field that there is not: %v", err)
	}
}

// TestChartLives is one story of a release: installed as it was before a definition had a field, upgraded, taken away and installed again. Classes outlive all of that,
// until the definitions are told to go.
func TestChartLives(t *testing.T) {
	c := newCluster(t, testbed.ForTest(t, testbed.Options{Tmpfs: true})) // without the roles that other tests have
	helm := c.helm()
	client, err := dynamic.NewForConfig(c.bed.Config(testbed.Admin))
	c.must(err)
	classes := client.Resource(schema.GroupVersionResource{Group: "fairlead.dev", Version: "v1alpha1", Resource: "serviceclasses"})

	before := chartBefore(t, "fairlead.dev_serviceclasses.yaml", "urgency")
	helm("install", release, before, "--create-namespace")
	c.must(testbed.Kubectl(t.Context(), c.bed, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=1m"))
	c.must(testbed.Kubectl(t.Context(), c.bed, goldClass(""), "create", "-f", "-"))
	if err := testbed.Kubectl(t.Context(), c.bed, goldClass("urgency: Premium"), "apply", "--validate=strict", "-f", "-"); err == nil {
		t.Fatal("the definition of before has the field urgency already")
	}

	helm("upgrade", release, chartFolder, "--set", "replicas=3")
	if got := *c.deployment().Spec.Replicas; got != 3 {
		t.Errorf("%d replicas after the upgrade, want 3", got)
	}
	c.must(testbed.Kubectl(t.Context(), c.bed, goldClass("urgency: Premium"), "apply", "--validate=strict", "-f", "-"))

	helm("uninstall", release)
	if _, err := c.client.AppsV1().Deployments(systems).Get(t.Context(), "fairlead-scheduler", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the deployment is there after helm uninstall: %v", err)
	}
	for _, role := range []string{"fairlead-scheduler", "fairlead-view", "fairlead-operator"} {
		if _, err := c.client.RbacV1().ClusterRoles().Get(t.Context(), role, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the role %s is there after helm uninstall: %v", role, err)
		}
	}
	gold, err := classes.Get(t.Context(), "gold", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("the class did not outlive helm uninstall: %v", err)
	}

	helm("install", release, chartFolder, "--set", "definitions.keep=false")
	again, err := classes.Get(t.Context(), "gold", metav1.GetOptions{})
	if err != nil || again.GetUID() != gold.GetUID() {
		t.Errorf("the class is another one after helm install: %v", err)
	}
	helm("uninstall", release)
	c.await(time.Minute, func() string {
		if _, err := classes.Get(t.Context(), "gold", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("the end of the definitions: %v", err)
		}
		return ""
	})
}

// helm runs a command of Helm's on the cluster, in the namespace of the release.
func (c *cluster) helm() func(args ...string) {
	c.t.Helper()
	helm := testbed.HelmForTest(c.t, chartFolder)
	return func(args ...string) {
		c.t.Helper()
		all := append(args, "--namespace", systems, "--kubeconfig", c.bed.Kubeconfig(testbed.Admin))
		if out, err := helm.Command(c.t.Context(), all...).CombinedOutput(); err != nil {
			c.t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// deployment is that of the release.
func (c *cluster) deployment() *appsv1.Deployment {
	c.t.Helper()
	d, err := c.client.AppsV1().Deployments(systems).Get(c.t.Context(), "fairlead-scheduler", metav1.GetOptions{})
	c.must(err)
	return d
}

// chartBefore is the chart as it was before a definition had a field of its spec.
func chartBefore(t *testing.T, definition, field string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(chartFolder)); err != nil {
		t.Fatal(err)
	}
	// The links are to what is beside the chart.
	for _, link := range []string{"api", "shadow", "plugin", "rbac.yaml"} {
		if err := os.Remove(filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"api", "shadow", "plugin"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS("../deploy/"+folder)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "rbac.yaml"), []byte(readFile(t, "../deploy/rbac.yaml")), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "api", definition)
	var d map[string]any
	if err := yaml.Unmarshal([]byte(readFile(t, path)), &d); err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(d, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	at := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", field}
	version := versions[0].(map[string]any)
	if _, has, err := unstructured.NestedMap(version, at...); err != nil || !has {
		t.Fatalf("%s has no field %s: %v", definition, field, err)
	}
	unstructured.RemoveNestedField(version, at...)
	if err := unstructured.SetNestedSlice(d, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// goldClass is a class, with one more field.
func goldClass(more string) string {
	return fmt.Sprintf(`apiVersion: fairlead.dev/v1alpha1
kind: ServiceClass
metadata: {name: gold}
spec:
  importance: 1
  %s
`, more)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
