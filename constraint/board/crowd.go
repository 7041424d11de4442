package board

import (
	"slices"

	"fairlead.dev/fairlead/constraint"
)

// This file says what a shape violates because there are more of it than may be together: those whom
// a bound both binds and counts, each of whom wants at most so many others in its set.

// berths are how many containers of the shape each set that has room for one may hold before the bound is
// violated there, the most first, and how many that are together. It looks no further once they
// are as many as wanted, which they are, too, where a node outside all sets has room.
func (f *floor) berths(shape int32, r *role, wanted int64) (each []int64, all int64) {
	k := &f.shapes[shape]
	seen := make([]bool, r.outside+1)
	visit := func(node int32) {
		set := f.setsOf(node)[r.group]
		if seen[set] {
			return
		}
		seen[set] = true
		if set == r.outside {
			all = wanted
			return
		}
		each = append(each, max(int64(r.most+1-r.self-f.slots[r.base+set].targets), 0))
		all += each[len(each)-1]
	}
	app := &f.problem.Applications[f.problem.Shapes[shape].Application]
	for i := app.First; i < app.End && k.homes > 0 && all < wanted; i++ {
		if c := &f.problem.Containers[i]; c.Shape == shape && !c.Fixed && c.At != constraint.Nowhere {
			visit(c.At)
		}
	}
	for n := int32(0); int(n) < len(f.problem.Nodes) && all < wanted; n++ {
		if !seen[f.setsOf(n)[r.group]] && f.HasRoom(k.one, n) {
			visit(n)
		}
	}
	slices.SortFunc(each, func(a, b int64) int { return int(b - a) })
	return each, all
}

// mutual reports whether the role is of those who want at most so many of each other.
func (f *floor) mutual(r *role) bool {
	return r.subject && r.target && int64(r.most) < int64(len(f.problem.Containers))
}

// crowd is what so many of the shape are priced at by the bound at the least, where they are too many:
// some sets hold no more than they may, and in the others all are violators. The more even those sets are the
// less they miss.
func (f *floor) crowd(shape int32, r *role, many int64) int64 {
	each, all := f.berths(shape, r, many)
	if all >= many {
		return 0
	}
	least, sets, most := int64(-1), int64(len(each)), int64(max(r.most, 1))
	for violated := int64(1); violated <= sets; violated++ {
		all -= each[sets-violated]
		violators := many - all
		missing := func(load int64) int64 { return load * max(load-int64(r.most+1-r.self), 1) }
		load, more := violators/violated, violators%violated
		misses := more*missing(load+1) + (violated-more)*missing(load)
		price := 1000*f.weights.Violation*violators + f.weights.Extent*((1000*misses+most-1)/most)
		if least < 0 || price < least {
			least = price
		}
	}
	return max(least, 0)
}
