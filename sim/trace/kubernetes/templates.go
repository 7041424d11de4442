package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/internal/manifest"
)

// This file makes pods of the templates of their controllers, as the controllers and the API server would: for
// workloads that are to be added, and for those of which no pod is there to be copied.

// count is how many pods the controller wants.
func count(o *manifest.Object) int32 {
	n := o.Spec.Replicas
	if o.Kind == "Job" {
		n = o.Spec.Parallelism
		if most := o.Spec.Completions; most != nil && (n == nil || *most < *n) && *most < 1<<20 {
			n = most
		}
	}
	if n == nil {
		n = new(int32(1))
	}
	if o.Spec.Suspend {
		n = new(int32)
	}
	return max(*n, 0)
}

// pod is the i-th pod of the controller.
func (m *makers) pod(o *manifest.Object, i int) (*manifest.Object, error) {
	p := &manifest.Object{Kind: "Pod", Metadata: o.Spec.Template.Metadata, Spec: o.Spec.Template.Spec}
	p.Metadata.Name = fmt.Sprintf("%s-new-%d", o.Metadata.Name, i)
	if o.Kind == "StatefulSet" {
		p.Metadata.Name = fmt.Sprintf("%s-%d", o.Metadata.Name, i)
	}
	p.Spec.Volumes = withClaims(p.Spec.Volumes, o.Spec.VolumeClaimTemplates, p.Metadata.Name)
	p.Metadata.Namespace = o.Metadata.Namespace
	p.Metadata.OwnerReferences = []manifest.Owner{{Kind: o.Kind, Name: o.Metadata.Name, UID: o.Metadata.UID, Controller: true}}
	p.Status.QOSClass = qualityOf(&p.Spec)
	p.Spec.Containers, p.Spec.InitContainers = requested(p.Spec.Containers), requested(p.Spec.InitContainers)
	return p, m.prioritize(&p.Spec)
}

// withClaims are the volumes of a pod with those of the claims that its StatefulSet makes for it.
func withClaims(list []manifest.Volume, templates []manifest.ClaimTemplate, pod string) []manifest.Volume {
	list = slices.Clone(list)
	for i := range templates {
		name := templates[i].Metadata.Name
		list = slices.DeleteFunc(list, func(v manifest.Volume) bool { return v.Name == name })
		list = append(list, manifest.Volume{Name: name, PersistentVolumeClaim: &manifest.ClaimName{Name: name + "-" + pod, Template: &templates[i]}})
	}
	return list
}

// requested are the containers, each of which asks for what it is limited to where it asks for nothing.
func requested(list []manifest.Container) []manifest.Container {
	list = slices.Clone(list)
	for i := range list {
		r := &list[i].Resources
		requests := maps.Clone(r.Limits)
		if requests == nil {
			requests = map[string]manifest.Quantity{}
		}
		maps.Copy(requests, r.Requests)
		r.Requests = requests
	}
	return list
}

// qualityOf is the quality of service of such pods.
func qualityOf(s *manifest.Spec) string {
	some, guaranteed := false, len(s.Containers) > 0
	for _, c := range s.Containers {
		some = some || len(c.Resources.Requests)+len(c.Resources.Limits) > 0
		for _, name := range []string{"cpu", "memory"} {
			limit, limited := c.Resources.Limits[name]
			request, requested := c.Resources.Requests[name]
			guaranteed = guaranteed && limited && (!requested || request == limit)
		}
	}
	switch {
	case guaranteed:
		return "Guaranteed"
	case some:
		return "Burstable"
	}
	return "BestEffort"
}

// prioritize gives a pod the priority of its class, as the API server would.
func (m *makers) prioritize(s *manifest.Spec) error {
	class, known := m.classes[s.ClassName]
	switch {
	case s.ClassName == "":
		for _, name := range slices.Sorted(maps.Keys(m.classes)) {
			if m.classes[name].GlobalDefault {
				class, known = m.classes[name], true
			}
		}
	case strings.HasPrefix(s.ClassName, "system-") && !known:
		class, known = manifest.PriorityClass{Value: map[string]int32{"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}[s.ClassName]}, true
	case !known && s.Priority == 0:
		return manifest.Wrong("spec.template.spec.priorityClassName", "a class that is in the files; kubectl get priorityclasses has them", s.ClassName)
	}
	if known && s.Priority == 0 {
		s.Priority = class.Value
	}
	if known && s.PreemptionPolicy == "" {
		s.PreemptionPolicy = class.PreemptionPolicy
	}
	return nil
}
