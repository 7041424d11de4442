// Package dump writes a cluster as kubectl get -o json would print it: all objects by which it is decided where pods may go,
// page by page, so that a large cluster is never in memory as a whole. It only reads.
package dump

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// resource is what is listed.
type resource struct {
	schema.GroupVersionResource

	required bool // without it there is no cluster
	rare     bool // not every cluster has it, and who has none misses nothing
}

// resources are those by which it is decided where pods may go, nodes first.
func resources() []resource {
	of := func(group, name string, required bool) resource {
		return resource{schema.GroupVersionResource{Group: group, Version: "v1", Resource: name}, required, false}
	}
	groups := func(group, version string) resource {
		return resource{schema.GroupVersionResource{Group: group, Version: version, Resource: "podgroups"}, false, true}
	}
	return []resource{
		of("", "nodes", true),
		of("", "namespaces", false),
		of("", "persistentvolumes", false),
		of("", "persistentvolumeclaims", false),
		of("", "services", false),
		of("storage.k8s.io", "storageclasses", false),
		of("storage.k8s.io", "csinodes", false),
		of("storage.k8s.io", "csidrivers", false),
		of("storage.k8s.io", "csistoragecapacities", false),
		of("scheduling.k8s.io", "priorityclasses", false),
		of("policy", "poddisruptionbudgets", false),
		of("apps", "deployments", false),
		of("apps", "replicasets", false),
		of("apps", "statefulsets", false),
		of("apps", "daemonsets", false),
		of("batch", "jobs", false),
		groups("scheduling.k8s.io", "v1beta1"),
		groups("scheduling.x-k8s.io", "v1alpha1"),
		of("", "pods", true),
	}
}

// page is how many objects are asked for at once.
const page = 500

// Unlistable names what the caller may not list of that without which there is no cluster.
func Unlistable(ctx context.Context, client dynamic.Interface) (lacking []string, err error) {
	for _, r := range resources() {
		if !r.required {
			continue
		}
		_, err := client.Resource(r.GroupVersionResource).List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case apierrors.IsForbidden(err) && r.Resource == "pods":
			lacking = append(lacking, "pods of all namespaces")
		case apierrors.IsForbidden(err):
			lacking = append(lacking, r.Resource)
		case err != nil:
			return nil, fmt.Errorf("list %s: %w", r.Resource, err)
		}
	}
	return lacking, nil
}

// Extra is what is written beside what the cluster has; the zero value is nothing.
type Extra struct {
	// Each may change an object before it is written; nodes and namespaces come before pods.
	Each    func(*unstructured.Unstructured)
	Objects []map[string]any // that stand before all others
}

// Write lists the cluster and writes it. The notes say what could not be listed, and was left out.
func Write(ctx context.Context, client dynamic.Interface, to io.Writer, extra Extra) (notes []string, err error) {
	w := &writer{each: extra.Each, to: bufio.NewWriterSize(to, 1<<16), separator: "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n"}
	for _, o := range extra.Objects {
		if err := w.item(o); err != nil {
			return nil, err
		}
	}
	for _, r := range resources() {
		err := w.list(ctx, client, r)
		switch {
		case err == nil, r.rare && apierrors.IsNotFound(err):
		case r.required || ctx.Err() != nil || !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
			return notes, fmt.Errorf("list %s: %w", r.Resource, err)
		default:
			notes = append(notes, fmt.Sprintf("left out %s: %v", r.Resource, err))
		}
	}
	w.write("\n]}\n")
	if w.err == nil {
		w.err = w.to.Flush()
	}
	return notes, w.err
}

// writer writes objects as items of a list.
type writer struct {
	each      func(*unstructured.Unstructured)
	to        *bufio.Writer
	separator string // before the next item
	err       error
}

// list writes all objects of a resource.
func (w *writer) list(ctx context.Context, client dynamic.Interface, r resource) error {
	options := metav1.ListOptions{Limit: page}
	for {
		objects, err := client.Resource(r.GroupVersionResource).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range objects.Items {
			o := &objects.Items[i]
			o.SetManagedFields(nil) // which are as large as all else
			if w.each != nil {
				w.each(o)
			}
			if err := w.item(o.Object); err != nil {
				return err
			}
		}
		if w.err != nil {
			return w.err
		}
		if options.Continue = objects.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// item writes an object.
func (w *writer) item(object map[string]any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	w.write(w.separator)
	w.write(string(text))
	w.separator = ",\n"
	return nil
}

func (w *writer) write(text string) {
	if w.err == nil {
		_, w.err = w.to.WriteString(text)
	}
}
