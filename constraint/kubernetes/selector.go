package kubernetes

import (
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/internal/manifest"
)

// This file turns selectors of pods into tags. A selector is a conjunction of requirements on
// labels, and so is what a bound counts. Each requirement is a tag of the pods that meet it:
// app=web the label itself, and "app not in web,db" or "app does not exist" what a label
// alone cannot say. Before it stand the namespaces that are looked at.

const tagPrefix = "k8s:"

// Translated reports whether a tag stands for something that pods say in Kubernetes' words, and is none of an application's own.
func Translated(tag string) bool { return strings.HasPrefix(tag, tagPrefix) }

// everywhere stands for all namespaces.
const everywhere = "*"

// nobody is the tag that no pod has.
const nobody = tagPrefix + "nobody"

// selector is a selector of pods in certain namespaces.
type selector struct {
	none         bool     // selects nobody
	namespaces   []string // sorted; nil is all
	requirements []manifest.Expression
}

// selectorOf resolves what a term of a workload's pods selects.
func (t *translator) selectorOf(w *Workload, term *manifest.PodTerm) selector {
	s := selector{none: term.LabelSelector == nil, namespaces: []string{}}
	switch by := term.NamespaceSelector; {
	case by != nil && len(by.MatchLabels)+len(by.MatchExpressions) == 0:
		s.namespaces = nil
	case by == nil && len(term.Namespaces) == 0:
		s.namespaces = []string{w.Namespace}
	default:
		s.namespaces = append(s.namespaces, term.Namespaces...)
		for _, name := range t.cluster.namespaces() {
			if by != nil && by.Matches(t.cluster.labelsOf(name)) {
				s.namespaces = append(s.namespaces, name)
			}
		}
		slices.Sort(s.namespaces)
		s.namespaces = slices.Compact(s.namespaces)
		s.none = s.none || len(s.namespaces) == 0
	}
	if s.none {
		return s
	}
	s.require(term.LabelSelector)
	s.requireKeys(w, manifest.OpIn, term.MatchLabelKeys)
	s.requireKeys(w, manifest.OpNotIn, term.MismatchLabelKeys)
	return s
}

// require adds the requirements of a selector.
func (s *selector) require(l *manifest.LabelSelector) {
	for key, value := range l.MatchLabels {
		s.requirements = append(s.requirements, manifest.Expression{Key: key, Operator: manifest.OpIn, Values: []string{value}})
	}
	s.requirements = append(s.requirements, l.MatchExpressions...)
}

// requireKeys adds that labels be, or not be, what the workload's own are. Labels that it
// does not have matter not.
func (s *selector) requireKeys(w *Workload, operator string, keys []string) {
	for _, key := range keys {
		if value, there := w.Labels[key]; there {
			s.requirements = append(s.requirements, manifest.Expression{Key: key, Operator: operator, Values: []string{value}})
		}
	}
}

// matches reports whether the workload's pods are selected.
func (s *selector) matches(w *Workload) bool {
	if s.none || s.namespaces != nil && !slices.Contains(s.namespaces, w.Namespace) {
		return false
	}
	for i := range s.requirements {
		if !s.requirements[i].Matches(w.Labels) {
			return false
		}
	}
	return true
}

// selected are the workloads whose pods are selected, in order. They are looked for among those that have one of the
// labels that are asked for, of which there are mostly few.
func (c *Cluster) selected(s *selector) []int {
	if s.none {
		return nil
	}
	among := -1
	for i := range s.requirements {
		if r := &s.requirements[i]; r.Operator == manifest.OpIn && len(r.Values) == 1 {
			among = i
			break
		}
	}
	var rows []int
	if among < 0 {
		for i := range c.Workloads {
			if s.matches(&c.Workloads[i]) {
				rows = append(rows, i)
			}
		}
		return rows
	}
	if c.labelled == nil {
		c.labelled = map[label][]int{}
		for i := range c.Workloads {
			for key, value := range c.Workloads[i].Labels {
				c.labelled[label{key, value}] = append(c.labelled[label{key, value}], i)
			}
		}
	}
	r := &s.requirements[among]
	for _, i := range c.labelled[label{r.Key, r.Values[0]}] {
		if s.matches(&c.Workloads[i]) {
			rows = append(rows, i)
		}
	}
	return rows
}

// label is one of a workload's.
type label struct{ key, value string }

// target is the tags that pods have, all of them, which every one of the selectors selects.
func (t *translator) target(selectors ...selector) []string {
	var tags []string
	for i := range selectors {
		s := &selectors[i]
		if s.none {
			return []string{nobody}
		}
		scope := everywhere
		if s.namespaces != nil {
			scope = strings.Join(s.namespaces, ",")
		}
		if len(s.requirements) == 0 {
			tag := tagPrefix + scope
			t.tag(tag, &selector{namespaces: s.namespaces})
			tags = append(tags, tag)
		}
		for r := range s.requirements {
			tag := requirementTag(scope, &s.requirements[r])
			t.tag(tag, &selector{namespaces: s.namespaces, requirements: s.requirements[r : r+1]})
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// tag puts the tag on the workloads that are selected.
func (t *translator) tag(tag string, s *selector) {
	if t.tagged[tag] {
		return
	}
	t.tagged[tag] = true
	for _, i := range t.cluster.selected(s) {
		t.Tags[i] = append(t.Tags[i], tag)
	}
}

// requirementTag is the tag of pods in the namespaces that meet the requirement.
func requirementTag(scope string, e *manifest.Expression) string {
	own := *e
	own.Values = slices.Clone(e.Values)
	slices.Sort(own.Values)
	own.Values = slices.Compact(own.Values)
	if own.Operator == manifest.OpIn && len(own.Values) == 1 {
		return tagPrefix + scope + "/" + own.Key + "=" + own.Values[0]
	}
	return tagPrefix + scope + "/" + own.String()
}

// namespaces are the names of those that are known, sorted.
func (c *Cluster) namespaces() []string {
	var names []string
	for name := range c.Namespaces {
		names = append(names, name)
	}
	for i := range c.Workloads {
		names = append(names, c.Workloads[i].Namespace)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// labelsOf are the labels of a namespace: those that it was given, and its name.
func (c *Cluster) labelsOf(namespace string) map[string]string {
	labels := map[string]string{"kubernetes.io/metadata.name": namespace}
	maps.Copy(labels, c.Namespaces[namespace])
	return labels
}
