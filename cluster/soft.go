package cluster

import "math"

// This file says what soft constraints make of one more task.

// Soft reports whether a soft constraint concerns tasks of the shape that come.
func Soft(v *View, id ShapeID) bool {
	for _, r := range v.shape[id].roles {
		if !v.constraints.row[r.constraint].spec.Hard {
			return true
		}
	}
	return false
}

// SoftCost is what it would cost more in soft constraints if a task of the shape came to the node, and less where
// it is below 0: violation for each subject that violates one, and extent for what it misses, times the weight
// of the constraint over the default. Of alternatives the cheapest counts (Standing). For one that binds who comes
// the task is charged, never less than nothing.
func SoftCost(v *View, id ShapeID, n NodeID, violation, extent int64) int64 {
	sum, roles := int64(0), v.shape[id].roles
	for len(roles) > 0 {
		c := coming{view: v, table: v.constraints, n: n, from: NoNode}
		c.roles, roles = next(roles)
		switch spec := v.constraints.row[c.roles[0].constraint].spec; {
		case spec.Hard:
		case spec.Arriving:
			for _, r := range c.roles {
				b := &v.constraints.row[r.constraint].bound[r.bound]
				sum += weighed(b.charge(r, v.constraints.group[b.group].setOf(n), violation, extent), spec)
			}
		default:
			sum += weighed(c.softly(violation, extent), spec)
		}
	}
	return sum
}

// SoftFloor is what SoftCost is at least on every node, and whether that is known: it is where all that concern the shape bind who comes.
func SoftFloor(v *View, id ShapeID, violation, extent int64) (least int64, known bool) {
	for _, r := range v.shape[id].roles {
		row := &v.constraints.row[r.constraint]
		switch {
		case row.spec.Hard:
		case !row.spec.Arriving:
			return 0, false
		default:
			least += weighed(leastCharge(v, r, violation, extent), row.spec)
		}
	}
	return least, true
}

// next splits the roles in a constraint from those in others.
func next(roles []role) (of, others []role) {
	end := 1
	for end < len(roles) && roles[end].constraint == roles[0].constraint {
		end++
	}
	return roles[:end], roles[end:]
}

// weighed is a cost in thousandths by the weight of the constraint.
func weighed(cost int64, of *Constraint) int64 { return cost / 1000 * of.Weight / DefaultWeight }

// charge is what a task with the role pays for coming to the set, in thousandths: for violating the bound, and for what it misses; and as a target
// for those whom it puts off by coming, or by staying away, as if the bound were theirs.
func (b *boundRow) charge(r role, set int32, violation, extent int64) (sum int64) {
	pay := func(misses int64, violates bool) int64 {
		if violates {
			return 1000*violation + extent*misses
		}
		return extent * misses
	}
	if r.subject {
		most := int64(0)
		for t := range tenses {
			most = max(most, pay(b.missesOf(r, set, t)))
		}
		sum += most
	}
	if r.target && !b.OverFewest {
		misses := b.putsOff(r, set)
		sum += pay(misses, misses > 0)
	}
	return sum
}

// missesOf is what a subject would miss in the set, and whether that violates the bound. Over the fewest it misses every one that it would meet
// beyond these, as of two sets that both let it in the emptier is the better.
func (b *boundRow) missesOf(r role, set int32, t tense) (misses int64, violates bool) {
	m := b.meeting(r, set, t)
	switch {
	case b.OverFewest && t == present:
		return 0, false
	case b.OverFewest && set == outside:
		return 1000, true
	case b.OverFewest:
		fewest := b.limit() - int64(b.Max)
		if b.SelfCounted && r.target {
			fewest++
		}
		return 1000 * max(int64(m.others)-fewest, 0) / int64(max(b.Max, 1)), int64(m.others) > b.limit()
	case !b.first(r, m):
		misses = b.Misses(m.others)
	}
	return misses, misses > 0
}

// putsOff is what subjects would miss if a target came to the set: those there if they counted too many, or all of them if none is there.
func (b *boundRow) putsOff(r role, set int32) int64 {
	there := Count{}
	if set != outside {
		there = b.counted(set, present)
	}
	off, beside := int64(0), there.Targets // beside is whom a subject that is a target meets then
	if b.SelfCounted {
		beside++
	}
	if there.Targets >= b.Max {
		off += int64(there.Subjects - there.Both)
	}
	if beside > b.Max {
		off += int64(there.Both)
	}
	switch {
	case off > 0:
		return 1000 * off / int64(max(b.Max, 1))
	case b.Min > 0 && there.Subjects == 0 && b.subjects > 0 && !r.subject:
		return 1000
	}
	return 0
}

// fewSets is of how many sets of a group each is looked at for the least charge.
const fewSets = 64

// leastCharge is what a task with the role pays at least, wherever it comes.
func leastCharge(v *View, r role, violation, extent int64) int64 {
	b := &v.constraints.row[r.constraint].bound[r.bound]
	g := &v.constraints.group[b.group]
	switch {
	case len(g.nodes) <= fewSets:
	case r.subject && b.Min > 0 && !b.OrFirst && min(b.arrivals.targets[present], b.arrivals.targets[settled]) == 0:
		r.target = false
		return b.charge(r, outside+1, violation, extent) // it meets nobody anywhere
	default:
		return 0
	}
	least, nodes := int64(math.MaxInt64), int64(0)
	for set, n := range g.nodes {
		if nodes += int64(n); n > 0 {
			least = min(least, b.charge(r, int32(set), violation, extent))
		}
	}
	if nodes < int64(v.total.Nodes) || nodes == 0 {
		least = min(least, b.charge(r, outside, violation, extent))
	}
	return least
}

// softly is by how much the cheapest alternative costs more, in thousandths.
func (c *coming) softly(violation, extent int64) int64 {
	row, roles := &c.table.row[c.roles[0].constraint], c.roles
	before, after := int64(math.MaxInt64), int64(math.MaxInt64)
	for i := 0; i < len(row.bound); {
		alternative := row.bound[i].alternative
		now, more := int64(0), int64(0)
		for ; i < len(row.bound) && row.bound[i].alternative == alternative; i++ {
			now += 1000*violation*row.bound[i].violating[present] + extent*row.bound[i].misses
			if len(roles) > 0 && int(roles[0].bound) == i {
				violating, misses := c.addsTo(roles[0])
				more += 1000*violation*violating + extent*misses
				roles = roles[1:]
			}
		}
		before, after = min(before, now), min(after, now+more)
	}
	return after - before
}

// addsTo is how many more subjects would violate the bound at present, and how much more they would miss.
func (c *coming) addsTo(r role) (violating, misses int64) {
	b := &c.table.row[r.constraint].bound[r.bound]
	g := &c.table.group[b.group]
	set := g.setOf(c.n)
	has := b.counted(set, present)
	before, missed := b.broken(set, has, g.size(set))
	after, misses := b.broken(set, has.plus(r.once(c.sign())), g.size(set))
	return after - before, misses - missed
}

// CountsOf is what the bound of that number counts in the set that the node is in, of all that takes room, and of what is not leaving; and
// the number of that set, 0 where the node is in none.
func CountsOf(v *View, c ConstraintID, bound int, n NodeID) (all, staying Count, set int32) {
	b := &v.constraints.row[c].bound[bound]
	set = v.constraints.group[b.group].setOf(n)
	return b.counted(set, present), b.counted(set, settled), set
}
