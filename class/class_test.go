package class

import (
	"math"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestByPriority: "Gold (Google priority > 8), Silver (2..8), Bronze (<2)"
// (specification §1); a class without a priority gets no task by it, and the last one all
// that no other gets.
func TestByPriority(t *testing.T) {
	named := &Table{Classes: []Class{
		{From: NoPriority, Class: cluster.Class{Name: "named"}},
		{From: 5, Class: cluster.Class{Name: "high"}},
		{From: NoPriority, Class: cluster.Class{Name: "other"}},
		{From: 0, Class: cluster.Class{Name: "rest"}},
	}}
	for _, c := range []struct {
		table    *Table
		priority int32
		want     string
	}{
		{Google(), 11, "gold"},
		{Google(), 9, "gold"},
		{Google(), 8, "silver"},
		{Google(), 2, "silver"},
		{Google(), 1, "bronze"},
		{Google(), math.MinInt32, "bronze"},
		{Google(), math.MaxInt32, "gold"},
		{SLA(), 9, "premium"},
		{SLA(), 0, "best-effort"},
		{named, math.MaxInt32, "high"},
		{named, 5, "high"},
		{named, 4, "rest"},
		{named, -1, "rest"},
	} {
		if got := c.table.Classes[c.table.ByPriority(c.priority)].Name; got != c.want {
			t.Errorf("of %v, priority %d leads to %s, want %s", c.table.Names(), c.priority, got, c.want)
		}
	}
}

// TestOf: the class that a task names goes before its priority, and where there is none of
// that name, the error goes with the class of the priority.
func TestOf(t *testing.T) {
	if id, err := Google().Of("silver", true, 11); err != nil || id != 1 {
		t.Errorf("silver is %d, %v", id, err)
	}
	if id, err := Google().Of("silver", false, 11); err != nil || id != 0 {
		t.Errorf("priority 11 leads to %d, %v", id, err)
	}
	if id, err := Google().Of("slver", true, 11); id != 0 || err == nil || err.Error() != "no such class; did you mean silver?" {
		t.Errorf("class %d, error %v", id, err)
	}
}
