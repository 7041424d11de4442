package constraint

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/nearest"
)

// This file finds what constraints may have been meant to say and do not: tags that no
// container has, groups that no node is in, bounds that ask nothing.

// Knowledge is what is known of the cluster and of what shall run on it. What is nil is
// not known, and nothing is said about it.
type Knowledge struct {
	Tags []string
	// Groups are the families of node sets beside cluster.EachNode.
	Groups []string
	// Covering are those groups in one of whose sets each node is.
	Covering []string
}

// covers reports whether each node is known to be in a set of the group.
func (k *Knowledge) covers(group string) bool {
	return group == cluster.EachNode || slices.Contains(k.Covering, group)
}

// Known is what a problem tells.
func Known(p *Problem) Knowledge {
	k := Knowledge{Tags: []string{}, Groups: []string{}}
	for i := range p.Classes {
		k.Tags = append(k.Tags, p.Classes[i].Tags...)
	}
	slices.Sort(k.Tags)
	k.Tags = slices.Compact(k.Tags)
	for i := range p.Groups {
		g := &p.Groups[i]
		k.Groups = append(k.Groups, g.Name)
		if !slices.Contains(g.SetOf, Nowhere) {
			k.Covering = append(k.Covering, g.Name)
		}
	}
	return k
}

// Warning is what may be a mistake in a constraint.
type Warning struct {
	Constraint int
	Same       int // the constraint before it that says the same; -1 if it is none of that
	Sentence   string
}

// Warnings are in the order of constraints; of each, the same is said once.
func Warnings(constraints []cluster.Constraint, k Knowledge) []Warning {
	var all []Warning
	first := map[string]int{}
	for i := range constraints {
		c := &constraints[i]
		from := len(all)
		warn := func(format string, args ...any) {
			w := Warning{Constraint: i, Same: -1, Sentence: fmt.Sprintf(format, args...)}
			if !slices.Contains(all[from:], w) {
				all = append(all, w)
			}
		}
		key := c.Owner + "\n" + Format(c)
		if before, twice := first[key]; twice {
			all = append(all, Warning{Constraint: i, Same: before, Sentence: fmt.Sprintf("is the same as constraint %d, and counts twice", before+1)})
		} else {
			first[key] = i
		}
		for _, bounds := range c.Any {
			for j := range bounds {
				k.warn(&bounds[j], warn)
			}
		}
	}
	return all
}

// warn says what may be a mistake in a bound.
func (k *Knowledge) warn(b *cluster.Bound, warn func(format string, args ...any)) {
	if b.Min == 0 && b.Max == cluster.Unbounded {
		warn("%s asks nothing", FormatBound(b))
	}
	if b.Group != cluster.EachNode && k.Groups != nil && !slices.Contains(k.Groups, b.Group) {
		warn("no node is in a group %s%s", word(b.Group), meant(b.Group, append([]string{cluster.EachNode}, k.Groups...)))
	}
	if k.Tags == nil {
		return
	}
	for _, list := range [2][]string{b.Subject, b.Target} {
		for _, tag := range list {
			if !slices.Contains(k.Tags, tag) {
				warn("no container has the tag %s%s", word(tag), meant(tag, k.Tags))
			}
		}
	}
}

func meant(name string, known []string) string {
	if near, ok := nearest.Of(name, known); ok {
		return "; did you mean " + word(near) + "?"
	}
	return ""
}
