package book

import (
	"cmp"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestOldestIndexesAreForgotten: those that were used last are kept, also after others were
// forgotten with their shapes.
func TestOldestIndexesAreForgotten(t *testing.T) {
	const rows = maxLeaves / 4 // room for four indexes; they have no leaves here
	all := NewIndexes(Lowest, 1)
	all.Order.At = make([]cluster.NodeID, rows)
	all.shapes = make([][]*ShapeIndex, 7)
	use := func(shapes ...cluster.ShapeID) {
		for _, shape := range shapes {
			all.lookup(IndexID{Shape: shape})
		}
	}
	want := func(want ...cluster.ShapeID) {
		t.Helper()
		kept := slices.Concat(all.shapes...)
		slices.SortFunc(kept, func(a, b *ShapeIndex) int { return cmp.Compare(a.used, b.used) })
		var got []cluster.ShapeID
		for _, x := range kept {
			got = append(got, x.id.Shape)
		}
		if !slices.Equal(got, want) || all.kept != len(want) {
			t.Errorf("the indexes from the oldest on are %v, and %d are counted; want %v", got, all.kept, want)
		}
	}
	use(0, 1, 2, 0, 3)
	want(1, 2, 0, 3)
	use(4)
	want(0, 3, 4)
	all.drop(0, func(*ShapeIndex) bool { return true })
	want(3, 4)
	use(5, 3, 6)
	want(4, 5, 3, 6)
}
