package world

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

// This file says which pods below composite pod groups are placed together, and lets them in. The core knows of gangs of one number alone, so that what a tree asks for
// becomes one: where the uppermost composite pod group with gang, or with disruptionMode all, asks for so many of its parts, as many are chosen, of each of them again as many as it
// asks for, and so on down to pod groups. Of each of these the oldest pods are let in, as many as it asks for; all of them are one job, whose number is the sum. Everybody else below waits until these are placed, and comes then as
// if there were no composite pod group: more parts as gangs of their own, more pods one by one. Parts of a basic composite pod group are arranged each by itself.
//
// Only parts that have enough pods are chosen: first those that have places, and then the oldest. Where more parts have come than are asked for, others are tried after a
// while, until all ways to choose were: the oldest may find no room where others do. Nobody is put out for whom room is being made, as long as all who were chosen have enough pods.
//
// With disruptionMode all every part that has enough pods is chosen, as all are to leave at once, which the core knows of a job alone; the ways to choose fewer come after that, as far as
// minGroupCount lets them.
//
// The arrangement follows from the tree and from who has places, and from nothing that a core or a leader before has decided, so that the next one goes on with what it finds.

const (
	// tryFor is how long one choice of parts waits for room before another is tried.
	tryFor = 10 * cluster.Second
	// mostNamed is how many parts that lack pods a reason names.
	mostNamed = 3
)

// attempt is which choice of the parts of a composite pod group waits for room.
type attempt struct {
	way    int // the number of the choice
	ways   int // of so many; one of 0 or 1 is not changed
	since  cluster.Time
	groups []*Group // that were chosen
	stands bool     // all of them have been placed
}

// due is when another choice is to be tried.
func (t *attempt) due() cluster.Time {
	if t.ways <= 1 {
		return cluster.Never
	}
	return t.since + tryFor
}

// arrange looks at the trees that were touched, and at those of which another choice is due, and lets pods in, or holds them.
func (gs *PodGroups) arrange() {
	f := &gs.forest
	for _, c := range f.byName {
		if c.attempt.due() <= gs.journal.now {
			f.touched[c] = true
		}
	}
	clear(f.tried)
	roots := f.roots()
	for _, root := range roots {
		gs.place(child{composite: root})
		for _, g := range root.leaves() {
			f.look(g)
		}
	}
	f.rest(roots)
	for _, g := range slices.SortedFunc(maps.Keys(f.left), func(a, b *Group) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}) {
		if g.parent == nil {
			gs.place(child{group: g})
			f.look(g)
		}
	}
	clear(f.touched)
	clear(f.left)
}

// rest has no other choice tried of those in the trees of these roots, or in none, of which none was now: they are held, or were made a part of a gang above them.
func (f *forest) rest(roots []*Composite) {
	for _, c := range f.byName {
		if c.attempt.ways <= 1 || f.tried[c] {
			continue
		}
		if top := c.top(); top == nil || slices.Contains(roots, top) {
			c.attempt = attempt{stands: c.attempt.stands}
		}
	}
}

// assign finds out which pods are one job for a new core, which is told of none of them yet.
func (gs *PodGroups) assign() {
	gs.forest.fresh = true
	for _, root := range gs.forest.roots() {
		gs.place(child{composite: root})
	}
	gs.forest.fresh = false
}

// wake is when arrange has something to do although nothing happens.
func (f *forest) wake(now cluster.Time) cluster.Time {
	if len(f.touched)+len(f.left) > 0 || f.stray != nil {
		return now
	}
	wake := cluster.Never
	for _, c := range f.byName {
		wake = min(wake, c.attempt.due())
	}
	return wake
}

// place arranges a part that is placed independently of others.
func (gs *PodGroups) place(p child) {
	switch g, c := p.group, p.composite; {
	case g != nil:
		g.stood = g.Whole() || g.stood && g.placed() > 0
		g.of = &g.own
		gs.letIn(g, len(g.pods), "")
	case c.Object == nil: // its pods are held for that
	case c.binds():
		gs.placeGang(c)
	default:
		for _, part := range c.children() {
			gs.place(part)
		}
	}
}

// binds reports whether parts of the composite pod group are one job.
func (c *Composite) binds() bool { return c.said.Spec.SchedulingPolicy.Gang != nil || c.together() }

// placeGang arranges a composite pod group of which parts are placed together.
func (gs *PodGroups) placeGang(h *Composite) {
	gs.forest.tried[h] = true
	if h.gang.Placed() == 0 {
		for _, g := range h.gang.groups {
			g.stood = g.stood && g.of != &h.gang
		}
	}
	t, x := &h.attempt, gs.choose(h)
	if t.due() <= gs.journal.now {
		if t.since = gs.journal.now; !roomIsMade(t.groups) {
			t.way = (t.way + 1) % t.ways
			x = gs.choose(h)
		}
	}
	for _, p := range x.elsewhere {
		gs.place(p)
	}
	if !x.enough {
		t.ways, t.stands = 0, false
		for _, p := range x.late {
			gs.hold(h, p.child, fmt.Sprintf("its composite pod group %s %s", h.Name, x.lacks))
		}
		return
	}
	gs.unite(h, x.groups)
	if t.ways = x.ways; t.stands && !slices.ContainsFunc(x.late, func(p late) bool { return p.bound }) {
		t.ways = 0
	}
	for _, g := range x.groups {
		if t.stands {
			gs.letIn(g, len(g.pods), "")
			continue
		}
		gs.letIn(g, g.number(), fmt.Sprintf("it comes after the first %d pods of its pod group %s, which are placed together with %d others of composite pod group %s", g.number(), g.Name, numberOf(x.groups)-g.number(), h.Name))
	}
	for _, p := range x.late {
		if t.stands && !p.bound {
			gs.place(p.child)
		} else {
			gs.hold(h, p.child, fmt.Sprintf("it comes after the %d pods of %s, which come first in composite pod group %s", numberOf(x.groups), someOf(x.groups), h.Name))
		}
	}
}

