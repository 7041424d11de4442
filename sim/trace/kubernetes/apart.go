package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/internal/manifest"
)

// This file is the anti-affinity of replicas that keep each other off their nodes. In the model
// they are the tasks of one job of which a node may hold one, which costs less than a
// constraint. So pods with one term of anti-affinity, by node, with the same selector, which
// selects them, are one job, whoever owns them; if the selector selects nobody else. All other
// anti-affinity, and that of pods that come together or not at all, is constraints (company.go).

const hostname = "kubernetes.io/hostname"

// group is pods that keep each other off their nodes.
type group struct {
	namespace string
	key       string
	selector  *manifest.LabelSelector
}

// groupOf is the group of a pod; nil if it is of none.
func groupOf(o *manifest.Object) *group {
	terms := slices.DeleteFunc(slices.Clone(o.Spec.Affinity.PodAntiAffinity.Required), func(term manifest.PodTerm) bool {
		return term.LabelSelector == nil // it selects nothing
	})
	if len(terms) != 1 {
		return nil
	}
	term := &terms[0]
	own := term.NamespaceSelector == nil && !slices.ContainsFunc(term.Namespaces, func(n string) bool { return n != o.Metadata.Namespace })
	if !own || term.TopologyKey != hostname || len(term.MatchLabelKeys)+len(term.MismatchLabelKeys) > 0 || !term.LabelSelector.Matches(o.Metadata.Labels) {
		return nil
	}
	return &group{namespace: o.Metadata.Namespace, key: fmt.Sprintf("%s\n%q", o.Metadata.Namespace, *term.LabelSelector), selector: term.LabelSelector}
}

// checkGroups drops the groups that cannot be jobs.
func (s *Source) checkGroups() {
	members := map[string][]*pod{}
	spaces := map[string][]*pod{}
	for i := range s.pods {
		p := &s.pods[i]
		spaces[p.namespace] = append(spaces[p.namespace], p)
		if s.gangs.together(p) {
			p.group = nil // they are another job already
		}
		if p.group != nil {
			members[p.group.key] = append(members[p.group.key], p)
		}
	}
	alike := s.hostnames()
	for _, key := range slices.Sorted(maps.Keys(members)) {
		own := members[key]
		if g := own[0].group; alike && !selectsOthers(spaces[g.namespace], g) {
			continue
		}
		for _, p := range own {
			p.group = nil
		}
	}
}

// selectsOthers reports whether the group selects a pod that is not of it.
func selectsOthers(pods []*pod, g *group) bool {
	selected := map[string]bool{} // by labels, as replicas have the same
	for _, p := range pods {
		if p.group != nil && p.group.key == g.key {
			continue
		}
		matches, known := selected[p.labelsKey]
		if !known {
			matches = g.selector.Matches(p.labels)
			selected[p.labelsKey] = matches
		}
		if matches {
			return true
		}
	}
	return false
}

// hostnames reports whether every node has a hostname of its own.
func (s *Source) hostnames() bool {
	seen := map[string]bool{}
	for _, n := range s.nodes {
		name, there := n.labels[hostname]
		if !there || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

// labelsKey is the same for the same labels.
func labelsKey(labels map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&b, "%s=%s,", key, labels[key])
	}
	return b.String()
}
