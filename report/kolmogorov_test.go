package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDistanceIsTheLargestGapOfDistributions holds the distance against counting at each value.
func TestDistanceIsTheLargestGapOfDistributions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() []float64 {
		list := make([]float64, 1+random.IntN(20))
		for i := range list {
			list[i] = float64(random.IntN(12)) // with equal values
		}
		slices.Sort(list)
		return list
	}
	upTo := func(list []float64, x float64) float64 {
		n := 0
		for _, v := range list {
			if v <= x {
				n++
			}
		}
		return float64(n) / float64(len(list))
	}
	for range 2_000 {
		a, b := draw(), draw()
		want := 0.0
		for _, x := range append(slices.Clone(a), b...) {
			want = max(want, math.Abs(upTo(a, x)-upTo(b, x)))
		}
		if got, _ := KolmogorovSmirnov(a, b); math.Abs(got-want) > 1e-12 {
			t.Fatalf("%v and %v are %v apart, want %v", a, b, got, want)
		}
	}
}

// TestEqualDistributionsAreToldApartAsSeldomAsSaid: of samples of one distribution about 5 % have a chance below 5 %, and
// nearly all of two that differ by half a deviation.
func TestEqualDistributionsAreToldApartAsSeldomAsSaid(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	rejected := func(shift float64) float64 {
		const experiments = 4_000
		n := 0
		for range experiments {
			a, b := make([]float64, 150), make([]float64, 200)
			for i := range a {
				a[i] = random.NormFloat64()
			}
			for i := range b {
				b[i] = shift + random.NormFloat64()
			}
			slices.Sort(a)
			slices.Sort(b)
			if _, chance := KolmogorovSmirnov(a, b); chance < 0.05 {
				n++
			}
		}
		return float64(n) / experiments
	}
	if equal := rejected(0); equal < 0.03 || equal > 0.06 {
		t.Errorf("of equal distributions %v are told apart, want about .05", equal)
	}
	if apart := rejected(0.5); apart < 0.95 {
		t.Errorf("of distributions half a deviation apart %v are told apart, want nearly all", apart)
	}
}
