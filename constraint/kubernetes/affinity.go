package kubernetes

import (
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file is required affinity, of pods that wait; those that run are not asked again.
//
// Kubernetes lets a pod into the domains, one for each of its terms, in which there already is
// a pod that all terms select. While no pod in any domain is selected, one that its own terms
// select may go first, wherever its nodes have the keys. So what an end state must look like
// follows from who can have been there first:
//
//	nobody of their own      beside those whom they seek:        {web, {cache, 1, inf}, zone}
//	their own, no others     the first goes anywhere, the rest   {web, {web, R−1, inf}, zone}
//	                         follow it into its one domain
//	their own and others     together, before the others come;   the one, or
//	                         or each beside one of the others    the other
//	some run already         beside those, or beside others
//
// Pods that have the same terms and are selected by them follow each other whichever
// workload they are of: they are one family. The others beside whom a family may stand, its
// anchors, are pods that run, and workloads that do not wait for the family themselves.
// Families that wait for each other in a circle are put in an order, and each may use as
// anchors only what comes before it, so that nothing stands in the air; only the first of
// them may have a pod that goes first.
//
// One thing that Kubernetes could reach is left out: a family that goes first into one domain,
// and follows the others into theirs.

// family is workloads that wait and have the same terms of required affinity.
type family struct {
	name      string
	members   []int // workloads
	pods      int32
	selectors []selector
	target    []string
	keys      []string // topology keys, sorted
	self      bool     // its own pods are selected by all terms
	done      bool
}

// gather translates required affinity.
func (t *translator) gather() {
	families := t.families()
	t.ordered = len(families) > 0
	for range families {
		f := t.nextFamily(families)
		t.gatherFamily(f, families)
		f.done = true
	}
}

// families are the families of all workloads, in the order of their first.
func (t *translator) families() []*family {
	byText := map[string]*family{}
	var all []*family
	for i := range t.cluster.Workloads {
		w := &t.cluster.Workloads[i]
		terms := w.Spec.Affinity.PodAffinity.Required
		if len(terms) == 0 || w.Runs() && !t.stepwise {
			continue
		}
		f := &family{name: w.Application, self: true}
		for k := range terms {
			f.selectors = append(f.selectors, t.selectorOf(w, &terms[k]))
			f.keys = append(f.keys, terms[k].TopologyKey)
		}
		slices.Sort(f.keys)
		f.keys = slices.Compact(f.keys)
		f.target = t.target(f.selectors...)
		f.self = f.selects(w)
		text := strings.Join(f.target, "\n") + "\n\n" + strings.Join(f.keys, "\n")
		if f.self {
			text += "\n\nself"
		}
		if byText[text] == nil {
			byText[text] = f
			all = append(all, f)
		}
		f = byText[text]
		f.members = append(f.members, i)
		f.pods += int32(len(w.Pods))
	}
	return all
}

// selects reports whether all terms select the workload.
func (f *family) selects(w *Workload) bool {
	for i := range f.selectors {
		if !f.selectors[i].matches(w) {
			return false
		}
	}
	return true
}

// waitsFor reports whether one of f's anchors could be of g.
func (f *family) waitsFor(g *family, all []Workload) bool {
	return f != g && slices.ContainsFunc(g.members, func(i int) bool { return f.selects(&all[i]) })
}

// nextFamily is one that waits for no family that is still to come; in a circle the first
// that can be there without others.
func (t *translator) nextFamily(families []*family) *family {
	var best *family
	for _, f := range families {
		if f.done {
			continue
		}
		free := !slices.ContainsFunc(families, func(g *family) bool { return !g.done && f.waitsFor(g, t.cluster.Workloads) })
		if free {
			return f
		}
		if best == nil || f.self && !best.self {
			best = f
		}
	}
	t.note(false, "%s: its required podAffinity waits for workloads that wait for it in turn; who comes first was chosen, where Kubernetes would go by the order of pods", best.name)
	return best
}

// gatherFamily adds the constraint of a family.
func (t *translator) gatherFamily(f *family, families []*family) {
	anchors, all, running := t.anchorsOf(f, families)
	first := f.self && !running && !slices.ContainsFunc(families, func(g *family) bool {
		return g.done && g.waitsFor(f, t.cluster.Workloads)
	})
	subject := t.familyTag(f)
	if first && f.pods == 1 {
		return // it can always have been the first
	}
	var alternatives [][]cluster.Bound
	add := func(target []string, least int32) {
		var bounds []cluster.Bound
		for _, key := range f.keys {
			bounds = append(bounds, cluster.Bound{Subject: subject, Target: target, Min: least, Max: cluster.Unbounded, Group: t.topology(key)})
		}
		alternatives = append(alternatives, bounds)
	}
	if first {
		add(subject, f.pods-1)
		if len(f.members) > 1 {
			t.note(false, "%s: others have the same required podAffinity, which selects them, too; they come together, all or none", f.name)
		}
		if len(anchors) > 0 {
			t.note(false, "%s: its pods stand together, or each beside others that its required podAffinity selects; Kubernetes may also let some do the one, some the other", f.name)
		}
	}
	switch {
	case all && !f.self:
		add(f.target, 1)
	case !first && len(anchors) == 0:
		add([]string{nobody}, 1)
	case len(anchors) > 0:
		add(t.anchorTag(f, anchors), 1)
	}
	t.hard(f.members[0], "required podAffinity", alternatives)
}

// anchorsOf are the workloads beside which a family may stand; whether these are all that
// its terms select, but for itself; and whether some of those run where there is a domain.
func (t *translator) anchorsOf(f *family, families []*family) (anchors []int, all, running bool) {
	all = true
	for i := range t.cluster.Workloads {
		w := &t.cluster.Workloads[i]
		if !f.selects(w) || slices.Contains(f.members, i) {
			continue
		}
		if slices.ContainsFunc(families, func(g *family) bool { return !g.done && slices.Contains(g.members, i) }) {
			all = false
			continue
		}
		anchors = append(anchors, i)
		running = running || t.runsInDomain(f, []int{i})
	}
	return anchors, all, running
}

// familyTag is the tag of the family's pods.
func (t *translator) familyTag(f *family) []string {
	if len(f.members) == 1 {
		return t.subject[f.members[0]]
	}
	return t.tagAll(tagPrefix+"family/"+t.subject[f.members[0]][0], f.members)
}

// anchorTag is the tag of the family's anchors.
func (t *translator) anchorTag(f *family, anchors []int) []string {
	return t.tagAll(tagPrefix+"anchor/"+t.subject[f.members[0]][0], anchors)
}

func (t *translator) tagAll(tag string, workloads []int) []string {
	for _, i := range workloads {
		t.Tags[i] = append(t.Tags[i], tag)
	}
	return []string{tag}
}

// reaches reports whether the node is in a domain of one of the family's keys.
func (f *family) reaches(n *Node) bool {
	return slices.ContainsFunc(f.keys, func(key string) bool { _, there := n.Labels[key]; return there })
}

// runsInDomain reports whether a pod of the workloads runs in a domain of one of the family's keys.
func (t *translator) runsInDomain(f *family, workloads []int) bool {
	return slices.ContainsFunc(workloads, func(i int) bool {
		w := &t.cluster.Workloads[i]
		return w.Runs() && slices.ContainsFunc(w.Pods, func(p Pod) bool { return f.reaches(&t.cluster.Nodes[p.Node]) })
	})
}
