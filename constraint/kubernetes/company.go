package kubernetes

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
)

// This file is anti-affinity, and preferences for company or its absence. Kubernetes honours
// the required anti-affinity of both sides, so that no two pods of which one shuns the other
// ever share a domain, whoever came first: a bound of 0 others, in the end state as on the
// way there. A node without the topology key is in no domain, and in no set of the group.
//
// A preference is a soft bound. Kubernetes adds up the weights of all the company that a
// node offers, from both sides; a bound asks whether there is any. A preference for nodes is
// that for their company as well: who counts itself is alone enough on a node that is in
// the one set of the group, and no company is enough on one that is in none.

// separate translates the required anti-affinity of a workload, of pods that run as well:
// it keeps newcomers off.
func (t *translator) separate(i int) {
	w := &t.cluster.Workloads[i]
	for k := range w.Spec.Affinity.PodAntiAffinity.Required {
		term := &w.Spec.Affinity.PodAntiAffinity.Required[k]
		t.hard(i, fmt.Sprintf("required podAntiAffinity[%d]", k), [][]cluster.Bound{{{
			Subject: t.subject[i], Target: t.target(t.selectorOf(w, term)), Group: t.topology(term.TopologyKey),
		}}})
	}
}

// prefer translates preferred affinity and anti-affinity, and preferred node affinity.
func (t *translator) prefer(i int) {
	w := &t.cluster.Workloads[i]
	for k := range w.Spec.Affinity.PodAffinity.Preferred {
		p := &w.Spec.Affinity.PodAffinity.Preferred[k]
		t.soft(i, fmt.Sprintf("preferred podAffinity[%d]", k), [][]cluster.Bound{{{
			Subject: t.subject[i], Target: t.target(t.selectorOf(w, &p.PodAffinityTerm)), Min: 1, Max: cluster.Unbounded,
			Group: t.topology(p.PodAffinityTerm.TopologyKey),
		}}}, int64(p.Weight)*weightOfPreference)
	}
	for k := range w.Spec.Affinity.PodAntiAffinity.Preferred {
		p := &w.Spec.Affinity.PodAntiAffinity.Preferred[k]
		t.soft(i, fmt.Sprintf("preferred podAntiAffinity[%d]", k), [][]cluster.Bound{{{
			Subject: t.subject[i], Target: t.target(t.selectorOf(w, &p.PodAffinityTerm)), Group: t.topology(p.PodAffinityTerm.TopologyKey),
		}}}, int64(p.Weight)*weightOfPreference)
	}
	for k := range w.Spec.Affinity.NodeAffinity.Preferred {
		p := &w.Spec.Affinity.NodeAffinity.Preferred[k]
		group, some := preferredBy(t, w, &p.Preference)
		if w.Runs() || !some {
			continue // it is where it is, or no node is better than another
		}
		t.soft(i, fmt.Sprintf("preferred nodeAffinity[%d]", k), [][]cluster.Bound{{{
			Subject: t.subject[i], Target: t.subject[i], Min: 1, Max: cluster.Unbounded, Group: group, SelfCounted: true,
		}}}, int64(p.Weight)*weightOfPreference)
	}
}

// preferredBy is the name of the group of one set, of the nodes that meet a term of the workload, and false if there are none.
func preferredBy(t *translator, w *Workload, term *manifest.NodeTerm) (name string, some bool) {
	setOf := make([]string, len(t.cluster.Nodes))
	for i := range t.cluster.Nodes {
		if n := &t.cluster.Nodes[i]; term.Matches(n.Name, n.Labels) {
			setOf[i], some = "preferred", true
		}
	}
	if !some {
		return "", false
	}
	return t.groupOf("nodes that "+w.Application+" prefers", setOf, ""), true
}
