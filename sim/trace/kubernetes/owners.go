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

// foreignTo is who places the pod, if that is none of those whose pods are placed here. Where pods run nowhere at first all are,
// but those that wait for others.
func (o Options) foreignTo(pod *manifest.Object) string {
	switch by := pod.Spec.SchedulerName; {
	case o.Elsewhere && pod.Spec.NodeName != "":
		return ""
	case pod.IsStatic():
		return kubelet
	case !o.places(by):
		return cmp.Or(by, defaultScheduler)
	}
	return ""
}

// kubelet is who places static pods.
const kubelet = "kubelet"

// standingOf is what may become of the pod, but for its class of quality.
func (o Options) standingOf(pod *manifest.Object) standing {
	s := standing{
		foreign:  o.foreignTo(pod),
		priority: pod.Spec.Priority, gang: gangOf(pod), promise: pod.Metadata.Labels[classLabel], neverPreempts: pod.Spec.PreemptionPolicy == "Never",
		stays: pod.Spec.RestartPolicy == "" || pod.Spec.RestartPolicy == "Always",
	}
	s.leaving = pod.Metadata.DeletionTimestamp != ""
	s.unready = s.leaving || slices.ContainsFunc(pod.Status.Conditions, func(c manifest.Condition) bool { return c.Type == "Ready" && c.Status != "True" })
	w := ownerOf(pod)
	s.pinned = pod.IsStatic() || w != nil && w.Kind == "DaemonSet"
	if pod.Spec.NodeName == "" {
		var gates []string
		for _, g := range pod.Spec.SchedulingGates {
			gates = append(gates, cmp.Or(g.Name, "without a name"))
		}
		slices.Sort(gates)
		s.gate = strings.Join(gates, ", ")
	}
	return s
}
