package testbed

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
)

// This file gives our scheduler exactly the roles that it is shipped with, so that a missing one shows. The user Fairlead is the
// service account that they are bound to.

// shippedRoles is the manifest of these roles, in the module's folder.
const shippedRoles = "deploy/rbac.yaml"

// GrantRoles creates all that deploy/rbac.yaml says.
func GrantRoles(ctx context.Context, b *Bed) error {
	s, err := findSource(ctx)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(s.module, shippedRoles))
	if err != nil {
		return fmt.Errorf("test bed: read the roles that are shipped: %w", err)
	}
	client, err := b.Client(Admin)
	if err != nil {
		return err
	}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err == nil {
			err = createRole(ctx, client, object)
		}
		if err != nil {
			return fmt.Errorf("test bed: %s: %w", shippedRoles, err)
		}
	}
	return nil
}

// createRole creates one object of the manifest.
func createRole(ctx context.Context, client kubernetes.Interface, object any) (err error) {
	o := metav1.CreateOptions{}
	switch object := object.(type) {
	case *corev1.ServiceAccount:
		_, err = client.CoreV1().ServiceAccounts(object.Namespace).Create(ctx, object, o)
	case *rbacv1.ClusterRole:
		_, err = client.RbacV1().ClusterRoles().Create(ctx, object, o)
	case *rbacv1.ClusterRoleBinding:
		_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, object, o)
	case *rbacv1.Role:
		_, err = client.RbacV1().Roles(object.Namespace).Create(ctx, object, o)
	case *rbacv1.RoleBinding:
		_, err = client.RbacV1().RoleBindings(object.Namespace).Create(ctx, object, o)
	default:
		err = fmt.Errorf("what to do with a %T?", object)
	}
	return err
}
