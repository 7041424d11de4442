package kmeans

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func chance(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) } //nolint:gosec // no secret

// draw makes points on a coarse grid, where many are alike and many distances are.
func draw(t *rapid.T, most int) [][]float64 {
	points := make([][]float64, rapid.IntRange(1, most).Draw(t, "points"))
	for i := range points {
		points[i] = []float64{float64(rapid.IntRange(0, 9).Draw(t, "x")), float64(rapid.IntRange(0, 9).Draw(t, "y"))}
	}
	return points
}

// costOf is what a division costs, from its definition.
func costOf(points [][]float64, group []int) float64 {
	cost := 0.0
	for g := range len(points) {
		var sum [2]float64
		n := 0.0
		for i, p := range points {
			if group[i] == g {
				sum[0], sum[1], n = sum[0]+p[0], sum[1]+p[1], n+1
			}
		}
		for i, p := range points {
			if group[i] == g {
				cost += squared(p, []float64{sum[0] / n, sum[1] / n})
			}
		}
	}
	return cost
}

// least tries every division into at most k groups.
func least(points [][]float64, k int) float64 {
	group, best := make([]int, len(points)), math.Inf(1)
	var try func(i, used int)
	try = func(i, used int) {
		if i == len(points) {
			best = min(best, costOf(points, group))
			return
		}
		for g := range min(used+1, k) {
			group[i] = g
			try(i+1, max(used, g+1))
		}
	}
	try(0, 0)
	return best
}

// TestLeastCost divides a few points, in a hundred tries. What it says that this costs is
// so, and nearly always no division costs less: now and then every start ends where no
// single point is better off in another group, although another division is.
func TestLeastCost(t *testing.T) {
	drawn, missed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		points, k := draw(t, 7), rapid.IntRange(1, 3).Draw(t, "k")
		group, cost := Divide(points, k, 100, chance(rapid.Uint64().Draw(t, "seed")))
		if math.Abs(cost-costOf(points, group)) > 1e-9 {
			t.Fatalf("it says %v, and is %v", cost, costOf(points, group))
		}
		want := least(points, k)
		if cost < want-1e-9 {
			t.Fatalf("%v costs %v, less than the best, %v", group, cost, want)
		}
		if drawn++; cost > want+1e-9 {
			missed++
		}
	})
	if 10*missed > drawn {
		t.Errorf("%d of %d divisions are not the best", missed, drawn)
	}
}

// TestSettled holds of one try, however bad its first centres were: no point is nearer
// to the mean of another group than to that of its own, no more groups than k are there,
// and fewer only where fewer points differ; their numbers follow the points.
func TestSettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points, k, seed := draw(t, 40), rapid.IntRange(1, 6).Draw(t, "k"), rapid.Uint64().Draw(t, "seed")
		group, _ := Divide(points, k, 1, chance(seed))
		if again, _ := Divide(points, k, 1, chance(seed)); !slices.Equal(group, again) {
			t.Fatal("the same seed gave other groups")
		}
		groups := 0
		for _, g := range group {
			if g > groups {
				t.Fatalf("group %d comes before group %d: %v", g, groups, group)
			}
			groups = max(groups, g+1)
		}
		different := map[[2]float64]bool{}
		for _, p := range points {
			different[[2]float64(p)] = true
		}
		if groups != min(k, len(different)) {
			t.Fatalf("%d groups of %d different points, want %d", groups, len(different), k)
		}
		checkNearest(t, points, group, groups)
	})
}

func checkNearest(t *rapid.T, points [][]float64, group []int, groups int) {
	means, count := make([][]float64, groups), make([]float64, groups)
	for g := range means {
		means[g] = make([]float64, 2)
	}
	for i, p := range points {
		g := group[i]
		count[g]++
		means[g][0], means[g][1] = means[g][0]+p[0], means[g][1]+p[1]
	}
	for g := range means {
		means[g][0], means[g][1] = means[g][0]/count[g], means[g][1]/count[g]
	}
	for i, p := range points {
		for g := range means {
			if squared(p, means[g]) < squared(p, means[group[i]])-1e-9 {
				t.Fatalf("point %d is nearer to group %d than to its own, %d", i, g, group[i])
			}
		}
	}
}

// TestApart finds three heaps that nobody could mistake, whatever the seed.
func TestApart(t *testing.T) {
	var points [][]float64
	var want []int
	for i := range 60 {
		points = append(points, []float64{float64(100 * (i % 3)), float64(i % 7)})
		want = append(want, i%3)
	}
	for seed := range uint64(20) {
		if got, _ := Divide(points, 3, 5, chance(seed)); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v", seed, got)
		}
	}
}

// TestNothing divides no points, and points into no groups.
func TestNothing(t *testing.T) {
	if group, cost := Divide(nil, 3, 1, chance(1)); len(group) != 0 || cost != 0 {
		t.Error("of no points there are groups")
	}
	if group, _ := Divide([][]float64{{1}}, 0, 1, chance(1)); len(group) != 0 {
		t.Error("there are groups, and none were asked for")
	}
}
