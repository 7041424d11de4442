package book

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestOrderIsFixed: the order of a seed is the same in each run and each version, as recordings and
// results name the seed alone, and nodes that come later leave it as it was.
func TestOrderIsFixed(t *testing.T) {
	few, many := NewOrder(8, Fixed, 1).At, NewOrder(64, Fixed, 1).At
	if want := []cluster.NodeID{5, 0, 4, 6, 1, 7, 3, 2}; !slices.Equal(few, want) {
		t.Errorf("8 nodes stand as %v, want %v", few, want)
	}
	if kept := slices.DeleteFunc(slices.Clone(many), func(n cluster.NodeID) bool { return n >= 8 }); !slices.Equal(kept, few) {
		t.Errorf("among 64 nodes the first 8 stand as %v, alone as %v", kept, few)
	}
	if got := NewOrder(4, Lowest, 1).At; !slices.Equal(got, []cluster.NodeID{0, 1, 2, 3}) {
		t.Errorf("by row: %v", got)
	}
}
