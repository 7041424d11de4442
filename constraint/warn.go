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

// Known is the names that a problem has.
func Known(p *Problem) Knowledge {
	k := Knowledge{Tags: []string{}, Groups: []string{}}
	for i := range p.Shapes {
		k.Tags = append(k.Tags, p.Shapes[i].Tags...)
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
	w := newWarner(k)
	for i := range constraints {
		c := &constraints[i]
		key := c.Owner + "\n" + Format(c)
		if before, twice := first[key]; twice {
			all = append(all, Warning{Constraint: i, Same: before, Sentence: fmt.Sprintf("is the same as constraint %d, and counts twice", before+1)})
		} else {
			first[key] = i
		}
		said := map[string]bool{}
		for _, bounds := range c.Any {
			for j := range bounds {
				for _, sentence := range w.of(&bounds[j]) {
					if !said[sentence] {
						said[sentence] = true
						all = append(all, Warning{Constraint: i, Same: -1, Sentence: sentence})
					}
				}
			}
		}
	}
	return all
}

// warner warns of bounds. It remembers what it said of unknown names, since whoever errs in a
// name often does so in many places.
type warner struct {
	tags, groups names
}

// names are those that are known; nil is not known.
type names struct {
	known []string
	is    map[string]bool
	said  map[string]string // of unknown ones
}

func newWarner(k Knowledge) *warner {
	w := &warner{tags: newNames(k.Tags), groups: newNames(k.Groups)}
	if k.Groups != nil {
		w.groups = newNames(append([]string{cluster.EachNode}, k.Groups...))
	}
	return w
}

func newNames(known []string) names {
	n := names{known: known, is: map[string]bool{}, said: map[string]string{}}
	for _, name := range known {
		n.is[name] = true
	}
	return n
}

// missing says that nothing has the name, and which may have been meant; empty where the name
// is known, or where it is not known which there are.
func (n *names) missing(format, name string) string {
	if n.known == nil || n.is[name] {
		return ""
	}
	if n.said[name] == "" {
		n.said[name] = fmt.Sprintf(format, word(name)) + meant(name, n.known)
	}
	return n.said[name]
}

// of says what may be a mistake in a bound.
func (w *warner) of(b *cluster.Bound) []string {
	var all []string
	if b.Min == 0 && b.Max == cluster.Unbounded {
		all = append(all, FormatBound(b)+" asks nothing")
	}
	if sentence := w.groups.missing("no node is in a group %s", b.Group); sentence != "" {
		all = append(all, sentence)
	}
	for _, list := range [2][]string{b.Subject, b.Target} {
		for _, tag := range list {
			if sentence := w.tags.missing("no container has the tag %s", tag); sentence != "" {
				all = append(all, sentence)
			}
		}
	}
	return all
}

func meant(name string, known []string) string {
	if near, ok := nearest.Of(name, known); ok {
		return "; did you mean " + word(near) + "?"
	}
	return ""
}
