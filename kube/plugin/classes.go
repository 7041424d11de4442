package plugin

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/classes"
)

// This file has what the ServiceClasses of the cluster promise count in what is worked out of its list: their table is the one of --classes, and
// each pod of the list names the class that it has, by its label, its priority and its namespace, as the scheduler has it.

// marker marks the pods of a list.
type marker struct {
	promises   *classes.Promises
	namespaces map[string]labels.Set
}

// readClasses reads all classes; none where there are none, or the caller may not read them, of which the note is.
func readClasses(ctx context.Context, client dynamic.Interface) (all []*v1alpha1.ServiceClass, note string, err error) {
	list, err := client.Resource(v1alpha1.GroupVersion.WithResource("serviceclasses")).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("left out serviceclasses: %v", err), nil
	case apierrors.IsNotFound(err): // the configuration says what is promised
		return nil, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("list serviceclasses: %w", err)
	}
	for i := range list.Items {
		class := &v1alpha1.ServiceClass{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, class); err != nil {
			return nil, "", fmt.Errorf("the ServiceClass %s: %w", list.Items[i].GetName(), err)
		}
		all = append(all, class)
	}
	return all, "", nil
}

// promised makes a marker of the cluster's classes, and has the command take their table; nil where there are none, or the command is told which ones count. The file is to be removed.
func promised(ctx context.Context, c *cobra.Command, client dynamic.Interface) (m *marker, file string, err error) {
	if flag := c.Flags().Lookup("classes"); flag == nil || flag.Changed {
		return nil, "", nil
	}
	all, note, err := readClasses(ctx, client)
	if note != "" {
		fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", program, note)
	}
	if err != nil || len(all) == 0 {
		return nil, "", err
	}
	m = newMarker(all)
	to, err := os.CreateTemp("", "fairlead-classes-*.yaml")
	if err != nil {
		return nil, "", err
	}
	_, err = to.Write(m.promises.Alone().Encode())
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = c.Flags().Set("classes", to.Name())
	}
	return m, to.Name(), err
}

func newMarker(all []*v1alpha1.ServiceClass) *marker {
	promises, _ := classes.Read(all)
	return &marker{promises, map[string]labels.Set{}}
}

// heldGate is the gate that a pod of the list stands behind which the scheduler holds for the class that it names.
const heldGate = "fairlead.dev/class"

// mark has a pod name its class. Namespaces come before pods.
func (m *marker) mark(o *unstructured.Unstructured) {
	switch o.GetKind() {
	case "Namespace":
		m.namespaces[o.GetName()] = o.GetLabels()
		if o.GetLabels() == nil {
			m.namespaces[o.GetName()] = labels.Set{}
		}
	case "Pod":
		set := o.GetLabels()
		name, labelled := set[classes.Label]
		priority, _, _ := unstructured.NestedInt64(o.Object, "spec", "priority") // 0 where nothing is said
		class, held := m.promises.Of(classes.Pod{Name: name, Labelled: labelled, Priority: int32(priority), Namespace: m.namespaces[o.GetNamespace()]})
		if set == nil {
			set = map[string]string{}
		}
		set[classes.Label] = m.promises.Classes[class].Name
		o.SetLabels(set)
		if node, _, _ := unstructured.NestedString(o.Object, "spec", "nodeName"); held == nil || node != "" {
			return
		}
		gates, _, _ := unstructured.NestedSlice(o.Object, "spec", "schedulingGates")
		_ = unstructured.SetNestedSlice(o.Object, append(gates, map[string]any{"name": heldGate}), "spec", "schedulingGates") // a pod has a spec
	}
}
