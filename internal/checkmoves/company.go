package main

import "fmt"

// This file is what pods want of other pods: affinity, anti-affinity and spread. Terms without namespaces are about the pod's
// own.

// among goes through the running pods that the selector matches, in the domain of the node.
func (c *cluster) among(namespace string, s *selector, key string, n *object, do func(*pod)) {
	domain, has := n.Metadata.Labels[key]
	if !has {
		return
	}
	for name, node := range c.nodes {
		if value, is := node.Metadata.Labels[key]; !is || value != domain {
			continue
		}
		for _, p := range c.on[name] {
			if p.Metadata.Namespace == namespace && s.matches(p.Metadata.Labels) {
				do(p)
			}
		}
	}
}

// company says whom the pod shuns or misses on the node, and who shuns it.
func (c *cluster) company(p *pod, n *object) (wrong error) {
	for _, term := range p.Spec.Affinity.PodAntiAffinity.Required {
		c.among(p.Metadata.Namespace, term.LabelSelector, term.TopologyKey, n, func(other *pod) { wrong = fmt.Errorf("shuns %s", other.name()) })
	}
	for _, term := range p.Spec.Affinity.PodAffinity.Required {
		found := false
		c.among(p.Metadata.Namespace, term.LabelSelector, term.TopologyKey, n, func(*pod) { found = true })
		if !found {
			wrong = fmt.Errorf("misses company of its own over %s", term.TopologyKey)
		}
	}
	for _, other := range c.pods {
		at := c.nodes[other.Spec.NodeName]
		if at == nil || other.Metadata.Namespace != p.Metadata.Namespace {
			continue
		}
		for _, term := range other.Spec.Affinity.PodAntiAffinity.Required {
			domain, has := at.Metadata.Labels[term.TopologyKey]
			if has && n.Metadata.Labels[term.TopologyKey] == domain && term.LabelSelector.matches(p.Metadata.Labels) {
				wrong = fmt.Errorf("%s shuns it", other.name())
			}
		}
	}
	return wrong
}

// evenly says over which key the pod would be spread less evenly than it wants to be. Domains are those of the nodes that its
// selector and its affinity let it use, whatever their taints, as Kubernetes has it.
func (c *cluster) evenly(p *pod, n *object) error {
	for _, s := range p.Spec.TopologySpreadConstraints {
		if s.WhenUnsatisfiable == "ScheduleAnyway" {
			continue
		}
		count := map[string]int{}
		for name, node := range c.nodes {
			domain, has := node.Metadata.Labels[s.TopologyKey]
			if !has || !c.couldUse(p, node) {
				continue
			}
			count[domain] += 0
			for _, other := range c.on[name] {
				if other.Metadata.Namespace == p.Metadata.Namespace && s.LabelSelector.matches(other.Metadata.Labels) {
					count[domain]++
				}
			}
		}
		here, has := count[n.Metadata.Labels[s.TopologyKey]]
		if !has {
			return fmt.Errorf("is spread over %s, which the node does not have", s.TopologyKey)
		}
		least := here
		for _, others := range count {
			least = min(least, others)
		}
		if here+1-least > s.MaxSkew {
			return fmt.Errorf("is spread over %s: %d would be here, %d are where the fewest are", s.TopologyKey, here+1, least)
		}
	}
	return nil
}

func (c *cluster) couldUse(p *pod, n *object) bool {
	for key, value := range p.Spec.NodeSelector {
		if n.Metadata.Labels[key] != value {
			return false
		}
	}
	return p.Spec.Affinity.NodeAffinity.Required.matches(n)
}
