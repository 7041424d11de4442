package plugin

import (
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/constraints"
)

// This file is what is found about constraints: what they mean, what contradicts them, and what nobody has that they name.

// finding is what is found about an object of the file.
type finding struct {
	Kind        string   `json:"kind"`
	Name        string   `json:"name"`            // with its namespace, if it is of one
	Words       string   `json:"words,omitempty"` // of a constraint, what it means
	Reason      string   `json:"reason"`          // of the condition Accepted
	Message     string   `json:"message"`
	Contradicts string   `json:"contradicts,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`

	fails bool
}

// find looks at each object of the file.
func (k *check) find() []finding {
	set, verdicts := constraints.Read(k.objects)
	findings := []finding{}
	for _, o := range k.own {
		at := slices.IndexFunc(verdicts, func(v constraints.Verdict) bool { return v.Object == o })
		v := &verdicts[at]
		f := finding{
			Kind: k.kinds[o], Name: strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/"),
			Reason: v.Reason, Message: v.Message, Contradicts: v.Contradicts, fails: !v.Accepted(),
		}
		if v.Reason == v1alpha1.ReasonNoNodeGroup && k.noGroups { // which is all that can be said
			f.fails, f.Message = false, "It names a NodeGroup, of which you may not list any: it counts if there is one of that name."
		}
		if k.objects.RackLabel == "" && strings.Contains(v.Message, `"rack" is no group`) {
			f.Warnings = append(f.Warnings, "by which label nodes name their rack, --rack-label says here, and rackLabel in the configuration of fairlead-scheduler")
		}
		key := constraints.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
		if at := slices.IndexFunc(set.Constraints, func(c constraints.Constraint) bool { return c.Key == key }); at >= 0 && f.Kind != nodeGroup {
			c := &set.Constraints[at]
			f.Words, f.Warnings = words(c), k.warnings(c)
			f.fails = f.fails || c.Hard && f.Contradicts != ""
		}
		if group := slices.IndexFunc(set.Groups, func(g constraints.NodeGroup) bool { return f.Kind == nodeGroup && g.Name == f.Name }); group >= 0 {
			f.Warnings = k.emptySets(&set.Groups[group])
		}
		findings = append(findings, f)
	}
	return findings
}

// words says what a constraint means.
func words(c *constraints.Constraint) string {
	of := cluster.Constraint{Name: c.Key.Name, Hard: c.Hard, Weight: c.Weight}
	for _, bounds := range c.Any {
		var all []cluster.Bound
		for i := range bounds {
			b := &bounds[i]
			bound := cluster.Bound{Target: inTags(&b.Target), Min: b.Min, Max: b.Max, Group: groupName(b.Group), SelfCounted: b.Counted}
			if b.Subject != nil {
				bound.Subject = inTags(b.Subject)
			}
			all = append(all, bound)
		}
		of.Any = append(of.Any, all)
	}
	return constraint.Explain(&of)
}

// inTags are the labels by which pods are selected, as tags.
func inTags(p *constraints.Pods) (tags []string) {
	requirements, _ := p.Labels.Requirements()
	for _, q := range requirements {
		tags = append(tags, labels.NewSelector().Add(q).String())
	}
	if len(tags) == 0 {
		tags = []string{"pods"}
	}
	slices.Sort(tags)
	return tags
}

// groupName is what people call a group.
func groupName(g constraints.Group) string {
	if g.NodeGroup != "" {
		return g.NodeGroup
	}
	short := map[string]string{v1.LabelHostname: cluster.EachNode, v1.LabelTopologyZone: "zone", v1.LabelTopologyRegion: "region"}
	if name := short[g.TopologyKey]; name != "" {
		return name
	}
	return g.TopologyKey
}

// warnings says which labels of a constraint nobody has.
func (k *check) warnings(c *constraints.Constraint) (list []string) {
	add := func(text string) {
		if text != "" && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for _, bounds := range c.Any {
		for i := range bounds {
			b := &bounds[i]
			for _, p := range []*constraints.Pods{b.Subject, &b.Target} {
				if p != nil {
					add(k.nobody(p))
				}
			}
			add(k.nowhere(b.Group))
		}
	}
	return list
}

// nobody says that no pod has such labels, where the caller may list those that could; with the nearest label that one has.
func (k *check) nobody(of *constraints.Pods) string {
	pods, known := k.pods[of.Namespace]
	if !known {
		return ""
	}
	var there []string
	for _, pod := range pods {
		if of.Labels.Matches(pod) {
			return ""
		}
		for key, value := range pod {
			there = append(there, key, key+"="+value)
		}
	}
	slices.Sort(there)
	where := "any namespace"
	if of.Namespace != "" {
		where = "namespace " + of.Namespace
	}
	return fmt.Sprintf("no pod of %s has %s%s", where, of.Labels, near(of.Labels.String(), slices.Compact(there)))
}

// nowhere says that no node is in a group that goes by a label, or that some are not.
func (k *check) nowhere(g constraints.Group) string {
	if k.nodes == nil || g.NodeGroup != "" {
		return ""
	}
	in := 0
	var there []string
	for _, node := range k.nodes {
		if node.Has(g.TopologyKey) {
			in++
		}
		for key := range node {
			there = append(there, key)
		}
	}
	slices.Sort(there)
	switch {
	case len(k.nodes) == 0 || in == len(k.nodes):
		return ""
	case in == 0:
		return fmt.Sprintf("no node has the label %s%s", g.TopologyKey, near(g.TopologyKey, slices.Compact(there)))
	}
	return fmt.Sprintf("%d of %d nodes lack the label %s, and are in no set", len(k.nodes)-in, len(k.nodes), g.TopologyKey)
}

// emptySets says which sets of a node group no node is in.
func (k *check) emptySets(g *constraints.NodeGroup) (list []string) {
	in := map[string]int{}
	for _, node := range k.nodes {
		if name, is := g.SetOf(node); is {
			in[name]++
		}
	}
	for _, s := range g.Sets {
		if len(k.nodes) > 0 && in[s.Name] == 0 {
			list = append(list, fmt.Sprintf("no node is in the set %s: none has %s, or those that do are in one before it", s.Name, s.Nodes))
		}
	}
	return list
}

// near is the nearest of names, as a question.
func near(name string, names []string) string {
	if known, found := nearest.Of(name, names); found {
		return "; did you mean " + known + "?"
	}
	return ""
}

// printFindings prints them as text.
func printFindings(out io.Writer, findings []finding) error {
	var b strings.Builder
	for i := range findings {
		f := &findings[i]
		fmt.Fprintf(&b, "%s %s: %s: %s\n", f.Kind, f.Name, f.Reason, f.Message)
		if f.Words != "" {
			fmt.Fprintf(&b, "  %s\n", f.Words)
		}
		if f.Contradicts != "" {
			fmt.Fprintf(&b, "  contradiction: %s\n", f.Contradicts)
		}
		for _, w := range f.Warnings {
			fmt.Fprintf(&b, "  warning: %s\n", w)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
