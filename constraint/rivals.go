package constraint

import (
	"cmp"
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file finds the constraints that may contradict one, without comparing all with all.
// Two contradict only if every alternative of one conflicts with every alternative of the
// other, so it looks at one alternative of each: the first that does not contradict itself.
//
// Bounds that differ in their numbers alone are of one kind. What exceeds decides of two
// kinds by their tags and groups is found by tags: a kind that allows at most so many is listed
// under the rarest tag that it counts, and either under the rarest tag of its subject, where
// whoever asks has to have that, or under each of them, where whoever asks has fewer. Numbers
// are in order: what is exceeded at all allows no more than is asked for, and once one of a
// kind is not exceeded those that allow more are not either. So the work is about that of
// reading the constraints and of naming the pairs whose first alternatives conflict.

// rivals knows of every constraint one alternative, by what its bounds allow.
type rivals struct {
	alternative [][]cluster.Bound // of each constraint; nil of one that takes no part
	rarity      map[string]int    // in how many bounds a tag is named
	fewer, more map[place][]*kind // by subject: that have no others than who asks, or others as well
	exceeded    map[string][]*kind
	most        map[string]int32 // that a kind asks for
	looks       int              // at kinds and at bounds
}

// place is where a kind is listed: under a group, or any, a tag that it counts, and a tag of
// its subject, or none.
type place struct{ group, target, subject string }

// kind is bounds that differ in their numbers alone, in the order of what they allow.
type kind struct {
	bounds []allowing
}

// allowing is a bound that allows at most so many, of a constraint.
type allowing struct {
	bound      *cluster.Bound
	constraint int
}

func newRivals(alternative [][]cluster.Bound) *rivals {
	r := &rivals{
		alternative: alternative, rarity: map[string]int{}, fewer: map[place][]*kind{}, more: map[place][]*kind{},
		exceeded: map[string][]*kind{}, most: map[string]int32{},
	}
	kinds := map[string]*kind{}
	var inOrder []*kind
	for c, bounds := range alternative {
		for i := range bounds {
			b := &bounds[i]
			for _, tag := range slices.Concat(b.Subject, b.Target) {
				r.rarity[tag]++
			}
			name := kindOf(b)
			r.most[name] = max(r.most[name], b.Min)
			if b.Max == cluster.Unbounded {
				continue
			}
			if kinds[name] == nil {
				kinds[name] = &kind{}
				inOrder = append(inOrder, kinds[name])
			}
			kinds[name].bounds = append(kinds[name].bounds, allowing{b, c})
		}
	}
	for _, k := range inOrder {
		slices.SortStableFunc(k.bounds, func(a, b allowing) int { return cmp.Compare(a.bound.Max, b.bound.Max) })
	}
	slices.SortStableFunc(inOrder, func(a, b *kind) int { return cmp.Compare(a.least(), b.least()) })
	for _, k := range inOrder {
		r.list(k)
	}
	return r
}

// least is the fewest that a bound of the kind allows.
func (k *kind) least() int32 { return k.bounds[0].bound.Max }

// kindOf names the kind of a bound.
func kindOf(b *cluster.Bound) string {
	return fmt.Sprintf("%t %q %q %q", b.SelfCounted, b.Group, b.Subject, b.Target)
}

// list lists a kind wherever it is looked for.
func (r *rivals) list(k *kind) {
	b := k.bounds[0].bound
	target := r.rarest(b.Target)
	for _, group := range [2]string{b.Group, anyGroup} {
		at := place{group, target, r.rarest(b.Subject)}
		r.fewer[at] = append(r.fewer[at], k)
		if len(b.Subject) == 0 {
			continue
		}
		for _, tag := range append([]string{""}, b.Subject...) {
			at := place{group, target, tag}
			r.more[at] = append(r.more[at], k)
		}
	}
}

// anyGroup is no name of a group.
const anyGroup = ""

// rarest is the tag that the fewest bounds name; empty if there is none.
func (r *rivals) rarest(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return slices.MinFunc(tags, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.rarity[a], r.rarity[b]), cmp.Compare(a, b))
	})
}

// of are the constraints, in order, with whose alternative that of c conflicts, so that each
// pair is reported once: of one of the two that asks for more than the other allows.
func (r *rivals) of(c int) []int {
	var all []int
	for i := range r.alternative[c] {
		b := &r.alternative[c][i]
		if b.Min == 0 {
			continue
		}
		for _, k := range r.exceededBy(b) {
			if r.looks++; k.least() > b.Min {
				break
			}
			for _, a := range k.bounds {
				r.looks++
				if _, is := exceeds(b, a.bound); !is {
					break
				}
				all = append(all, a.constraint)
			}
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(d int) bool { return d == c || d < c && r.asksMore(d, c) })
}

// asksMore reports whether a bound of the one constraint asks for more than one of the other
// allows.
func (r *rivals) asksMore(one, other int) bool {
	for i := range r.alternative[one] {
		for j := range r.alternative[other] {
			r.looks++
			if _, is := exceeds(&r.alternative[one][i], &r.alternative[other][j]); is {
				return true
			}
		}
	}
	return false
}

// exceededBy are the kinds that some bound of the kind of b exceeds, those that allow the
// fewest first.
func (r *rivals) exceededBy(b *cluster.Bound) []*kind {
	name := kindOf(b)
	if known, is := r.exceeded[name]; is {
		return known
	}
	highest := *b
	highest.Min = r.most[name]
	group := b.Group
	if group == cluster.EachNode {
		group = anyGroup
	}
	found := []*kind{}
	look := func(kinds []*kind, has func(*cluster.Bound) bool) {
		for _, k := range kinds {
			if r.looks++; k.least() > highest.Min {
				break
			}
			if _, is := exceeds(&highest, k.bounds[0].bound); is && has(k.bounds[0].bound) {
				found = append(found, k)
			}
		}
	}
	for _, target := range b.Target {
		for _, subject := range append([]string{""}, b.Subject...) {
			look(r.fewer[place{group, target, subject}], func(m *cluster.Bound) bool { return includes(b.Subject, m.Subject) })
		}
		look(r.more[place{group, target, r.rarest(b.Subject)}], func(m *cluster.Bound) bool { return !includes(b.Subject, m.Subject) })
	}
	slices.SortStableFunc(found, func(a, b *kind) int { return cmp.Compare(a.least(), b.least()) })
	r.exceeded[name] = found
	return found
}
