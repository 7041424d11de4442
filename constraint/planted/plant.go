package planted

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// This file places the applications of a group, one container at a time: in racks that
// suit what the application wishes for, on nodes where no maximum is passed if there are such,
// else anywhere.

// bed is what is planted of a group of applications.
type bed struct {
	planted []*draft
	bounds  []planting // of the first alternative of each of their constraints
	roles   [][]role   // by part of the application that is being planted
}

// planting is a bound with what it counts.
type planting struct {
	*cluster.Bound
	setOf []int32
	sets  []tally
}

// tally counts the containers of a set: those that are subjects, targets, and both.
type tally struct{ subjects, targets, both int32 }

// role is what containers of a part are in a bound.
type role struct {
	bound           int
	subject, target bool
}

// plant places applications that are tied to one another, and makes their constraints
// hold.
func (d *drawing) plant(group []*draft) error {
	b := &bed{}
	for _, a := range group {
		b.planted = append(b.planted, a)
		wishes := d.tie(b.planted, len(group))
		d.prepare(b, a)
		racks := d.choose(a, &wishes)
		for i := range a.parts {
			for n := range a.parts[i].count {
				node := d.candidate(b, a, i, d.beds(a, i, racks[n%len(racks)], racks, &wishes))
				if node == constraint.Nowhere {
					return fmt.Errorf("no room is left for %s of application %s: ask for a lower utilisation", a.parts[i].name, a.name)
				}
				d.settle(b, a, i, n, node)
			}
		}
	}
	if !d.Free {
		for _, a := range group {
			d.fit(b, a)
		}
	}
	return nil
}

// prepare begins to count for the constraints of an application. What stands already
// is counted, as ties speak of it.
func (d *drawing) prepare(b *bed, a *draft) {
	first := len(b.bounds)
	for i := range a.constraints {
		bound := &a.constraints[i].Any[0][0]
		group := slices.IndexFunc(d.Problem.Groups, func(g constraint.Group) bool { return g.Name == bound.Group })
		g := &d.Problem.Groups[group]
		b.bounds = append(b.bounds, planting{bound, g.SetOf, make([]tally, len(g.Sets))})
	}
	for _, earlier := range b.planted[:len(b.planted)-1] {
		for i := range earlier.parts {
			for _, r := range rolesOf(&earlier.parts[i], b.bounds[first:], first) {
				for n := range earlier.parts[i].count {
					b.count(r, d.Witness[int(earlier.parts[i].first)+n])
				}
			}
		}
	}
	b.roles = b.roles[:0]
	for i := range a.parts {
		b.roles = append(b.roles, rolesOf(&a.parts[i], b.bounds, 0))
	}
}

// rolesOf are the roles of a part in bounds, the first of which has that row.
func rolesOf(p *part, bounds []planting, first int) []role {
	var roles []role
	for i := range bounds {
		if subject, target := bounds[i].Affects(p.tags); subject || target {
			roles = append(roles, role{first + i, subject, target})
		}
	}
	return roles
}

// choose draws the racks in which the application is planted: near whom it wishes for, away
// from whom it avoids, and with room if there are such.
func (d *drawing) choose(a *draft, wishes *ties) []int32 {
	order := d.rand.Perm(len(d.racks))
	rank := func(rack int32) int {
		rank := 0
		if wishes.near != nil && !slices.Contains(wishes.near, rack) {
			rank += 4
		}
		if slices.Contains(wishes.away, rack) {
			rank += 2
		}
		if !d.roomy(a, rack) {
			rank++
		}
		return rank
	}
	racks := make([]int32, len(order))
	for i, rack := range order {
		racks[i] = int32(rack)
	}
	slices.SortStableFunc(racks, func(x, y int32) int { return rank(x) - rank(y) })
	spread := min(a.spread, len(racks))
	if a.roams && wishes.near != nil {
		spread = min(spread, len(wishes.near))
	}
	return racks[:spread]
}

// roomy reports whether the application's part of a rack is no more than what is left
// there.
func (d *drawing) roomy(a *draft, rack int32) bool {
	left := make(cluster.Vector, len(d.Problem.Kinds))
	for _, node := range d.racks[rack] {
		for k, q := range d.left[node] {
			left[k] += q * int64(a.spread)
		}
	}
	for i := range a.parts {
		for k, q := range a.parts[i].demand {
			left[k] -= q * int64(a.parts[i].count)
		}
	}
	return slices.Min(left) >= 0
}

