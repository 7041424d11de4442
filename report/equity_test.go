package report_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// gini is the definition: Σ|a−b| over all ordered pairs / (2n²·mean).
func gini(values []float64) float64 {
	pairs, sum := 0.0, 0.0
	for _, a := range values {
		sum += a
		for _, b := range values {
			pairs += math.Abs(a - b)
		}
	}
	if sum == 0 {
		return 0
	}
	return pairs / (2 * float64(len(values)) * sum)
}

func TestEquityAgainstTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e report.Equity
		hours := map[cluster.Time][]float64{}
		n := rapid.IntRange(0, 60).Draw(t, "tasks")
		for range n {
			arrived := cluster.Time(rapid.Int64Range(0, int64(3*cluster.Hour)).Draw(t, "arrived"))
			life := cluster.Time(rapid.Int64Range(1, int64(cluster.Day)).Draw(t, "life"))
			running := cluster.Time(rapid.Int64Range(0, int64(life)).Draw(t, "running"))
			e.Add(arrived, running, life)
			hours[arrived/cluster.Hour] = append(hours[arrived/cluster.Hour], float64(running)/float64(life))
		}
		// Availabilities are exact to half a billionth, and so the coefficient by
		// about that part of their mean.
		want, allowed := 0.0, 1e-12
		for _, values := range hours {
			sum := 0.0
			for _, v := range values {
				sum += v
			}
			weight := float64(len(values)) / float64(n)
			want += gini(values) * weight
			if sum > 0 {
				allowed += 1e-9 * float64(len(values)) / sum * weight
			}
		}
		if got := float64(e.Gini()); math.Abs(got-want) > allowed {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// Many tasks are counted in bins. What that hides is less than 1/(8192·mean).
func TestEquityOfMany(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() float64{
		"spread":   r.Float64,
		"alike":    func() float64 { return 0.9 + 0.001*r.Float64() },
		"mostly 1": func() float64 { return 1 - float64(r.IntN(20)/19)*r.Float64() },
		"low":      func() float64 { return 0.01 * r.Float64() },
	} {
		var e report.Equity
		var values []float64
		sum := 0.0
		for range 6000 {
			running := cluster.Time(draw() * float64(cluster.Hour))
			e.Add(0, running, cluster.Hour)
			values = append(values, float64(running)/float64(cluster.Hour))
			sum += float64(running) / float64(cluster.Hour)
		}
		got, want := float64(e.Gini()), gini(values)
		if allowed := 6000 / (8192 * sum); got > want+1e-9 || got < want-allowed {
			t.Errorf("%s: %v, want %v to %v", name, got, want-allowed, want)
		}
	}
}

// Nobody who had anything is no inequality, and neither is no life.
func TestEquityOfNothing(t *testing.T) {
	var e report.Equity
	e.Add(0, 0, 0)
	if got := e.Gini(); got != 0 {
		t.Errorf("no tasks: %v", got)
	}
	e.Add(0, 0, 10)
	e.Add(0, 0, 20)
	if got := e.Gini(); got != 0 {
		t.Errorf("nobody ran: %v", got)
	}
	e.Add(0, 20, 20) // one of three has all of it
	if got := float64(e.Gini()); math.Abs(got-2./3) > 1e-9 {
		t.Errorf("one of three: %v, want 2/3", got)
	}
}

// Each point of the curve is true to the millionth that JSON has, it rises, and it ends with everybody.
func TestAvailabilityCurve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a report.Availabilities
		var values []float64
		for range rapid.IntRange(1, 400).Draw(t, "tasks") {
			running := cluster.Time(1e6 - rapid.Int64Range(0, 1e6).Draw(t, "away")/rapid.SampledFrom([]int64{1, 10, 1000}).Draw(t, "by"))
			a.Add(running, 1e6)
			values = append(values, float64(running)/1e6)
		}
		slices.Sort(values)
		curve := a.Curve()
		for i, p := range curve {
			surely, perhaps := 0, 0
			for _, v := range values {
				if v <= float64(p[0])-1e-6 {
					surely++
				}
				if v <= float64(p[0])+1e-6 {
					perhaps++
				}
			}
			if have := int(math.Round(float64(p[1]) * float64(len(values)))); have < surely || have > perhaps {
				t.Fatalf("point %d says that %v of the tasks had at most %v, and %d to %d of %d had", i, p[1], p[0], surely, perhaps, len(values))
			}
			if i > 0 && (p[0] <= curve[i-1][0] || p[1] <= curve[i-1][1]) {
				t.Fatalf("it does not rise at point %d: %v", i, curve)
			}
		}
		if last := curve[len(curve)-1]; last[1] != 1 || math.Abs(float64(last[0])-values[len(values)-1]) > 1e-6 {
			t.Errorf("it ends at %v, want everybody at %v", last, values[len(values)-1])
		}
	})
	var none report.Availabilities
	if none.Curve() != nil {
		t.Error("nothing has a curve")
	}
}
