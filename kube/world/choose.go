package world

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// This file chooses which parts of a composite pod group are placed together: of each that asks for so many of its parts as many that have enough pods, on the way down to pod groups. The ways
// to choose are numbered. A number is read like one of digits, of which each says which parts of one composite pod group are taken: as many as are wanted, of those that have no
// place yet, in an order in which the first is that of the oldest, and the number of a choice does not change when a younger one comes (the combinatorial number system).

// mostWays bounds the ways to choose parts.
const mostWays = 1 << 30

// choice is what was chosen below one composite pod group.
type choice struct {
	of     *Composite
	way    int      // what is left of the number of the way
	ways   int      // that there are
	only   []*Group // that can be chosen; nil if all can
	groups []*Group
	late   []late
	// elsewhere are the parts that are placed and are gangs of their own.
	elsewhere []child
	enough    bool
	lacks     string // in words, if they are not enough
}

// late is a part that was not chosen. If it is bound, it is never placed by itself, as it has to leave with others.
type late struct {
	child
	bound bool
}

// choose chooses for the gang of the composite pod group, by the way that its attempt is at. Those that were chosen stay so while room is made for them: others would leave in vain.
func (gs *PodGroups) choose(h *Composite) *choice {
	x, t := gs.chooseAnew(h), &h.attempt
	if t.stands || !roomIsMade(t.groups) {
		return x
	}
	same := &choice{of: h, ways: 1, only: t.groups}
	if !same.may(child{composite: h}) {
		return x
	}
	same.take(h, false)
	if len(same.groups) != len(t.groups) {
		return x
	}
	same.enough, same.ways, same.groups = true, x.ways, t.groups
	return same
}

// chooseAnew chooses whoever room is made for.
func (gs *PodGroups) chooseAnew(h *Composite) *choice {
	x := &choice{of: h, way: h.attempt.way, ways: 1}
	if x.enough = x.may(child{composite: h}); !x.enough {
		x.lacks = x.lacking(h)
		for _, p := range h.children() {
			x.sortOut(p)
		}
		return x
	}
	x.take(h, false)
	return x
}

// sortOut puts a part among those that are not chosen, or are placed elsewhere.
func (x *choice) sortOut(p child) {
	if x.isElsewhere(p) {
		x.elsewhere = append(x.elsewhere, p)
	} else {
		x.late = append(x.late, late{child: p})
	}
}

// may reports whether the part can be chosen: it has as many pods as it asks for, or parts that can be.
func (x *choice) may(p child) bool {
	if g := p.group; g != nil {
		return g.why == "" && (x.only == nil || slices.Contains(x.only, g)) && (x.has(g) || g.coming() >= g.number())
	}
	return p.composite.Object != nil && x.count(p.composite) >= p.composite.atLeast()
}

// count is how many parts of the composite pod group can be chosen, or are placed elsewhere.
func (x *choice) count(c *Composite) (parts int) {
	for _, p := range c.children() {
		if x.isElsewhere(p) || x.may(p) {
			parts++
		}
	}
	return parts
}

// has reports whether the group has its place in the gang.
func (x *choice) has(g *Group) bool { return g.stood && g.of == &x.of.gang }

// coming is how many pods of the group have a place, or are to be placed.
func (g *Group) coming() (pods int) {
	for _, p := range g.pods {
		if p.placed() || p.comes() {
			pods++
		}
	}
	return pods
}

// isElsewhere reports whether the part has been placed as a gang of its own.
func (x *choice) isElsewhere(p child) bool {
	if g := p.group; g != nil {
		return g.why == "" && g.stood && g.of == &g.own && g.placed() > 0
	}
	c := p.composite
	if c.Object == nil {
		return false
	}
	if c.binds() {
		return c.attempt.stands && slices.ContainsFunc(c.gang.groups, func(g *Group) bool { return g.of == &c.gang && g.placed() > 0 })
	}
	return slices.ContainsFunc(c.children(), x.isElsewhere)
}

