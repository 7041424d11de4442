package e2e

import (
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/kube/scheduler"
	"fairlead.dev/fairlead/kube/testbed"
)

// plugged has the bed serve the pod groups of the coscheduling plugin, as its installation does, and returns a client of those of the test.
func (c *cluster) plugged() dynamic.ResourceInterface {
	c.t.Helper()
	spec := map[string]any{"type": "object", "properties": map[string]any{"minMember": map[string]any{"type": "integer", "format": "int32"}}}
	return c.extend(scheduler.CoschedulingGroups(), "PodGroup", "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50", spec)
}

// extend has the bed serve a type that is no part of Kubernetes, with such a spec, and returns a client of the objects of the test.
func (c *cluster) extend(of schema.GroupVersionResource, kind, approved string, spec map[string]any) dynamic.ResourceInterface {
	c.t.Helper()
	client, err := dynamic.NewForConfig(c.bed.Config(testbed.Admin))
	c.must(err)
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": of.GroupResource().String(), "annotations": map[string]any{"api-approved.kubernetes.io": approved}},
		"spec": map[string]any{
			"group": of.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": of.Resource, "singular": strings.ToLower(kind), "kind": kind, "listKind": kind + "List"},
			"versions": []any{map[string]any{
				"name": of.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}},
			}},
		},
	}}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err = client.Resource(definitions).Create(c.t.Context(), definition, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		c.must(err)
	}
	objects := client.Resource(of).Namespace(c.namespace)
	c.await(30*time.Second, func() string {
		if _, err := objects.List(c.t.Context(), metav1.ListOptions{}); err != nil {
			return "that " + of.GroupResource().String() + " are served: " + err.Error()
		}
		return ""
	})
	return objects
}

// Pods whose label names a pod group of the coscheduling plugin are placed together or not at all, as many as it says; who comes before the group waits for it.
func TestCoschedulingGroupIsPlacedTogether(t *testing.T) {
	c := bare(t)
	groups := c.plugged()
	c.start(settings{})
	c.addNodes(2, "n", "4")
	named := func(p *v1.Pod) { p.Labels = map[string]string{"scheduling.x-k8s.io/pod-group": "gang"} }
	c.create(several(2, "gang", named, cpu("3"))...)
	c.expect("gang-0", held, regexp.MustCompile(`^0/2 nodes are available: its pod group gang of scheduling.x-k8s.io is not there\.$`))
	_, err := groups.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": scheduler.CoschedulingGroups().GroupVersion().String(), "kind": "PodGroup",
		"metadata": map[string]any{"name": "gang"}, "spec": map[string]any{"minMember": int64(3)},
	}}, metav1.CreateOptions{})
	c.must(err)
	c.create(newPod("gang-late", named, cpu("4")))
	if why := c.awaitRefused("gang-late"); !strings.Contains(why, "Fairlead: a gang of 3: 2 of its 3 waiting tasks would fit now") {
		t.Errorf("the last of the gang waits, as %s", why)
	}
	c.awaitBound(time.Second, 0)
	c.addNodes(1, "m", "4")
	c.awaitBound(20*time.Second, 3)
	c.checkRoom()
}
