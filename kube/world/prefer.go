package world

import (
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"fairlead.dev/fairlead/cluster"
)

// This file is preferred node affinity of pods whose policy has it in the price of a place: each term is a node set, which the shape of the
// pod prefers by the term's weight. So these pods need no full-filter query for it, and the price weighs what they prefer against room.
// Such a set is kept up with every node for as long as a shape names it.

// liked is nodes that pods prefer, and how much.
type liked struct {
	set    *nodeSet
	weight int32
}

// terms are the preferred terms of the pod for nodes, if these are part of its price.
func (s *shapes) terms(p *Pod) []v1.PreferredSchedulingTerm {
	affinity := p.object.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || !s.prices(p.object.Spec.SchedulerName) {
		return nil
	}
	return affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
}

// likes are the nodes that the pod prefers.
func (s *shapes) likes(p *Pod) (all []liked) {
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

// unsaid is the pod without what the core is told of it: what is part of its price, and rules between pods.
func (s *shapes) unsaid(p *Pod) *v1.Pod {
	of := p.object
	if c := s.rules.of(p); c.whole {
		of = c.adopted(of)
	}
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
	ns := &nodeSet{key: key, id: cluster.SetID(s.rows.Take()), likes: likes, members: make([]bool, len(s.nodes.byRow))}
	s.byKey[key] = ns
	var rows []cluster.NodeID
	for _, n := range slices.DeleteFunc(slices.Clone(s.nodes.byRow), func(n *node) bool { return n == nil || !ns.admits(n) }) {
		ns.members[n.row] = true
		rows = append(rows, n.row)
	}
	s.define(ns, rows)
	return ns
}
