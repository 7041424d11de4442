package constraint

import "slices"

// This file makes groups of nodes out of what is said of each node.

// GroupOf is the group of that name in which each node, by row, is in the set that is named
// for it; in none where the name is empty.
func GroupOf(name string, setOf []string) Group {
	sets := slices.DeleteFunc(slices.Clone(setOf), func(set string) bool { return set == "" })
	slices.Sort(sets)
	g := Group{Name: name, Sets: slices.Compact(sets), SetOf: make([]int32, len(setOf))}
	for node, set := range setOf {
		g.SetOf[node] = Nowhere
		if at, found := slices.BinarySearch(g.Sets, set); found {
			g.SetOf[node] = int32(at)
		}
	}
	return g
}
