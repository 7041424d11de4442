package flow

import "testing"

// TestWorthOrder: a node is worth more by the most that it may save, then by the least, then by
// how many tasks it serves.
func TestWorthOrder(t *testing.T) {
	rising := []NodeWorth{
		{Most: 1, Least: 9, Tasks: 9},
		{Most: 2, Least: 1, Tasks: 9},
		{Most: 2, Least: 2, Tasks: 1},
		{Most: 2, Least: 2, Tasks: 2},
	}
	for i := range rising {
		for j := range rising {
			if got := rising[i].less(rising[j]); got != (i < j) {
				t.Errorf("%+v is less than %+v: %v", rising[i], rising[j], got)
			}
		}
	}
}
