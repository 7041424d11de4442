package lane

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// This file has who comes wait for company that has yet to move: a container that was told to leave its node, so that others may stand beside it elsewhere, is there only once it has
// left and begun anew, and until then those others would stand alone.

// awaitsMover reports whether a hard constraint asks that the container, which is to be placed, has company, and one of those that would be it moves there in the same plan.
func (q *posed) awaitsMover(a constraint.Assignment, container int32) bool {
	if len(q.movers) == 0 {
		return false
	}
	tags := q.tagsOf(container)
	for i := range q.problem.Constraints {
		c := &q.problem.Constraints[i]
		for _, bounds := range c.Any {
			for j := range bounds {
				b := &bounds[j]
				if subject, _ := b.Affects(tags); c.Hard && subject && b.Min > 0 && q.movesTo(a, b, q.setOf(b.Group, a[container])) {
					return true
				}
			}
		}
	}
	return false
}

// movesTo reports whether a target of the bound moves to the set, from outside of it.
func (q *posed) movesTo(a constraint.Assignment, b *cluster.Bound, set int32) bool {
	return set != constraint.Nowhere && slices.ContainsFunc(q.movers, func(m int32) bool {
		_, target := b.Affects(q.tagsOf(m))
		return target && q.setOf(b.Group, a[m]) == set && q.setOf(b.Group, q.problem.Containers[m].At) != set
	})
}

func (q *posed) tagsOf(container int32) []string {
	return q.problem.Shapes[q.problem.Containers[container].Shape].Tags
}
