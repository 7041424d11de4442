package kubernetes

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
)

// This file is topology spread. Kubernetes lets a pod into a domain if, with the pod, there
// are no more than maxSkew more of the selected pods than where there are the fewest. The
// fewest only ever become more, so in the end every domain that took a pod has at most
// maxSkew more than the fewest, m; and any end state like that can be reached, by always
// adding to the emptiest domain that is still to be filled. For each m this is two bounds,
//
//	{*, {web, m, inf}, zone} & {web, {web, 0, m+maxSkew-1}, zone}
//
// others only, and the constraint is that one m will do. The second is about the pods that
// wait, not about the set: what runs unevenly already may stay so. Which m can be are few where nobody else
// is selected; the one before anything is placed is among them, so that leaving all
// out violates nothing. With fewer domains than minDomains the fewest are taken for none.
//
// Domains are those of nodes that have the topology keys of all the workload's constraints
// and that the policies for node affinity and taints include; where these are not all nodes with
// the key, they are a group of their own, such as "topology.kubernetes.io/zone for web".
//
// More is asked than by Kubernetes where pods that wait are selected and not bound by the same
// constraint, or bound and not selected: Kubernetes goes by how things are when a pod comes, and
// they may become uneven after it. And of several constraints each holds in the end, but
// filling the emptiest domain of one may not be what another allows.

const (
	hardSpread = "DoNotSchedule"
	softSpread = "ScheduleAnyway"
)

// spreading is a constraint with the domains over which it spreads, and what is known to be
// there.
type spreading struct {
	*manifest.Spread
	name     string
	workload int
	selector selector
	target   []string
	group    string
	sets     []string // sorted
	runs     []int32  // selected pods that run there, by set
}

// spread translates the topology spread constraints of all workloads.
func (t *translator) spread() {
	var all []spreading
	known := map[string]*spreadDomains{}
	for i := range t.cluster.Workloads {
		w := &t.cluster.Workloads[i]
		for k := range w.Spec.TopologySpreadConstraints {
			c := &w.Spec.TopologySpreadConstraints[k]
			s := t.selectorOfSpread(w, c)
			if w.Runs() || s.none || len(s.requirements) == 0 {
				continue // of an empty selector, too, Kubernetes counts nobody
			}
			if one := t.spreading(known, i, c, s); len(one.sets) > 0 {
				one.name = fmt.Sprintf("topologySpreadConstraints[%d]", k)
				all = append(all, one)
			}
		}
	}
	for i := range all {
		s := &all[i]
		if i > 0 && all[i-1].workload == s.workload && all[i-1].WhenUnsatisfiable == hardSpread && s.WhenUnsatisfiable == hardSpread {
			t.note(true, "%s: it has several hard topology spread constraints; they hold in the end, where Kubernetes asks for all of them as each pod comes, and may get stuck", t.cluster.Workloads[s.workload].Application)
		}
		if s.WhenUnsatisfiable == hardSpread {
			t.hard(s.workload, s.name, t.spreadBounds(s, all))
		} else {
			t.soft(s.workload, s.name, t.spreadBounds(s, all), cluster.DefaultWeight)
		}
	}
}

// selectorOfSpread is whom a workload's constraint counts.
func (t *translator) selectorOfSpread(w *Workload, c *manifest.Spread) selector {
	s := t.selectorOf(w, &manifest.PodTerm{LabelSelector: c.LabelSelector, MatchLabelKeys: c.MatchLabelKeys})
	if len(s.requirements) > 0 && slices.ContainsFunc(t.cluster.Workloads, func(w Workload) bool { return w.Leaving }) {
		s.requirements = append(s.requirements, manifest.Expression{Key: leaving, Operator: manifest.OpDoesNotExist})
	}
	return s
}

// leaving stands among the labels of pods that are being deleted; no label of Kubernetes has a space.
const leaving = "is being deleted"

// spreading finds the domains of a workload's constraint.
func (t *translator) spreading(known map[string]*spreadDomains, i int, c *manifest.Spread, by selector) spreading {
	w := &t.cluster.Workloads[i]
	d := domainsOf(t, known, w, c)
	own := *c
	own.MaxSkew = min(own.MaxSkew, maxPods) // more pods there never are
	s := spreading{Spread: &own, workload: i, selector: by, target: t.target(by), group: d.group, sets: d.sets, runs: make([]int32, len(d.sets))}
	for _, i := range t.cluster.selected(&by) {
		other := &t.cluster.Workloads[i]
		if !other.Runs() {
			continue
		}
		for _, p := range other.Pods {
			if at := d.of[p.Node]; at >= 0 {
				s.runs[at]++
			}
		}
	}
	return s
}

// spreadDomains are those over which a constraint spreads, which workloads share that may go to the same nodes.
type spreadDomains struct {
	sets  []string // sorted
	of    []int32  // by node, where its set stands among these; -1 if it is in none
	group string
}

