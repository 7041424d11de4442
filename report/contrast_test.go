package report

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestEquivalenceIsTheIntervalWithinTheBound: by two one-sided tests at 5 % means are equivalent exactly if the interval of 90 % of their difference lies within the bounds.
func TestEquivalenceIsTheIntervalWithinTheBound(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	equivalent := 0
	for range 2_000 {
		var samples [2][]float64
		for i := range samples {
			mean, deviation := random.NormFloat64(), 0.1+random.Float64()
			for range 2 + random.IntN(30) {
				samples[i] = append(samples[i], mean+deviation*random.NormFloat64())
			}
		}
		c, bound := Contrasted(samples[0], samples[1]), 2*random.Float64()
		half := c.of.deviation * studentQuantile(c.of.freedom, 0.95)
		within := math.Abs(c.of.mean)+half < bound
		if got := c.Apart(bound) < 0.05; got != within {
			t.Fatalf("%v ± %v within %v: %v, and they are apart with %v", c.of.mean, half, bound, within, c.Apart(bound))
		}
		if within {
			equivalent++
		}
	}
	if equivalent < 200 || equivalent > 1_800 {
		t.Errorf("%d of 2,000 were equivalent: the test asks one question alone", equivalent)
	}
}

// TestMeansAtTheBoundAreEquivalentAsSeldomAsSaid: of means that are the bound apart no more than 5 % are called equivalent.
func TestMeansAtTheBoundAreEquivalentAsSeldomAsSaid(t *testing.T) {
	const experiments, bound = 20_000, 1.0
	random := rand.New(rand.NewPCG(5, 6))
	wrong := 0
	for range experiments {
		base, other := make([]float64, 20), make([]float64, 30)
		for i := range base {
			base[i] = random.NormFloat64()
		}
		for i := range other {
			other[i] = bound + 2*random.NormFloat64()
		}
		if Contrasted(base, other).Apart(bound) < 0.05 {
			wrong++
		}
	}
	if share := float64(wrong) / experiments; share > 0.055 {
		t.Errorf("%.3f of means that are the bound apart were called equivalent", share)
	}
}

// TestContrastOfConstants says what is said of samples that do not spread, and of one value.
func TestContrastOfConstants(t *testing.T) {
	ones := []float64{1, 1, 1}
	for _, c := range []struct {
		other                []float64
		bound, apart, chance float64
	}{
		{ones, 0.1, 0, 1},
		{ones, 0, 1, 1},
		{[]float64{1.5, 1.5, 1.5}, 0.4, 1, 0.25},
		{[]float64{1}, 0.1, 1, 1},
	} {
		got := Contrasted(ones, c.other)
		if got.Apart(c.bound) != c.apart || got.Chance() != c.chance {
			t.Errorf("%v: apart by %v with %v, different with %v; want %v and %v", c.other, c.bound, got.Apart(c.bound), got.Chance(), c.apart, c.chance)
		}
	}
	if d := Contrasted(ones, []float64{2, 3, 4}).Difference(); d.Mean != 2 || d.Half() <= 0 {
		t.Errorf("the difference is %v", d)
	}
}