// beds are the lists of nodes on which a container of the part may be planted, the best
// first.
func (d *drawing) beds(a *draft, part int, rack int32, racks []int32, wishes *ties) [][]int32 {
	if part > 0 {
		rack = racks[0]
	}
	lists := [][]int32{d.racks[rack]}
	if tied, _ := (&cluster.Bound{Subject: a.tied}).Affects(a.parts[part].tags); tied {
		lists = [][]int32{wishes.nodes, d.racks[rack]}
	}
	for _, other := range racks {
		lists = append(lists, d.racks[other])
	}
	start := d.rand.IntN(len(d.racks))
	for i := range d.racks {
		lists = append(lists, d.racks[(start+i)%len(d.racks)])
	}
	return lists
}

// candidate is a node of the lists with room where no maximum is passed; else one with room.
func (d *drawing) candidate(b *bed, a *draft, part int, lists [][]int32) int32 {
	roomy := constraint.Nowhere
	for _, nodes := range lists {
		if len(nodes) == 0 {
			continue
		}
		start := d.rand.IntN(len(nodes))
		for i := range nodes {
			node := nodes[(start+i)%len(nodes)]
			if !a.parts[part].demand.Fits(d.left[node]) {
				continue
			}
			if b.admits(b.roles[part], node) {
				return node
			}
			if roomy == constraint.Nowhere {
				roomy = node
			}
		}
	}
	return roomy
}

// settle plants a container.
func (d *drawing) settle(b *bed, a *draft, part, n int, node int32) {
	d.Witness[int(a.parts[part].first)+n] = node
	take(d.left[node], a.parts[part].demand)
	a.nodes = append(a.nodes, node)
	for _, r := range b.roles[part] {
		b.count(r, node)
	}
}

func (b *bed) count(r role, node int32) {
	set := b.bounds[r.bound].setOf[node]
	if set == constraint.Nowhere {
		return
	}
	t := &b.bounds[r.bound].sets[set]
	if r.subject {
		t.subjects++
	}
	if r.target {
		t.targets++
	}
	if r.subject && r.target {
		t.both++
	}
}

// admits reports whether no maximum is passed by one more container on the node.
func (b *bed) admits(roles []role, node int32) bool {
	for _, r := range roles {
		bound := &b.bounds[r.bound]
		t := bound.sets[bound.setOf[node]]
		if r.subject {
			t.subjects++
		}
		if r.target {
			t.targets++
		}
		if r.subject && r.target {
			t.both++
		}
		if _, most, bound := t.counts(bound.Bound); bound && most > b.bounds[r.bound].Max {
			return false
		}
	}
	return true
}

// counts are the least and the most that a subject of the set counts, and whether there is
// a subject.
func (t tally) counts(b *cluster.Bound) (least, most int32, bound bool) {
	switch {
	case len(b.Subject) == 0:
		return t.targets, t.targets, true
	case t.subjects == 0:
		return 0, 0, false
	case t.both == 0:
		return t.targets, t.targets, true
	case t.both == t.subjects:
		return t.targets - 1, t.targets - 1, true
	}
	return t.targets - 1, t.targets, true
}

// fit loosens the constraints of an application until what is planted satisfies them, and
// drops those that then say nothing.
func (d *drawing) fit(b *bed, a *draft) {
	kept := a.constraints[:0]
	for _, c := range a.constraints {
		wish := &c.Any[0][0]
		at := slices.IndexFunc(b.bounds, func(p planting) bool { return p.Bound == wish })
		least, most := wish.Min, wish.Max
		for _, t := range b.bounds[at].sets {
			if low, high, bound := t.counts(wish); bound {
				least, most = min(least, low), max(most, high)
			}
		}
		if least != wish.Min || most != wish.Max {
			d.Loosened++
		}
		wish.Min, wish.Max = least, most
		if least > 0 || most < cluster.Unbounded {
			kept = append(kept, c)
		}
	}
	a.constraints = kept
}
