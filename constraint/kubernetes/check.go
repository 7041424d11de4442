package kubernetes

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/internal/manifest"
)

// This file says what is wrong with the rules of a pod, as an API server would.

// Check says why the meaning of the rules of a pod cannot be known.
func Check(s *manifest.Spec) error {
	if required := s.Affinity.NodeAffinity.Required; required != nil {
		for i := range required.NodeSelectorTerms {
			if err := required.NodeSelectorTerms[i].Check(); err != nil {
				return manifest.Within(fmt.Sprintf("spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[%d]", i), err)
			}
		}
	}
	for i := range s.Affinity.NodeAffinity.Preferred {
		p, at := &s.Affinity.NodeAffinity.Preferred[i], fmt.Sprintf("spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[%d]", i)
		if p.Weight < 1 || p.Weight > 100 {
			return manifest.Wrong(at+".weight", "1 to 100", fmt.Sprint(p.Weight))
		}
		if err := p.Preference.Check(); err != nil {
			return manifest.Within(at+".preference", err)
		}
	}
	if err := checkTerms(&s.Affinity.PodAffinity); err != nil {
		return manifest.Within("spec.affinity.podAffinity", err)
	}
	if err := checkTerms(&s.Affinity.PodAntiAffinity); err != nil {
		return manifest.Within("spec.affinity.podAntiAffinity", err)
	}
	for i := range s.TopologySpreadConstraints {
		if err := checkSpread(&s.TopologySpreadConstraints[i]); err != nil {
			return manifest.Within(fmt.Sprintf("spec.topologySpreadConstraints[%d]", i), err)
		}
	}
	return nil
}

func checkTerms(p *manifest.PodAffinity) error {
	for i := range p.Required {
		if err := checkTerm(&p.Required[i]); err != nil {
			return manifest.Within(fmt.Sprintf("requiredDuringSchedulingIgnoredDuringExecution[%d]", i), err)
		}
	}
	for i := range p.Preferred {
		at := fmt.Sprintf("preferredDuringSchedulingIgnoredDuringExecution[%d]", i)
		if weight := p.Preferred[i].Weight; weight < 1 || weight > 100 {
			return manifest.Wrong(at+".weight", "1 to 100", fmt.Sprint(weight))
		}
		if err := checkTerm(&p.Preferred[i].PodAffinityTerm); err != nil {
			return manifest.Within(at+".podAffinityTerm", err)
		}
	}
	return nil
}

func checkTerm(term *manifest.PodTerm) error {
	if term.TopologyKey == "" {
		return manifest.Wrong("topologyKey", "a label's key", "")
	}
	return checkSelectors(term.LabelSelector, term.NamespaceSelector)
}

func checkSelectors(labels, namespaces *manifest.LabelSelector) error {
	if labels != nil {
		if err := labels.Check(); err != nil {
			return manifest.Within("labelSelector", err)
		}
	}
	if namespaces != nil {
		if err := namespaces.Check(); err != nil {
			return manifest.Within("namespaceSelector", err)
		}
	}
	return nil
}

func checkSpread(c *manifest.Spread) error {
	policies := []string{"", "Honor", "Ignore"}
	switch {
	case c.TopologyKey == "":
		return manifest.Wrong("topologyKey", "a label's key", "")
	case c.MaxSkew < 1:
		return manifest.Wrong("maxSkew", "at least 1", fmt.Sprint(c.MaxSkew))
	case c.WhenUnsatisfiable != hardSpread && c.WhenUnsatisfiable != softSpread:
		return manifest.Wrong("whenUnsatisfiable", hardSpread+" or "+softSpread, c.WhenUnsatisfiable)
	case c.MinDomains != nil && (*c.MinDomains < 1 || c.WhenUnsatisfiable != hardSpread):
		return manifest.Wrong("minDomains", "at least 1, and only beside "+hardSpread, fmt.Sprint(*c.MinDomains))
	case !slices.Contains(policies, c.NodeAffinityPolicy):
		return manifest.Wrong("nodeAffinityPolicy", "Honor or Ignore", c.NodeAffinityPolicy)
	case !slices.Contains(policies, c.NodeTaintsPolicy):
		return manifest.Wrong("nodeTaintsPolicy", "Honor or Ignore", c.NodeTaintsPolicy)
	}
	return checkSelectors(c.LabelSelector, nil)
}
