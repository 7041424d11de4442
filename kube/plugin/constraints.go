package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/file"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/constraints"
)

// This file is constraints check of manifests, against the live cluster: how fairlead-scheduler would read them, what contradicts them there, and which groups and labels in them nobody has. Texts are read as those of the namespace.

// The kinds that are told apart.
const namespaced, nodeGroup = "PlacementConstraint", "NodeGroup"

const checkHelp = `Check reads constraints as fairlead-scheduler would read them, and says in words what they
mean, then what may be a mistake in them, then which cannot hold together, those included that
the cluster has. FILE has manifests of PlacementConstraints, ClusterPlacementConstraints and
NodeGroups, in YAML or JSON, or a text of constraints, one on each line:

  {app=web, {app=cache, 1, inf}, node}: hard      beside each pod with app=web one with app=cache

which are read as PlacementConstraints of the namespace. A label that no pod has, and a group
that no node is in, is a warning; what you may not list is not compared, and said. Nothing is
applied. The exit code is 1 if one would not count, or a hard one cannot hold.

With --cluster or --tags it is 'fairlead constraints check', which knows no Kubernetes.`

// checks has constraints check know the live cluster.
func (a *access) checks(c *cobra.Command) {
	run := c.RunE
	var path string
	c.Use, c.Long = "check -f FILE", checkHelp
	c.Example = `  kubectl fairlead constraints check -f constraints.yaml
  echo '{app=web, {app=web, 0, 0}, node}: hard' | kubectl fairlead constraints check -n shop -f -`
	c.Flags().StringVarP(&path, "filename", "f", "", "`FILE` with manifests or a text of constraints; - is the standard input")
	a.asksForRacks(c)
	c.Args = atMostOne
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 1 && path != "":
			return cli.Usage(c, errors.New("--filename names the file, and so does the word behind the command: leave one out"))
		case len(args) == 0 && path == "":
			return cli.Usage(c, errors.New("want a file: -f FILE"))
		case len(args) == 0:
			args = []string{path}
		}
		if c.Flags().Changed("cluster") || c.Flags().Changed("tags") {
			if err := a.checkRack(c, false); err != nil {
				return err
			}
			return run(c, args)
		}
		if err := errors.Join(checkFormat(c), a.checkRack(c, true)); err != nil {
			return err
		}
		return a.check(c, args[0], c.Flags().Lookup("output").Value.String())
	}
}

// check checks the file, and prints what it finds.
func (a *access) check(c *cobra.Command, path, format string) error {
	namespace, err := a.namespace()
	if err != nil {
		return err
	}
	name, text, err := readFile(c, path)
	if err != nil {
		return err
	}
	k := &check{objects: &constraints.Objects{RackLabel: a.rack}}
	if err := k.take(name, text, namespace); err != nil {
		return err
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	if err := interruptible(func(ctx context.Context) error { return k.know(ctx, client) }); err != nil {
		return err
	}
	for _, note := range k.notes {
		fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", program, note)
	}
	findings := k.find()
	if format == "json" {
		e := json.NewEncoder(c.OutOrStdout())
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(findings)
	} else {
		err = printFindings(c.OutOrStdout(), findings)
	}
	if bad := slices.DeleteFunc(findings, func(f finding) bool { return !f.fails }); err == nil && len(bad) > 0 {
		err = fmt.Errorf("%s: of the constraints %d would not count, or cannot hold", name, len(bad))
	}
	return err
}

// readFile reads a file, and says how errors call it.
func readFile(c *cobra.Command, path string) (name string, text []byte, err error) {
	if path == "-" {
		text, err = io.ReadAll(c.InOrStdin())
		return "standard input", text, err
	}
	text, err = os.ReadFile(path)
	return path, text, err
}

// check is what is checked, and what is known of the cluster.
type check struct {
	objects *constraints.Objects // those of the file, then those of the cluster
	own     []metav1.Object      // those of the file
	kinds   map[metav1.Object]string

	nodes []labels.Set            // nil where the caller may not list them
	pods  map[string][]labels.Set // by namespace, the empty one being all, those that the caller may list
	notes []string
	// noGroups says that the caller may not list the node groups of the cluster.
	noGroups bool
}

// take takes in the objects of a text.
func (k *check) take(name string, text []byte, namespace string) error {
	k.kinds = map[metav1.Object]string{}
	documents := unfold(splitDocuments(text))
	if !slices.ContainsFunc(documents, func(d []byte) bool { return kindIn(d) != "" }) {
		return k.takeText(name, text, namespace)
	}
	for i, d := range documents {
		kind := kindIn(d)
		var object metav1.Object
		switch kind {
		case namespaced:
			o := &v1alpha1.PlacementConstraint{}
			object, k.objects.Namespaced = o, append(k.objects.Namespaced, o)
		case "ClusterPlacementConstraint":
			o := &v1alpha1.ClusterPlacementConstraint{}
			object, k.objects.Cluster = o, append(k.objects.Cluster, o)
		case nodeGroup:
			o := &v1alpha1.NodeGroup{}
			object, k.objects.Groups = o, append(k.objects.Groups, o)
		case "":
			if err := kyaml.Unmarshal(d, &map[string]any{}); err != nil {
				return fmt.Errorf("%s: document %d: %w", name, i+1, err)
			}
			continue
		default:
			k.notes = append(k.notes, fmt.Sprintf("%s: document %d: passed over a %s", name, i+1, kind))
			continue
		}
		if err := kyaml.UnmarshalStrict(d, object); err != nil {
			return fmt.Errorf("%s: document %d: %w", name, i+1, err)
		}
		if object.GetName() == "" {
			return fmt.Errorf("%s: document %d: metadata.name: want a name", name, i+1)
		}
		if kind == namespaced && object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		k.add(kind, object)
	}
	if len(k.own) == 0 {
		return fmt.Errorf("%s: want a PlacementConstraint, ClusterPlacementConstraint or NodeGroup; it has none", name)
	}
	return nil
}

// unfold puts the items of lists, as kubectl prints them, into the place of these.
func unfold(documents [][]byte) (all [][]byte) {
	for _, d := range documents {
		var list struct {
			Kind  string            `json:"kind"`
			Items []json.RawMessage `json:"items"`
		}
		if kyaml.Unmarshal(d, &list) != nil || list.Kind != "List" {
			all = append(all, d)
			continue
		}
		for _, item := range list.Items {
			all = append(all, item)
		}
	}
	return all
}

// takeText takes in constraints as the language has them, as objects of the namespace.
func (k *check) takeText(name string, text []byte, namespace string) error {
	read, err := file.Decode(name, text)
	if err != nil {
		return err
	}
	for i := range read.Constraints {
		o := &v1alpha1.PlacementConstraint{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("line-%d", read.Lines[i])}}
		o.Spec.Constraint.Text = constraint.Format(&read.Constraints[i])
		k.objects.Namespaced = append(k.objects.Namespaced, o)
		k.add(namespaced, o)
	}
	return nil
}

