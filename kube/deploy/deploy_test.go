// Package deploy_test checks the manifests, which are the rest of this
// directory: that the API server would read them as they are meant, and that
// each right has a reason.
package deploy_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/config"
)

// document is one YAML document of a manifest.
type document struct {
	file string
	text string
}

func documents(t *testing.T) []document {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return file == "kustomization.yaml" }) // which is no object of the cluster
	if len(files) < 2 {
		t.Fatalf("found only %q", files)
	}
	var all []document
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\n---\n") {
			all = append(all, document{file, part})
		}
	}
	return all
}

// decode reads a document strictly into the type of its kind.
func decode(t *testing.T, d document) any {
	t.Helper()
	var meta metav1.TypeMeta
	if err := kyaml.Unmarshal([]byte(d.text), &meta); err != nil {
		t.Fatalf("%s: %v", d.file, err)
	}
	var object any
	switch meta.APIVersion + " " + meta.Kind {
	case "v1 ServiceAccount":
		object = &corev1.ServiceAccount{}
	case "v1 ConfigMap":
		object = &corev1.ConfigMap{}
	case "apps/v1 Deployment":
		object = &appsv1.Deployment{}
	case "policy/v1 PodDisruptionBudget":
		object = &policyv1.PodDisruptionBudget{}
	case "rbac.authorization.k8s.io/v1 ClusterRole":
		object = &rbacv1.ClusterRole{}
	case "rbac.authorization.k8s.io/v1 Role":
		object = &rbacv1.Role{}
	case "rbac.authorization.k8s.io/v1 ClusterRoleBinding":
		object = &rbacv1.ClusterRoleBinding{}
	case "rbac.authorization.k8s.io/v1 RoleBinding":
		object = &rbacv1.RoleBinding{}
	default:
		t.Fatalf("%s: unknown kind %s %s", d.file, meta.APIVersion, meta.Kind)
	}
	if err := kyaml.UnmarshalStrict([]byte(d.text), object); err != nil {
		t.Errorf("%s: %s: %v", d.file, meta.Kind, err)
	}
	return object
}

// every returns all objects of a type.
func every[T any](t *testing.T) []*T {
	t.Helper()
	var all []*T
	for _, d := range documents(t) {
		if object, ok := decode(t, d).(*T); ok {
			all = append(all, object)
		}
	}
	if len(all) == 0 {
		t.Fatalf("found no %T", *new(T))
	}
	return all
}

// TestRulesHaveReasons: a rule without a sentence above it is a right that
// nobody can take away again, because nobody knows what it is for. The verbs
// that change something are named in it.
func TestRulesHaveReasons(t *testing.T) {
	rules := 0
	for _, d := range documents(t) {
		var root yaml.Node
		if err := yaml.Unmarshal([]byte(d.text), &root); err != nil {
			t.Fatal(err)
		}
		object := root.Content[0]
		for i := 0; i+1 < len(object.Content); i += 2 {
			if object.Content[i].Value != "rules" {
				continue
			}
			for _, rule := range object.Content[i+1].Content {
				rules++
				checkReason(t, d.file, rule)
			}
		}
	}
	if rules < 15 {
		t.Errorf("checked %d rules, expected more", rules)
	}
}

func checkReason(t *testing.T, file string, node *yaml.Node) {
	t.Helper()
	var rule rbacv1.PolicyRule
	text, err := yaml.Marshal(node)
	if err != nil {
		t.Fatal(err)
	}
	if err := kyaml.Unmarshal(text, &rule); err != nil {
		t.Fatal(err)
	}
	reason := node.HeadComment
	if len(node.Content) > 0 && reason == "" {
		reason = node.Content[0].HeadComment
	}
	if len(reason) < 20 {
		t.Errorf("%s:%d: the rule for %q has no reason above it", file, node.Line, rule.Resources)
	}
	for _, verb := range rule.Verbs {
		reads := verb == "get" || verb == "list" || verb == "watch"
		if !reads && !strings.Contains(reason, verb) {
			t.Errorf("%s:%d: the reason for %q does not say what %s is for: %s", file, node.Line, rule.Resources, verb, reason)
		}
	}
}

// TestRulesAreNarrow: no wildcard, and no right by which more rights can be had.
func TestRulesAreNarrow(t *testing.T) {
	var rules []rbacv1.PolicyRule
	for _, role := range every[rbacv1.ClusterRole](t) {
		rules = append(rules, role.Rules...)
	}
	for _, role := range every[rbacv1.Role](t) {
		rules = append(rules, role.Rules...)
	}
	for _, rule := range rules {
		for _, word := range slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs, rule.ResourceNames) {
			if strings.Contains(word, "*") {
				t.Errorf("the rule for %q has a wildcard", rule.Resources)
			}
			if slices.Contains([]string{"secrets", "impersonate", "escalate", "bind", "pods/exec", "serviceaccounts/token"}, word) {
				t.Errorf("the rule for %q grants %s", rule.Resources, word)
			}
		}
		for i, group := range rule.APIGroups {
			if slices.Index(rule.APIGroups, group) != i {
				t.Errorf("the rule for %q names the group %q twice", rule.Resources, group)
			}
		}
	}
}

