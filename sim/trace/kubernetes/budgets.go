package kubernetes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
)

// This file is budgets of disruption. A file is a moment, in which as many pods are expected as there are to be for the
// rest of it; so a budget comes to how many are to be available, as Kubernetes computes it:
//
//	minAvailable: 3       3
//	minAvailable: 50%     half of those that are expected, rounded up
//	maxUnavailable: 3     all but 3 of those that are expected
//	maxUnavailable: 30%   all but 30 % of them, which are rounded up
//
// Expected are the replicas of those who have made the pods, or the pods themselves where the file does not have these. Of pods
// that nobody has made, or a Job or a DaemonSet, Kubernetes does not know how many to expect, but for a minAvailable that is
// a number: then no pod may be evicted. Pods of two budgets never are.

// guards are the budgets of the files.
type guards struct {
	budgets []guard          // that select a pod, once pods have them
	all     []guard          // of the files
	scale   map[string]int64 // how many pods a maker is to have
}

// guard is a PodDisruptionBudget.
type guard struct {
	namespace string
	selector  *manifest.LabelSelector
	manifest.Disruption
	cluster.Budget
}

// take takes in a budget, or how many pods a maker is to have, and reports whether it was a budget.
func (g *guards) take(o *manifest.Object) (is bool, err error) {
	switch o.Kind {
	case "PodDisruptionBudget":
	case "Deployment", "ReplicaSet", "StatefulSet", "ReplicationController":
		if o.Spec.Replicas != nil {
			g.scale[ownerName(o.Metadata.Namespace, o.Kind, o.Metadata.Name)] = int64(*o.Spec.Replicas)
		}
		return false, nil
	default:
		return false, nil
	}
	namespace := cmp.Or(o.Metadata.Namespace, "default")
	b := guard{namespace: namespace, selector: o.Spec.Selector, Disruption: o.Spec.Disruption}
	b.Name = namespace + "/" + o.Metadata.Name
	switch b.UnhealthyPolicy {
	case "", "IfHealthyBudget":
	case "AlwaysAllow":
		b.FreesUnready = true
	default:
		return true, manifest.Wrong("spec.unhealthyPodEvictionPolicy", "IfHealthyBudget or AlwaysAllow", b.UnhealthyPolicy)
	}
	if o.Metadata.Name == "" {
		return true, manifest.Wrong("metadata.name", "a name", "")
	}
	if b.selector != nil {
		if err := b.selector.Check(); err != nil {
			return true, manifest.Within("spec.selector", err)
		}
	}
	if b.MinAvailable != nil {
		if err := b.MinAvailable.Check("spec.minAvailable"); err != nil {
			return true, err
		}
	}
	if b.MaxUnavailable != nil {
		if err := b.MaxUnavailable.Check("spec.maxUnavailable"); err != nil {
			return true, err
		}
	}
	g.budgets = append(g.budgets, b)
	return true, nil
}

// guardPods gives pods the names of their budgets, and budgets how many pods are to be available. Those that select none
// are dropped.
func guardPods(s *Source) {
	slices.SortFunc(s.guards.budgets, func(a, b guard) int { return cmp.Compare(a.Name, b.Name) })
	s.guards.all = slices.Clone(s.guards.budgets)
	by := newPodsBy(s.pods)
	s.guards.budgets = slices.DeleteFunc(s.guards.budgets, func(b guard) bool {
		return b.selector == nil || len(by.selected(&b)) == 0
	})
	for i := range s.guards.budgets {
		b := &s.guards.budgets[i]
		own := by.selected(b)
		b.Least = s.guards.least(b, own, !s.options.Changes.resize())
		for _, p := range own {
			if !p.leaving { // who leaves already may be told so again
				p.budgets = append(p.budgets, b.Name)
			}
		}
	}
}

// least is how many of its pods are to be available.
func (g *guards) least(b *guard, own []*pod, asMade bool) int64 {
	if b.MaxUnavailable == nil && b.MinAvailable != nil && !b.MinAvailable.IsShare() {
		return b.MinAvailable.Of(0)
	}
	expected, known := g.expected(own, asMade)
	switch {
	case !known || expected == 0 || b.MaxUnavailable == nil && b.MinAvailable == nil:
		return int64(len(own))
	case b.MaxUnavailable != nil:
		return max(expected-b.MaxUnavailable.Of(expected), 0)
	}
	return b.MinAvailable.Of(expected)
}

// expected is how many pods those who have made these are to have in all; false where Kubernetes does not know. As they
// are made says that a maker is to have as many as its object says, if that is in the file.
func (g *guards) expected(own []*pod, asMade bool) (all int64, known bool) {
	made := map[string]int64{}
	for _, p := range own {
		switch {
		case p.pinned || strings.Contains(p.application, "/job/") || strings.Contains(p.application, "/cronjob/"):
			return 0, false
		case !isBare(p.application):
			made[p.application]++
		}
	}
	for name, pods := range made {
		if scale, there := g.scale[name]; there && asMade {
			pods = scale
		}
		all += pods
	}
	return all, true
}

// podsBy finds pods by their labels. Most pods have those of many others.
type podsBy struct {
	labels map[string][]*podSet // by namespace, and by namespace, key and value
}

// podSet is the pods of a namespace with the same labels.
type podSet struct {
	labels map[string]string
	pods   []*pod
}

func newPodsBy(pods []pod) *podsBy {
	by := &podsBy{labels: map[string][]*podSet{}}
	sets := map[string]*podSet{}
	for i := range pods {
		p := &pods[i]
		key := p.namespace + "\n" + p.labelsKey
		set := sets[key]
		if set == nil {
			set = &podSet{labels: p.labels}
			sets[key] = set
			by.labels[p.namespace] = append(by.labels[p.namespace], set)
			for k, v := range p.labels {
				at := p.namespace + "\n" + k + "=" + v
				by.labels[at] = append(by.labels[at], set)
			}
		}
		set.pods = append(set.pods, p)
	}
	return by
}

// selected are the pods that the budget selects.
func (by *podsBy) selected(b *guard) (own []*pod) {
	at := b.namespace
	for _, key := range slices.Sorted(maps.Keys(b.selector.MatchLabels)) {
		at = b.namespace + "\n" + key + "=" + b.selector.MatchLabels[key]
	}
	for _, set := range by.labels[at] {
		if b.selector.Matches(set.labels) {
			own = append(own, set.pods...)
		}
	}
	return own
}
