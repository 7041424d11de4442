package constraint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file finds constraints that cannot hold together. It compares bounds two by two, of
// pairs of constraints that rivals.go finds: one for the least it asks and one for the most
// it allows, as seen by a container that is a subject of both:
//
//   - the tags of one subject include those of the other, so whoever has the more tags
//     is bound by both;
//   - the tags counted for the least include those counted for the most, so that the
//     latter counts everybody whom the former does;
//   - both have the same group, or the least is asked of a node, which lies in a set of
//     the other's group.
//
// If the least is then more than the most, there is no such container. What is found is
// certain; what takes three bounds to contradict is not found.

// Side is a bound that takes part in a contradiction.
type Side struct {
	Constraint, Alternative, Bound int
}

// Contradiction is two constraints, or one with itself, that cannot hold together.
type Contradiction struct {
	// Least asks for more than Most allows. Where there are several alternatives, they
	// are of the first two; every other pair contradicts as well.
	Least, Most Side
	// Subjects are tags of containers: as soon as for each of them a container with
	// these tags is placed, something is violated. Without any, it is so in every set of
	// the group.
	Subjects [][]string
	// Hard says that both are hard, and that there is no way out: nothing with these tags
	// can be placed. The others are worth a warning.
	Hard bool
	// Outside is the group that a container could be outside of, on a node in none of
	// its sets, to violate nothing; empty if there is none.
	Outside string
	// Sentence names both sides and says why.
	Sentence string
}

