package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file is the translation for those who place one pod at a time, and see to it that each
// step violates no hard constraint more than before: what holds in the end only, as "beside all
// R−1 others", would keep the first of them waiting for ever. Here the constraints hold after
// every pod that Kubernetes' filters let go where it is, and after no other:
//
//	away from others     as it is, {web, {cache, 0, 0}, zone}
//	beside others        as it is, {web, {cache, 1, inf}, zone}
//	beside their own     k are in domains, and each has k in its own, itself among them, for some k
//	spread               the fewest in a domain are m, and none has more than maxSkew more, for some m
//
// They bind pods that run, too, so that they are the same whether these stay or are placed anew.
// Where those that run do not keep a rule themselves, the alternative that they violate least
// may let through what it should not; so those that wait are bound by a second constraint,
// which starts without violations, or in which each of them counts for itself.
//
// Preferences become soft constraints, which hold nobody up (wishes.go). Workloads that ask for the same share a constraint.

// mostSteps is for how many numbers a constraint may have alternatives: each of them is looked
// at whenever a pod is tried on a node.
const mostSteps = 300

// Gap is a rule that is left out, of some workloads.
type Gap struct {
	Workloads  []int
	Field, Why string
}

// Stepwise says with hard constraints what the workloads require, so that they hold after
// every pod that Kubernetes lets go where it is, and with soft ones what they prefer. Tags are those alone that constraints name.
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

// waiting are those workloads of the rule that wait; with the tag of their pods.
func (t *translator) waiting(r *rule) (members []int, subject []string) {
	members = slices.DeleteFunc(slices.Clone(r.members), func(i int) bool { return t.cluster.Workloads[i].Runs() })
	if len(members) == len(r.members) || len(members) == 0 {
		return members, r.subject
	}
	return members, t.tagAll(tagPrefix+r.name+", waiting", members)
}

// require adds the constraint of a rule.
func (t *translator) require(r *rule, more string, alternatives [][]cluster.Bound) {
	t.Constraints = append(t.Constraints, cluster.Constraint{
		Name: r.name + more, Owner: t.cluster.Workloads[r.members[0]].Application, Any: alternatives, Hard: true,
	})
}

// repeat adds the constraint of a rule for those alone that wait.
func repeat(t *translator, r *rule, alternatives [][]cluster.Bound) {
	t.require(r, ", of those that wait", alternatives)
	t.Constraints[len(t.Constraints)-1].Repeats = true
}

// gap leaves a rule out.
func (t *translator) gap(members []int, field, why string) {
	t.Gaps = append(t.Gaps, Gap{members, field, why})
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
		t.require(&r, "", [][]cluster.Bound{{{Subject: r.subject, Target: s.target, Group: group}}})
		if t.isBroken(&s, r.members) {
			// Who is not alone as it is minds nobody else: so newcomers are bound themselves.
			t.require(&r, ", of those it shuns", [][]cluster.Bound{{{Subject: s.target, Target: r.subject, Group: group}}})
		}
	}
}

// isBroken reports whether pods that run stand beside others that they shun.
func (t *translator) isBroken(s *separation, members []int) bool {
	type company struct{ subjects, targets, pods int }
	in := map[string]company{}
	for i := range t.cluster.Workloads {
		w := &t.cluster.Workloads[i]
		subject, target := slices.Contains(members, i), s.matches(w)
		if !w.Runs() || !subject && !target {
			continue
		}
		for _, p := range w.Pods {
			set, there := t.cluster.Nodes[p.Node].Labels[s.key]
			if !there {
				continue
			}
			c := in[set]
			c.pods++
			if subject {
				c.subjects++
			}
			if target {
				c.targets++
			}
			if c.pods > 1 && c.subjects > 0 && c.targets > 0 {
				return true
			}
			in[set] = c
		}
	}
	return false
}

// follow is required affinity, of a family.
func (t *translator) follow(f *family) {
	const field = "required podAffinity"
	if f.pods > mostSteps && f.self {
		t.gap(f.members, "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution",
			fmt.Sprintf("of pods that select themselves, at most %d are simulated", mostSteps))
		return
	}
	r := t.rule(field, f.members)
	if !f.self {
		t.require(&r, "", [][]cluster.Bound{t.beside(f, r.subject, f.target, 1)})
		return
	}
	others := t.othersOf(f)
	var company []string
	if len(others) > 0 {
		company = t.tagAll(tagPrefix+r.name+", others", others)
	}
	inDomain := t.runsInDomain(f, slices.Concat(f.members, others))
	if waiting, bound := t.waiting(&r); inDomain && len(waiting) > 0 {
		repeat(t, &r, [][]cluster.Bound{t.beside(f, bound, f.target, 1)})
	}
	if f.pods > 1 {
		t.require(&r, "", t.together(f, r.subject, company, f.pods))
	}
	if len(others) > 0 {
		t.note(!inDomain, "%s: its pods stand together, or each beside others that its required podAffinity selects; Kubernetes lets the first of them go where it likes only while none of the others is there, and may also let some do the one, some the other", f.name)
	}
}

// beside binds the subjects to at least so many of the target, in the domains of all keys.
func (t *translator) beside(f *family, subject, target []string, least int32) (all []cluster.Bound) {
	for _, key := range f.keys {
		all = append(all, cluster.Bound{Subject: subject, Target: target, Min: least, Max: cluster.Unbounded, Group: t.topology(key)})
	}
	return all
}

