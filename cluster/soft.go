package cluster

import "math"

// This file says what soft constraints make of one more task.

// Soft reports whether a soft constraint concerns tasks of the shape.
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
// of the constraint over the default. Of alternatives the cheapest counts (Standing).
func SoftCost(v *View, id ShapeID, n NodeID, violation, extent int64) int64 {
	sum, roles := int64(0), v.shape[id].roles
	for len(roles) > 0 {
		end := 1
		for end < len(roles) && roles[end].constraint == roles[0].constraint {
			end++
		}
		c := coming{table: v.constraints, n: n, from: NoNode, roles: roles[:end]}
		if spec := v.constraints.row[roles[0].constraint].spec; !spec.Hard {
			sum += c.softly(violation, extent) / 1000 * spec.Weight / DefaultWeight
		}
		roles = roles[end:]
	}
	return sum
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
