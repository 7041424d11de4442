package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// Every point is true of the samples themselves, values and shares rise, and no
// more than half a per cent of the samples lies between two points but where
// many samples are equal.
func TestCurveAgainstSortedSamples(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, d := range []struct {
		name string
		draw func() float64
	}{
		{"constant", func() float64 { return 123_456_789 }},
		{"all zero", func() float64 { return 0 }},
		{"mostly zero", func() float64 { return max(0, random.Float64()*1e9-9e8) }},
		{"small", func() float64 { return random.Float64() * 300 }},
		{"lognormal", func() float64 { return math.Exp(12 + 3*random.NormFloat64()) }},
		{"every magnitude", func() float64 { return math.Exp2(62 * random.Float64()) }},
	} {
		for _, n := range []int{1, 2, 10, 1000, 200_000} {
			var h Histogram
			samples := make([]cluster.Time, n)
			for i := range samples {
				samples[i] = cluster.Time(min(d.draw(), 1<<62))
				h.Add(samples[i])
			}
			slices.Sort(samples)
			curve := h.Curve()
			checkCurve(t, d.name, curve, samples)
			slow := slices.DeleteFunc(curve, func(p [2]Number) bool { return p[1] < 0.995 })
			if d.name == "lognormal" && n == 200_000 && len(slow) < 10 {
				t.Errorf("the slowest half per cent of %d samples has %d points", n, len(slow))
			}
		}
	}
	if c := (&Histogram{}).Curve(); c != nil {
		t.Errorf("nothing has the curve %v", c)
	}
}

func checkCurve(t *testing.T, name string, curve Curve, sorted []cluster.Time) {
	t.Helper()
	n := len(sorted)
	if len(curve) == 0 || len(curve) > 300 {
		t.Fatalf("%s: %d points of %d samples", name, len(curve), n)
	}
	if last := curve[len(curve)-1]; last != [2]Number{Seconds(sorted[n-1]), 1} {
		t.Errorf("%s: the last point is %v, want all of the samples at %v", name, last, sorted[n-1])
	}
	before := [2]Number{-1, 0}
	for _, p := range curve {
		value := cluster.Time(math.Round(float64(p[0]) * float64(cluster.Second)))
		within := value
		if value > 1<<52 { // seconds in a float are not exact any more
			within += value >> 50
		}
		most, _ := slices.BinarySearch(sorted, within+1)
		if got := int(math.Round(float64(p[1]) * float64(n))); got != most {
			t.Errorf("%s: %d of %d samples are said not to exceed %v, %d do not", name, got, n, value, most)
		}
		if p[0] <= before[0] || p[1] <= before[1] {
			t.Errorf("%s: %v follows %v", name, p, before)
		}
		// The samples between, but for those of the point's own bucket.
		least, _ := slices.BinarySearch(sorted, cluster.Time(float64(value)*0.99))
		if gap := float64(least)/float64(n) - float64(before[1]); gap > leastRise {
			t.Errorf("%s: %.2f%% of the samples lie between %v and %v", name, 100*gap, before, p)
		}
		before = p
	}
}
