package kubernetes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/cluster"
	constraints "fairlead.dev/fairlead/constraint/kubernetes"
	"fairlead.dev/fairlead/internal/manifest"
)

// This file is whose company pods require, prefer or shun: affinity, spread, and the
// anti-affinity that is not among replicas (apart.go); preferences become soft constraints. Package constraint/kubernetes makes
// constraints of it, which hold pod by pod. Pods are one workload there where no selector tells
// them apart: those of one namespace, with the same rules and the same values of the labels
// that are asked for, whoever owns them. So a thousand pods with the same rules have one
// constraint.

// company is what a pod asks of others, with what else says which nodes matter to it. Pods
// that ask for the same share it.
type company struct {
	spec *manifest.Spec
	key  string
}

// companyOf is what a pod asks of others; nil if nothing. A static pod requires nothing and is not spread,
// but keeps others off, and has preferences, which count for others as well.
func companyOf(o *manifest.Object) (*company, error) {
	all := &o.Spec
	spec := &manifest.Spec{NodeSelector: all.NodeSelector, Tolerations: all.Tolerations}
	spec.Affinity.NodeAffinity.Required = all.Affinity.NodeAffinity.Required
	spec.Affinity.PodAffinity, spec.Affinity.PodAntiAffinity = all.Affinity.PodAffinity, all.Affinity.PodAntiAffinity
	spec.TopologySpreadConstraints = all.TopologySpreadConstraints
	if o.IsStatic() {
		spec.Affinity.PodAffinity.Required, spec.TopologySpreadConstraints = nil, nil
	}
	spec.Affinity.NodeAffinity.Preferred = all.Affinity.NodeAffinity.Preferred // to be checked; it is nobody's company
	if err := constraints.Check(spec); err != nil {
		return nil, err
	}
	spec.Affinity.NodeAffinity.Preferred = nil
	return newCompany(spec), nil
}

func newCompany(spec *manifest.Spec) *company {
	a := &spec.Affinity
	if len(a.PodAffinity.Required)+len(a.PodAffinity.Preferred)+len(a.PodAntiAffinity.Required)+len(a.PodAntiAffinity.Preferred)+len(spec.TopologySpreadConstraints) == 0 {
		return nil
	}
	text, err := json.Marshal(spec)
	if err != nil {
		panic("kubernetes: a spec is not JSON: " + err.Error())
	}
	return &company{spec, string(text)}
}

// sharedCompany returns the company that asks for the same: a workload has as many pods that do as it has pods.
func (a *alike) sharedCompany(c *company) *company {
	if c == nil {
		return nil
	}
	if a.company[c.key] == nil {
		a.company[c.key] = c
	}
	return a.company[c.key]
}

