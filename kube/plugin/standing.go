package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/kube/constraints"
)

// This file has the constraints of the cluster count in what is worked out of its list, as the scheduler has them count: they are written into it in the words that dumps have for constraints, tags of pods and groups of nodes (docs/formats.md).

// standing is the constraints, and what of them pods and nodes are to say.
type standing struct {
	set    *constraints.Set
	texts  []string // of the constraints
	pods   []*constraints.Pods
	groups []constraints.Group
	rack   string // the label of nodes that names their rack; empty if there is none
}

// readStanding reads the constraints that count; the notes say what the caller may not read.
func readStanding(ctx context.Context, client dynamic.Interface, rack string) (s *standing, notes []string, err error) {
	k, all := &check{objects: &constraints.Objects{RackLabel: rack}}, []string{""}
	err = errors.Join(
		known(ctx, k, reading{client, nodeGroup, "nodegroups", all}, &k.objects.Groups),
		known(ctx, k, reading{client, "ClusterPlacementConstraint", "clusterplacementconstraints", all}, &k.objects.Cluster),
		known(ctx, k, reading{client, namespaced, "placementconstraints", all}, &k.objects.Namespaced),
	)
	set, _ := constraints.Read(k.objects)
	return standingOf(set, rack), k.notes, err
}

// standingOf says what each constraint is called in the list: the places of selectors and groups are their names.
func standingOf(set *constraints.Set, rack string) *standing {
	s := &standing{set: set, rack: rack}
	for i := range set.Constraints {
		c := &set.Constraints[i]
		of := cluster.Constraint{Hard: c.Hard, Weight: c.Weight}
		for _, bounds := range c.Any {
			var all []cluster.Bound
			for j := range bounds {
				b := &bounds[j]
				bound := cluster.Bound{Target: s.tag(&b.Target), Min: b.Min, Max: b.Max, Group: s.group(b.Group), SelfCounted: b.Counted}
				if b.Subject != nil {
					bound.Subject = s.tag(b.Subject)
				}
				all = append(all, bound)
			}
			of.Any = append(of.Any, all)
		}
		s.texts = append(s.texts, constraint.Format(&of))
	}
	return s
}

// tag is that of the pods that are selected so. It begins as tags of selectors do in dumps, so that it makes nobody an application.
func (s *standing) tag(p *constraints.Pods) []string {
	s.pods = append(s.pods, p)
	return []string{tagOf(len(s.pods) - 1)}
}

func tagOf(i int) string { return fmt.Sprintf("k8s:placement-%d", i) }

// group is what the group is called in the list.
func (s *standing) group(g constraints.Group) string {
	if g.NodeGroup == "" && g.TopologyKey == v1.LabelHostname {
		return cluster.EachNode
	}
	for i := range s.groups {
		if s.groups[i] == g {
			return groupOf(i)
		}
	}
	s.groups = append(s.groups, g)
	return groupOf(len(s.groups) - 1)
}

func groupOf(i int) string { return fmt.Sprintf("placement-%d", i) }

// objects are the constraints as a list has them.
func (s *standing) objects() (list []map[string]any) {
	for i, text := range s.texts {
		key := s.set.Constraints[i].Key
		name := "ClusterPlacementConstraint " + key.Name
		if key.Namespace != "" {
			name = "PlacementConstraint " + key.Namespace + "/" + key.Name
		}
		list = append(list, map[string]any{"apiVersion": "fairlead.dev/v1", "kind": namespaced, "metadata": map[string]any{"name": name}, "spec": map[string]any{"constraint": text}})
	}
	return list
}

// markNode says in which sets a node is, and in which rack.
func (s *standing) markNode(o *unstructured.Unstructured) {
	in, set := map[string]string{}, labels.Set(o.GetLabels())
	if rack := set[s.rack]; rack != "" {
		in["rack"] = rack
	}
	for i, g := range s.groups {
		if g.NodeGroup == "" {
			if value, is := set[g.TopologyKey]; is {
				in[groupOf(i)] = value
			}
			continue
		}
		for j := range s.set.Groups {
			if of := &s.set.Groups[j]; of.Name == g.NodeGroup {
				if name, is := of.SetOf(set); is {
					in[groupOf(i)] = name
				}
			}
		}
	}
	annotate(o, "fairlead.dev/groups", in, len(in))
}

// markPod says by which selectors a pod is selected.
func (s *standing) markPod(o *unstructured.Unstructured, namespaces map[string]labels.Set) {
	var tags []string
	for i, p := range s.pods {
		of := p.Namespace == o.GetNamespace()
		if p.Namespace == "" {
			of = p.Namespaces.Empty() || p.Namespaces.Matches(namespaces[o.GetNamespace()])
		}
		if of && p.Labels.Matches(labels.Set(o.GetLabels())) {
			tags = append(tags, tagOf(i))
		}
	}
	annotate(o, tagsAnnotation, tags, len(tags))
}

// annotate writes so many of something into an annotation, as JSON, and takes it away if there are none: whoever made the object may have written anything there.
func annotate(o *unstructured.Unstructured, name string, value any, count int) {
	if count == 0 {
		if all := o.GetAnnotations(); all[name] != "" {
			delete(all, name)
			o.SetAnnotations(all)
		}
		return
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic("plugin: texts are not JSON: " + err.Error())
	}
	all := o.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[name] = string(text)
	o.SetAnnotations(all)
}
