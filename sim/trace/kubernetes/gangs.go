package kubernetes

import (
	"cmp"

	"fairlead.dev/fairlead/internal/manifest"
)

// This file is pod groups whose pods are placed together or not at all: those of Kubernetes, which pods name in their spec, and those
// of the coscheduling plugin, which they name by a label. The pods of such a group are a job of their own, whoever has made them. Composite
// groups, and topologies of groups, are not simulated, and a note counts the groups that have them.

// coscheduled is the label by which pods name their group to the coscheduling plugin.
const coscheduled = "scheduling.x-k8s.io/pod-group"

// gangs are how many pods of each group are to run at least, by what people call the group. One that says nothing of the kind has 0.
type gangs map[string]int32

// take takes in a pod group, and reports whether the object is one.
func (all gangs) take(o *manifest.Object, n *notes) bool {
	if o.Kind != "PodGroup" {
		return false
	}
	if len(o.Spec.SchedulingConstraints.Topology) > 0 {
		n.domains++
	}
	if o.Spec.Parent != "" {
		n.parts++
	}
	least := o.Spec.MinMember
	if gang := o.Spec.SchedulingPolicy.Gang; gang != nil {
		least = gang.MinCount
	}
	all[ownerName(o.Metadata.Namespace, o.Kind, o.Metadata.Name)] = least
	return true
}

// gangOf is what people call the group that the pod names; empty if it names none.
func gangOf(o *manifest.Object) string {
	name := o.Metadata.Labels[coscheduled]
	if group := o.Spec.SchedulingGroup; group != nil {
		name = cmp.Or(group.PodGroupName, name)
	}
	if name == "" {
		return ""
	}
	return ownerName(o.Metadata.Namespace, "PodGroup", name)
}

// resolve lets each pod that names a group be of that, if the group is there.
func (all gangs) resolve(pods []pod, n *notes) {
	for i := range pods {
		p := &pods[i]
		if p.gang == "" {
			continue
		}
		_, known := all[p.gang]
		if !known && p.foreign == "" {
			n.groupless++
		}
		if !known || p.foreign != "" {
			p.gang = ""
		}
	}
}

// together reports whether the pod comes with others or not at all.
func (all gangs) together(p *pod) bool { return all[p.gang] > 1 }

// maker is who has made the pod, as people call that; of one of a group that group.
func (all gangs) maker(p *pod) string { return cmp.Or(p.gang, p.application) }