// standing says which parts come first: those that are in the gang, then those that are placed, as after a leader or a core before, those that have places, and all others.
func (x *choice) standing(p child) int {
	if g := p.group; g != nil {
		switch {
		case x.has(g):
			return 0
		case g.Whole():
			return 1
		case g.placed() > 0:
			return 2
		}
		return 3
	}
	first := 3
	for _, part := range p.composite.children() {
		first = min(first, x.standing(part))
	}
	return first
}

// take chooses parts of a composite pod group that can be chosen. Bound says that all pods below it leave all at once.
func (x *choice) take(c *Composite, bound bool) {
	bound = bound || c.together()
	need, in := c.atLeast(), 0
	var parts []child
	for _, p := range c.children() {
		switch {
		case x.isElsewhere(p):
			x.elsewhere = append(x.elsewhere, p)
			need--
		case x.may(p):
			parts = append(parts, p)
		default:
			x.late = append(x.late, late{p, bound})
			x.keep(p)
		}
	}
	slices.SortStableFunc(parts, func(a, b child) int { return cmp.Compare(x.standing(a), x.standing(b)) })
	for in < len(parts) && (x.standing(parts[in]) == 0 || in < need && x.standing(parts[in]) < 3) {
		in++
	}
	if x.only != nil {
		in = len(parts)
	}
	taken := x.draw(len(parts)-in, max(need-in, 0), bound)
	for i, p := range parts {
		switch {
		case i >= in && !taken[i-in]:
			x.late = append(x.late, late{p, bound})
		case p.group != nil:
			x.groups = append(x.groups, p.group)
		default:
			x.take(p.composite, bound)
		}
	}
}

// keep leaves those in the gang who are placed with it, though their group is not there any more, or one above it.
func (x *choice) keep(p child) {
	if g := p.group; g != nil {
		if g.of == &x.of.gang && g.placed() > 0 {
			x.groups = append(x.groups, g)
		}
		return
	}
	for _, part := range p.composite.children() {
		x.keep(part)
	}
}

// draw says which are taken of so many, by the next digit of the way: as many as are wanted, or, where all are better than these, first all of them.
func (x *choice) draw(of, wanted int, all bool) []bool {
	all = all && of > wanted
	taken, base := make([]bool, of), binomial(of, wanted)
	if all {
		base++
	}
	digit := x.way % base
	x.way, x.ways = x.way/base, min(x.ways*base, mostWays)
	if all {
		digit--
	}
	if digit < 0 {
		for i := range taken {
			taken[i] = true
		}
		return taken
	}
	for ; wanted > 0; wanted-- {
		last := wanted - 1
		for last+1 < of && binomial(last+1, wanted) <= digit {
			last++
		}
		taken[last] = true
		digit -= binomial(last, wanted)
	}
	return taken
}

// binomial is in how many ways so many can be chosen of those, mostWays at most.
func binomial(of, wanted int) int {
	if wanted > of {
		return 0
	}
	ways := 1
	for i := range min(wanted, of-wanted) {
		if ways = ways * (of - i) / (i + 1); ways >= mostWays {
			return mostWays
		}
	}
	return ways
}

// lacking says in words what a composite pod group lacks.
func (x *choice) lacking(c *Composite) string {
	var lacks []string
	for _, p := range c.children() {
		if x.isElsewhere(p) || x.may(p) {
			continue
		}
		if len(lacks) == mostNamed {
			lacks = append(lacks, "others too")
			break
		}
		lacks = append(lacks, x.shortOf(p))
	}
	text := fmt.Sprintf("needs %d of its parts at once, and %d of %d have enough pods", c.atLeast(), x.count(c), len(c.children()))
	if len(lacks) == 0 {
		return text
	}
	return text + ": " + strings.Join(lacks, ", ")
}

// shortOf says in words how far a part is from having enough.
func (x *choice) shortOf(p child) string {
	switch g, c := p.group, p.composite; {
	case g != nil && g.Object == nil:
		return g.Name + " is not there"
	case g != nil:
		return fmt.Sprintf("%s has %d of %d pods", g.Name, g.coming(), g.number())
	case c.Object == nil:
		return c.Name + " is not there"
	default:
		return fmt.Sprintf("%s has %d of %d parts", c.Name, x.count(c), c.atLeast())
	}
}
