package queue

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// The index that was not used for longest is the first to be forgotten, also
// after others were forgotten with their shapes.
func TestOldestIndexIsForgotten(t *testing.T) {
	const rows = maxLeaves / 3 // room for three indexes; they have no leaves here
	tab := newTable(Options{Ties: Lowest})
	tab.order.at = make([]cluster.NodeID, rows)
	tab.shapes = make([][]*cachedIndex, 6)
	left := func() []cluster.ShapeID {
		var ids []cluster.ShapeID
		for x := tab.ring.prev; x != tab.ring; x = x.prev {
			ids = append(ids, x.id.shape)
		}
		return ids
	}
	use := func(shapes ...cluster.ShapeID) {
		for _, shape := range shapes {
			tab.lookup(indexID{shape: shape})
		}
	}
	use(0, 1, 2, 0, 3)
	if got, want := left(), []cluster.ShapeID{2, 0, 3}; !slices.Equal(got, want) {
		t.Errorf("the indexes from the oldest on are %v, want %v", got, want)
	}
	tab.drop(tab.shapes[0][0])
	use(4, 2, 5)
	if got, want := left(), []cluster.ShapeID{4, 2, 5}; !slices.Equal(got, want) || tab.kept != 3 {
		t.Errorf("the indexes from the oldest on are %v, and %d are counted; want %v", got, tab.kept, want)
	}
}
