package plugin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	kyaml "sigs.k8s.io/yaml"
)

// This file has pods of manifests (plan -f), and those of templates in them, be held to the constraints of the cluster: as pods of the list do, they say by which constraints they are selected. That is written into copies of the files, by which the command goes.

// tagsAnnotation is where a pod says so.
const tagsAnnotation = "fairlead.dev/tags"

// renaming is what files are called that the command reads in the place of others.
type renaming []string // the one, and the other

// in has an error call files as the caller does.
func (r renaming) in(err error) error {
	if err == nil || r == nil {
		return err
	}
	return renamedError{err, strings.NewReplacer(r...)}
}

// renamedError is an error in which files are called as the caller does.
type renamedError struct {
	err   error
	names *strings.Replacer
}

func (e renamedError) Error() string { return e.names.Replace(e.err.Error()) }
func (e renamedError) Unwrap() error { return e.err }

// manifest is a file that the command is given, as the caller names it.
type manifest struct {
	name string
	text []byte
}

// readManifests reads the manifests that the command is given, if it takes any. It does so before anybody waits for the cluster to be read.
func readManifests(c *cobra.Command) (all []manifest, err error) {
	flag := c.Flags().Lookup("filename")
	if flag == nil {
		return nil, nil
	}
	files, is := flag.Value.(pflag.SliceValue)
	if !is || !flag.Changed {
		return nil, nil
	}
	for _, path := range files.GetSlice() {
		name, text, err := readFile(c, path)
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
			return nil, fmt.Errorf("%s is compressed by gzip: unpack it first, so that the cluster's constraints can be held against what it brings", name)
		}
		all = append(all, manifest{name, text})
	}
	return all, nil
}

// markManifests marks the pods of the manifests, and has the command read those in their place.
func (l *listing) markManifests(c *cobra.Command, all []manifest) (names renaming, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	paths := make([]string, len(all))
	for i, m := range all {
		dir, err := os.MkdirTemp("", "fairlead-")
		if err != nil {
			return nil, err
		}
		l.files = append(l.files, dir)
		paths[i] = filepath.Join(dir, "manifests.yaml")
		names = append(names, paths[i], m.name)
		if err := os.WriteFile(paths[i], l.marks.markAll(m.text, c.Flags().Lookup("namespace").Value.String()), 0o600); err != nil {
			return nil, err
		}
	}
	return names, c.Flags().Lookup("filename").Value.(pflag.SliceValue).Replace(paths)
}

// markAll marks the objects of a text; those without a namespace are of that one. What is no object stays as it is, for whoever reads it to say what is wrong with it.
func (m *marker) markAll(text []byte, namespace string) []byte {
	documents := unfold(splitDocuments(text))
	objects := make([]*unstructured.Unstructured, len(documents))
	for i, d := range documents {
		o := &unstructured.Unstructured{}
		if kyaml.Unmarshal(d, &o.Object) != nil || len(o.Object) == 0 {
			continue
		}
		objects[i] = o
		if o.GetKind() == "Namespace" {
			m.mark(o)
		}
	}
	marked := false
	for i, o := range objects {
		if o == nil || !m.markManifest(o, namespace) {
			continue
		}
		one, err := json.Marshal(o.Object)
		if err != nil {
			panic("plugin: an object that was read is no JSON: " + err.Error())
		}
		documents[i], marked = one, true
	}
	if !marked {
		return text
	}
	// It begins as YAML does, or all of it would have to be JSON.
	return append([]byte("---\n"), bytes.Join(documents, []byte("\n---\n"))...)
}

// markManifest marks a node, a pod or the template of a workload's, and reports whether it did: all else stays as it is written.
func (m *marker) markManifest(o *unstructured.Unstructured, namespace string) bool {
	namespace = cmp.Or(o.GetNamespace(), namespace, metav1.NamespaceDefault)
	switch o.GetKind() {
	case "Node":
		m.standing.markNode(o)
		return true
	case "Pod":
		return m.markOne(o, namespace)
	}
	template, is, _ := unstructured.NestedMap(o.Object, "spec", "template")
	if !is {
		return false
	}
	pod := &unstructured.Unstructured{Object: template}
	if !m.markOne(pod, namespace) {
		return false
	}
	return unstructured.SetNestedMap(o.Object, pod.Object, "spec", "template") == nil
}

// markOne marks a pod that is of the namespace, whatever it says itself, and reports whether it says something else by then.
func (m *marker) markOne(o *unstructured.Unstructured, namespace string) bool {
	before, own := o.GetAnnotations()[tagsAnnotation], o.GetNamespace()
	o.SetNamespace(namespace)
	if m.namespaces[namespace] == nil {
		m.namespaces[namespace] = labels.Set{v1.LabelMetadataName: namespace} // it is to come, and nobody has labelled it
	}
	m.standing.markPod(o, m.namespaces)
	o.SetNamespace(own)
	return o.GetAnnotations()[tagsAnnotation] != before
}
