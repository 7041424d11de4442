package kubernetes

import (
	"cmp"
	"slices"
	"strings"

	"fairlead.dev/fairlead/internal/manifest"
)

// This file is who has made the pods, as people call that: shop/deployment/web, and not the ReplicaSet
// in between; and what follows from it. Pods of a DaemonSet, and those that come from a file of their
// node, belong to the node: no policy moves them, and a node that has no others is not in use.

// classLabel names the class of a pod, as it does for the scheduler.
const classLabel = "fairlead.dev/class"

// owners are the objects that others own: whom each of them is of, by owner.
type owners map[string]string

// makers are the objects that make pods, and what else makes pods what they are.
type makers struct {
	owners
	of      map[string]*manifest.Object // those with a template, by the names of owners
	classes map[string]manifest.PriorityClass
}

func newMakers() makers {
	return makers{owners{}, map[string]*manifest.Object{}, map[string]manifest.PriorityClass{}}
}

// take takes in an object that makes pods, and reports whether it is such.
func (w *makers) take(o *manifest.Object) bool {
	if o.Spec.Template != nil {
		own := *o
		w.of[ownerName(o.Metadata.Namespace, o.Kind, o.Metadata.Name)] = &own
	}
	return w.owners.take(o)
}

// take takes in an object that may stand between a pod and who has made it, and reports whether it is such.
func (all owners) take(o *manifest.Object) bool {
	switch o.Kind {
	case "ReplicaSet", "Job":
		if w := ownerOf(o); w != nil {
			all[ownerName(o.Metadata.Namespace, o.Kind, o.Metadata.Name)] = ownerName(o.Metadata.Namespace, w.Kind, w.Name)
		}
		return true
	case "Deployment", "StatefulSet", "DaemonSet", "CronJob", "ReplicationController":
		return true
	}
	return false
}

// resolve gives each pod the one that has made it in the end.
func (all owners) resolve(pods []pod) {
	for i := range pods {
		p := &pods[i]
		for range 4 { // more than there are between a pod and its workload
			above, known := all[p.application]
			if !known {
				break
			}
			p.application = above
		}
	}
}

// ownerName is what people call an owner.
func ownerName(namespace, kind, name string) string {
	return cmp.Or(namespace, "default") + "/" + strings.ToLower(kind) + "/" + name
}

// applicationOf names who made the pod. Where the ReplicaSet is not in the file, its Deployment is what its name
// begins with.
func applicationOf(o *manifest.Object) string {
	m := &o.Metadata
	w := ownerOf(o)
	if w == nil {
		return ownerName(m.Namespace, "pod", m.Name)
	}
	if hash := m.Labels["pod-template-hash"]; w.Kind == "ReplicaSet" && hash != "" {
		if name, is := strings.CutSuffix(w.Name, "-"+hash); is {
			return ownerName(m.Namespace, "deployment", name)
		}
	}
	return ownerName(m.Namespace, w.Kind, w.Name)
}

// standingOf is what may become of the pod, but for its class of quality.
func standingOf(o *manifest.Object) standing {
	s := standing{
		priority: o.Spec.Priority, promise: o.Metadata.Labels[classLabel], neverPreempts: o.Spec.PreemptionPolicy == "Never",
		stays: o.Spec.RestartPolicy == "" || o.Spec.RestartPolicy == "Always",
	}
	s.leaving = o.Metadata.DeletionTimestamp != ""
	s.unready = s.leaving || slices.ContainsFunc(o.Status.Conditions, func(c manifest.Condition) bool { return c.Type == "Ready" && c.Status != "True" })
	w := ownerOf(o)
	s.pinned = o.IsStatic() || w != nil && w.Kind == "DaemonSet"
	if o.Spec.NodeName == "" {
		var gates []string
		for _, g := range o.Spec.SchedulingGates {
			gates = append(gates, cmp.Or(g.Name, "without a name"))
		}
		slices.Sort(gates)
		s.gate = strings.Join(gates, ", ")
	}
	return s
}