// keys are the labels that nodes must have for the pod to come there.
func (c *company) keys() (keys []string) {
	if c == nil {
		return nil
	}
	for i := range c.spec.Affinity.PodAffinity.Required {
		keys = append(keys, c.spec.Affinity.PodAffinity.Required[i].TopologyKey)
	}
	for i := range c.spec.TopologySpreadConstraints {
		if spread := &c.spec.TopologySpreadConstraints[i]; !isSoft(spread) {
			keys = append(keys, spread.TopologyKey)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// isSoft reports whether a spread is a preference.
func isSoft(c *manifest.Spread) bool { return c.WhenUnsatisfiable == "ScheduleAnyway" }

// without is the company without terms that the files cannot resolve, and what these are.
// Of pods that are kept apart otherwise, these are those of anti-affinity. Preferences that cannot be resolved are named by their fields.
func (s *Source) without(c *company, apart bool) (of *company, gaps []gap, ignored []string) {
	const required, preferred = ".requiredDuringSchedulingIgnoredDuringExecution", ".preferredDuringSchedulingIgnoredDuringExecution"
	elsewhere := blind(s)
	known := func(field string, terms []manifest.PodTerm) (kept []manifest.PodTerm) {
		for i := range terms {
			at := fmt.Sprintf("spec.affinity.%s%s[%d]", field, required, i)
			switch {
			case elsewhere:
				gaps = append(gaps, gap{at, "who is near whom is known only of nodes in the same files"})
			case !s.knows(terms[i].NamespaceSelector):
				gaps = append(gaps, gap{at + ".namespaceSelector", "the labels of namespaces are not in the files; kubectl get namespaces,nodes,pods has them"})
			default:
				kept = append(kept, terms[i])
			}
		}
		return kept
	}
	wished := func(field string, terms []manifest.WeightedTerm) (kept []manifest.WeightedTerm) {
		for i := range terms {
			if elsewhere || !s.knows(terms[i].PodAffinityTerm.NamespaceSelector) {
				ignored = append(ignored, "spec.affinity."+field+preferred)
			} else {
				kept = append(kept, terms[i])
			}
		}
		return kept
	}
	spec := *c.spec
	if apart {
		spec.Affinity.PodAntiAffinity.Required = nil
	}
	spec.Affinity.PodAffinity.Required = known("podAffinity", spec.Affinity.PodAffinity.Required)
	spec.Affinity.PodAntiAffinity.Required = known("podAntiAffinity", spec.Affinity.PodAntiAffinity.Required)
	spec.Affinity.PodAffinity.Preferred = wished("podAffinity", spec.Affinity.PodAffinity.Preferred)
	spec.Affinity.PodAntiAffinity.Preferred = wished("podAntiAffinity", spec.Affinity.PodAntiAffinity.Preferred)
	if elsewhere {
		for i := range spec.TopologySpreadConstraints {
			if isSoft(&spec.TopologySpreadConstraints[i]) {
				ignored = append(ignored, softSpreadField)
				continue
			}
			gaps = append(gaps, gap{fmt.Sprintf("spec.topologySpreadConstraints[%d]", i), "over what it spreads is known only of nodes in the same files"})
		}
		spec.TopologySpreadConstraints = nil
	}
	slices.Sort(ignored)
	return newCompany(&spec), gaps, slices.Compact(ignored)
}

// softSpreadField is what soft spread is called.
const softSpreadField = "spec.topologySpreadConstraints with ScheduleAnyway"

// knows reports whether the files say which namespaces are selected.
func (s *Source) knows(by *manifest.LabelSelector) bool {
	if by == nil || len(s.namespaces) > 0 {
		return true
	}
	named := func(key string) bool { return key == "kubernetes.io/metadata.name" }
	for key := range by.MatchLabels {
		if !named(key) {
			return false
		}
	}
	return !slices.ContainsFunc(by.MatchExpressions, func(e manifest.Expression) bool { return !named(e.Key) })
}

// resolveCompany leaves pods the company that is simulated, counts what is not, and says which
// labels of pods are asked for.
func (s *Source) resolveCompany() (asked map[string]bool) {
	type resolved struct {
		*company
		gaps    []gap
		ignored []string
	}
	known := map[string]resolved{}
	asked = map[string]bool{}
	for i := range s.pods {
		p := &s.pods[i]
		if p.company == nil {
			continue
		}
		key := fmt.Sprint(p.group != nil, p.company.key)
		r, there := known[key]
		if !there {
			r.company, r.gaps, r.ignored = s.without(p.company, p.group != nil)
			known[key] = r
			if r.company != nil {
				ask(r.spec, asked)
			}
		}
		p.company = r.company
		if keys := r.keys(); len(keys) > 0 {
			own := *p.rules
			own.Keys = keys
			p.rules = s.shared(&own)
		}
		for _, g := range r.gaps {
			s.gap(p.file, p.name, g)
		}
		for _, field := range r.ignored {
			s.notes.ignored[field+" of pods"]++
		}
	}
	return asked
}

// ask notes the labels that selectors ask for.
func ask(spec *manifest.Spec, asked map[string]bool) {
	selector := func(l *manifest.LabelSelector, keys ...string) {
		for _, key := range keys {
			asked[key] = true
		}
		if l == nil {
			return
		}
		for key := range l.MatchLabels {
			asked[key] = true
		}
		for i := range l.MatchExpressions {
			asked[l.MatchExpressions[i].Key] = true
		}
	}
	terms := slices.Concat(spec.Affinity.PodAffinity.Required, spec.Affinity.PodAntiAffinity.Required)
	for _, p := range slices.Concat(spec.Affinity.PodAffinity.Preferred, spec.Affinity.PodAntiAffinity.Preferred) {
		terms = append(terms, p.PodAffinityTerm)
	}
	for _, term := range terms {
		selector(term.LabelSelector, slices.Concat(term.MatchLabelKeys, term.MismatchLabelKeys)...)
	}
	for _, c := range spec.TopologySpreadConstraints {
		selector(c.LabelSelector, c.MatchLabelKeys...)
	}
}

// constrain makes constraints of what pods ask of others, and gives pods the tags and nodes the
// groups that these name.
func (s *Source) constrain() error {
	asked := s.resolveCompany()
	if !slices.ContainsFunc(s.pods, func(p pod) bool { return p.company != nil }) {
		return nil
	}
	c, members := s.workloads(asked)
	rules, err := constraints.Stepwise(&c)
	if err != nil {
		return err
	}
	for w := range members {
		for _, p := range members[w] {
			p.tags = union(p.tags, rules.Tags[w])
		}
	}
	for i := range s.nodes {
		if err := s.nodes[i].join(rules.Groups[i]); err != nil {
			return err
		}
	}
	for _, r := range rules.Constraints {
		if err := s.once(placementConstraint + " " + r.Name); err != nil {
			return err
		}
		s.constraints = append(s.constraints, r)
	}
	for _, note := range rules.Notes {
		s.notes.inexact = append(s.notes.inexact, note.Text)
	}
	return nil
}

// workloads is the nodes, and the pods as workloads, of each of which it returns the pods.
func (s *Source) workloads(asked map[string]bool) (c constraints.Cluster, members [][]*pod) {
	c.Namespaces = s.namespaces
	for _, n := range s.nodes {
		c.Nodes = append(c.Nodes, constraints.Node{Name: n.name, Labels: n.labels, Taints: n.taints})
	}
	rows := map[string]int{}
	for i := range s.pods {
		p := &s.pods[i]
		w := s.workload(p, asked)
		on := constraints.Pod{Name: p.name, Node: constraints.Waiting}
		if p.node != "" {
			on.Node = int32(s.row(p.node))
		}
		key := fmt.Sprintf("%s\n%v %v\n%s\n%s", p.namespace, on.Node == constraints.Waiting, p.leaving, labelsKey(w.Labels), p.company.text())
		at, there := rows[key]
		if !there {
			at = len(c.Workloads)
			rows[key] = at
			c.Workloads, members = append(c.Workloads, w), append(members, nil)
		}
		c.Workloads[at].Pods, members[at] = append(c.Workloads[at].Pods, on), append(members[at], p)
	}
	return c, members
}

// join puts the node into groups.
func (n *node) join(groups []cluster.Label) error {
	for _, l := range groups {
		at := slices.IndexFunc(n.groups, func(o cluster.Label) bool { return o.Key == l.Key })
		switch {
		case at < 0:
			n.groups = append(n.groups, l)
		case n.groups[at].Value != l.Value:
			return fmt.Errorf("node %s is in the set %s of group %s by its annotation, and in %s by its label", n.name, n.groups[at].Value, l.Key, l.Value)
		}
	}
	cluster.SortLabels(n.groups)
	return nil
}

// union is the tags of both, sorted; a itself where b has none, as pods of a kind share theirs.
func union(a, b []string) []string {
	if len(a) == 0 {
		return b
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// workload is the workload that the pod is of, without its pods.
func (s *Source) workload(p *pod, asked map[string]bool) constraints.Workload {
	w := constraints.Workload{Application: p.application, Namespace: p.namespace, Labels: maps.Clone(p.labels), Spec: &manifest.Spec{}, Leaving: p.leaving}
	if w.Labels == nil {
		w.Labels = map[string]string{}
	}
	maps.DeleteFunc(w.Labels, func(key, _ string) bool { return !asked[key] })
	if p.company != nil {
		w.Spec = p.company.spec
	}
	return w
}

// text is the same for those that ask for the same.
func (c *company) text() string {
	if c == nil {
		return ""
	}
	return c.key
}

// row is where the node of that name stands.
func (s *Source) row(name string) int {
	at, _ := slices.BinarySearchFunc(s.nodes, name, func(n node, name string) int { return cmp.Compare(n.name, name) })
	return at
}
