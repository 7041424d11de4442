package cluster_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestFraction compares Fraction with arbitrary-precision arithmetic, at its
// edges and on numbers of every length.
func TestFraction(t *testing.T) {
	edges := []int64{
		math.MinInt64, -1, 0, 1, 2, 3, 1<<28 - 1, 1 << 28, 1<<35 - 1, 1 << 35, 1<<35 + 1,
		cluster.MaxQuantity, 1<<62 + 1, math.MaxInt64 - 1, math.MaxInt64,
	}
	for _, part := range edges {
		for _, whole := range edges {
			checkFraction(t, part, whole)
		}
	}
	source := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		checkFraction(t, source.Int64()>>source.IntN(63), source.Int64()>>source.IntN(63))
	}
}

func checkFraction(t *testing.T, part, whole int64) {
	t.Helper()
	want := int64(0)
	if part > 0 && whole > 0 {
		q := new(big.Int).Lsh(big.NewInt(part), cluster.FractionBits)
		q.Quo(q, big.NewInt(whole))
		want = math.MaxInt64
		if q.IsInt64() {
			want = q.Int64()
		}
	}
	if got := cluster.Fraction(part, whole); got != want {
		t.Fatalf("Fraction(%d, %d) = %d, want %d", part, whole, got, want)
	}
}

// TestLimit: over-commit multiplies in thousandths, rounds down, and stays
// within what a quantity can be.
func TestLimit(t *testing.T) {
	for _, tc := range []struct{ capacity, factor, want int64 }{
		{4000, 1000, 4000},
		{4000, 1500, 6000},
		{3, 1500, 4}, // 4.5
		{1, 999, 0},  // 0.999
		{7, 333, 2},  // 2.331
		{0, 5000, 0},
		{10, 0, 0},
		{cluster.MaxQuantity, 1000, cluster.MaxQuantity},
		{cluster.MaxQuantity, 1001, cluster.MaxQuantity},
		{cluster.MaxQuantity - 1, 1001, cluster.MaxQuantity},
		{cluster.MaxQuantity, cluster.MaxQuantity, cluster.MaxQuantity},
		{1 << 30, 1 << 30, new(big.Int).Quo(new(big.Int).Lsh(big.NewInt(1), 60), big.NewInt(1000)).Int64()},
	} {
		s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil)
		apply(t, s, 0, cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{
			Name: "n1", Capacity: cluster.Vector{tc.capacity}, Overcommit: cluster.Vector{tc.factor},
		}})
		want := min(tc.want, cluster.MaxQuantity)
		if got := s.Limit(0)[0]; got != want {
			t.Errorf("%d at %d/1000 is %d, want %d", tc.capacity, tc.factor, got, want)
		}
	}
}

func TestTimeAndKindPrint(t *testing.T) {
	for got, want := range map[string]string{
		(90*cluster.Second + 500*cluster.Millisecond).String():             "90.5s",
		cluster.Never.String():                                             "never",
		cluster.Time(0).String():                                           "0s",
		cluster.Kind{PerUnit: 1000}.Format(1500):                           "1.5",
		cluster.Kind{}.Format(7):                                           "7",
		cluster.Kind{Name: "memory", PerUnit: 1 << 30}.Format(3 * 1 << 29): "1.5",
	} {
		if got != want {
			t.Errorf("printed %q, want %q", got, want)
		}
	}
}
