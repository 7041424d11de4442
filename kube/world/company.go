package world

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"

	"fairlead.dev/fairlead/cluster"
)

// This file says in the core's words what a pod requires of others, so that they mean what upstream's InterPodAffinity and PodTopologySpread mean.
// A gap is a term for which there are none: it is one of several of a pod that may be its own company, or its domains are not those of nodes by name. Such a pod awaits queries, and nobody else is told of its terms but by the last word.

// read finds the rules of the pod.
func (rs *rules) read(p *Pod, info *framework.PodInfo, c *company) {
	c.whole = true
	for i := range info.RequiredAntiAffinityTerms {
		rs.readAway(p, c, &info.RequiredAntiAffinityTerms[i])
	}
	if len(info.RequiredAffinityTerms) > 0 {
		rs.readBeside(p, c, info)
	}
	for i := range info.Pod.Spec.TopologySpreadConstraints {
		if s := &info.Pod.Spec.TopologySpreadConstraints[i]; s.WhenUnsatisfiable == v1.DoNotSchedule && !rs.readSpread(p, c, info.Pod, s) {
			c.whole = false
		}
	}
	if p.group != nil {
		rs.readDomains(p, c)
	}
	rs.readOnce(p, c)
	rs.readWay(p, c)
	if rs.wishes {
		rs.readWishes(p, info, c)
	}
}

// gap notes a term that is left to upstream's filters.
func (c *company) gap() { c.whole = false }

// readAway reads a term of required anti-affinity, which binds both sides: who shuns, and whom it shuns.
func (rs *rules) readAway(p *Pod, c *company, term *fwk.AffinityTerm) {
	namespaces := namespacesOf(term)
	group, by, there := rs.domains.plain(term.TopologyKey)
	if !there {
		c.gaps++ // it binds others, too
		c.gap()
		return
	}
	s := rs.selecting(namespaces, term.Selector)
	key := "required podAntiAffinity to " + inWords(namespaces, term.Selector) + " by " + by
	rs.adopt(p, c, wording{key, 0}, []*selector{s}, func(tag string) []cluster.Bound {
		return []cluster.Bound{
			{Subject: []string{tag}, Target: []string{s.tag}, Group: group},
			{Subject: []string{s.tag}, Target: []string{tag}, Group: group},
		}
	})
}

// readBeside reads the terms of required affinity: who comes stands beside a pod that all of them select, by the domains of each; or it is itself such
// a pod, and the first.
func (rs *rules) readBeside(p *Pod, c *company, info *framework.PodInfo) {
	terms, object := info.RequiredAffinityTerms, info.Pod
	var groups, words []string
	first := true
	for i := range terms {
		term := &terms[i]
		namespaces := namespacesOf(term)
		group, by, there := rs.domains.plain(term.TopologyKey)
		if !there {
			c.gap()
			return
		}
		first = first && namespaces.has(c.kin.namespace) && term.Selector.Matches(labels.Set(object.Labels))
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		words = append(words, inWords(namespaces, term.Selector)+" by "+by)
	}
	if first && len(groups) > 1 { // it may be the first where nobody is in a domain of any of the keys
		c.gap()
		return
	}
	var selectors []*selector
	var target []string
	for i := range terms {
		s := rs.selecting(namespacesOf(&terms[i]), terms[i].Selector)
		selectors, target = append(selectors, s), append(target, s.tag)
	}
	slices.Sort(target)
	target = slices.Compact(target)
	rs.adopt(p, c, wording{"required podAffinity to " + strings.Join(words, " and "), 0}, selectors, func(tag string) (bounds []cluster.Bound) {
		for _, group := range groups {
			bounds = append(bounds, cluster.Bound{Subject: []string{tag}, Target: target, Min: 1, Max: cluster.Unbounded, Group: group, OrFirst: len(groups) == 1})
		}
		return bounds
	})
}

// readDomains reads that all pods of the pod's group stand in one domain, or all below a composite pod group: who comes stands beside another of them, or is the first.
func (rs *rules) readDomains(p *Pod, c *company) {
	for _, t := range p.group.topology {
		if t.key == "" {
			continue
		}
		group, by, _ := rs.domains.plain(t.key)
		said := wording{fmt.Sprintf("schedulingConstraints.topology of %s in %s by %s", t.of, p.group.Namespace, by), 0}
		rs.adopt(p, c, said, nil, func(tag string) []cluster.Bound {
			return []cluster.Bound{{Subject: []string{tag}, Target: []string{tag}, Min: 1, Max: cluster.Unbounded, Group: group, OrFirst: true}}
		})
	}
}

// readSpread reads a constraint of hard topology spread. It returns false if it is left to upstream's filters.
func (rs *rules) readSpread(p *Pod, c *company, object *v1.Pod, of *v1.TopologySpreadConstraint) bool {
	selectors, bound, words := rs.spreading(object, of)
	if words == "" {
		return false
	}
	if least := min(max(ptr.Deref(of.MinDomains, 1), 1), cluster.MaxBound); least > 1 { // more domains there never are
		bound.LeastSets = least
		words += fmt.Sprintf(", minDomains %d", least)
	}
	rs.adopt(p, c, wording{"topologySpreadConstraint of " + words, 0}, selectors, func(tag string) []cluster.Bound {
		bound.Subject = []string{tag}
		return []cluster.Bound{bound}
	})
	return true
}

// spreading is a topology spread constraint of the pod as a bound without a subject, and in words; there are none if it is left to upstream. Where the selector is empty
// upstream's PreFilter counts nobody, so that a node has to be in some domain, and that is all.
func (rs *rules) spreading(object *v1.Pod, of *v1.TopologySpreadConstraint) (selectors []*selector, bound cluster.Bound, words string) {
	by, err := metav1.LabelSelectorAsSelector(of.LabelSelector)
	if err != nil {
		return nil, bound, ""
	}
	for _, key := range of.MatchLabelKeys {
		if value, has := object.Labels[key]; has {
			if r, err := labels.NewRequirement(key, "in", []string{value}); err == nil {
				by = by.Add(*r)
			}
		}
	}
	group, over, there := rs.domains.spread(object, of)
	if !there {
		return nil, bound, ""
	}
	namespaces, counted, who := among{names: sets.New(object.Namespace)}, tagPrefix+"nobody", "no pod, for an empty selector,"
	if !by.Empty() {
		s := rs.selecting(namespaces, by)
		selectors, counted, who = []*selector{s}, s.tag, inWords(namespaces, by)
	}
	most := min(max(of.MaxSkew, 1), cluster.MaxBound) // more pods there never are
	bound = cluster.Bound{Target: []string{counted}, Max: most, Group: group, SelfCounted: true, OverFewest: true}
	return selectors, bound, fmt.Sprintf("%s by %s, maxSkew %d", who, over, most)
}

// namespacesOf are those that the term selects.
func namespacesOf(term *fwk.AffinityTerm) among {
	requirements, selects := term.NamespaceSelector.Requirements()
	switch {
	case !selects:
		return among{names: term.Namespaces}
	case len(requirements) == 0:
		return among{} // all
	}
	return among{names: term.Namespaces, by: term.NamespaceSelector}
}

// inWords is who is selected.
func inWords(namespaces among, by labels.Selector) string {
	who := by.String()
	if requirements, selects := by.Requirements(); !selects {
		who = "no pod"
	} else if len(requirements) == 0 {
		who = "any pod"
	}
	return who + " in " + namespaces.String()
}