// unite makes the chosen groups one job, and says whether all of them have been placed.
func (gs *PodGroups) unite(h *Composite, groups []*Group) {
	t := &h.attempt
	for _, g := range h.gang.groups {
		if g.of == &h.gang && !slices.Contains(groups, g) {
			g.of, g.stood = &g.own, false
		}
	}
	if !slices.Equal(t.groups, groups) {
		t.groups, t.since = groups, gs.journal.now
	}
	h.gang.groups, t.stands = groups, true
	for _, g := range groups {
		if g.of != &h.gang {
			g.of, g.stood = &h.gang, false
		}
	}
	least, together := 0, h.together()
	for _, g := range groups {
		if g.why != "" { // it is kept
			least += g.placed()
			continue
		}
		g.stood = g.stood || g.Whole()
		t.stands = t.stands && g.stood
		together = together || g.together
		for c := g.parent; c != nil && c != h; c = c.parent {
			together = together || c.together()
		}
		least += g.number()
	}
	gs.size(&h.gang, int32(least), together)
}

// look notes a pod that has its place as one of another job than it is of by now.
func (f *forest) look(g *Group) {
	for _, p := range inOrder(g.pods) {
		if p.placed() && p.slot != nil && p.slot.job.key.gang != g.of && !f.astray[p] {
			f.stray = p
			return
		}
	}
}

// settle takes the pods that are of another job than that of their places, now that a core has begun, to stay so: another core would be told the same.
func (f *forest) settle(pods map[types.UID]*Pod) {
	f.stray, f.astray = nil, map[*Pod]bool{}
	for _, p := range pods {
		if p.group != nil && p.placed() && p.slot != nil && p.slot.job.key.gang != p.group.of {
			f.astray[p] = true
		}
	}
}

// Stale says why a new core is to be begun, if it is: a task never changes its job, and that of a pod with a place has become another one, as groups were made anew that are parts of something else, or others
// than we have placed it.
func (gs *PodGroups) Stale() string {
	if gs.forest.stray == nil {
		return ""
	}
	return "pods of a pod group are placed that are a part of another gang by now"
}

// hold keeps all pods below a part of a gang that have no place from being let in.
func (gs *PodGroups) hold(h *Composite, p child, why string) {
	if g := p.group; g != nil {
		if g.of == &h.gang && !slices.Contains(h.gang.groups, g) {
			g.of = &g.own
		}
		gs.letIn(g, 0, why)
		return
	}
	for _, part := range p.composite.children() {
		gs.hold(h, part, why)
	}
}

// letIn lets so many pods of the group be placed, the oldest, those with a place included. The others wait for that reason.
func (gs *PodGroups) letIn(g *Group, most int, why string) {
	g.notice = why
	if gs.forest.fresh {
		return
	}
	most -= g.placed()
	for _, p := range inOrder(g.pods) {
		if p.placed() {
			continue
		}
		in := most > 0 && p.comes()
		if in {
			most--
		}
		moved := p.slot != nil && p.slot.job.key.gang != g.of
		switch {
		case in != p.letIn || moved || !in && p.Stage.waitsForNode(): // as one of a group that was no part until now
			p.letIn = in
			gs.waiting.again(p)
		case p.Why == why || !p.comes():
			continue
		}
		if !in && p.lined {
			p.Why = why
			gs.forest.rearranged = append(gs.forest.rearranged, p)
		}
	}
}

// comes reports whether the pod is to be placed, and nothing keeps it from that but room, or that its composite pod groups do not let it in.
func (p *Pod) comes() bool {
	return p.Stage == BackingOff || p.Stage.waitsForNode() || p.Stage == Gated && p.lined
}

// Rearranged are the pods that composite pod groups hold for another reason than when that was asked last.
func (gs *PodGroups) Rearranged() []*Pod {
	list := gs.forest.rearranged
	gs.forest.rearranged = nil
	return list
}

// roomIsMade reports whether others are leaving for a pod of the groups.
func roomIsMade(groups []*Group) bool {
	for _, g := range groups {
		for _, p := range g.pods {
			if p.Stage == Waiting && p.offered {
				return true
			}
		}
	}
	return false
}

// numberOf is how many pods of the groups have to be placed.
func numberOf(groups []*Group) (pods int) {
	for _, g := range groups {
		pods += g.number()
	}
	return pods
}

// someOf names groups, and how many there are where they are too many.
func someOf(groups []*Group) string {
	var names []string
	for _, g := range groups[:min(len(groups), mostNamed)] {
		names = append(names, g.Name)
	}
	if more := len(groups) - len(names); more > 0 {
		return fmt.Sprintf("%s and %d others", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}
