package lifetime

import (
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
)

// TestBins: each bin begins where the one before ends, four of them double an age, and every age is in one.
func TestBins(t *testing.T) {
	for b := range Bins {
		if got := Bin(Start(b)); got != b {
			t.Errorf("bin %d begins at %v, which is in bin %d", b, Start(b), got)
		}
		if b > 0 && Bin(Start(b)-1) != b-1 {
			t.Errorf("just before bin %d, at %v, is bin %d", b, Start(b)-1, Bin(Start(b)-1))
		}
		if b > perDoubling && Start(b) != 2*Start(b-perDoubling) && (b-1)%perDoubling == 0 {
			t.Errorf("bin %d begins at %v, want twice %v", b, Start(b), Start(b-perDoubling))
		}
	}
	for _, tc := range []struct {
		at   cluster.Time
		want int
	}{{-1, 0}, {0, 0}, {cluster.Minute, 1}, {2 * cluster.Minute, 5}, {cluster.Never, Bins - 1}} {
		if got := Bin(tc.at); got != tc.want {
			t.Errorf("%v is in bin %d, want %d", tc.at, got, tc.want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		at := cluster.Time(rapid.Int64Range(0, int64(200*cluster.Day)).Draw(rt, "age"))
		if b := Bin(at); Start(b) > at || b+1 < Bins && Start(b+1) <= at {
			rt.Fatalf("%v is in bin %d, which begins at %v", at, b, Start(b))
		}
	})
}
