package book

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// ClassRanks ranks classes by importance. Classes that are equally important share a rank.
type ClassRanks struct {
	Of    []uint8 // by row of classes; 0 is the most important, and so is a row that does not count
	Count int     // how many ranks there are
}

// RankClasses ranks the classes that there are, and of which counted holds; nil is all. A row
// that holds none has no importance, and takes no rank.
func RankClasses(s *cluster.View, counted func(*cluster.Class) bool) ClassRanks {
	counts := func(id int) bool {
		return s.ClassLive(cluster.ClassID(id)) && (counted == nil || counted(&s.Classes()[id]))
	}
	var order []int32
	for id, class := range s.Classes() {
		if counts(id) {
			order = append(order, class.Importance)
		}
	}
	slices.Sort(order)
	order = slices.Compact(order)
	r := ClassRanks{Of: make([]uint8, len(s.Classes())), Count: len(order)}
	for id, class := range s.Classes() {
		if counts(id) {
			at, _ := slices.BinarySearch(order, class.Importance)
			r.Of[id] = uint8(at)
		}
	}
	return r
}