// TestBindings: every binding is to our account, and every role of ours is bound.
func TestBindings(t *testing.T) {
	account := every[corev1.ServiceAccount](t)[0]
	bound := map[rbacv1.RoleRef]bool{}
	check := func(name string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		bound[ref] = true
		if len(subjects) != 1 || subjects[0].Kind != "ServiceAccount" || subjects[0].Name != account.Name || subjects[0].Namespace != account.Namespace {
			t.Errorf("%s binds %v, expected the account %s/%s", name, subjects, account.Namespace, account.Name)
		}
	}
	for _, b := range every[rbacv1.ClusterRoleBinding](t) {
		check(b.Name, b.RoleRef, b.Subjects)
	}
	for _, b := range every[rbacv1.RoleBinding](t) {
		check(b.Name, b.RoleRef, b.Subjects)
	}
	for _, role := range every[rbacv1.ClusterRole](t) {
		if !bound[rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}] {
			t.Errorf("nobody has the cluster role %s", role.Name)
		}
	}
	for _, role := range every[rbacv1.Role](t) {
		if !bound[rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}] {
			t.Errorf("nobody has the role %s", role.Name)
		}
	}
}

// TestConfiguration: the configuration in the config map is valid, and its
// lease is the one that the role allows.
func TestConfiguration(t *testing.T) {
	c, err := config.Parse("config.yaml", []byte(every[corev1.ConfigMap](t)[0].Data["config.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	if errs := c.Validate(); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
	role := every[rbacv1.Role](t)[0]
	allowed := slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Equal(rule.ResourceNames, []string{c.LeaderElection.ResourceName}) && slices.Contains(rule.Verbs, "update")
	})
	if !allowed || role.Namespace != c.LeaderElection.ResourceNamespace {
		t.Errorf("the role %s/%s does not allow the lease %s/%s", role.Namespace, role.Name,
			c.LeaderElection.ResourceNamespace, c.LeaderElection.ResourceName)
	}
}

// TestDeployment: what a cluster's owner expects of a critical component.
func TestDeployment(t *testing.T) {
	d := every[appsv1.Deployment](t)[0]
	pod := d.Spec.Template.Spec
	container := pod.Containers[0]
	budget := every[policyv1.PodDisruptionBudget](t)[0]
	for what, holds := range map[string]bool{
		"two replicas":                         *d.Spec.Replicas == 2,
		"a budget that keeps one":              budget.Spec.MinAvailable.IntValue() == 1,
		"a budget for these pods":              metav1.FormatLabelSelector(budget.Spec.Selector) == metav1.FormatLabelSelector(d.Spec.Selector),
		"labels that are selected":             d.Spec.Template.Labels["app.kubernetes.io/name"] == d.Spec.Selector.MatchLabels["app.kubernetes.io/name"],
		"the class system-cluster-critical":    pod.PriorityClassName == "system-cluster-critical",
		"the service account":                  pod.ServiceAccountName == every[corev1.ServiceAccount](t)[0].Name,
		"no root":                              *pod.SecurityContext.RunAsNonRoot && *pod.SecurityContext.RunAsUser != 0,
		"the seccomp profile RuntimeDefault":   pod.SecurityContext.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"a read-only root file system":         *container.SecurityContext.ReadOnlyRootFilesystem,
		"no escalation":                        !*container.SecurityContext.AllowPrivilegeEscalation,
		"no capabilities":                      slices.Equal(container.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}),
		"liveness asked over HTTPS":            container.LivenessProbe.HTTPGet.Scheme == corev1.URISchemeHTTPS,
		"readiness asked over HTTPS":           container.ReadinessProbe.HTTPGet.Scheme == corev1.URISchemeHTTPS,
		"a configuration that is mounted":      pod.Volumes[0].ConfigMap.Name == every[corev1.ConfigMap](t)[0].Name,
		"a scheduler other than itself":        pod.SchedulerName == corev1.DefaultSchedulerName,
		"requests, without which it is no QoS": container.Resources.Requests.Cpu().Sign() > 0,
	} {
		if !holds {
			t.Errorf("the deployment lacks %s", what)
		}
	}
}

// A recording has a volume that is writable and has room for all the files that are kept, and what the
// scheduler asks for is more memory than an empty cluster needs.
func TestRecordingHasRoom(t *testing.T) {
	text, err := os.ReadFile("replace/kube-scheduler.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var static corev1.Pod
	if err := kyaml.UnmarshalStrict(text, &static); err != nil {
		t.Fatal(err)
	}
	for name, pod := range map[string]corev1.PodSpec{"the deployment": every[appsv1.Deployment](t)[0].Spec.Template.Spec, "the static pod": static.Spec} {
		t.Run(name, func(t *testing.T) { checkRecording(t, &pod) })
	}
}

func checkRecording(t *testing.T, pod *corev1.PodSpec) {
	t.Helper()
	container := pod.Containers[0]
	const path = "/var/lib/fairlead/recording" // as docs/kubernetes.md has it
	at := slices.IndexFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return strings.HasPrefix(path, m.MountPath+"/") && !m.ReadOnly })
	if at < 0 {
		t.Fatalf("no volume is mounted for %s", path)
	}
	v := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == container.VolumeMounts[at].Name })
	record := config.Default().Record
	if v < 0 || pod.Volumes[v].EmptyDir == nil || pod.Volumes[v].EmptyDir.SizeLimit.Value() < record.MaxFileBytes*int64(record.MaxFiles+1) {
		t.Errorf("the volume for recordings is too small for %d files and the next, of %d bytes each", record.MaxFiles, record.MaxFileBytes)
	}
	if asked := container.Resources.Requests.Memory().Value(); asked < 512<<20 {
		t.Errorf("%d bytes of memory are asked for, want at least 512 MiB", asked)
	}
}
