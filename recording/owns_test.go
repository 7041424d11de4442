package recording_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/recording"
)

// TestLaneOwns holds the rules of lanes against what they are to own.
func TestLaneOwns(t *testing.T) {
	for _, tc := range []struct {
		lane                        recording.Lane
		short, long, bobs, bobsLong bool // jobs of ann and of bob
	}{
		{recording.Lane{}, true, true, true, true},
		{recording.Lane{User: "ann"}, true, true, false, false},
		{recording.Lane{LongRunning: true}, false, true, false, true},
		{recording.Lane{User: "ann", LongRunning: true}, false, true, false, false},
	} {
		owns := tc.lane.Owns()
		if owns == nil {
			owns = func(*cluster.Job) bool { return true }
		}
		got := []bool{owns(&cluster.Job{User: "ann"}), owns(&cluster.Job{User: "ann", LongRunning: true}), owns(&cluster.Job{User: "bob"}), owns(&cluster.Job{User: "bob", LongRunning: true})}
		for i, want := range []bool{tc.short, tc.long, tc.bobs, tc.bobsLong} {
			if got[i] != want {
				t.Errorf("user %q, long-running %t: job %d is owned: %t", tc.lane.User, tc.lane.LongRunning, i, got[i])
			}
		}
	}
}
