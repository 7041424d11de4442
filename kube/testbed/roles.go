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

// The manifests of these roles, in the module's folder: for a user of its own, and for kube-scheduler's user, who has those that Kubernetes gives it as well.
const (
	shippedRoles   = "deploy/rbac.yaml"
	rolesInsteadOf = "deploy/replace/rbac.yaml"
	rolesOfShadow  = "deploy/shadow/rbac.yaml"
)

// GrantRoles creates all that deploy/rbac.yaml says.
func GrantRoles(ctx context.Context, b *Bed) error { return grant(ctx, b, shippedRoles) }

// GrantRolesInPlaceOfKubeScheduler creates all that deploy/replace/rbac.yaml says, after GrantRoles.
func GrantRolesInPlaceOfKubeScheduler(ctx context.Context, b *Bed) error {
	return grant(ctx, b, rolesInsteadOf)
}

// GrantRolesOfShadow creates all that deploy/shadow/rbac.yaml says, which is bound to the user Shadow.
func GrantRolesOfShadow(ctx context.Context, b *Bed) error { return grant(ctx, b, rolesOfShadow) }

// grant creates all that a manifest says.
func grant(ctx context.Context, b *Bed, manifest string) error {
	s, err := findSource(ctx)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(s.module, manifest))
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
			return fmt.Errorf("test bed: %s: %w", manifest, err)
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
