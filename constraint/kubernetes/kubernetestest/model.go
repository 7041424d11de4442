package kubernetestest

import (
	"slices"

	"fairlead.dev/fairlead/internal/manifest"
)

// This file is Kubernetes' filters as its documentation has them, each question answered from
// nothing by looking at every pod.

// Model is the filters of the documentation.
func (w *World) Model(at []int, pod int) []bool {
	may := make([]bool, len(w.nodes))
	for n := range w.nodes {
		may[n] = w.usable(pod, n) && w.isPortFree(at, pod, n) && w.isAway(at, pod, n) && w.isBeside(at, pod, n) && w.isSpread(at, pod, n)
	}
	return may
}

// usable says whether node selector, taints and keys let the pod use the node.
func (w *World) usable(pod, n int) bool {
	return w.selected(pod, n) && manifest.Tolerated(w.nodes[n].Spec.Taints, w.pods[pod].Spec.Tolerations)
}

func (w *World) selected(pod, n int) bool {
	for key, value := range w.pods[pod].Spec.NodeSelector {
		if w.nodes[n].Metadata.Labels[key] != value {
			return false
		}
	}
	return true
}

// isPortFree says whether nobody there has a host port that the pod wants.
func (w *World) isPortFree(at []int, pod, n int) bool {
	everywhere := func(address string) bool { return address == "" || address == "0.0.0.0" }
	for other, m := range at {
		for _, own := range w.pods[pod].Spec.HostPorts() {
			for _, its := range w.pods[other].Spec.HostPorts() {
				meet := own.Address == its.Address || everywhere(own.Address) || everywhere(its.Address)
				if m == n && meet && own.Protocol == its.Protocol && own.Number == its.Number {
					return false
				}
			}
		}
	}
	return true
}

// selects reports whether a term of the pod selects another pod.
func (w *World) selects(pod int, term *manifest.PodTerm, other int) bool {
	own, its := &w.pods[pod].Metadata, &w.pods[other].Metadata
	here := slices.Contains(term.Namespaces, its.Namespace)
	switch {
	case term.NamespaceSelector != nil:
		here = true // worlds have none but the empty one
	case len(term.Namespaces) == 0:
		here = own.Namespace == its.Namespace
	}
	return here && term.LabelSelector != nil && term.LabelSelector.Matches(its.Labels)
}

// shared reports whether two nodes have the same value of a label.
func (w *World) shared(key string, n, m int) bool {
	one, there := w.nodes[n].Metadata.Labels[key]
	other, too := w.nodes[m].Metadata.Labels[key]
	return there && too && one == other
}

// isAway is required anti-affinity, of the pod and of those that are there.
func (w *World) isAway(at []int, pod, n int) bool {
	for other, m := range at {
		if m == Nowhere {
			continue
		}
		for _, term := range w.pods[pod].Spec.Affinity.PodAntiAffinity.Required {
			if w.selects(pod, &term, other) && w.shared(term.TopologyKey, n, m) {
				return false
			}
		}
		for _, term := range w.pods[other].Spec.Affinity.PodAntiAffinity.Required {
			if w.selects(other, &term, pod) && w.shared(term.TopologyKey, n, m) {
				return false
			}
		}
	}
	return true
}

// isBeside is required affinity, with the exemption of the first pod.
func (w *World) isBeside(at []int, pod, n int) bool {
	terms := w.pods[pod].Spec.Affinity.PodAffinity.Required
	every := func(other int) bool {
		return !slices.ContainsFunc(terms, func(term manifest.PodTerm) bool { return !w.selects(pod, &term, other) })
	}
	somewhere, beside := false, 0
	for _, term := range terms {
		if _, there := w.nodes[n].Metadata.Labels[term.TopologyKey]; !there {
			return false
		}
		found := false
		for other, m := range at {
			if m == Nowhere || !every(other) {
				continue
			}
			_, counts := w.nodes[m].Metadata.Labels[term.TopologyKey]
			somewhere = somewhere || counts
			found = found || w.shared(term.TopologyKey, n, m)
		}
		if found {
			beside++
		}
	}
	return beside == len(terms) || !somewhere && every(pod)
}

// isSpread is topology spread.
func (w *World) isSpread(at []int, pod, n int) bool {
	for i := range w.pods[pod].Spec.TopologySpreadConstraints {
		c := &w.pods[pod].Spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable == "DoNotSchedule" && !w.isSpreadBy(c, at, pod, n) {
			return false
		}
	}
	return true
}

func (w *World) isSpreadBy(c *manifest.Spread, at []int, pod, n int) bool {
	here, there := w.nodes[n].Metadata.Labels[c.TopologyKey]
	if !there {
		return false
	}
	selects := func(other int) bool { return w.selectsToSpread(c, pod, other) }
	counts := map[string]int32{}
	for m := range w.nodes {
		if w.counted(c, pod, m) {
			counts[w.nodes[m].Metadata.Labels[c.TopologyKey]] += 0
		}
	}
	for other, m := range at {
		if m != Nowhere && w.counted(c, pod, m) && selects(other) {
			counts[w.nodes[m].Metadata.Labels[c.TopologyKey]]++
		}
	}
	fewest := int32(0)
	if c.MinDomains == nil || len(counts) >= int(*c.MinDomains) {
		fewest = 1 << 30
		for _, count := range counts {
			fewest = min(fewest, count)
		}
	}
	own := int32(0)
	if selects(pod) {
		own = 1
	}
	return counts[here]+own-fewest <= c.MaxSkew
}

// selectsToSpread reports whether the pod's constraint counts another. An empty selector
// counts nobody.
func (w *World) selectsToSpread(c *manifest.Spread, pod, other int) bool {
	own, its := &w.pods[pod].Metadata, &w.pods[other].Metadata
	if own.Namespace != its.Namespace || c.LabelSelector == nil {
		return false
	}
	keys := 0
	for _, key := range c.MatchLabelKeys {
		if value, there := own.Labels[key]; there {
			keys++
			if its.Labels[key] != value {
				return false
			}
		}
	}
	if keys+len(c.LabelSelector.MatchLabels)+len(c.LabelSelector.MatchExpressions) == 0 {
		return false
	}
	return c.LabelSelector.Matches(its.Labels)
}

// counted reports whether the node is one over which the pod is spread.
func (w *World) counted(c *manifest.Spread, pod, m int) bool {
	for _, other := range w.pods[pod].Spec.TopologySpreadConstraints {
		if _, there := w.nodes[m].Metadata.Labels[other.TopologyKey]; !there && other.WhenUnsatisfiable == "DoNotSchedule" {
			return false
		}
	}
	return (c.NodeAffinityPolicy == "Ignore" || w.selected(pod, m)) &&
		(c.NodeTaintsPolicy != "Honor" || manifest.Tolerated(w.nodes[m].Spec.Taints, w.pods[pod].Spec.Tolerations))
}
