package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file is the translation for those who place one pod at a time: required rules become constraints that bind who comes, which is what
// Kubernetes' filters do. Who stands there already is bound by none, but is counted, and shuns.
//
//	away from others     {web, {cache, 0, 0}, zone} & {cache, {web, 0, 0}, zone}
//	beside others        {web, {cache, 1, inf}, zone}, and the first of those who select themselves goes anywhere
//	spread               {web, {web, 0, maxSkew}, zone}, counted over the fewest of a domain
//
// Preferences become soft ones of these, which hold nobody up (wishes.go). Workloads that ask for the same share a constraint.

// Stepwise says with constraints that bind who comes what the workloads require, and with soft ones what they prefer. Tags are those alone that constraints name.
func Stepwise(c *Cluster) (*Translation, error) {
	t, err := newTranslator(c)
	if err != nil {
		return nil, err
	}
	t.stepwise, t.named = true, map[string]bool{}
	for i := range c.Workloads {
		if w := &c.Workloads[i]; w.Leaving {
			w.Labels = maps.Clone(w.Labels)
			w.Labels[leaving] = "yes"
		}
	}
	for i := range c.Workloads {
		t.separatePorts(i)
	}
	t.separateAlike()
	for _, f := range t.families() {
		t.follow(f)
	}
	preferAlike(t)
	t.spreadStepwise()
	t.dropTags()
	return t.end()
}

// alike is workloads by what they ask for, in the order of the first of each.
type alike struct {
	texts   []string
	members map[string][]int
}

// add notes that a workload asks for what the texts say, and returns them as one; and whether
// it is the first to do so.
func (a *alike) add(workload int, of ...string) (text string, first bool) {
	text = strings.Join(of, "\n")
	if a.members == nil {
		a.members = map[string][]int{}
	}
	if first = len(a.members[text]) == 0; first {
		a.texts = append(a.texts, text)
	}
	if own := a.members[text]; len(own) == 0 || own[len(own)-1] != workload {
		a.members[text] = append(own, workload)
	}
	return text, first
}

// rule is a rule of some workloads, with its name.
type rule struct {
	name    string // that no other has
	members []int
	subject []string // the tags of all their pods
}

func (t *translator) rule(field string, members []int) rule {
	plain := t.cluster.Workloads[members[0]].Application + ": " + field
	name := plain
	for again := 2; t.named[name]; again++ {
		name = fmt.Sprintf("%s (%d)", plain, again)
	}
	t.named[name] = true
	return rule{name, members, t.tagAll(tagPrefix+name, members)}
}

// require adds the constraint of a rule.
func (t *translator) require(r *rule, bounds []cluster.Bound) {
	t.Constraints = append(t.Constraints, cluster.Constraint{
		Name: r.name, Owner: t.cluster.Workloads[r.members[0]].Application, Any: [][]cluster.Bound{bounds}, Hard: true, Arriving: true,
	})
}

// separation is a term of required anti-affinity.
type separation struct {
	selector
	target []string
	key    string
}

// separateAlike is required anti-affinity.
func (t *translator) separateAlike() {
	var all alike
	separations := map[string]separation{}
	for i := range t.cluster.Workloads {
		w := &t.cluster.Workloads[i]
		for k := range w.Spec.Affinity.PodAntiAffinity.Required {
			term := &w.Spec.Affinity.PodAntiAffinity.Required[k]
			by := t.selectorOf(w, term)
			if by.none {
				continue
			}
			s := separation{by, t.target(by), term.TopologyKey}
			text, _ := all.add(i, append(s.target, "", s.key)...)
			separations[text] = s
		}
	}
	for _, text := range all.texts {
		s, r := separations[text], t.rule("required podAntiAffinity", all.members[text])
		group := t.topology(s.key)
		t.require(&r, []cluster.Bound{
			{Subject: r.subject, Target: s.target, Group: group},
			{Subject: s.target, Target: r.subject, Group: group},
		})
	}
}

// follow is required affinity, of a family. Of several keys each lets the first go by itself, where Kubernetes has one for all.
func (t *translator) follow(f *family) {
	r := t.rule("required podAffinity", f.members)
	var bounds []cluster.Bound
	for _, key := range f.keys {
		bounds = append(bounds, cluster.Bound{Subject: r.subject, Target: f.target, Min: 1, Max: cluster.Unbounded, Group: t.topology(key), OrFirst: f.self})
	}
	t.require(&r, bounds)
	if f.self && len(f.keys) > 1 {
		t.note(true, "%s: its required podAffinity selects itself by several topology keys; the first of it may go where nobody is in a domain of one of them, where Kubernetes asks for all", f.name)
	}
}

// spreadStepwise is topology spread.
func (t *translator) spreadStepwise() {
	var all []spreading // one of each text
	var each alike
	known := map[string]*spreadDomains{}
	first := map[string]int{} // of all
	for i := range t.cluster.Workloads {
		w := &t.cluster.Workloads[i]
		for k := range w.Spec.TopologySpreadConstraints {
			c := &w.Spec.TopologySpreadConstraints[k]
			by := t.selectorOfSpread(w, c)
			if by.none || len(by.requirements) == 0 {
				continue
			}
			s := t.spreading(known, i, c, by)
			if len(s.sets) == 0 && c.WhenUnsatisfiable == hardSpread {
				continue
			}
			least := int32(1)
			if s.MinDomains != nil {
				least = *s.MinDomains
			}
			text, isFirst := each.add(i, append(s.target, "", s.group, fmt.Sprint(s.MaxSkew, least, c.WhenUnsatisfiable))...)
			if isFirst {
				first[text] = len(all)
				all = append(all, s)
			}
		}
	}
	for _, text := range each.texts {
		t.spreadAlike(&all[first[text]], each.members[text])
	}
}

// spreadAlike is a spread that several workloads share.
func (t *translator) spreadAlike(s *spreading, members []int) {
	bound := cluster.Bound{Target: s.target, Max: s.MaxSkew, Group: s.group, SelfCounted: true, OverFewest: true}
	if s.WhenUnsatisfiable == softSpread {
		r := t.rule("topologySpreadConstraints, soft", members)
		bound.Subject = r.subject
		want(t, &r, bound, cluster.DefaultWeight)
		return
	}
	r := t.rule("topologySpreadConstraints", members)
	bound.Subject = r.subject
	if s.MinDomains != nil && *s.MinDomains > 1 {
		bound.LeastSets = min(*s.MinDomains, cluster.MaxBound)
	}
	t.require(&r, []cluster.Bound{bound})
}

// dropTags leaves the tags that constraints name.
func (t *translator) dropTags() {
	named := map[string]bool{}
	for i := range t.Constraints {
		for _, bounds := range t.Constraints[i].Any {
			for k := range bounds {
				for _, tag := range slices.Concat(bounds[k].Subject, bounds[k].Target) {
					named[tag] = true
				}
			}
		}
	}
	for i := range t.Tags {
		t.Tags[i] = slices.DeleteFunc(t.Tags[i], func(tag string) bool { return !named[tag] })
	}
}
