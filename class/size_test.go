package class

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestBounds: "Best effort [1, N/3], Advanced [N/3+1, 2N/3], Premium [2N/3+1, N]", where
// N is the cores of the smallest node, all in whole cores, and at least 1.
func TestBounds(t *testing.T) {
	for _, tc := range []struct {
		cores int64
		want  [cluster.Levels][2]int64
	}{
		{9, [...][2]int64{{1, 3}, {4, 6}, {7, 9}}},
		{32, [...][2]int64{{1, 10}, {11, 21}, {22, 32}}},
		{4, [...][2]int64{{1, 1}, {2, 2}, {3, 4}}},
		{2, [...][2]int64{{1, 1}, {1, 1}, {2, 2}}},
		{1, [...][2]int64{{1, 1}, {1, 1}, {1, 1}}},
	} {
		for l := cluster.BestEffort; l <= cluster.Premium; l++ {
			if least, most := Bounds(l, tc.cores); [2]int64{least, most} != tc.want[l-1] {
				t.Errorf("of %d cores level %d gets %d to %d, want %v", tc.cores, l, least, most, tc.want[l-1])
			}
		}
	}
}
