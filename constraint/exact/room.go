package exact

import (
	"slices"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/ilp"
)

// This file is what a node has room for: vectors, devices and containers of one application.
// As in constraint.Check only nodes to which somebody comes are asked; who runs there may
// stay, whatever may have changed.

// findRoom finds what each node would have left without the free containers.
func (b *builder) findRoom() {
	kinds := len(b.p.Kinds)
	b.room, b.comers = make([]int64, len(b.p.Nodes)*kinds), make([]bool, len(b.p.Nodes)*kinds)
	b.standing = make([]int32, len(b.p.Nodes))
	for n := range b.p.Nodes {
		copy(b.room[n*kinds:(n+1)*kinds], b.p.Nodes[n].Free)
	}
	for i := range b.p.Containers {
		c, stands := &b.p.Containers[i], b.stands(i)
		if stands != constraint.Nowhere {
			b.standing[stands]++
		}
		for k, q := range b.p.Shapes[c.Shape].Demand {
			if c.At != constraint.Nowhere {
				b.room[int(c.At)*kinds+k] += q
			}
			if stands != constraint.Nowhere {
				b.room[int(stands)*kinds+k] -= q
				if stands != c.At && q > 0 {
					b.comers[int(stands)*kinds+k] = true
				}
			}
		}
	}
}

// stands is the node of a container that the model does not decide; Nowhere if it does.
func (b *builder) stands(container int) int32 {
	if b.unitOf[container] != absent {
		return constraint.Nowhere
	}
	return b.scope.Base[container]
}

// left is how much of the kind the candidate has for free containers.
func (b *builder) left(candidate int32, kind int) int64 {
	return b.room[int(b.nodes[candidate])*len(b.p.Kinds)+kind]
}

// load adds what free containers take of the kind on the candidate to the row, divided by unit,
// and returns the most that this can be.
func (b *builder) load(candidate int32, kind int, unit int64) int64 {
	most := int64(0)
	for u := range b.units {
		q := b.p.Shapes[b.units[u].shape].Demand[kind] / unit
		column := b.at(int32(u), candidate)
		b.add(column, q)
		most += q * b.most(column)
	}
	return most
}

// unitOfKind is the largest quantity of which all that concerns the kind on the candidate is a
// multiple: rows of small numbers are easier for solvers than rows of bytes.
func (b *builder) unitOfKind(candidate int32, kind int, more ...int64) int64 {
	unit := int64(0)
	for u := range b.units {
		unit = divisor(unit, b.p.Shapes[b.units[u].shape].Demand[kind])
	}
	for _, q := range more {
		unit = divisor(unit, q)
	}
	return max(divisor(unit, b.left(candidate, kind)), 1)
}

// divisor is the greatest one that both have in common.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// addRoom says that the vectors of all who stand on a candidate fit.
func (b *builder) addRoom() {
	for i := range b.nodes {
		candidate := int32(i)
		for k := range b.p.Kinds {
			lacks := max(-b.p.Nodes[b.nodes[i]].Free[k], 0)
			if b.comers[int(b.nodes[i])*len(b.p.Kinds)+k] {
				lacks = 0
			}
			comes := absent
			if lacks > 0 {
				comes = b.addComes(candidate, func(u unit) bool { return b.p.Shapes[u.shape].Demand[k] > 0 })
				if comes == absent {
					continue
				}
			}
			unit := b.unitOfKind(candidate, k, lacks)
			most := b.load(candidate, k, unit)
			if comes == absent && most*unit <= b.left(candidate, k) {
				b.terms = b.terms[:0]
				continue
			}
			b.add(comes, lacks/unit)
			b.atMost((b.left(candidate, k)+lacks)/unit, absent)
		}
	}
}

// addComes adds a column that is 1 where one of these units comes to the candidate; absent if
// none could.
func (b *builder) addComes(candidate int32, who func(unit) bool) int32 {
	comes := absent
	for u := range b.units {
		column, stays := b.at(int32(u), candidate), b.stays(int32(u), candidate)
		if !who(b.units[u]) || b.most(column) <= stays {
			continue
		}
		if comes == absent {
			comes = b.addColumn(1, 0, ilp.Integer, smallest)
		}
		b.add(column, 1)
		b.add(comes, stays-b.most(column))
		b.atMost(stays, comes)
	}
	return comes
}

// addPerNode says how many of one application a candidate may hold. Where all of its shapes
// have the same limit, a row says it; else the limit holds where one of the shape is.
func (b *builder) addPerNode() {
	for a := range b.p.Applications {
		var limited []int32 // the shapes that have a limit and could be there
		equal := true
		for shape := range b.p.Shapes {
			if c := &b.p.Shapes[shape]; int(c.Application) == a && (len(b.unitsOf[shape]) > 0 || len(b.fixed[shape]) > 0) {
				equal = equal && c.PerNode == b.p.Shapes[b.p.Containers[b.p.Applications[a].First].Shape].PerNode
				if c.PerNode > 0 {
					limited = append(limited, int32(shape))
				}
			}
		}
		for i := range b.nodes {
			for n, shape := range limited {
				if equal && n > 0 {
					break
				}
				b.limitPerNode(int32(i), shape, equal)
			}
		}
	}
}

// limitPerNode is the limit of the shape on the candidate. The row is let go of by what it does not
// hold without: one of the shape there, and, if more than the limit have run there, somebody of
// the application who comes.
func (b *builder) limitPerNode(candidate, shape int32, equal bool) {
	app, limit := b.p.Shapes[shape].Application, int64(b.p.Shapes[shape].PerNode)
	mine := func(u unit) bool { return b.p.Shapes[u.shape].Application == app }
	there := b.crowd(candidate, shape)
	over := there.stand - limit
	for u := range b.units {
		if mine(b.units[u]) {
			over += b.most(b.at(int32(u), candidate))
		}
	}
	if over <= 0 {
		return
	}
	var switches []int32
	if !there.present && !equal {
		switches = append(switches, b.addPresent(candidate, shape))
	}
	if there.ran > limit && !there.comes {
		switches = append(switches, b.addComes(candidate, mine))
	}
	if slices.Contains(switches, absent) {
		return // it can never be switched on
	}
	for u := range b.units {
		if mine(b.units[u]) {
			b.add(b.at(int32(u), candidate), 1)
		}
	}
	for _, is := range switches {
		b.add(is, over)
	}
	b.atMost(limit-there.stand+over*int64(len(switches)), absent)
}

// crowd is who of an application is on a candidate, beside free containers.
type crowd struct {
	stand, ran int64 // how many are there, and how many ran there when the problem was posed
	comes      bool  // one of them has come since
	present    bool  // one of them is of the shape
}

func (b *builder) crowd(candidate, shape int32) crowd {
	var c crowd
	app, node := &b.p.Applications[b.p.Shapes[shape].Application], b.nodes[candidate]
	for i := app.First; i < app.End; i++ {
		at := b.p.Containers[i].At
		if at == node {
			c.ran++
		}
		if b.stands(int(i)) == node {
			c.stand++
			c.comes = c.comes || at != node
			c.present = c.present || b.p.Containers[i].Shape == shape
		}
	}
	return c
}

// addPresent adds a column that is 1 where a unit of the shape is on the candidate.
func (b *builder) addPresent(candidate, shape int32) int32 {
	present := absent
	for _, u := range b.unitsOf[shape] {
		column := b.at(u, candidate)
		if column == absent {
			continue
		}
		if present == absent {
			present = b.addColumn(1, 0, ilp.Integer, smallest)
		}
		b.add(column, 1)
		b.add(present, -b.most(column))
		b.atMost(0, present)
	}
	return present
}
