package page

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/report"
)

func numbers(v ...float64) []report.Number {
	var all []report.Number
	for _, x := range v {
		all = append(all, report.Number(x))
	}
	return all
}

// same compares lists in which NaN is equal to NaN.
func same(a, b values) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })
}

// seriesOf is a series with one column.
func seriesOf(step float64, v ...float64) *report.Series {
	return &report.Series{Step: report.Number(step), Columns: map[string][]report.Number{"x": numbers(v...)}}
}

func TestGrid(t *testing.T) {
	s := seriesOf(10, 1, 9, 2, 3, 0, 5, 7)
	whole := gridOf([]*report.Run{{Series: s}}, 7)
	if got := whole.extremes(s, s.Columns["x"]); !same(got, values{1, 9, 2, 3, 0, 5, 7}) || !same(whole.pairs(), values{10, 20, 30, 40, 50, 60, 70}) {
		t.Errorf("short series are not left as they are: %v at %v", got, whole.pairs())
	}
	// Six points: buckets of three steps, of which each keeps two values.
	coarse := gridOf([]*report.Run{{Series: s}}, 6)
	if got := coarse.extremes(s, s.Columns["x"]); !same(got, values{1, 9, 0, 5, 7, 7}) {
		t.Errorf("the extremes are %v", got)
	}
	if got := coarse.pairs(); !same(got, values{15, 30, 45, 60, 75, 90}) {
		t.Errorf("the extremes are at %v", got)
	}
	if got := coarse.means(s, s.Columns["x"]); !same(got, values{4, 8.0 / 3, 7}) {
		t.Errorf("the means are %v", got)
	}
}

// Runs with steps of different lengths share the buckets of the longest.
func TestGridOfTwoSteps(t *testing.T) {
	fine, rough := seriesOf(5, 1, 3, 5, 7), seriesOf(10, 2, 6, 8)
	g := gridOf([]*report.Run{{Series: fine}, {Series: rough}}, 100)
	if got := g.means(fine, fine.Columns["x"]); len(got) == 0 || !math.IsNaN(got[len(got)-1]) {
		t.Errorf("what a run did not live to see is %v, want NaN at its end", got)
	}
	if got := g.means(rough, rough.Columns["x"]); len(got) != g.buckets || math.IsNaN(got[g.buckets-1]) {
		t.Errorf("the longer run is %v in %d buckets", got, g.buckets)
	}
	if gridOf([]*report.Run{{}}, 100).buckets != 0 {
		t.Error("a run without series has buckets")
	}
}

// Decimation loses no spike, however few points are left, and keeps the limit.
func TestExtremesKeepSpikes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + r.IntN(3000)
		column := make([]float64, n)
		for i := range column {
			column[i] = r.Float64()
		}
		column[r.IntN(n)], column[r.IntN(n)] = 50, -50
		limit := 2 + r.IntN(500)
		s := seriesOf(60, column...)
		g := gridOf([]*report.Run{{Series: s}}, limit)
		got := g.extremes(s, s.Columns["x"])
		if len(got) != len(g.pairs()) || len(got) > limit+2 {
			t.Fatalf("%d steps, limit %d: %d values at %d times", n, limit, len(got), len(g.pairs()))
		}
		if slices.Max(got) != slices.Max(column) || slices.Min(got) != slices.Min(column) {
			t.Fatalf("%d steps, limit %d: a spike is lost", n, limit)
		}
		x, y := thin(g.pairs(), got, 20)
		if len(x) > 24 || slices.Max(y) != slices.Max(column) || slices.Min(y) != slices.Min(column) || !slices.IsSorted(x) {
			t.Fatalf("%d points thinned to %d lose a spike or their order", len(got), len(x))
		}
	}
}

func TestThinMeans(t *testing.T) {
	nan := math.NaN()
	at, all := thinMeans(values{1, 2, 3, 4, 5}, 3, values{1, 3, nan, 5, 7}, nil)
	if !same(at, values{2, 4, 5}) || !same(all[0], values{2, 5, 7}) || all[1] != nil {
		t.Errorf("got %v at %v", all, at)
	}
}

func TestOverSeeds(t *testing.T) {
	nan := math.NaN()
	mean, low, high := overSeeds([]values{{1, 10, nan}, {2, 10, nan}, {3, 40, nan}, {4, nan, nan}, {5, nan, nan}})
	if !same(mean, values{3, 20, nan}) || !same(low, values{2, 10, nan}) || !same(high, values{4, 25, nan}) {
		t.Errorf("got mean %v and quartiles %v, %v", mean, low, high)
	}
	if mean, low, high := overSeeds([]values{{1, 2}}); !same(mean, values{1, 2}) || low != nil || high != nil {
		t.Error("a single seed has quartiles")
	}
}
