package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/constraints"
)

// saying are the objects that say constraints, and the node groups, by name; a slash stands before the name of a constraint, and before that its namespace.
type saying struct {
	texts  map[string]string
	groups map[string]map[string]string // the selectors by the name of their set
}

// constrain has an object say so, or no object if the text is empty.
func (r *rig) constrain(name, text string) error {
	if !strings.Contains(name, "/") {
		name = "/" + name
	}
	if r.saying.texts == nil {
		r.saying.texts = map[string]string{}
	}
	if r.saying.texts[name] = text; text == "" {
		delete(r.saying.texts, name)
	}
	return r.reportConstraints()
}

// divide has a node group have these sets, or not be there if there are none.
func (r *rig) divide(name string, sets map[string]string) error {
	if r.saying.groups == nil {
		r.saying.groups = map[string]map[string]string{}
	}
	if r.saying.groups[name] = sets; len(sets) == 0 {
		delete(r.saying.groups, name)
	}
	return r.reportConstraints()
}

// reportConstraints reports all objects to the world. It is an error if one of them is refused, other than for a node group that is missing.
func (r *rig) reportConstraints() error {
	o := &constraints.Objects{}
	for _, name := range slices.Sorted(maps.Keys(r.saying.groups)) {
		g := &v1alpha1.NodeGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, set := range slices.Sorted(maps.Keys(r.saying.groups[name])) {
			by, err := metav1.ParseToLabelSelector(r.saying.groups[name][set])
			if err != nil {
				return err
			}
			g.Spec.Sets = append(g.Spec.Sets, v1alpha1.NodeSet{Name: set, Selector: *by})
		}
		o.Groups = append(o.Groups, g)
	}
	for _, key := range slices.Sorted(maps.Keys(r.saying.texts)) {
		namespace, name, _ := strings.Cut(key, "/")
		of := v1alpha1.Constraint{Text: r.saying.texts[key]}
		if at := metav1.NamespaceAll; namespace == at {
			c := &v1alpha1.ClusterPlacementConstraint{ObjectMeta: metav1.ObjectMeta{Name: name}}
			c.Spec.Constraint = of
			o.Cluster = append(o.Cluster, c)
			continue
		}
		c := &v1alpha1.PlacementConstraint{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		c.Spec.Constraint = of
		o.Namespaced = append(o.Namespaced, c)
	}
	set, verdicts := constraints.Read(o)
	for i := range verdicts {
		if v := &verdicts[i]; !v.Accepted() && v.Reason != v1alpha1.ReasonNoNodeGroup {
			return fmt.Errorf("%s: %s", v.Object.GetName(), v.Message)
		}
	}
	Constrain(r.world, set)
	return nil
}

// constraints prints how each constraint stands.
func (s *story) constraints() string {
	var out strings.Builder
	Constraints(s.world, func(key constraints.Key, row cluster.ConstraintID) {
		stands := s.core.View().Standing(row, 1, 1)
		fmt.Fprintf(&out, "%s/%s: %d bound, %d violating\n", key.Namespace, key.Name, stands.Subjects, stands.Violating)
	})
	return out.String()
}

// drawConstraint draws a constraint that an object says, or takes one away.
func (h *history) drawConstraint(t *rapid.T) {
	name := pick(t, "constraint", "default/a", "default/b", "c")
	who := func(of string) string { return pick(t, of, "app=web", "app=db", "app") }
	text := ""
	if !often(t, 4, "none") {
		least, most := number(t, 2, "least"), pick(t, "most", "0", "1", "2", "inf")
		if least > 0 && most == "0" {
			most = "1"
		}
		subject := who("subject")
		if often(t, 4, "every set") {
			subject = "*"
		}
		text = fmt.Sprintf("{%s, {%s, %d, %s}, %s}", subject, who("target"), least, most, pick(t, "group", "node", "node", "zone", "group:rows"))
		if often(t, 3, "alternatives") {
			text += fmt.Sprintf(" | {%s, {%s, 0, 1}, node}", who("other subject"), who("other target"))
		}
		text += pick(t, "cost", ": hard", ": hard", ": 2.5", "")
	}
	h.t.Logf("  constraint %s says %q", name, text)
	if err := h.constrain(name, text); err != nil {
		h.tb.Fatal(err)
	}
}

// drawNodeGroup draws a node group, or takes it away.
func (h *history) drawNodeGroup(t *rapid.T) {
	sets := map[string]string{}
	for _, set := range []string{"left", "right"} {
		if often(t, 2, "set") {
			sets[set] = pick(t, "selector", "kubernetes.io/hostname in (n0,n1)", "kubernetes.io/hostname=n1", "topology.kubernetes.io/zone=a", "!topology.kubernetes.io/zone")
		}
	}
	h.t.Logf("  node group rows has the sets %v", sets)
	if err := h.divide("rows", sets); err != nil {
		h.tb.Fatal(err)
	}
}

// unheld counts for each hard constraint, by hand, for how many pods or sets it does not hold, of the alternative for which these are fewest. The slow obvious rival of the core's counts.
func (r *rig) unheld() map[constraints.Key]int64 {
	counts := map[constraints.Key]int64{}
	for i := range r.world.rules.standing.wanted.Constraints {
		c := &r.world.rules.standing.wanted.Constraints[i]
		if !c.Hard {
			continue
		}
		for at, bounds := range c.Any {
			sum := int64(0)
			for j := range bounds {
				sum += r.unheldBy(&bounds[j])
			}
			if at == 0 || sum < counts[c.Key] {
				counts[c.Key] = sum
			}
		}
	}
	return counts
}

// checkUnheld fails if a hard constraint does not hold for more than before what was decided was done.
func (r *rig) checkUnheld(before map[constraints.Key]int64) {
	r.tb.Helper()
	for key, now := range r.unheld() {
		if now > before[key] {
			r.tb.Fatalf("at %v: %v does not hold for %d, and did not for %d before what was decided was done", r.now, key, now, before[key])
		}
	}
}

func (r *rig) unheldBy(b *constraints.Bound) (violating int64) {
	type place struct {
		set string
		pod *Pod
	}
	var pods []place
	sets := map[string]bool{}
	for name, n := range r.world.nodes.byName {
		set, in := r.setOf(&b.Group, n)
		if in {
			sets[set] = true
		} else {
			set = "outside " + name
		}
		for _, p := range n.pods {
			pods = append(pods, place{set, p})
		}
	}
	count := func(set string, but *Pod) (n int32) {
		if strings.HasPrefix(set, "outside ") {
			return 0
		}
		for _, o := range pods {
			if o.set == set && o.pod != but && r.selects(&b.Target, o.pod) {
				n++
			}
		}
		return n
	}
	wrong := func(n int32) bool { return n < b.Min || n > b.Max }
	if b.Subject == nil {
		for set := range sets {
			if wrong(count(set, nil)) {
				violating++
			}
		}
		return violating
	}
	for _, o := range pods {
		but := o.pod
		if b.Counted {
			but = nil
		}
		if r.selects(b.Subject, o.pod) && wrong(count(o.set, but)) {
			violating++
		}
	}
	return violating
}

// setOf is the set of the node by the objects that there are.
func (r *rig) setOf(g *constraints.Group, n *node) (string, bool) {
	of := labels.Set(n.object.Labels)
	if g.NodeGroup == "" {
		value, in := of[g.TopologyKey]
		return value, in
	}
	for _, set := range slices.Sorted(maps.Keys(r.saying.groups[g.NodeGroup])) {
		if by, err := labels.Parse(r.saying.groups[g.NodeGroup][set]); err == nil && by.Matches(of) {
			return set, true
		}
	}
	return "", false
}

func (r *rig) selects(who *constraints.Pods, p *Pod) bool {
	info, _ := p.read()
	return (who.Namespace == "" || who.Namespace == info.Pod.Namespace) && who.Labels.Matches(labels.Set(info.Pod.Labels))
}
