package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// The obvious rival keeps all samples and sorts them. Every quantile of the
// histogram is within 0.5 % of its answer, and what is to be exact is.
func TestHistogramAgainstSortedSamples(t *testing.T) {
	for _, d := range []struct {
		name string
		draw func(*rand.Rand) float64
	}{
		{"constant", func(*rand.Rand) float64 { return 123_456_789 }},
		{"all zero", func(*rand.Rand) float64 { return 0 }},
		{"small", func(r *rand.Rand) float64 { return r.Float64() * 300 }},
		{"uniform over a second", func(r *rand.Rand) float64 { return r.Float64() * 1e6 }},
		{"exponential, mean a minute", func(r *rand.Rand) float64 { return r.ExpFloat64() * 60e6 }},
		{"lognormal", func(r *rand.Rand) float64 { return math.Exp(12 + 3*r.NormFloat64()) }},
		{"pareto with a heavy tail", func(r *rand.Rand) float64 { return 1000 / math.Pow(1-r.Float64(), 1.5) }},
		{"milliseconds or days", func(r *rand.Rand) float64 { return []float64{3000, 3e11}[r.IntN(2)] * (1 + r.Float64()) }},
		{"every magnitude", func(r *rand.Rand) float64 { return math.Exp2(62 * r.Float64()) }},
	} {
		t.Run(d.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			for _, n := range []int{1, 2, 3, 10, 1000, 50_000} {
				var h Histogram
				var samples []cluster.Time
				for range n {
					v := cluster.Time(min(d.draw(random), 1<<62))
					h.Add(v)
					samples = append(samples, v)
				}
				slices.Sort(samples)
				compareWithSorted(t, &h, samples)
			}
		})
	}
}

// compareWithSorted fails the test unless h agrees with the sorted samples.
func compareWithSorted(t *testing.T, h *Histogram, sorted []cluster.Time) {
	t.Helper()
	n := len(sorted)
	for _, q := range []float64{0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1} {
		rank := min(max(int(math.Ceil(q*float64(n))), 1), n)
		want, got := sorted[rank-1], h.Quantile(q)
		if off := math.Abs(float64(got - want)); off > 0.005*float64(want) {
			t.Errorf("quantile %v of %d samples is %d, want %d within 0.5%%", q, n, got, want)
		}
	}
	if h.Count() != n || h.Max() != sorted[n-1] || h.min != sorted[0] {
		t.Errorf("count, min, max are %d, %d, %d; want %d, %d, %d", h.Count(), h.min, h.Max(), n, sorted[0], sorted[n-1])
	}
	sum := 0.0
	for _, v := range sorted {
		sum += float64(v)
	}
	if mean := sum / float64(n); math.Abs(float64(h.Mean())-mean) > 1+1e-9*mean {
		t.Errorf("mean of %d samples is %d, want %f", n, h.Mean(), mean)
	}
}

func TestMergeIsAddingEverything(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var parts [3]Histogram
		var whole, merged Histogram
		// Parts may stay empty, and have different largest values.
		for p := range parts {
			limit := int64(1) << (1 + random.IntN(40))
			for range random.IntN(3) * 20 {
				v := cluster.Time(random.Int64N(limit))
				parts[p].Add(v)
				whole.Add(v)
			}
		}
		for p := range parts {
			merged.Merge(&parts[p])
		}
		if whole.count != merged.count || whole.min != merged.min || whole.max != merged.max ||
			whole.Mean() != merged.Mean() || !slices.Equal(whole.buckets, merged.buckets) {
			t.Fatalf("merged parts are\n%+v, everything added is\n%+v", merged, whole)
		}
	}
}

func TestHistogramOfNothing(t *testing.T) {
	var h Histogram
	if h.Count() != 0 || h.Mean() != 0 || h.Max() != 0 || h.Quantile(0.5) != 0 || h.Distribution() != nil {
		t.Errorf("an empty histogram is not all zero: %+v", h)
	}
}

// The largest times, often, overflow neither the sum nor the buckets.
func TestHistogramOfTheLargestTimes(t *testing.T) {
	var h Histogram
	for range 1000 {
		h.Add(cluster.Never)
	}
	if h.Mean() != cluster.Never || h.Quantile(0.5) > cluster.Never || h.Quantile(0.5) < cluster.Never/1000*995 {
		t.Errorf("mean %d, median %d of %d", h.Mean(), h.Quantile(0.5), cluster.Never)
	}
	if size := 8 * cap(h.buckets); size > 100_000 {
		t.Errorf("%d bytes of buckets, more than promised", size)
	}
}

// Every value lies in the bucket whose middle is close to it, and buckets
// follow each other without a gap.
func TestBuckets(t *testing.T) {
	last := -1
	for v := range cluster.Time(1 << 20) {
		b := bucketOf(v)
		if b != last && b != last+1 {
			t.Fatalf("%d is in bucket %d, %d in bucket %d", v-1, last, v, b)
		}
		last = b
		if off := math.Abs(float64(middleOf(b) - v)); off > float64(v)/256 {
			t.Fatalf("%d is in the bucket of %d", v, middleOf(b))
		}
	}
}

func TestHistogramRejectsNegativeDurations(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("-1 was added without a panic")
		}
	}()
	var h Histogram
	h.Add(-1)
}
