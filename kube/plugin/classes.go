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

// marker has the nodes and pods of a list say what only the cluster knows of them.
type marker struct {
	promises   *classes.Promises // nil where they do not count
	standing   *standing
	namespaces map[string]labels.Set
	// unread says that pod groups of Kubernetes are not read, and held counts the pods that are held for that.
	unread bool
	held   int
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

// promised are what the cluster's classes promise, whose table the command is to take; nil where there are none, or the command is told which ones count. The file is to be removed.
func promised(ctx context.Context, c *cobra.Command, client dynamic.Interface) (p *classes.Promises, file string, err error) {
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
	p, _ = classes.Read(all)
	to, err := os.CreateTemp("", "fairlead-classes-*.yaml")
	if err != nil {
		return nil, "", err
	}
	_, err = to.Write(p.Alone().Encode())
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = c.Flags().Set("classes", to.Name())
	}
	return p, to.Name(), err
}

func newMarker(promises *classes.Promises, constraints *standing) *marker {
	return &marker{promises: promises, standing: constraints, namespaces: map[string]labels.Set{}}
}

// heldGate is the gate that a pod of the list stands behind which the scheduler holds for the class that it names.
const heldGate = "fairlead.dev/class"

// mark marks a node or a pod. Namespaces come before pods.
func (m *marker) mark(o *unstructured.Unstructured) {
	switch o.GetKind() {
	case "Node":
		m.standing.markNode(o)
	case "Namespace":
		m.namespaces[o.GetName()] = o.GetLabels()
		if o.GetLabels() == nil {
			m.namespaces[o.GetName()] = labels.Set{}
		}
	case "Pod":
		m.standing.markPod(o, m.namespaces)
		m.markClass(o)
		if m.unread && holdGrouped(o) {
			m.held++
		}
	}
}

// markClass has a pod name its class, and stand behind a gate if it is held for the one that it names.
func (m *marker) markClass(o *unstructured.Unstructured) {
	if m.promises != nil {
		set := o.GetLabels()
		name, labelled := set[classes.Label]
		priority, _, _ := unstructured.NestedInt64(o.Object, "spec", "priority") // 0 where nothing is said
		class, held := m.promises.Of(classes.Pod{Name: name, Labelled: labelled, Priority: int32(priority), Namespace: m.namespaces[o.GetNamespace()]})
		if set == nil {
			set = map[string]string{}
		}
		set[classes.Label] = m.promises.Classes[class].Name
		o.SetLabels(set)
		if held != nil {
			holdBack(o, heldGate)
		}
	}
}

// holdBack has a pod stand behind a gate, unless it has a node, and reports whether it does.
func holdBack(o *unstructured.Unstructured, gate string) bool {
	if node, _, _ := unstructured.NestedString(o.Object, "spec", "nodeName"); node != "" {
		return false
	}
	gates, _, _ := unstructured.NestedSlice(o.Object, "spec", "schedulingGates")
	_ = unstructured.SetNestedSlice(o.Object, append(gates, map[string]any{"name": gate}), "spec", "schedulingGates") // a pod has a spec
	return true
}
