package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file gives our scheduler exactly the roles that it is shipped with, so
// that a missing one fails a test.

// grantRoles creates the roles of deploy/rbac.yaml and binds them to the user
// Fairlead, who stands for the service account.
func grantRoles(bed *testbed.Bed) error {
	file, err := os.Open("../deploy/rbac.yaml")
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // Only read.
	for documents := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		var role rbacv1.ClusterRole // A Role has the same fields.
		if err := documents.Decode(&role); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read rbac.yaml: %w", err)
		}
		if err := grantRole(bed, &role); err != nil {
			return fmt.Errorf("grant %s: %w", role.Name, err)
		}
	}
}

func grantRole(bed *testbed.Bed, role *rbacv1.ClusterRole) error {
	ctx := context.Background()
	client, err := bed.Client(testbed.Admin)
	if err != nil {
		return err
	}
	switch role.Kind {
	case "ClusterRole":
		if _, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
			return err
		}
		return bed.Grant(ctx, testbed.Fairlead, role.Name)
	case "Role":
		local := &rbacv1.Role{ObjectMeta: role.ObjectMeta, Rules: role.Rules}
		if _, err := client.RbacV1().Roles(role.Namespace).Create(ctx, local, metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err = client.RbacV1().RoleBindings(role.Namespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "fairlead-scheduler"}},
		}, metav1.CreateOptions{})
		return err
	default:
		return nil // bindings, to an account that does not run here
	}
}
