package testbed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// This file has a bed serve the objects that Fairlead brings to Kubernetes, by the definitions and roles of users that it is shipped with.

// definitionsFolder has them, in the module's folder.
const (
	definitionsFolder = "deploy/api"
	rolesOfUsers      = definitionsFolder + "/roles.yaml"
)

// Define creates the definitions and roles, and waits until the objects are served.
func Define(ctx context.Context, b *Bed) error {
	s, err := findSource(ctx)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(s.module, definitionsFolder, "fairlead.dev_*.yaml"))
	if err == nil && len(files) == 0 {
		err = os.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("test bed: look for definitions in %s: %w", definitionsFolder, err)
	}
	client, err := dynamic.NewForConfig(b.Config(Admin))
	if err != nil {
		return fmt.Errorf("test bed: make a client of definitions: %w", err)
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("test bed: read a definition: %w", err)
		}
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &definition.Object); err != nil {
			return fmt.Errorf("test bed: %s: %w", file, err)
		}
		_, err = definitions.Create(ctx, definition, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("test bed: create the definition of %s: %w", filepath.Base(file), err)
		}
		if err := awaitServed(ctx, definitions, definition.GetName()); err != nil {
			return err
		}
	}
	return grant(ctx, b, rolesOfUsers)
}

// awaitServed waits until the objects of a definition are served.
func awaitServed(ctx context.Context, definitions dynamic.ResourceInterface, name string) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		definition, err := definitions.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions") // none at first, and null
		return slices.ContainsFunc(conditions, func(c any) bool {
			fields, _ := c.(map[string]any)
			return fields["type"] == "Established" && fields["status"] == "True"
		}), nil
	})
	if err != nil {
		return fmt.Errorf("test bed: wait for objects of %s to be served: %w", name, err)
	}
	return nil
}
