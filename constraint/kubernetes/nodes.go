package kubernetes

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
)

// This file is which nodes a workload may use, and the groups that topology keys make of
// nodes. Required affinity and hard spread keep a pod off nodes that lack a key of theirs;
// anti-affinity does not.

const hostname = "kubernetes.io/hostname"

// group is a family of node sets in the making.
type group struct {
	key, name string
	setOf     []string // by node; empty if in none
}

// admits reports whether node selector and required node affinity admit the node.
func admits(n *Node, s *manifest.Spec) bool {
	for key, value := range s.NodeSelector {
		if have, there := n.Labels[key]; !there || have != value {
			return false
		}
	}
	required := s.Affinity.NodeAffinity.Required
	return required == nil || slices.ContainsFunc(required.NodeSelectorTerms, func(term manifest.NodeTerm) bool {
		return term.Matches(n.Name, n.Labels)
	})
}

// eligible says which nodes a workload may use; nil if it runs already.
func (t *translator) eligible(w *Workload) []bool {
	if w.Runs() {
		return nil
	}
	var keys []string
	for i := range w.Spec.Affinity.PodAffinity.Required {
		keys = append(keys, w.Spec.Affinity.PodAffinity.Required[i].TopologyKey)
	}
	for i := range w.Spec.TopologySpreadConstraints {
		if c := &w.Spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == hardSpread {
			keys = append(keys, c.TopologyKey)
		}
	}
	usable := make([]bool, len(t.cluster.Nodes))
	for i := range t.cluster.Nodes {
		n := &t.cluster.Nodes[i]
		lacks := func(key string) bool { _, there := n.Labels[key]; return !there }
		usable[i] = admits(n, w.Spec) && manifest.Tolerated(n.Taints, w.Spec.Tolerations) && !slices.ContainsFunc(keys, lacks)
	}
	return usable
}

// topology is the name of the group that the key makes of all nodes.
func (t *translator) topology(key string) string {
	name, known := t.byKey[key]
	if !known {
		name = t.groupOf(key, t.setsOf(key), "")
		t.byKey[key] = name
	}
	return name
}

// setsOf are the sets that the key makes of all nodes, by node.
func (t *translator) setsOf(key string) []string {
	setOf := make([]string, len(t.cluster.Nodes))
	for i := range t.cluster.Nodes {
		if value, there := t.cluster.Nodes[i].Labels[key]; there {
			setOf[i] = manifest.Value(value)
		}
	}
	return setOf
}

// groupOf is the name of the group that the key makes of those nodes that are given sets: of
// all that have it, or of those that matter to an application.
func (t *translator) groupOf(key string, setOf []string, application string) string {
	for _, g := range t.groups {
		if g.key == key && slices.Equal(g.setOf, setOf) {
			return g.name
		}
	}
	name := key
	switch {
	case key == hostname && oneEach(setOf):
		name = cluster.EachNode
	case application != "" && !slices.Equal(setOf, t.setsOf(key)):
		name = key + " for " + application
	case key == cluster.EachNode:
		name = "label " + key
	}
	for plain, again := name, 2; slices.ContainsFunc(t.groups, func(g group) bool { return g.name == name }); again++ {
		name = fmt.Sprintf("%s (%d)", plain, again)
	}
	t.groups = append(t.groups, group{key, name, setOf})
	return name
}

// oneEach reports whether each node has a value of its own.
func oneEach(setOf []string) bool {
	seen := map[string]bool{}
	for _, set := range setOf {
		if set == "" || seen[set] {
			return false
		}
		seen[set] = true
	}
	return true
}