// domainsOf finds the domains of a workload's constraint, among those known by what they follow from, or adds them to these.
func domainsOf(t *translator, known map[string]*spreadDomains, w *Workload, c *manifest.Spread) *spreadDomains {
	var keys []string // that a node has to have
	for i := range w.Spec.TopologySpreadConstraints {
		if other := &w.Spec.TopologySpreadConstraints[i]; other.WhenUnsatisfiable == c.WhenUnsatisfiable {
			keys = append(keys, other.TopologyKey)
		}
	}
	alike := fmt.Sprintf("%q %q", c.TopologyKey, keys)
	if c.NodeAffinityPolicy != "Ignore" {
		alike += fmt.Sprintf(" to %q", w.Spec.NodeSelector)
		if required := w.Spec.Affinity.NodeAffinity.Required; required != nil {
			alike += fmt.Sprintf(" and %q", required.NodeSelectorTerms)
		}
	}
	if c.NodeTaintsPolicy == "Honor" {
		alike += fmt.Sprintf(" with %q", w.Spec.Tolerations)
	}
	if d := known[alike]; d != nil {
		return d
	}
	d := &spreadDomains{of: make([]int32, len(t.cluster.Nodes))}
	setOf := make([]string, len(t.cluster.Nodes))
	for n := range t.cluster.Nodes {
		if node := &t.cluster.Nodes[n]; includes(node, w.Spec, c) {
			setOf[n] = manifest.Value(node.Labels[c.TopologyKey])
			d.sets = append(d.sets, setOf[n])
		}
	}
	slices.Sort(d.sets)
	d.sets = slices.Compact(d.sets)
	for n := range setOf {
		d.of[n] = -1
		if at, there := slices.BinarySearch(d.sets, setOf[n]); there {
			d.of[n] = int32(at)
		}
	}
	d.group = t.groupOf(c.TopologyKey, setOf, w.Application)
	known[alike] = d
	return d
}

// includes reports whether the constraint looks at the node.
func includes(n *Node, s *manifest.Spec, c *manifest.Spread) bool {
	for i := range s.TopologySpreadConstraints {
		other := &s.TopologySpreadConstraints[i]
		if _, there := n.Labels[other.TopologyKey]; !there && other.WhenUnsatisfiable == c.WhenUnsatisfiable {
			return false
		}
	}
	return (c.NodeAffinityPolicy == "Ignore" || admits(n, s)) && (c.NodeTaintsPolicy != "Honor" || manifest.Tolerated(n.Taints, s.Tolerations))
}

// spreadBounds are the alternatives, one for each number that the fewest may be.
func (t *translator) spreadBounds(s *spreading, all []spreading) [][]cluster.Bound {
	w := &t.cluster.Workloads[s.workload]
	over := s.MaxSkew // how many others there may be, beyond the fewest
	if s.selector.matches(w) {
		over--
	}
	start := int32(0) // the fewest before anything is placed, and without minDomains
	if !s.lacksDomains() {
		start = slices.Min(s.runs)
	}
	bounds := func(fewest int32) (both []cluster.Bound) {
		if fewest > start {
			both = append(both, cluster.Bound{Target: s.target, Min: fewest, Max: cluster.Unbounded, Group: s.group})
		}
		return append(both, cluster.Bound{Subject: t.subject[s.workload], Target: s.target, Max: fewest + over, Group: s.group})
	}
	alternatives := [][]cluster.Bound{bounds(start)}
	own, others, unbound := t.selectedWaiting(s, all)
	if unbound {
		t.note(t.ordered, "%s: its topology spread counts pods that wait and are not bound alike; it holds in the end, where Kubernetes asks only while each pod comes", w.Application)
	}
	if s.lacksDomains() {
		return alternatives
	}
	most := start
	for s.room(most+1) <= own+others {
		most++
	}
	least := start + 1
	for others == 0 && s.room(least+s.MaxSkew) < own {
		least++
	}
	if most-least >= maxAlternatives {
		least = most - maxAlternatives + 1
		t.note(false, "%s: there are more ways to spread its pods than the %d that are looked at, the evenest", w.Application, maxAlternatives)
	}
	for fewest := least; fewest <= most; fewest++ {
		alternatives = append(alternatives, bounds(fewest))
	}
	return alternatives
}

// maxAlternatives is for how many numbers of the fewest a constraint has alternatives,
// beside what they are at the start. It takes as many only where others are counted.
const maxAlternatives = 100

// room is how many pods it takes until every domain has so many.
func (s *spreading) room(each int32) int32 {
	sum := int32(0)
	for _, runs := range s.runs {
		sum += max(0, each-runs)
	}
	return sum
}

// selectedWaiting is how many pods wait and are selected, of the workload and of others, and
// whether some of these are bound by no such constraint of their own.
func (t *translator) selectedWaiting(s *spreading, all []spreading) (own, others int32, unbound bool) {
	for _, j := range t.cluster.selected(&s.selector) {
		w := &t.cluster.Workloads[j]
		switch {
		case w.Runs():
		case j == s.workload:
			own = int32(len(w.Pods))
		default:
			others += int32(len(w.Pods))
			unbound = unbound || !slices.ContainsFunc(all, func(o spreading) bool { return o.workload == j && s.isLike(&o) })
		}
	}
	return own, others, unbound || own == 0 && others > 0
}

// isLike reports whether the constraints of two workloads ask for the same.
func (s *spreading) isLike(o *spreading) bool {
	return s.WhenUnsatisfiable == o.WhenUnsatisfiable && s.MaxSkew == o.MaxSkew && s.lacksDomains() == o.lacksDomains() &&
		s.group == o.group && slices.Equal(s.target, o.target)
}

// lacksDomains reports whether there are fewer than minDomains.
func (s *spreading) lacksDomains() bool {
	return s.MinDomains != nil && int(*s.MinDomains) > len(s.sets)
}
