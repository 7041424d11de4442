package class

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// A node falls with its failures from high to low, and rises again as these are forgotten; what it is then known in advance.
func TestReputation(t *testing.T) {
	const day = cluster.Day
	var r Reputation
	for _, step := range []struct {
		at      cluster.Time
		fails   bool
		tier    string
		changes cluster.Time
	}{
		{0, false, "high", cluster.Never},
		{1 * day, true, "average", 31 * day},
		{1 * day, true, "average", 31 * day}, // the same one
		{2 * day, true, "average", 31 * day},
		{3 * day, true, "low", 31 * day},
		{4 * day, true, "low", 32 * day}, // three are enough
		{32*day - 1, false, "low", 32 * day},
		{32 * day, false, "average", 33 * day},
		{34 * day, false, "high", cluster.Never},
		{35 * day, true, "average", 65 * day},
	} {
		if step.fails {
			r.Failed(step.at)
		}
		if tier, changes := TierName(r.Tier(step.at)), r.Changes(step.at); tier != step.tier || changes != step.changes || r.Clean(step.at) != (tier == "high") {
			t.Errorf("at %v its reputation is %s, and changes at %v, want %s and %v", step.at, tier, changes, step.tier, step.changes)
		}
	}

	// What is learned late is put where it belongs.
	var late Reputation
	for _, at := range []cluster.Time{9 * day, -20 * day, 8 * day} {
		late.Failed(at)
	}
	if tier, changes := TierName(late.Tier(9*day)), late.Changes(9*day); tier != "low" || changes != 10*day {
		t.Errorf("its reputation is %s, and changes at %v, want low, and 10 days", tier, changes)
	}
}
