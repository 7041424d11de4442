package exact

import "fairlead.dev/fairlead/ilp"

// This file is a bound in rows as Medea's integer program has them (its section 5): for every
// subject and set, whether the count is kept to where the subject stands in the set, with slack
// that is paid for. Here a column says whether the subject violates the bound, and one by how many
// thousandths, rounded up as Bound.Misses does; with Objective.Violation at 0 what is left is
// Medea's objective, the extent. It is there for small problems and for truth: the columns
// are containers times nodes, and the rows relax a sum by as much as it can be.

// addEach adds the rows of each subject of the block.
func (b *binder) addEach(a *account, blk *block) {
	var columns []int32
	for i, subject := range blk.subjects {
		columns = append(columns, subject.column)
		if i+1 == len(blk.subjects) || blk.subjects[i+1].unit != subject.unit {
			b.addSubject(a, blk, subject.unit, columns)
			columns = columns[:0]
		}
	}
	if blk.fixedSubjects > 0 {
		b.addSubject(a, blk, absent, nil)
	}
}

// addSubject adds the rows of one unit, which is one container, that stands in the set if one of
// these columns is 1; or of all the fixed subjects, which stand there.
func (b *binder) addSubject(a *account, blk *block, unit int32, columns []int32) {
	bound := &b.roles.Bounds[blk.bound]
	many, fixed := int64(1), blk.fixedTargets
	if unit == absent {
		many = blk.fixedSubjects
		fixed -= blk.self
	}
	// others are the targets among the free containers, but the subject itself.
	var others []int32
	most, last := fixed, absent
	for _, target := range blk.targets { // a container's columns follow one another
		if blk.self != 0 && target.unit == unit {
			continue
		}
		others = append(others, target.column)
		if target.unit != last {
			most, last = most+1, target.unit
		}
	}
	under, over := int64(bound.Min)-fixed, most-int64(bound.Max)
	if under <= 0 && over <= 0 {
		return
	}
	violates := b.addColumn(1, 0, ilp.Integer, smallest)
	a.charge(violates, many*a.violation)
	misses := absent
	if a.missing > 0 {
		reach := max(bound.Misses(int32(min(fixed, int64(bound.Min)))), bound.Misses(int32(most)))
		misses = b.addColumn(float64(reach), 0, ilp.Integer, smallest)
		a.charge(misses, many*a.missing)
	}
	r := literalRow{others: others, stands: columns, gate: a.gate, fixed: fixed, unit: unit}
	if under > 0 {
		b.addUnder(r, int64(bound.Min), violates, misses)
	}
	if over > 0 {
		b.addOver(r, int64(bound.Max), over, [2]int32{violates, misses})
	}
}

// literalRow is what all rows of a subject in a set have in common.
type literalRow struct {
	others, stands []int32
	gate, unit     int32
	fixed          int64
}

// let adds the terms that let the row go by so much unless the subject stands in the set and the
// alternative is chosen, and returns what that adds to the row's limit.
func (b *binder) let(r literalRow, by int64) int64 {
	limit := int64(0)
	if r.unit != absent {
		for _, column := range r.stands {
			b.add(column, by)
		}
		limit += by
	}
	if r.gate != absent {
		b.add(r.gate, by)
		limit += by
	}
	return limit
}

// addUnder says that the count reaches the minimum, or else what it misses.
func (b *binder) addUnder(r literalRow, least int64, violates, misses int32) {
	for _, other := range r.others {
		b.add(other, 1)
	}
	b.add(violates, least-r.fixed)
	limit := b.let(r, r.fixed-least)
	b.atLeast(least-r.fixed+limit, violates)
	if misses == absent {
		return
	}
	for _, other := range r.others {
		b.add(other, 1000)
	}
	b.add(misses, least)
	limit = b.let(r, 1000*(r.fixed-least))
	b.atLeast(1000*(least-r.fixed)+limit, misses)
}

// addOver says that the count, which may be over by so much, does not exceed the maximum.
func (b *binder) addOver(r literalRow, most, over int64, pays [2]int32) {
	for _, other := range r.others {
		b.add(other, 1)
	}
	b.add(pays[0], -over)
	limit := b.let(r, over)
	b.atMost(most-r.fixed+limit, pays[0])
	if pays[1] == absent {
		return
	}
	for _, other := range r.others {
		b.add(other, 1000)
	}
	b.add(pays[1], -max(most, 1))
	limit = b.let(r, 1000*over)
	b.atMost(1000*(most-r.fixed)+limit, pays[1])
}