// together says that all pods of the family with these tags, up to so many, are in one domain;
// or that each is beside others. Pods outside of all domains violate each alternative alike,
// and so are nobody's concern, as in Kubernetes.
func (t *translator) together(f *family, subject, others []string, pods int32) (alternatives [][]cluster.Bound) {
	if others != nil {
		alternatives = append(alternatives, t.beside(f, subject, others, 1))
	}
	domains := t.domainsOf(f)
	for k := range pods {
		bounds := []cluster.Bound{{Target: subject, Max: k + 1, Group: domains}}
		for _, b := range t.beside(f, subject, subject, k+1) {
			b.SelfCounted = true
			bounds = append(bounds, b)
		}
		alternatives = append(alternatives, bounds)
	}
	return alternatives
}

// domainsOf is the name of the group in which all nodes with a key of the family are one set.
func (t *translator) domainsOf(f *family) string {
	setOf := make([]string, len(t.cluster.Nodes))
	name := "the whole cluster"
	for i := range setOf {
		if f.reaches(&t.cluster.Nodes[i]) {
			setOf[i] = "all nodes"
		} else {
			name = "nodes with " + strings.Join(f.keys, " or ")
		}
	}
	return t.groupOf(name, setOf, "")
}

// reaches reports whether the node is in a domain of one of the family's keys.
func (f *family) reaches(n *Node) bool {
	return slices.ContainsFunc(f.keys, func(key string) bool { _, there := n.Labels[key]; return there })
}

// othersOf are the workloads that the family's terms select beside its own.
func (t *translator) othersOf(f *family) (others []int) {
	for i := range t.cluster.Workloads {
		if f.selects(&t.cluster.Workloads[i]) && !slices.Contains(f.members, i) {
			others = append(others, i)
		}
	}
	return others
}

// runsInDomain reports whether a pod of the workloads runs in a domain of one of the family's keys.
func (t *translator) runsInDomain(f *family, workloads []int) bool {
	return slices.ContainsFunc(workloads, func(i int) bool {
		w := &t.cluster.Workloads[i]
		return w.Runs() && slices.ContainsFunc(w.Pods, func(p Pod) bool { return f.reaches(&t.cluster.Nodes[p.Node]) })
	})
}

// spreadStepwise is topology spread.
func (t *translator) spreadStepwise() {
	var all []spreading // a constraint of each workload
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
			all = append(all, s)
			text, isFirst := each.add(i, append(s.target, "", s.group, fmt.Sprint(s.over(w), s.MaxSkew, s.lacksDomains(), c.WhenUnsatisfiable))...)
			if isFirst {
				first[text] = len(all) - 1
			}
		}
	}
	for _, text := range each.texts {
		t.spreadAlike(&all[first[text]], each.members[text], all)
	}
}

// spreadAlike is a spread that several workloads share.
func (t *translator) spreadAlike(s *spreading, members []int, all []spreading) {
	total := int32(0)
	for _, i := range t.cluster.selected(&s.selector) {
		total += int32(len(t.cluster.Workloads[i].Pods))
	}
	if s.WhenUnsatisfiable == softSpread {
		spreadSoftly(t, s, members, total)
		return
	}
	if most := total / int32(len(s.sets)); most > mostSteps && !s.lacksDomains() {
		t.gap(members, "spec.topologySpreadConstraints", fmt.Sprintf("a spread of up to %d pods in each of its domains is simulated, and this one can have %d", mostSteps, most))
		return
	}
	r := t.rule("topologySpreadConstraints", members)
	t.require(&r, "", t.steps(s, r.subject, 1, s.most(total)))
	waiting, bound := t.waiting(&r)
	uneven := slices.Max(s.runs)-slices.Min(s.runs) > s.MaxSkew && !s.lacksDomains()
	if uneven && len(waiting) > 0 && len(waiting) < len(members) {
		repeat(t, &r, t.steps(s, bound, 1, s.most(total)))
	}
	for j := range t.cluster.Workloads {
		w := &t.cluster.Workloads[j]
		if !w.Runs() && s.selector.matches(w) && !slices.ContainsFunc(all, func(o spreading) bool { return o.workload == j && s.isLike(&o) }) {
			t.note(false, "%s: its topology spread counts pods that are not bound alike, as those of %s, and keeps them away as well", t.cluster.Workloads[members[0]].Application, w.Application)
		}
	}
}

// over is how many others there may be beside a pod of the workload, beyond the fewest.
func (s *spreading) over(w *Workload) int32 {
	if s.selector.matches(w) {
		return s.MaxSkew - 1
	}
	return s.MaxSkew
}

// most is how many the fewest may be, of so many in all.
func (s *spreading) most(total int32) int32 {
	if s.lacksDomains() {
		return 0
	}
	return total / int32(len(s.sets))
}

// steps are the alternatives, one for each number that the fewest may be on the way: none, or from so many on.
func (t *translator) steps(s *spreading, subject []string, least, most int32) [][]cluster.Bound {
	over := s.over(&t.cluster.Workloads[s.workload])
	upper := func(fewest int32) cluster.Bound {
		return cluster.Bound{Subject: subject, Target: s.target, Max: fewest + over, Group: s.group}
	}
	alternatives := [][]cluster.Bound{{upper(0)}}
	for fewest := least; fewest <= most; fewest++ {
		alternatives = append(alternatives, []cluster.Bound{{Target: s.target, Min: fewest, Max: cluster.Unbounded, Group: s.group}, upper(fewest)})
	}
	return alternatives
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
