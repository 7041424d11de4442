package book

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestIndexAgainstMax compares the index with a look at every leaf, for each
// number of leaves up to three levels.
func TestIndexAgainstMax(t *testing.T) {
	for _, ties := range []Ties{Lowest, Random} {
		for _, leaves := range []int{0, 1, 2, 7, 8, 9, 63, 64, 65, 100, 511, 513, 600} {
			source := rand.New(rand.NewPCG(uint64(leaves), 1))
			x := NewIndex(leaves, ties)
			want := make([]int64, leaves)
			draw := func() int64 {
				if source.IntN(3) == 0 {
					return None
				}
				return int64(source.IntN(5))
			}
			for i := range want {
				want[i] = draw()
			}
			x.Fill(func(rank int) int64 {
				if rank >= leaves {
					return None
				}
				return want[rank]
			})
			for range 2000 {
				switch i := source.IntN(max(leaves, 1)); {
				case leaves == 0:
				case source.IntN(20) == 0: // many at once
					for range 5 {
						i = source.IntN(leaves)
						want[i] = draw()
						x.Leaves()[i] = want[i]
					}
					x.Join()
				default:
					want[i] = draw()
					x.Set(i, want[i])
				}
				rank, ok := x.Top(source)
				best := int64(None)
				for _, v := range want {
					best = max(best, v)
				}
				var atLeast, rival []int
				x.AtLeast(3, func(rank int) { atLeast = append(atLeast, rank) })
				for i, v := range want {
					if v >= 3 {
						rival = append(rival, i)
					}
				}
				switch {
				case x.Most() != best:
					t.Fatalf("%d leaves: the best has %d, want %d", leaves, x.Most(), best)
				case !slices.Equal(atLeast, rival):
					t.Fatalf("%d leaves: at least 3 have %v, want %v", leaves, atLeast, rival)
				case ok != (best != None):
					t.Fatalf("%d leaves: found %v, the best is %d", leaves, ok, best)
				case ok && want[rank] != best:
					t.Fatalf("%d leaves: found %d at %d, the best is %d", leaves, want[rank], rank, best)
				case ok && ties == Lowest && rank != slices.Index(want, best):
					t.Fatalf("%d leaves: found %d, the first of the best is %d", leaves, rank, slices.Index(want, best))
				}
			}
		}
	}
}

// TestRandomTies draws among tied nodes and compares the counts with equal
// chances: the sum of squared differences over the expectation has a mean of
// ties-1 and exceeds it by five standard deviations less than once in a
// thousand.
func TestRandomTies(t *testing.T) {
	const leaves, draws = 200, 40_000
	source := rand.New(rand.NewPCG(1, 2))
	x := NewIndex(leaves, Random)
	tied := 0
	x.Fill(func(rank int) int64 {
		switch {
		case rank >= leaves || rank%7 == 3:
			return None
		case rank%3 == 0 || rank < 20:
			tied++
			return 9
		}
		return int64(rank % 9)
	})
	counts := map[int]int{}
	for range draws {
		rank, ok := x.Top(source)
		if !ok {
			t.Fatal("nothing found")
		}
		counts[rank]++
	}
	if len(counts) != tied {
		t.Fatalf("%d leaves were drawn, %d are tied", len(counts), tied)
	}
	expected, sum := float64(draws)/float64(tied), 0.0
	for _, n := range counts {
		sum += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	free := float64(tied - 1)
	if limit := free + 5*1.4142*math.Sqrt(free); sum > limit {
		t.Fatalf("chi-square is %.1f with %.0f degrees of freedom, want at most %.1f", sum, free, limit)
	}
}

// TestNodeOrder adds nodes and wants the order of the first ones unchanged.
func TestNodeOrder(t *testing.T) {
	few, many := NewOrder(20, Fixed, 3), NewOrder(50, Fixed, 3)
	for a := range 20 {
		for b := range 20 {
			if (few.Rank[a] < few.Rank[b]) != (many.Rank[a] < many.Rank[b]) {
				t.Fatalf("nodes %d and %d change places when nodes are added", a, b)
			}
		}
	}
	if slices.IsSorted(few.At) {
		t.Error("the fixed order is that of the rows")
	}
}
