package deploy_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"fairlead.dev/fairlead/kube/config"
)

// shadowObjects are all that is shipped for a shadow, by their documents.
func shadowObjects(t *testing.T) map[document]any {
	t.Helper()
	objects := map[document]any{}
	for _, file := range []string{"shadow/rbac.yaml", "shadow/deployment.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\n---\n") {
			d := document{file, part}
			objects[d] = decode(t, d)
		}
	}
	return objects
}

// A shadow may read, and write its lease; the reviews that it creates are questions. Each of its rules has a reason.
func TestShadowMayWriteNothing(t *testing.T) {
	rules := 0
	for d, object := range shadowObjects(t) {
		var of []rbacv1.PolicyRule
		switch role := object.(type) {
		case *rbacv1.ClusterRole:
			of = role.Rules
		case *rbacv1.Role:
			of = role.Rules
		case *rbacv1.ClusterRoleBinding:
			expectShadow(t, role.Name, role.Subjects)
		case *rbacv1.RoleBinding:
			expectShadow(t, role.Name, role.Subjects)
		}
		rules += len(of)
		for _, rule := range of {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if !mayShadow(verb, resource, rule.ResourceNames) {
						t.Errorf("a shadow may %s %s %v", verb, resource, rule.ResourceNames)
					}
				}
			}
			if len(rule.NonResourceURLs) > 0 && !slices.Equal(rule.Verbs, []string{"get"}) {
				t.Errorf("%v may be %v", rule.NonResourceURLs, rule.Verbs)
			}
		}
		var root yaml.Node
		if err := yaml.Unmarshal([]byte(d.text), &root); err != nil {
			t.Fatal(err)
		}
		for i, key := range root.Content[0].Content {
			if key.Value == "rules" {
				for _, rule := range root.Content[0].Content[i+1].Content {
					checkReason(t, d.file, rule)
				}
			}
		}
	}
	if rules < 10 {
		t.Errorf("checked %d rules, expected more", rules)
	}
}

func mayShadow(verb, resource string, names []string) bool {
	switch {
	case slices.Contains([]string{"get", "list", "watch"}, verb):
		return resource != "secrets" && resource != "*"
	case verb == "create":
		return slices.Contains([]string{"leases", "tokenreviews", "subjectaccessreviews"}, resource)
	}
	return verb == "update" && resource == "leases" && slices.Equal(names, []string{config.ShadowLease})
}

func expectShadow(t *testing.T, name string, subjects []rbacv1.Subject) {
	t.Helper()
	if len(subjects) != 1 || subjects[0].Kind != "ServiceAccount" || subjects[0].Name != "fairlead-shadow" || subjects[0].Namespace != "kube-system" {
		t.Errorf("%s binds %v", name, subjects)
	}
}

// What a shadow reads is what a scheduler reads: where it saw less, it would decide otherwise for that alone.
func TestShadowReadsAll(t *testing.T) {
	reads := func(role *rbacv1.ClusterRole) map[string]bool {
		all := map[string]bool{}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					if slices.Contains(rule.Verbs, "watch") {
						all[group+"/"+resource] = true
					}
				}
			}
		}
		return all
	}
	var of map[string]bool
	for _, object := range shadowObjects(t) {
		if role, is := object.(*rbacv1.ClusterRole); is && role.Name == "fairlead-shadow" {
			of = reads(role)
		}
	}
	for resource := range reads(every[rbacv1.ClusterRole](t)[0]) {
		if !of[resource] {
			t.Errorf("a shadow does not read %s", resource)
		}
	}
}

// The configuration is a shadow's, under the lease that its role allows, and the deployment runs it as its account.
func TestShadowIsDeployed(t *testing.T) {
	for _, object := range shadowObjects(t) {
		switch o := object.(type) {
		case *corev1.ConfigMap:
			c, err := config.Parse("config.yaml", []byte(o.Data["config.yaml"]))
			if err != nil {
				t.Fatal(err)
			}
			if errs := c.Validate(); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
			if !c.Shadow() || c.LeaderElection.ResourceName != config.ShadowLease || c.LeaderElection.ResourceNamespace != "kube-system" || c.Profiles[0].SchedulerName != corev1.DefaultSchedulerName {
				t.Errorf("a shadow: %t, lease %s, of %s", c.Shadow(), c.LeaderElection.ResourceName, c.Profiles[0].SchedulerName)
			}
		case *appsv1.Deployment:
			pod := o.Spec.Template.Spec
			container := pod.Containers[0]
			if pod.ServiceAccountName != "fairlead-shadow" || pod.PriorityClassName != "" || pod.SchedulerName != corev1.DefaultSchedulerName || !*pod.SecurityContext.RunAsNonRoot ||
				!*container.SecurityContext.ReadOnlyRootFilesystem || *container.SecurityContext.AllowPrivilegeEscalation || pod.Volumes[0].ConfigMap.Name != "fairlead-shadow" {
				t.Errorf("the deployment is not what it should be: %+v", pod)
			}
			checkRecording(t, &pod)
		}
	}
}
