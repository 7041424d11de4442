package trace

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestNumbers compares with a map.
func TestNumbers(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	var n Numbers
	rival := map[uint64]bool{}
	for range 20_000 {
		v := chance.Uint64N(5000)
		if chance.IntN(2) == 0 {
			v = math.MaxUint64 - v
		}
		if got := n.Add(v); got == rival[v] {
			t.Fatalf("adding %d: new is %v, was there is %v", v, got, rival[v])
		}
		rival[v] = true
	}
}
