package deploy_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kyaml "sigs.k8s.io/yaml"
)

// Users read what there is, and the operator alone says what is promised; nobody but fairlead-scheduler has a status. Every object that is defined is named in both roles, and the scheduler reads it.
func TestRolesOfUsers(t *testing.T) {
	text, err := os.ReadFile("api/roles.yaml")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]map[string][]string{} // by role and resource, the verbs
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := kyaml.UnmarshalStrict([]byte(part), &role); err != nil {
			t.Fatal(err)
		}
		named[role.Name] = map[string][]string{}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				named[role.Name][resource] = append(named[role.Name][resource], rule.Verbs...)
			}
		}
	}
	reads := []string{"get", "list", "watch"}
	defined := definitions(t)
	for _, d := range defined {
		resource := d.Spec.Names.Plural
		seen := reads
		if resource == "clusterplacementconstraints" || resource == "nodegroups" { // which say what there is in other namespaces, and of nodes
			seen = nil
		}
		if got := named["fairlead-view"][resource]; !slices.Equal(got, seen) {
			t.Errorf("who views may %v %s, want %v", got, resource, seen)
		}
		if got := named["fairlead-tenant"][resource]; slices.Contains(got, "create") != (resource == "placementconstraints") {
			t.Errorf("tenants may %v %s", got, resource)
		}
		_, written := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		if got := named["fairlead-operator"][resource]; slices.Contains(got, "create") != written || slices.Contains(got, "delete") != written {
			t.Errorf("operators may %v %s, which has a spec: %t", got, resource, written)
		}
		scheduler := every[rbacv1.ClusterRole](t)[0]
		if !slices.ContainsFunc(scheduler.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, "list")
		}) {
			t.Errorf("the scheduler does not read %s", resource)
		}
	}
	for role, resources := range named {
		for resource := range resources {
			if !slices.ContainsFunc(defined, func(d apiextensionsv1.CustomResourceDefinition) bool { return d.Spec.Names.Plural == resource }) {
				t.Errorf("the role %s names %s", role, resource)
			}
		}
	}
}

// definitions are those that are shipped.
func definitions(t *testing.T) (all []apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	files, err := filepath.Glob("api/fairlead.dev_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d apiextensionsv1.CustomResourceDefinition
		if err := kyaml.UnmarshalStrict(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, d)
	}
	return all
}
