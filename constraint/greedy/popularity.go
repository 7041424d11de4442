package greedy

import (
	"cmp"
	"slices"

	"fairlead.dev/fairlead/constraint"
)

// This file is tag popularity: the containers of all applications together, those first
// whose tags stand in the most constraints; of equal ones the first to arrive. Each goes
// where Serial would put it.
//
// YARN's iterator of this name counts the requests of the batch that share a tag instead.

func popularity(r *run) {
	popular := make([]int, len(r.problem.Shapes))
	for shape := range popular {
		last := constraint.Nowhere
		for _, role := range r.roles.Of[shape] {
			if in := r.roles.Bounds[role.Bound].Constraint; in != last {
				popular[shape]++
				last = in
			}
		}
	}
	of := func(c int32) int { return popular[r.problem.Containers[c].Shape] }
	list := r.pending()
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(of(b), of(a)) })
	lost := make([]bool, len(r.problem.Applications))
	for _, c := range list {
		app := r.problem.Shapes[r.problem.Containers[c].Shape].Application
		if lost[app] {
			continue
		}
		if n := r.best(c); n != constraint.Nowhere {
			r.board.Put(c, n)
		} else if !r.problem.Applications[app].Deployed {
			lost[app] = true
			r.takeBack(app)
		}
	}
	r.whole()
}
