package report

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sampled is an experiment of one run for each sample; the seeds count from 0.
func sampled(workload string, samples ...*Sample) *Experiment {
	e := &Experiment{Setup: Setup{Workload: workload}}
	for i, s := range samples {
		r := &Run{Setup: Setup{Workload: workload, Seed: uint64(i)}, Sample: s}
		e.runs, e.Seeds = append(e.runs, r), append(e.Seeds, r.Seed)
	}
	return e
}

// Four tasks stand in both: twice as fast, as fast, three times slower, and too
// fast in both to tell.
func TestImprovements(t *testing.T) {
	base := sampled("w", &Sample{
		Tasks: []uint64{1, 2, 3, 5, 6}, Response: []Number{4, 9, 5, 2, 0}, Latency: []Number{0, 9, 0, 1, 0}, Of: 50,
	})
	other := sampled("w", &Sample{
		Tasks: []uint64{1, 3, 4, 5, 6}, Response: []Number{2, 5, 7, 6, 0.0009}, Latency: []Number{0.0004, 2, 7, 0.5, 0}, Of: 60,
	})
	counts := Improvement{Seeds: 1, Tasks: 4, BaseTasks: 5, OtherTasks: 5, BaseOf: 50, OtherOf: 60}
	response, latency := counts, counts
	third := Number(1) / 3
	response.Metric, response.Better, response.Worse, response.Same = "task_response_s", 0.25, 0.25, 0.5
	response.Factors = Quantiles{P1: third, P5: third, P25: third, P50: 1, P75: 1, P95: 2, P99: 2}
	latency.Metric, latency.Better, latency.Worse, latency.Same = "placement_latency_s", 0.25, 0.25, 0.5
	latency.Factors = Quantiles{P1: 0.0005, P5: 0.0005, P25: 0.0005, P50: 1, P75: 1, P95: 2, P99: 2}
	if diff := cmp.Diff([]Improvement{response, latency}, improvements(base, other)); diff != "" {
		t.Error(diff)
	}
}

// Nothing is compared task by task where tasks of one name may not be the same.
func TestImprovementsWantTheSameWork(t *testing.T) {
	s := func() *Sample { return &Sample{Tasks: []uint64{1}, Response: []Number{1}, Latency: []Number{1}, Of: 1} }
	later := sampled("w", s())
	later.runs[0].Seed = 7
	for name, pair := range map[string][2]*Experiment{
		"workloads": {sampled("w", s()), sampled("v", s())},
		"seeds":     {sampled("w", s()), later},
		"samples":   {sampled("w", s()), sampled("w", nil)},
		"tasks":     {sampled("w", s()), sampled("w", &Sample{Tasks: []uint64{2}, Response: []Number{1}, Latency: []Number{1}})},
	} {
		if got := improvements(pair[0], pair[1]); len(got) != 0 || got == nil {
			t.Errorf("other %s: %+v", name, got)
		}
	}
}

// A slow and obvious rival: look each task of the base up, over all seeds.
func TestImprovementsAgreeWithLookingUp(t *testing.T) {
	sample := rapid.Custom(func(t *rapid.T) *Sample {
		times := rapid.MapOf(rapid.Uint64Range(0, 30), rapid.Float64Range(0, 5)).Draw(t, "times")
		s := &Sample{Of: 100}
		for _, task := range slices.Sorted(maps.Keys(times)) {
			s.Tasks = append(s.Tasks, task)
			s.Response = append(s.Response, Number(times[task]))
			s.Latency = append(s.Latency, Number(times[task]))
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		seeds := rapid.IntRange(1, 3).Draw(t, "seeds")
		base := sampled("w", rapid.SliceOfN(sample, seeds, seeds).Draw(t, "base")...)
		other := sampled("w", rapid.SliceOfN(sample, seeds, seeds).Draw(t, "other")...)
		var factors []float64
		for i, b := range base.runs {
			o := other.runs[i].Sample
			for j, task := range b.Sample.Tasks {
				if at := slices.Index(o.Tasks, task); at >= 0 {
					factors = append(factors, max(float64(b.Sample.Response[j]), 0.001)/max(float64(o.Response[at]), 0.001))
				}
			}
		}
		got := improvements(base, other)
		if len(factors) == 0 {
			if len(got) != 0 {
				t.Fatalf("no task in common, and yet %+v", got)
			}
			return
		}
		slices.Sort(factors)
		better := 0
		for _, f := range factors {
			if f > 1.01 {
				better++
			}
		}
		imp := got[0]
		if imp.Tasks != len(factors) || imp.Seeds != seeds || math.Abs(float64(imp.Better)-float64(better)/float64(len(factors))) > 1e-12 {
			t.Fatalf("%d tasks over %d seeds, %d of them better; got %+v", len(factors), seeds, better, imp)
		}
		// Half of the factors are not above the median, and half not below it.
		below, above := 0, 0
		for _, f := range factors {
			if f <= float64(imp.Factors.P50) {
				below++
			}
			if f >= float64(imp.Factors.P50) {
				above++
			}
		}
		if 2*below < len(factors) || 2*above < len(factors) {
			t.Fatalf("median %g of %v", float64(imp.Factors.P50), factors)
		}
		if imp.Factors.P1 != Number(factors[0]) || imp.Factors.P99 != Number(factors[len(factors)-1]) {
			t.Fatalf("with at most 99 tasks p1 and p99 are the ends of %v, got %+v", factors, imp.Factors)
		}
	})
}
