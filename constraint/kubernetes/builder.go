package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
)

// This file makes nodes and workloads of objects: pods of one application that have the
// same labels and the same spec are one workload.

// builder is a cluster in the making.
type builder struct {
	*Cluster
	rows      map[string]int32 // of nodes
	byKey     map[string]int   // workloads
	resources manifest.Maxima
	offers    []manifest.Amounts
	asks      []manifest.Amounts // by workload
}

func (b *builder) node(o *manifest.Object) error {
	field, quantities := "status.allocatable", o.Status.Allocatable
	if len(quantities) == 0 {
		field, quantities = "status.capacity", o.Status.Capacity
	}
	offer, err := manifest.ParseAll(field, quantities)
	if err != nil {
		return err
	}
	taints, _, err := manifest.TaintsOf(o)
	if err != nil {
		return err
	}
	b.rows[o.Metadata.Name] = int32(len(b.Nodes))
	b.Nodes = append(b.Nodes, Node{Name: o.Metadata.Name, Labels: o.Metadata.Labels, Taints: taints})
	b.offers = append(b.offers, offer)
	b.resources.Note(offer)
	return nil
}

// pod adds a pod that is there.
func (b *builder) pod(o *manifest.Object, leftOut map[string]int) error {
	m := &o.Metadata
	p := Pod{Name: m.Name, Node: Waiting}
	switch {
	case o.Status.Phase == "Succeeded" || o.Status.Phase == "Failed":
		leftOut["pods that are done"]++
		return nil
	case m.DeletionTimestamp != "" && o.Spec.NodeName == "":
		leftOut["pods that are being deleted and have no node"]++
		return nil
	case len(o.Spec.SchedulingGates) > 0 && o.Spec.NodeName == "":
		leftOut["pods that are behind a scheduling gate"]++
		return nil
	case o.Spec.NodeName != "":
		row, there := b.rows[o.Spec.NodeName]
		if !there {
			return manifest.Wrong("spec.nodeName", "a node that is there", o.Spec.NodeName)
		}
		p.Node = row
	}
	application := applicationOf(m.Namespace, "Pod", m.Name)
	for _, w := range m.OwnerReferences {
		if w.Controller || len(m.OwnerReferences) == 1 {
			application = applicationOf(m.Namespace, w.Kind, w.Name)
		}
	}
	return b.add(Workload{Application: application, Namespace: m.Namespace, Labels: m.Labels, Spec: &o.Spec}, []Pod{p})
}

// controller adds the pods that a controller will make.
func (b *builder) controller(k *controller) error {
	n, err := k.pods()
	if err != nil || n == 0 {
		return err
	}
	m := &k.Metadata
	w := Workload{
		Application: applicationOf(m.Namespace, k.Kind, m.Name), Namespace: m.Namespace,
		Labels: maps.Clone(k.Spec.Template.Metadata.Labels), Spec: &k.Spec.Template.Spec,
	}
	if w.Labels == nil {
		w.Labels = map[string]string{}
	}
	// Controllers give all pods of a revision a label that tells them from those of others.
	// Its value is theirs to choose; any will do that nobody else has.
	switch k.Kind {
	case "Deployment", "ReplicaSet":
		addLabel(w.Labels, "pod-template-hash", m.Name)
	case "StatefulSet":
		addLabel(w.Labels, "controller-revision-hash", m.Name)
	case "Job":
		addLabel(w.Labels, "batch.kubernetes.io/job-name", m.Name)
		addLabel(w.Labels, "job-name", m.Name)
	}
	pods := make([]Pod, n)
	for i := range pods {
		pods[i] = Pod{Name: fmt.Sprintf("%s-%d", m.Name, i), Node: Waiting}
	}
	if err := b.add(w, pods); err != nil {
		return fmt.Errorf("spec.template: %w", err)
	}
	return nil
}

func addLabel(labels map[string]string, key, value string) {
	if _, there := labels[key]; !there {
		labels[key] = value
	}
}

// applicationOf is the name of the application that an object is.
func applicationOf(namespace, kind, name string) string {
	return namespace + "/" + strings.ToLower(kind) + "/" + name
}

// add adds pods to the workload that is like w.
func (b *builder) add(w Workload, pods []Pod) error {
	if err := Check(w.Spec); err != nil {
		return err
	}
	spec := *w.Spec
	spec.NodeName = ""
	text, err := json.Marshal(struct {
		Of     string
		Runs   bool
		Labels map[string]string
		Spec   *manifest.Spec
	}{w.Application, pods[0].Node != Waiting, w.Labels, &spec})
	if err != nil {
		return err
	}
	at, there := b.byKey[string(text)]
	if !there {
		asks, err := spec.Requests()
		if err != nil {
			return err
		}
		at = len(b.Workloads)
		b.byKey[string(text)] = at
		w.Spec = &spec
		b.Workloads, b.asks = append(b.Workloads, w), append(b.asks, asks)
		b.resources.Note(asks)
		if pods[0].Node == Waiting {
			b.noteIgnored(&b.Workloads[at])
		}
	}
	b.Workloads[at].Pods = append(b.Workloads[at].Pods, pods...)
	return nil
}

// noteIgnored notes what restricts a workload that waits and is not honoured.
func (b *builder) noteIgnored(w *Workload) {
	note := func(found bool, field, why string) {
		if found {
			b.Notes = append(b.Notes, fmt.Sprintf("%s: %s is not honoured: %s", w.Application, field, why))
		}
	}
	note(slices.ContainsFunc(w.Spec.Volumes, func(v manifest.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }),
		"spec.volumes", "where the volume behind a claim can be is not known")
	note(len(w.Spec.ResourceClaims) > 0, "spec.resourceClaims", "claims of devices are not understood")
}

// resolve makes vectors of what nodes offer and pods ask for.
func (b *builder) resolve() {
	b.Kinds = b.resources.Kinds([]string{manifest.GPUName})
	for n := range b.Nodes {
		v := make(cluster.Vector, len(b.Kinds))
		for k, kind := range b.Kinds {
			v[k] = manifest.CapacityOf(kind, b.offers[n][kind.Name])
		}
		b.Nodes[n].Capacity = v
	}
	for i := range b.Workloads {
		v := make(cluster.Vector, len(b.Kinds))
		for k, kind := range b.Kinds {
			a := b.asks[i][kind.Name]
			if kind.Name == manifest.PodsName {
				a = manifest.Amount{Whole: 1}
			}
			v[k], _ = manifest.DemandOf(kind, a)
		}
		b.Workloads[i].Demand = v
	}
}
