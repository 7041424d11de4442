package world

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"fairlead.dev/fairlead/cluster"
)

// This file says in the core's words what a pod prefers of others: preferred affinity and anti-affinity, and soft spread. Policies that price company
// make the places dearer that do not offer it; a hundred points of upstream's weigh as much as a soft constraint that names no weight, and so does a spread.
// A term for which there are no words makes the pod await queries, where upstream's scores decide.

// wish is a preferred term, with the weights of all that say the same.
type wish struct {
	key    string
	target *selector
	group  string
	points int64
}

// readWishes finds what the pod prefers.
func (rs *rules) readWishes(p *Pod, info *framework.PodInfo, c *company) {
	beside, away := rs.readLiked(p, c, info.PreferredAffinityTerms, false), rs.readLiked(p, c, info.PreferredAntiAffinityTerms, true)
	c.told = beside && away
	for i := range info.Pod.Spec.TopologySpreadConstraints {
		of := &info.Pod.Spec.TopologySpreadConstraints[i]
		if of.WhenUnsatisfiable != v1.ScheduleAnyway {
			continue
		}
		selectors, bound, words := rs.spreading(info.Pod, of)
		if len(selectors) == 0 {
			c.told = false
			continue
		}
		rs.adopt(p, c, wording{"soft topologySpreadConstraint of " + words, cluster.DefaultWeight}, selectors, func(tag string) []cluster.Bound {
			bound.Subject = []string{tag}
			return []cluster.Bound{bound}
		})
	}
}

// readLiked reads the terms of preferred affinity, or of anti-affinity if those whom they select are to be away. It returns false if one
// of them is left to upstream's scores.
func (rs *rules) readLiked(p *Pod, c *company, terms []fwk.WeightedAffinityTerm, away bool) bool {
	words, least, most := "preferred podAffinity to ", int32(1), cluster.Unbounded
	if away {
		words, least, most = "preferred podAntiAffinity to ", 0, 0
	}
	all, told := []wish{}, true
	for i := range terms {
		term := &terms[i].AffinityTerm
		namespaces := namespacesOf(term)
		group, by, there := rs.domains.plain(term.TopologyKey)
		if !there {
			told = false
			continue
		}
		one := wish{words + inWords(namespaces, term.Selector) + " by " + by, rs.selecting(namespaces, term.Selector), group, int64(terms[i].Weight)}
		for k := range all {
			if all[k].key == one.key {
				all[k].points, one.points = all[k].points+one.points, 0
			}
		}
		if one.points > 0 {
			all = append(all, one)
		}
	}
	for _, one := range all {
		said := wording{fmt.Sprintf("%s, weight %d", one.key, one.points), one.points * cluster.DefaultWeight / 100}
		rs.adopt(p, c, said, []*selector{one.target}, func(tag string) []cluster.Bound {
			return []cluster.Bound{{Subject: []string{tag}, Target: []string{one.target.tag}, Min: least, Max: most, Group: one.group}}
		})
	}
	return told
}
