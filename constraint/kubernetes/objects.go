package kubernetes

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/internal/manifest"
)

// This file makes a cluster of manifests: nodes, pods that run or wait, and the controllers
// whose pods are to be placed. Who reads the files hands over each object as JSON.
//
// A controller of which pods are there is passed over: they are what it made. One of
// which there are none gives the pods of its template.

// Objects are manifests, read.
type Objects struct {
	nodes       []manifest.Object
	pods        []manifest.Object
	controllers []controller
	namespaces  map[string]map[string]string
	seen        map[string]bool
	passed      map[string]int
	leftOut     map[string]int
}

// controller is as much of a Deployment, ReplicaSet, StatefulSet or Job as is read.
type controller struct {
	Kind     string            `json:"kind"`
	Metadata manifest.Metadata `json:"metadata"`
	Spec     struct {
		Replicas    *int32 `json:"replicas"`
		Parallelism *int32 `json:"parallelism"`
		Completions *int32 `json:"completions"`
		Template    struct {
			Metadata manifest.Metadata `json:"metadata"`
			Spec     manifest.Spec     `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// list is what kubectl prints of several objects.
type list struct {
	Kind     string            `json:"kind"`
	Metadata manifest.Metadata `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
}

// Add takes in an object, or a List of some. The error names the object and its field.
func (o *Objects) Add(text []byte) error {
	var head list
	if err := json.Unmarshal(text, &head); err != nil && head.Kind == "" {
		return fmt.Errorf("want an object of Kubernetes: %w", err)
	}
	if strings.HasSuffix(head.Kind, "List") && head.Metadata.Name == "" {
		for i, item := range head.Items {
			if err := o.Add(item); err != nil {
				return fmt.Errorf("items[%d]: %w", i, err)
			}
		}
		return nil
	}
	if err := o.add(head.Kind, text); err != nil {
		return fmt.Errorf("%s %s: %w", cmp.Or(head.Kind, "object"), head.Metadata.Name, err)
	}
	return nil
}

func (o *Objects) add(kind string, text []byte) error {
	if o.seen == nil {
		o.seen, o.passed, o.leftOut = map[string]bool{}, map[string]int{}, map[string]int{}
		o.namespaces = map[string]map[string]string{}
	}
	switch kind {
	case "Node", "Pod", "Namespace":
		var own manifest.Object
		if err := o.decode(text, &own, &own.Metadata, kind); err != nil {
			return err
		}
		switch kind {
		case "Node":
			o.nodes = append(o.nodes, own)
		case "Pod":
			o.pods = append(o.pods, own)
		default:
			o.namespaces[own.Metadata.Name] = own.Metadata.Labels
		}
	case "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Job":
		var own controller
		if err := o.decode(text, &own, &own.Metadata, kind); err != nil {
			return err
		}
		o.controllers = append(o.controllers, own)
	case "DaemonSet":
		return errors.New("its pods go to every node that they may use, so that there is nothing to decide; leave it out, and give the pods that run")
	case "CronJob":
		return errors.New("it has no pods until its time comes; give the Job that it makes")
	case "":
		return manifest.Wrong("kind", "Node, Pod, Deployment, ReplicaSet, StatefulSet or Job", "")
	default:
		o.passed[kind]++
	}
	return nil
}

// decode reads an object that must be there once.
func (o *Objects) decode(text []byte, into any, m *manifest.Metadata, kind string) error {
	if err := json.Unmarshal(text, into); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return manifest.Wrong(wrong.Field, "a value of type "+wrong.Type.String(), wrong.Value)
		}
		return err
	}
	if kind != "Node" && kind != "Namespace" {
		m.Namespace = cmp.Or(m.Namespace, "default")
	}
	name := kind + " " + m.Namespace + "/" + m.Name
	if m.Name == "" {
		return manifest.Wrong("metadata.name", "a name", "")
	}
	if o.seen[name] {
		return manifest.Wrong("metadata.name", "each object once", m.Name)
	}
	o.seen[name] = true
	return nil
}

// Cluster is what all objects come to.
func (o *Objects) Cluster() (*Cluster, error) {
	c := &Cluster{Namespaces: o.namespaces}
	b := builder{Cluster: c, rows: map[string]int32{}, byKey: map[string]int{}, resources: manifest.Maxima{}}
	slices.SortStableFunc(o.nodes, func(a, b manifest.Object) int { return cmp.Compare(a.Metadata.Name, b.Metadata.Name) })
	for i := range o.nodes {
		if err := b.node(&o.nodes[i]); err != nil {
			return nil, fmt.Errorf("Node %s: %w", o.nodes[i].Metadata.Name, err)
		}
	}
	made := map[string]bool{} // controllers of which there are pods
	for i := range o.pods {
		for _, owner := range o.pods[i].Metadata.OwnerReferences {
			made[ownerKey(o.pods[i].Metadata.Namespace, &owner)] = true
		}
		if err := b.pod(&o.pods[i], o.leftOut); err != nil {
			return nil, fmt.Errorf("Pod %s: %w", o.pods[i].Metadata.Name, err)
		}
	}
	if err := o.addControllers(&b, made); err != nil {
		return nil, err
	}
	b.resolve()
	for _, kind := range slices.Sorted(maps.Keys(o.passed)) {
		c.Notes = append(c.Notes, fmt.Sprintf("passed over %d objects of kind %s", o.passed[kind], kind))
	}
	for _, what := range slices.Sorted(maps.Keys(o.leftOut)) {
		c.Notes = append(c.Notes, fmt.Sprintf("left out %d %s", o.leftOut[what], what))
	}
	return c, nil
}

// ownerKey names an owner as controllerKey names it.
func ownerKey(namespace string, w *manifest.Owner) string {
	return w.Kind + " " + namespace + "/" + w.Name
}

func (k *controller) key() string { return k.Kind + " " + k.Metadata.Namespace + "/" + k.Metadata.Name }

// addControllers adds the pods of those that have none yet, themselves or through another
// controller.
func (o *Objects) addControllers(b *builder, made map[string]bool) error {
	for i := range o.controllers {
		k := &o.controllers[i]
		for _, owner := range k.Metadata.OwnerReferences {
			made[ownerKey(k.Metadata.Namespace, &owner)] = true
		}
	}
	for i := range o.controllers {
		k := &o.controllers[i]
		if made[k.key()] {
			o.leftOut["controllers whose pods are there"]++
			continue
		}
		if err := b.controller(k); err != nil {
			return fmt.Errorf("%s %s: %w", k.Kind, k.Metadata.Name, err)
		}
	}
	return nil
}

// pods is how many there shall be.
func (k *controller) pods() (int32, error) {
	n := int32(1)
	field := "spec.replicas"
	given := k.Spec.Replicas
	if k.Kind == "Job" {
		field, given = "spec.parallelism", k.Spec.Parallelism
	}
	if given != nil {
		n = *given
	}
	if most := k.Spec.Completions; k.Kind == "Job" && most != nil {
		n = min(n, *most)
	}
	if n < 0 || n > maxPods {
		return 0, manifest.Wrong(field, fmt.Sprintf("0 to %d", maxPods), fmt.Sprint(n))
	}
	return n, nil
}

// maxPods is how many pods a controller may ask for.
const maxPods = 1_000_000
