package class

import "fairlead.dev/fairlead/cluster"

// This file says how much of a node the tasks of a class get, by its level of size.

// Cores is in what a node of a size, a quantity of the first kind, is cut: whole units of
// that kind where the smallest node has one for each level, or else single quantities. It
// returns how many the smallest node has, and what one of them is.
func Cores(smallest, perUnit int64) (cores, per int64) {
	per = max(perUnit, 1)
	if cores = smallest / per; cores < int64(cluster.Levels) {
		return smallest, 1
	}
	return cores, per
}

// Bounds is the range of cores for a level of size where the smallest node has so many:
// each level has a third of them, cut to whole cores, and at least one (SLA classes;
// specs/sla-classes.md, §4). With 32 cores Best effort gets 1 to 10, Advanced 11 to 21
// and Premium 22 to 32. The level must be one.
func Bounds(l cluster.Level, cores int64) (least, most int64) {
	const levels = int64(cluster.Levels)
	least = max(1, int64(l-1)*cores/levels+1)
	return least, max(least, int64(l)*cores/levels)
}
