package lane

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/sched"
)

// This file makes one bundle of what comes only together: two applications, each of which must
// stand beside the other, are refused alone, whichever comes first.
//
// A bundle grows from one that was refused. The hard constraint that refuses it asks for company,
// and who would be that, by the plan, joins: whoever is a target of the constraint, in a set where
// one of the bundle is a subject. Where nobody is left to join, it waits. Of the bundles that grow
// from each of those in it the smallest is taken: who needs others, and is not needed by them,
// comes after them.

// unit is what comes whole: an application, or a container that a running one lacks.
type unit struct {
	application int
	containers  []int32
}

// jointly adds bundles of the units, none of which has come alone, and returns those that come, and those that do not.
func (q *posed) jointly(t *sched.Trial, a constraint.Assignment, left []unit, out *sched.Plan) (come, rest []unit) {
	for before := -1; len(left) != before; {
		before = len(left)
		for first := 0; first < len(left); {
			with := q.grow(t, a, left, first)
			for _, other := range with {
				if smaller := q.grow(t, a, left, other); smaller != nil && len(smaller) < len(with) {
					with = smaller
				}
			}
			if with == nil || !q.place(t, a, containersOf(left, with), out) {
				first++
				continue
			}
			for _, i := range slices.Backward(with) {
				come = append(come, left[i])
				left = slices.Delete(left, i, i+1)
			}
		}
	}
	return come, left
}

// grow is the first unit with those that it needs, ascending, as they come in one bundle; nil where
// that is not possible.
func (q *posed) grow(t *sched.Trial, a constraint.Assignment, units []unit, first int) []int {
	for with := []int{first}; ; {
		mark := t.Mark()
		r := t.TryTogether(q.placing(t, a, containersOf(units, with)))
		if !r.Refused() {
			t.Rollback(mark)
			return with
		}
		if r.Code != cluster.Violates {
			return nil
		}
		next := q.company(t.View().Constraint(r.Constraint), a, units, with)
		if next < 0 {
			return nil
		}
		at, _ := slices.BinarySearch(with, next)
		with = slices.Insert(with, at, next)
	}
}

// containersOf are those of the units in these rows.
func containersOf(units []unit, rows []int) (list []int32) {
	for _, i := range rows {
		list = append(list, units[i].containers...)
	}
	return list
}

// company is the first other unit that has a target of the constraint where one of those with is
// its subject; -1 if none has.
func (q *posed) company(c *cluster.Constraint, a constraint.Assignment, units []unit, with []int) int {
	type place struct{ alternative, bound, set int32 }
	wanted := map[place]bool{}
	each := func(u *unit, do func(b *cluster.Bound, tags []string, at place)) {
		for _, container := range u.containers {
			tags := q.problem.Shapes[q.problem.Containers[container].Shape].Tags
			for alternative, bounds := range c.Any {
				for i := range bounds {
					at := place{int32(alternative), int32(i), q.setOf(bounds[i].Group, a[container])}
					if bounds[i].Min > 0 && at.set != constraint.Nowhere {
						do(&bounds[i], tags, at)
					}
				}
			}
		}
	}
	for _, i := range with {
		each(&units[i], func(b *cluster.Bound, tags []string, at place) {
			if subject, _ := b.Affects(tags); subject {
				wanted[at] = true
			}
		})
	}
	for i := range units {
		found := false
		each(&units[i], func(b *cluster.Bound, tags []string, at place) {
			_, target := b.Affects(tags)
			found = found || target && wanted[at]
		})
		if found && !slices.Contains(with, i) {
			return i
		}
	}
	return -1
}

// setOf is the set of the group of that name that the node is in; Nowhere if in none.
func (q *posed) setOf(group string, node int32) int32 {
	for i := range q.problem.Groups {
		if q.problem.Groups[i].Name == group {
			return q.problem.Groups[i].SetOf[node]
		}
	}
	return constraint.Nowhere
}
