package constraints

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// This file finds constraints that cannot hold together, as package constraint does, with what pods are selected by for tags. Who reads of a constraint that it contradicts others is told
// those of the same namespace by name: the rest he may not be allowed to see, and they are counted.

// anyPod is a tag that all pods have, so that who is selected by nothing has one.
const anyPod = "any pod"

// contradict notes contradictions in the verdicts.
func (r *reader) contradict() {
	all := make([]cluster.Constraint, len(r.set.Constraints))
	for i := range all {
		all[i] = r.set.Constraints[i].inTags()
	}
	type found struct {
		named  []string
		others int
	}
	of := make([]found, len(all))
	for _, c := range constraint.Contradictions(all, constraint.Knowledge{}) {
		a, b := c.Least.Constraint, c.Most.Constraint
		if a == b {
			of[a].named = append(of[a].named, r.itself(&c))
			continue
		}
		x, y := r.set.Constraints[a].Key, r.set.Constraints[b].Key
		if x.Namespace == y.Namespace {
			of[a].named = append(of[a].named, r.between(&c, y))
			of[b].named = append(of[b].named, r.between(&c, x))
			continue
		}
		of[a].others++
		of[b].others++
	}
	for i, f := range of {
		words := f.named
		if most := 10; len(words) > most {
			words = append(slices.Clone(words[:most]), fmt.Sprintf("And %d more of them.", len(words)-most))
		}
		if f.others > 0 {
			words = append(words, fmt.Sprintf("It cannot hold together with %s not of %s.", constraintsThatAre(f.others), where(r.set.Constraints[i].Key)))
		}
		r.verdicts[r.of[i]].Contradicts = strings.Join(words, " ")
	}
}

func constraintsThatAre(n int) string {
	if n == 1 {
		return "a constraint that is"
	}
	return fmt.Sprintf("%d constraints that are", n)
}

// where is what the constraint is of.
func where(k Key) string {
	if k.Namespace == "" {
		return "the cluster"
	}
	return "this namespace"
}

// itself says that a constraint contradicts itself.
func (r *reader) itself(c *constraint.Contradiction) string {
	return fmt.Sprintf("It cannot hold for %s: %s%s.", who(c), r.numbers(c), outside(c))
}

// between says that it contradicts another one.
func (r *reader) between(c *constraint.Contradiction, other Key) string {
	return fmt.Sprintf("It cannot hold together with %s for %s: %s%s.", other.Name, who(c), r.numbers(c), outside(c))
}

// numbers are how many are asked for, and how many allowed.
func (r *reader) numbers(c *constraint.Contradiction) string {
	least := &r.set.Constraints[c.Least.Constraint].Any[c.Least.Alternative][c.Least.Bound]
	most := &r.set.Constraints[c.Most.Constraint].Any[c.Most.Alternative][c.Most.Bound]
	if c.Least == c.Most {
		return "each counts itself, and none is allowed"
	}
	return fmt.Sprintf("at least %d of %s are wanted and at most %d of %s allowed", least.Min, least.Target.Labels, most.Max, most.Target.Labels)
}

func outside(c *constraint.Contradiction) string {
	if c.Outside == "" {
		return ""
	}
	return ", except on nodes in none of the sets"
}

// who are the pods for which it is so.
func who(c *constraint.Contradiction) string {
	if len(c.Subjects) == 0 {
		return "any set of nodes"
	}
	var each []string
	for _, tags := range c.Subjects {
		var labelled []string
		for _, tag := range tags {
			if text, is := strings.CutPrefix(tag, ofPods); is {
				labelled = append(labelled, text)
			}
		}
		for _, tag := range tags {
			key, is := strings.CutPrefix(tag, ofKeys)
			if is && !slices.ContainsFunc(labelled, func(text string) bool { return strings.HasPrefix(text, key+"=") || strings.HasPrefix(text, key+" in ") }) {
				labelled = append(labelled, key)
			}
		}
		if len(labelled) == 0 {
			each = append(each, anyPod)
			continue
		}
		each = append(each, "pods with "+strings.Join(labelled, ","))
	}
	return strings.Join(each, " and ")
}

// ofPods, ofKeys and ofNamespaces begin the tags that pods have by their labels, by the keys of these, and by where they are.
const (
	ofPods       = "pods "
	ofKeys       = "keys "
	ofNamespaces = "namespaces "
)

// inTags is the constraint with a tag for each requirement.
func (c *Constraint) inTags() cluster.Constraint {
	of := cluster.Constraint{Name: c.Key.Name, Hard: c.Hard, Weight: c.Weight}
	for _, bounds := range c.Any {
		var all []cluster.Bound
		for i := range bounds {
			b := &bounds[i]
			bound := cluster.Bound{Target: b.Target.tags(), Min: b.Min, Max: b.Max, Group: b.Group.text(), SelfCounted: b.Counted}
			if b.Subject != nil {
				bound.Subject = b.Subject.tags()
			}
			all = append(all, bound)
		}
		of.Any = append(of.Any, all)
	}
	return of
}

// text is what the group goes by.
func (g Group) text() string {
	switch {
	case g.NodeGroup != "":
		return groupPrefix + g.NodeGroup
	case g.TopologyKey == v1.LabelHostname:
		return cluster.EachNode
	}
	return g.TopologyKey
}

// tags are a tag for each requirement, and of one that wants a value also that there is one; sorted.
func (p *Pods) tags() []string {
	tags := []string{anyPod}
	if p.Namespace != "" {
		tags = append(tags, ofNamespaces+p.Namespace)
	} else if !p.Namespaces.Empty() {
		tags = append(tags, ofNamespaces+"with "+p.Namespaces.String())
	}
	requirements, selects := p.Labels.Requirements()
	if !selects {
		tags = append(tags, ofPods+"nothing")
	}
	for _, q := range requirements {
		if q.Operator() == selection.Exists {
			tags = append(tags, ofKeys+q.Key())
			continue
		}
		tags = append(tags, ofPods+labels.NewSelector().Add(q).String())
		if q.Operator() == selection.In || q.Operator() == selection.Equals || q.Operator() == selection.DoubleEquals {
			tags = append(tags, ofKeys+q.Key())
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}
