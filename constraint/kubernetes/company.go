package kubernetes

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
)

// This file is anti-affinity, and preferences for company or its absence. Kubernetes honours
// the required anti-affinity of both sides, so that no two pods of which one shuns the other
// ever share a domain, whoever came first: a bound of 0 others, in the end state as on the
// way there. A node without the topology key is in no domain, and in no set of the group.
//
// A preference is a soft bound. Kubernetes adds up the weights of all the company that a
// node offers, from both sides; a bound asks whether there is any.

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

// prefer translates preferred affinity and anti-affinity.
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
}
