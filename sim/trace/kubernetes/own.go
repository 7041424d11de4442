package kubernetes

import (
	"encoding/json"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/internal/manifest"
)

// This file is what Kubernetes has no words for: constraints, groups of nodes, tags of pods.
// They are written as objects of a kind of our own, and as annotations that are JSON:
//
//	{"kind": "PlacementConstraint", "metadata": {"name": "apart"}, "spec": {"owner": "web",
//	  "constraint": "{web, {web, 0, 0}, rack}: hard"}}
//	{"kind": "Node", "metadata": {"annotations": {"fairlead.dev/groups": "{\"rack\":\"r1\"}"}}}
//	{"kind": "Pod", "metadata": {"annotations": {"fairlead.dev/tags": "[\"web\"]"}}}
//
// So what was read from a cluster's pods and is written again means the same, though the rules
// themselves are not in it.

const placementConstraint = "PlacementConstraint"

func constraintObject(c *cluster.Constraint) fields {
	spec := fields{"owner": c.Owner, "constraint": constraint.Format(c)}
	return fields{"apiVersion": "fairlead.dev/v1", "kind": placementConstraint, "metadata": fields{"name": c.Name}, "spec": spec}
}

// annotate puts groups and tags into the metadata, if there are any.
func annotate(metadata fields, groups []cluster.Label, tags []string) {
	own := fields{}
	if len(groups) > 0 {
		all := map[string]string{}
		for _, l := range groups {
			all[l.Key] = l.Value
		}
		own["fairlead.dev/groups"] = jsonOf(all)
	}
	if len(tags) > 0 {
		own["fairlead.dev/tags"] = jsonOf(tags)
	}
	if len(own) > 0 {
		metadata["annotations"] = own
	}
}

func jsonOf(texts any) string {
	text, err := json.Marshal(texts)
	if err != nil {
		panic("kubernetes: texts are not JSON: " + err.Error())
	}
	return string(text)
}

// takeConstraint reads a constraint of our own.
func (s *Source) takeConstraint(o *manifest.Object) error {
	c, err := constraint.ParseArriving(string(o.Spec.Constraint))
	if err != nil {
		return manifest.Wrong("spec.constraint", "a constraint such as {web, {web, 0, 0}, rack}: hard", string(o.Spec.Constraint))
	}
	if o.Metadata.Name == "" {
		return manifest.Wrong("metadata.name", "a name", "")
	}
	if err := s.once(placementConstraint + " " + o.Metadata.Name); err != nil {
		return err
	}
	c.Name, c.Owner = o.Metadata.Name, o.Spec.Owner
	s.constraints = append(s.constraints, c)
	return nil
}

// groupsOf are the groups that a node's annotation says, sorted.
func groupsOf(o *manifest.Object) (groups []cluster.Label, err error) {
	text := o.Metadata.Annotations.Groups
	if text == "" {
		return nil, nil
	}
	var all map[string]string
	if json.Unmarshal([]byte(text), &all) != nil {
		return nil, manifest.Wrong("metadata.annotations.fairlead.dev/groups", "an object of texts as JSON", text)
	}
	for key, value := range all {
		groups = append(groups, cluster.Label{Key: key, Value: value})
	}
	cluster.SortLabels(groups)
	return groups, nil
}

// tagsOf are the tags that a pod's annotation says, sorted.
func tagsOf(o *manifest.Object) (tags []string, err error) {
	text := o.Metadata.Annotations.Tags
	if text == "" {
		return nil, nil
	}
	if json.Unmarshal([]byte(text), &tags) != nil || slices.Contains(tags, "") {
		return nil, manifest.Wrong("metadata.annotations.fairlead.dev/tags", "a list of texts as JSON, none of them empty", text)
	}
	slices.Sort(tags)
	return slices.Compact(tags), nil
}