// Contradictions are the pairs of constraints that contradict, and the constraints that
// contradict themselves, in the order of constraints.
func Contradictions(constraints []cluster.Constraint, k Knowledge) []Contradiction {
	f := finder{constraints: constraints, covering: map[string]bool{cluster.EachNode: true}}
	for _, group := range k.Covering {
		f.covering[group] = true
	}
	var found []Contradiction
	alternative := make([][]cluster.Bound, len(constraints))
	for i := range constraints {
		if c, is := f.alone(i); is {
			found = append(found, c)
			continue
		}
		alternative[i] = f.alternative(i)
	}
	r := newRivals(alternative)
	for i := range constraints {
		for _, j := range r.of(i) {
			if c, is := f.together(min(i, j), max(i, j)); is {
				found = append(found, c)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Contradiction) int {
		x, y := a.pair(), b.pair()
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
	})
	return found
}

// pair is its constraints, the first first.
func (c *Contradiction) pair() [2]int {
	return [2]int{min(c.Least.Constraint, c.Most.Constraint), max(c.Least.Constraint, c.Most.Constraint)}
}

type finder struct {
	constraints []cluster.Constraint
	covering    map[string]bool // groups in one of whose sets each node is
}

// conflict is two bounds that cannot hold together for a container with the subject's
// tags, unless it is outside the group.
type conflict struct {
	least, most Side
	subject     []string
	outside     string
}

// alone finds a constraint all of whose alternatives contradict themselves.
func (f *finder) alone(c int) (Contradiction, bool) {
	var all []conflict
	for alternative := range f.constraints[c].Any {
		one, is := f.within(c, alternative)
		if !is {
			return Contradiction{}, false
		}
		all = append(all, one)
	}
	return f.found(all), true
}

// alternative is the first one of a constraint that does not contradict itself; nil if there
// is none.
func (f *finder) alternative(c int) []cluster.Bound {
	for i, bounds := range f.constraints[c].Any {
		if _, is := f.within(c, i); !is {
			return bounds
		}
	}
	return nil
}

// together finds two constraints each of whose pairs of alternatives contradicts.
func (f *finder) together(c, d int) (Contradiction, bool) {
	var all []conflict
	var first *conflict // between the two, not within one
	for i := range f.constraints[c].Any {
		for j := range f.constraints[d].Any {
			one, is := f.between(c, i, d, j)
			if is && first == nil {
				first = &one
			}
			if !is {
				if one, is = f.within(c, i); !is {
					one, is = f.within(d, j)
				}
			}
			if !is {
				return Contradiction{}, false
			}
			all = append(all, one)
		}
	}
	if first == nil {
		return Contradiction{}, false
	}
	// The sentence is about the first.
	return f.found(append([]conflict{*first}, all...)), true
}

// within finds two bounds of an alternative that conflict, or one that nobody can be the
// subject of.
func (f *finder) within(c, alternative int) (conflict, bool) {
	bounds := f.constraints[c].Any[alternative]
	for i := range bounds {
		b := &bounds[i]
		if _, most, known := totals(b); known && most == 0 {
			side := Side{c, alternative, i}
			return conflict{side, side, b.Subject, f.wayOut(b, b)}, true
		}
		for j := range bounds[:i] {
			if one, is := f.compare(Side{c, alternative, j}, Side{c, alternative, i}); is {
				return one, true
			}
		}
	}
	return conflict{}, false
}

// between finds a bound of one alternative that conflicts with one of another.
func (f *finder) between(c, i, d, j int) (conflict, bool) {
	for a := range f.constraints[c].Any[i] {
		for b := range f.constraints[d].Any[j] {
			if one, is := f.compare(Side{c, i, a}, Side{d, j, b}); is {
				return one, true
			}
		}
	}
	return conflict{}, false
}

// compare tries both ways which of two bounds asks for too much.
func (f *finder) compare(a, b Side) (conflict, bool) {
	for _, way := range [2][2]Side{{a, b}, {b, a}} {
		least, most := f.bound(way[0]), f.bound(way[1])
		if subject, is := exceeds(least, most); is {
			return conflict{way[0], way[1], subject, f.wayOut(least, most)}, true
		}
	}
	return conflict{}, false
}

func (f *finder) bound(s Side) *cluster.Bound {
	return &f.constraints[s.Constraint].Any[s.Alternative][s.Bound]
}

// exceeds reports whether a bound asks for more than another allows, and for containers
// with which tags.
func exceeds(least, most *cluster.Bound) (subject []string, is bool) {
	subject = least.Subject
	if len(most.Subject) > len(subject) {
		subject = most.Subject
	}
	switch {
	case least.Min == 0, most.Max == cluster.Unbounded,
		!includes(subject, least.Subject), !includes(subject, most.Subject),
		!includes(least.Target, most.Target),
		least.Group != most.Group && least.Group != cluster.EachNode:
		return nil, false
	case len(subject) == 0:
		return nil, least.Min > most.Max
	}
	// Whether the container itself is among those counted is known only where its
	// subject's tags say so; all that may be has to contradict.
	always := func(target []string) bool { return includes(subject, target) }
	excess := func(inLeast, inMost int64) int64 {
		// All whom the most counts are those whom the least counts, and itself if only
		// the most counts it.
		there, allowed := int64(least.Min)+inMost-inLeast, int64(most.Max)
		if othersOnly(least) {
			there += inLeast
		}
		if othersOnly(most) {
			allowed += inMost
		}
		return there - allowed
	}
	for _, itself := range [3][2]int64{{1, 1}, {0, 1}, {0, 0}} {
		possible := (itself[0] == 1 || !always(least.Target)) && (itself[1] == 1 || !always(most.Target))
		if possible && excess(itself[0], itself[1]) <= 0 {
			return nil, false
		}
	}
	return subject, true
}

// othersOnly reports whether a subject of the bound does not count itself.
func othersOnly(b *cluster.Bound) bool { return len(b.Subject) > 0 && !b.SelfCounted }

// wayOut is the group outside of which a container violates neither of two bounds; empty
// if there is none. A bound that asks for others, of its subjects, is violated there.
func (f *finder) wayOut(least, most *cluster.Bound) string {
	if len(least.Subject)+len(most.Subject) == 0 {
		return ""
	}
	for _, b := range [2]*cluster.Bound{least, most} {
		if f.covering[b.Group] {
			continue
		}
		asks := func(x *cluster.Bound) bool { return x.Group == b.Group && len(x.Subject) > 0 && x.Min > 0 }
		if !asks(least) && !asks(most) {
			return b.Group
		}
	}
	return ""
}

// found makes of the conflicts of all alternatives one contradiction, named by the first.
func (f *finder) found(all []conflict) Contradiction {
	c := Contradiction{Least: all[0].least, Most: all[0].most}
	c.Hard = f.constraints[c.Least.Constraint].Hard && f.constraints[c.Most.Constraint].Hard
	for _, one := range all {
		c.Outside = cmp.Or(c.Outside, one.outside)
		known := func(tags []string) bool { return slices.Equal(tags, one.subject) }
		if len(one.subject) > 0 && !slices.ContainsFunc(c.Subjects, known) {
			c.Subjects = append(c.Subjects, one.subject)
		}
	}
	c.Hard = c.Hard && c.Outside == ""
	c.Sentence = f.sentence(&c)
	return c
}

// sentence is a contradiction in words.
func (f *finder) sentence(c *Contradiction) string {
	least, most := f.bound(c.Least), f.bound(c.Most)
	who := "every " + set(most.Group)
	if len(c.Subjects) > 0 {
		each := make([]string, len(c.Subjects))
		for i, subject := range c.Subjects {
			each[i] = tags(subject)
		}
		who = strings.Join(each, " and ")
	}
	several := ""
	if len(f.constraints[c.Least.Constraint].Any)+len(f.constraints[c.Most.Constraint].Any) > 2 {
		several = ", and so do all other alternatives"
	}
	var text string
	switch {
	case c.Least == c.Most:
		text = fmt.Sprintf("%s contradicts itself for %s: each counts itself, and at most 0 are allowed in its %s", Title(&f.constraints[c.Least.Constraint]), who, set(most.Group))
	case c.Least.Constraint == c.Most.Constraint:
		text = fmt.Sprintf("%s contradicts itself for %s: %s asks for %s, %s allows %s", Title(&f.constraints[c.Least.Constraint]), who,
			FormatBound(least), asked(least), FormatBound(most), allowed(most))
	default:
		text = fmt.Sprintf("%s contradicts %s for %s: the first asks for %s, the second allows %s",
			Title(&f.constraints[c.Least.Constraint]), Title(&f.constraints[c.Most.Constraint]), who, asked(least), allowed(most))
	}
	text += several
	if c.Outside != "" {
		text += ", except on a node that is in no " + set(c.Outside)
	}
	return text
}

func asked(b *cluster.Bound) string { return fmt.Sprintf("at least %d %s", b.Min, counts(b)) }

func allowed(b *cluster.Bound) string { return fmt.Sprintf("at most %d %s", b.Max, counts(b)) }

// counts is what a bound counts, and where.
func counts(b *cluster.Bound) string {
	text := tags(b.Target)
	if othersOnly(b) {
		text = "other " + text
	}
	if len(b.Subject) == 0 {
		return text + " in each " + set(b.Group)
	}
	return text + " in its " + set(b.Group)
}

// Title is how messages call a constraint: its text, with its name and owner if it has
// any.
func Title(c *cluster.Constraint) string {
	text := Format(c)
	if c.Name != "" && c.Name != text {
		text = word(c.Name) + " " + text
	}
	if c.Owner != "" {
		text += " of " + word(c.Owner)
	}
	return text
}
