package sim

import (
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestNodeBits holds bits against a map, also of rows that are not there yet.
func TestNodeBits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var bits nodeBits
	want := map[cluster.NodeID]bool{}
	for range 10_000 {
		row, is := cluster.NodeID(random.IntN(300)), random.IntN(2) == 0
		bits.put(row, is)
		want[row] = is
		if row = cluster.NodeID(random.IntN(400)); bits.holds(row) != want[row] {
			t.Fatalf("row %d: %t, want %t", row, bits.holds(row), want[row])
		}
	}
}
