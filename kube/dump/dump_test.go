package dump

import (
	"os"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	kyaml "sigs.k8s.io/yaml"
)

// The role that is shipped for who asks about the whole cluster lets him list all that is listed.
func TestRoleLists(t *testing.T) {
	text, err := os.ReadFile("../deploy/plugin/roles.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role := rbacv1.ClusterRole{}
	if err := kyaml.UnmarshalStrict(text, &role); err != nil {
		t.Fatal(err)
	}
	for _, r := range resources() {
		if !slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.APIGroups, r.Group) && slices.Contains(rule.Resources, r.Resource) && slices.Contains(rule.Verbs, "list")
		}) {
			t.Errorf("the role %s may not list %s of %q", role.Name, r.Resource, r.Group)
		}
	}
	for _, rule := range role.Rules {
		if !slices.Equal(rule.Verbs, []string{"get", "list"}) || slices.Contains(rule.Resources, "secrets") {
			t.Errorf("the role only reads, and no secrets: %+v", rule)
		}
	}
}
