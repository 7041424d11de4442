package queue

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestIndexAgainstMax compares the index with a look at every leaf, for each
// number of leaves up to three levels.
func TestIndexAgainstMax(t *testing.T) {
	for _, ties := range []Ties{Lowest, Random} {
		for _, leaves := range []int{0, 1, 2, 7, 8, 9, 63, 64, 65, 100, 511, 513, 600} {
			source := rand.New(rand.NewPCG(uint64(leaves), 1))
			x := newIndex(leaves, ties)
			want := make([]int64, leaves)
			draw := func() int64 {
				if source.IntN(3) == 0 {
					return none
				}
				return int64(source.IntN(5))
			}
			for i := range want {
				want[i] = draw()
			}
			x.fill(func(rank int) int64 {
				if rank >= leaves {
					return none
				}
				return want[rank]
			})
			for range 2000 {
				if leaves > 0 {
					i := source.IntN(leaves)
					want[i] = draw()
					x.set(i, want[i])
				}
				rank, ok := x.top(source)
				best := int64(none)
				for _, v := range want {
					best = max(best, v)
				}
				switch {
				case ok != (best != none):
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
	x := newIndex(leaves, Random)
	tied := 0
	x.fill(func(rank int) int64 {
		switch {
		case rank >= leaves || rank%7 == 3:
			return none
		case rank%3 == 0 || rank < 20:
			tied++
			return 9
		}
		return int64(rank % 9)
	})
	counts := map[int]int{}
	for range draws {
		rank, ok := x.top(source)
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

// TestRoomsAgainstScan compares the tree of rooms with a look at every node.
func TestRoomsAgainstScan(t *testing.T) {
	w := newWorld(t, newMesos(), 5)
	var r rooms
	for range 3000 {
		w.step()
		var all []cluster.NodeID
		for n := range w.s.NodeRows() {
			all = append(all, cluster.NodeID(n))
		}
		r.learn(w.s, all)
		id := cluster.ShapeID(w.source.IntN(worldShapes))
		from := w.source.IntN(r.leaves)
		takes := func(n cluster.NodeID) bool { return w.s.RoomNow(id, n) }
		got, ok := r.next(w.s.Shape(id).Demand, from, takes)
		want, found := cluster.NodeID(0), false
		for i := range r.leaves {
			if n := cluster.NodeID((from + i) % r.leaves); roomNow(w.s, id, n) {
				want, found = n, true
				break
			}
		}
		if got != want || ok != found {
			t.Fatalf("found node row %d (%v) from %d on, want %d (%v)", got, ok, from, want, found)
		}
	}
}

// TestNodeOrder adds nodes and wants the order of the first ones unchanged.
func TestNodeOrder(t *testing.T) {
	few, many := newNodeOrder(20, Fixed, 3), newNodeOrder(50, Fixed, 3)
	for a := range 20 {
		for b := range 20 {
			if (few.rank[a] < few.rank[b]) != (many.rank[a] < many.rank[b]) {
				t.Fatalf("nodes %d and %d change places when nodes are added", a, b)
			}
		}
	}
	if slices.IsSorted(few.at) {
		t.Error("the fixed order is that of the rows")
	}
}
