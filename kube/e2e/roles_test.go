package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file gives our scheduler exactly the roles that it is shipped with, so
// that a missing one fails a test. The bed's user Fairlead is the service
// account that they are bound to.

// grantRoles creates what deploy/rbac.yaml says.
func grantRoles(bed *testbed.Bed) error {
	text, err := os.ReadFile("../deploy/rbac.yaml")
	if err != nil {
		return err
	}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err == nil {
			err = grant(bed, object)
		}
		if err != nil {
			return fmt.Errorf("deploy/rbac.yaml: %w", err)
		}
	}
	return nil
}

func grant(bed *testbed.Bed, object any) error {
	client, err := bed.Client(testbed.Admin)
	if err != nil {
		return err
	}
	ctx, o := context.Background(), metav1.CreateOptions{}
	switch object := object.(type) {
	case *v1.ServiceAccount:
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