// add adds an object of the file, as if it were made now: those of the cluster are older.
func (k *check) add(kind string, object metav1.Object) {
	object.SetCreationTimestamp(metav1.Now())
	k.own = append(k.own, object)
	k.kinds[object] = kind
}

// splitDocuments takes the documents of YAML apart.
func splitDocuments(text []byte) [][]byte {
	return bytes.Split(append([]byte("\n"), text...), []byte("\n---"))
}

// kindIn is the kind of an object; empty if the text is none.
func kindIn(text []byte) string {
	var head metav1.TypeMeta
	if kyaml.Unmarshal(text, &head) != nil {
		return ""
	}
	return head.Kind
}

// know reads of the cluster what the caller may read.
func (k *check) know(ctx context.Context, client dynamic.Interface) error {
	if err := k.knowObjects(ctx, client); err != nil {
		return err
	}
	nodes, err := k.listed(ctx, client, "nodes", "")
	if err != nil {
		return err
	}
	k.nodes = nodes
	k.pods = map[string][]labels.Set{}
	for _, namespace := range k.namespaces() {
		pods, err := k.listed(ctx, client, "pods", namespace)
		if err != nil {
			return err
		}
		if pods != nil {
			k.pods[namespace] = pods
		}
	}
	return nil
}

// namespaces are those whose pods matter; the empty one stands for all.
func (k *check) namespaces() (list []string) {
	for _, o := range k.own {
		switch {
		case k.kinds[o] == nodeGroup || slices.Contains(list, o.GetNamespace()):
		default:
			list = append(list, o.GetNamespace())
		}
	}
	return list
}

// listed are the labels of objects; nil, with a note, where the caller may not list them.
func (k *check) listed(ctx context.Context, client dynamic.Interface, resource, namespace string) ([]labels.Set, error) {
	list, err := client.Resource(v1.SchemeGroupVersion.WithResource(resource)).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		k.notes = append(k.notes, fmt.Sprintf("left out %s, so that labels of theirs are not compared: %v", resource, err))
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource, err)
	}
	all := []labels.Set{}
	for i := range list.Items {
		all = append(all, list.Items[i].GetLabels())
	}
	return all, nil
}

// knowObjects reads the constraints and node groups of the cluster, but for those in whose place the file has one.
func (k *check) knowObjects(ctx context.Context, client dynamic.Interface) error {
	own := slices.DeleteFunc(k.namespaces(), func(n string) bool { return n == "" })
	return errors.Join(
		known(ctx, k, reading{client, nodeGroup, "nodegroups", []string{""}}, &k.objects.Groups),
		known(ctx, k, reading{client, "ClusterPlacementConstraint", "clusterplacementconstraints", []string{""}}, &k.objects.Cluster),
		known(ctx, k, reading{client, namespaced, "placementconstraints", own}, &k.objects.Namespaced),
	)
}

// reading is objects of a kind in some namespaces; the empty one is all.
type reading struct {
	client         dynamic.Interface
	kind, resource string
	namespaces     []string
}

// known adds the objects that the cluster has.
func known[T any, O interface {
	*T
	metav1.Object
}](ctx context.Context, k *check, r reading, to *[]O) error {
	for _, namespace := range r.namespaces {
		list, err := r.client.Resource(v1alpha1.GroupVersion.WithResource(r.resource)).Namespace(namespace).List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsForbidden(err):
			k.notes = append(k.notes, fmt.Sprintf("left out %s: %v", r.resource, err))
			k.noGroups = k.noGroups || r.kind == nodeGroup
			continue
		case apierrors.IsNotFound(err): // their definition is not installed
			continue
		case err != nil:
			return fmt.Errorf("list %s: %w", r.resource, err)
		}
		for i := range list.Items {
			o := O(new(T))
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, o); err != nil {
				return fmt.Errorf("%s %s: %w", r.resource, list.Items[i].GetName(), err)
			}
			if !k.replaces(r.kind, o) {
				*to = append(*to, o)
			}
		}
	}
	return nil
}

// replaces reports whether the file has an object in the place of that one.
func (k *check) replaces(kind string, o metav1.Object) bool {
	return slices.ContainsFunc(k.own, func(own metav1.Object) bool {
		return k.kinds[own] == kind && own.GetNamespace() == o.GetNamespace() && own.GetName() == o.GetName()
	})
}
