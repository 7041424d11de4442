package whatif

import (
	"cmp"
	"maps"
	"slices"
)

// This file compares how a cluster keeps what it was asked for: constraints, and what classes promise.

// Kept is what a cluster keeps of that at a moment, or rather what it does not.
type Kept struct {
	// Violations is how many subjects violate a bound of each constraint: pods, or zones and the like over which pods are spread.
	Violations map[string]int
	// Waiting is how many pods wait of each class that promises something.
	Waiting map[string]int
}

// Number is how much there is of something, before and after.
type Number struct {
	Of     string `json:"of"`
	Before int    `json:"before"`
	After  int    `json:"after"`
}

// Keep notes how constraints and promises are kept before and after.
func (d *Diff) Keep(before, after Kept) {
	d.Violations, d.Before.Violations, d.After.Violations = numbers(before.Violations, after.Violations)
	d.Promises, d.Before.Promised, d.After.Promised = numbers(before.Waiting, after.Waiting)
}

// numbers are those that are above 0 before or after, by name, and their sums.
func numbers(before, after map[string]int) (list []Number, sumBefore, sumAfter int) {
	list = []Number{}
	all := maps.Clone(before)
	maps.Copy(all, after)
	for of := range all {
		if n := (Number{of, before[of], after[of]}); n.Before > 0 || n.After > 0 {
			list = append(list, n)
			sumBefore, sumAfter = sumBefore+n.Before, sumAfter+n.After
		}
	}
	slices.SortFunc(list, func(a, b Number) int { return cmp.Compare(a.Of, b.Of) })
	return list, sumBefore, sumAfter
}
