package world

import (
	"encoding/json"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
)

// This file is what pods prefer of nodes whose policy has that in the price of a place: each term of preferred node affinity is a node set, which the shape
// of the pod prefers by the term's weight, and so are, of whoever tolerates the same, the nodes with one PreferNoSchedule taint too many, with two, and with
// more, which it shuns, and the node that an autoscaler has nominated for it. So these pods need no full-filter query for it, and the price weighs what they prefer against room.
// Such a set is kept up with every node for as long as a shape names it.

// liked is nodes that pods prefer, and how much.
type liked struct {
	set    *nodeSet
	weight int32
}

// terms are the preferred terms of the pod for nodes, if these are part of its price.
func (s *shapes) terms(p *Pod) []v1.PreferredSchedulingTerm {
	affinity := p.object.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || !s.prices(p.object.Spec.SchedulerName).Nodes {
		return nil
	}
	return affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
}

// mostShunned is from how many taints on that one more makes no difference.
const mostShunned = 3

// likes are the nodes that the pod prefers, and those that it shuns.
func (s *shapes) likes(p *Pod) (all []liked) {
	if s.nodes.softTaints > 0 && s.prices(p.object.Spec.SchedulerName).Nodes {
		for taints := range mostShunned {
			all = append(all, liked{s.sets.shunned(p.object.Spec.Tolerations, taints+1), -cluster.MostPreference})
		}
	}
	if hint := hintOf(p.object); hint != "" && s.prices(p.object.Spec.SchedulerName).Nodes {
		if set := s.sets.nominated(hint); set != nil {
			all = append(all, liked{set, cluster.MostPreference})
		}
	}
	for _, term := range s.terms(p) {
		if len(term.Preference.MatchExpressions)+len(term.Preference.MatchFields) == 0 || term.Weight < 1 || term.Weight > cluster.MostPreference {
			continue // it is met nowhere, or no API server let it through
		}
		if set := s.sets.preferred(&term); set != nil {
			all = append(all, liked{set, term.Weight})
		}
	}
	return all
}

// unsaid is the pod without what the core is told of it: what is part of its price, rules between pods, and settled claims.
func (s *shapes) unsaid(p *Pod) *v1.Pod {
	of := s.rules.of(p).adopted(p.stock.without(p.object), s.prices(p.object.Spec.SchedulerName).Company)
	if len(s.terms(p)) == 0 {
		return of
	}
	object := *of
	affinity, nodes := *object.Spec.Affinity, *object.Spec.Affinity.NodeAffinity
	nodes.PreferredDuringSchedulingIgnoredDuringExecution = nil
	affinity.NodeAffinity, object.Spec.Affinity = &nodes, &affinity
	return &object
}

// preferred is the set of the nodes that meet the term, which the core knows; nil if it cannot be read.
func (s *nodeSets) preferred(term *v1.PreferredSchedulingTerm) *nodeSet {
	text, err := json.Marshal(&term.Preference)
	if err != nil {
		return nil
	}
	key := "preferred " + string(text)
	if ns := s.byKey[key]; ns != nil {
		return ns
	}
	likes, err := nodeaffinity.NewPreferredSchedulingTerms([]v1.PreferredSchedulingTerm{{Weight: 1, Preference: term.Preference}})
	if err != nil {
		return nil
	}
	return s.everywhere(&nodeSet{key: key, likes: func(n *v1.Node) bool { return likes.Score(n) > 0 }})
}

// mostHints are how many nodes may be hints at a time, as each is a set that every change of a node is held against.
const mostHints = 256

// nominated is the set of the one node of that name; the core knows it. It is nil if there are too many.
func (s *nodeSets) nominated(node string) *nodeSet {
	key := "nominated " + node
	if ns := s.byKey[key]; ns != nil {
		return ns
	}
	if s.hints == mostHints {
		return nil
	}
	s.hints++
	return s.everywhere(&nodeSet{key: key, isHint: true, likes: func(n *v1.Node) bool { return n.Name == node }})
}

// shunned is the set of the nodes that have so many PreferNoSchedule taints which are not tolerated, or more; the core knows it.
func (s *nodeSets) shunned(tolerations []v1.Toleration, taints int) *nodeSet {
	tolerations = slices.DeleteFunc(slices.Clone(tolerations), func(t v1.Toleration) bool { return t.Effect != "" && t.Effect != v1.TaintEffectPreferNoSchedule })
	key := "shunned " + strconv.Itoa(taints) + " " + textOf(tolerations)
	if ns := s.byKey[key]; ns != nil {
		return ns
	}
	return s.everywhere(&nodeSet{key: key, likes: func(n *v1.Node) bool {
		count := 0
		for i := range n.Spec.Taints {
			if _, hostile := corev1.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints[i:i+1], tolerations, softOnly, true); hostile {
				count++
			}
		}
		return count >= taints
	}})
}

// everywhere adds a set that is kept up with every node.
func (s *nodeSets) everywhere(ns *nodeSet) *nodeSet {
	ns.id, ns.members = cluster.SetID(s.rows.Take()), make([]bool, len(s.nodes.byRow))
	s.byKey[ns.key] = ns
	var rows []cluster.NodeID
	for _, n := range s.nodes.byRow {
		if n != nil && ns.admits(n) {
			ns.members[n.row] = true
			rows = append(rows, n.row)
		}
	}
	s.define(ns, rows)
	return ns
}
