package report

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The two-sided 95 % points of Student's t, as in the tables at the end of any
// book (here: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2).
func TestStudentAgreesWithPublishedTables(t *testing.T) {
	for freedom, want := range map[float64]float64{
		1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 19: 2.093, 30: 2.042, 60: 2.000, 100: 1.984,
	} {
		if got := studentQuantile(freedom, 0.975); math.Abs(got-want) > 0.0006 {
			t.Errorf("%g degrees of freedom: %.4f, the table says %.3f", freedom, got, want)
		}
	}
}

// Student's own example (Biometrika 6, 1908): hours of sleep gained with two
// drugs by ten patients. R's t.test gives the same numbers.
func TestIntervalsOfStudentsSleepData(t *testing.T) {
	first := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	second := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	for _, c := range []struct {
		name                       string
		got                        estimate
		freedom, low, high, chance float64
	}{
		{"paired", pairedDifference(first, second), 9, 0.7001142, 2.4598858, 0.002833},
		{"welch", welchDifference(first, second), 17.776, -0.2054832, 3.3654832, 0.07939},
	} {
		near := func(what string, got, want, slack float64) {
			if math.Abs(got-want) > slack {
				t.Errorf("%s: %s %.7f, want %.7f", c.name, what, got, want)
			}
		}
		near("degrees of freedom", c.got.freedom, c.freedom, 0.001)
		near("mean", c.got.mean, 1.58, 1e-9)
		near("low", c.got.mean-c.got.half(), c.low, 1e-6)
		near("high", c.got.mean+c.got.half(), c.high, 1e-6)
		near("chance", c.got.chance(), c.chance, 1e-5)
	}
}

// An interval of 95 % holds the true difference in 95 of 100 experiments. Over
// 20,000 the share has a standard error of 0.15 %.
func TestIntervalsHoldTheTruthAsOftenAsTheySay(t *testing.T) {
	const experiments = 20_000
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(n int, mean, deviation float64) []float64 {
		samples := make([]float64, n)
		for i := range samples {
			samples[i] = mean + deviation*random.NormFloat64()
		}
		return samples
	}
	for _, c := range []struct {
		name string
		try  func() estimate // of a difference that is 3
	}{
		{"paired, 2 seeds", func() estimate { return pairedDifference(draw(2, 1, 1), draw(2, 4, 2)) }},
		{"paired, 10 seeds", func() estimate { return pairedDifference(draw(10, 1, 1), draw(10, 4, 2)) }},
		{"welch, spreads alike", func() estimate { return welchDifference(draw(5, 1, 1), draw(10, 4, 1)) }},
		{"welch, the few spread more", func() estimate { return welchDifference(draw(5, 1, 9), draw(20, 4, 1)) }},
	} {
		held := 0
		for range experiments {
			if e := c.try(); math.Abs(e.mean-3) <= e.half() {
				held++
			}
		}
		if share := float64(held) / experiments; math.Abs(share-confidence) > 0.006 {
			t.Errorf("%s: %.1f%% of the intervals hold the truth", c.name, 100*share)
		}
	}
}

// The chance is below 5 % exactly where the interval leaves 0 out.
func TestChanceAgreesWithInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	excluded := 0
	for range 2000 {
		var base, other []float64
		for range 2 + random.IntN(8) {
			base, other = append(base, random.NormFloat64()), append(other, random.NormFloat64()+random.Float64())
		}
		for _, e := range []estimate{pairedDifference(base, other), welchDifference(base, other)} {
			leaves := math.Abs(e.mean) > e.half()
			if leaves != (e.chance() < 1-confidence) {
				t.Errorf("%+v: half width %g, chance %g", e, e.half(), e.chance())
			}
			if leaves {
				excluded++
			}
		}
	}
	if excluded < 100 {
		t.Errorf("only %d intervals leave 0 out; the test says little", excluded)
	}
}

// Where nothing differs, a whole family of tests finds something in at most 5
// of 100 families; without the procedure nearly all of them do.
func TestHolmBoundsMistakesOfTheFamily(t *testing.T) {
	const families, tests = 4000, 50
	random := rand.New(rand.NewPCG(5, 6))
	wrong, naive := 0, 0
	for range families {
		var chances []float64
		small := false
		for range tests {
			chances = append(chances, random.Float64())
			small = small || chances[len(chances)-1] <= 1-confidence
		}
		if small {
			naive++
		}
		for _, found := range holm(chances) {
			if found {
				wrong++
				break
			}
		}
	}
	if share := float64(wrong) / families; share < 0.03 || share > 0.062 {
		t.Errorf("%.1f%% of the families have a mistake, want nearly 5%%", 100*share)
	}
	if naive < families*8/10 {
		t.Errorf("only %d of %d families would have had a mistake without the procedure", naive, families)
	}
}

// A worked example: four tests; against 0.0125, 0.0167, 0.025 and 0.05.
func TestHolm(t *testing.T) {
	for _, c := range []struct {
		chances []float64
		want    []bool
	}{
		{nil, nil},
		{[]float64{0.05}, []bool{true}},
		{[]float64{0.051}, []bool{false}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []bool{true, false, false, true}},
		{[]float64{0.02, 0.03, 0.04, 0.013}, []bool{false, false, false, false}},
		{[]float64{0.05, 0.025, 0.016, 0.012}, []bool{true, true, true, true}},
	} {
		got := holm(c.chances)
		for i := range c.want {
			if got[i] != c.want[i] {
				t.Errorf("%v: %v, want %v", c.chances, got, c.want)
				break
			}
		}
	}
}

func TestNoSpreadIsKnownFromOneSample(t *testing.T) {
	for _, e := range []estimate{
		meanOf([]float64{3}), pairedDifference([]float64{1}, []float64{4}),
		welchDifference([]float64{1}, []float64{4}), welchDifference([]float64{1}, []float64{4, 4}),
	} {
		if e.known() || e.mean != 3 || e.half() != 0 || e.chance() != 1 {
			t.Errorf("%+v: half width %g, chance %g", e, e.half(), e.chance())
		}
	}
	if e := welchDifference([]float64{1, 1}, []float64{4, 4}); !e.known() || e.half() != 0 || e.chance() != 0.5 {
		t.Errorf("samples without spread: %+v, half width %g, chance %g", e, e.half(), e.chance())
	}
}
