package search_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/constraint/search"
)

// BenchmarkTargets searches instances of which a placement without violation is known, 20 of
// each kind in turn, up to the ticks that are known to suffice. It reports the share of
// constrained containers that are violated in the worst, how many instances are left with any,
// and what effort the search spent, in ticks: on average and at the most.
//
// A tick takes some 30 to 50 ns of processor time. Of the 20 of each kind at most one is left with a
// violation after the ticks given here, and that with one or two.
func BenchmarkTargets(b *testing.B) {
	for _, target := range []struct {
		options planted.Options
		ticks   int64
	}{
		{planted.Options{Nodes: 100, Applications: 10, Utilisation: 500, InterApp: 5}, 1_500_000},
		{planted.Options{Nodes: 500, Applications: 20, Utilisation: 500, InterApp: 10}, 6_000_000},
		{planted.Options{Nodes: 500, Applications: 40, Utilisation: 700, InterApp: 10}, 60_000_000},
		{planted.Options{Nodes: 5000, Applications: 10, Utilisation: 600, InterApp: 10}, 16_000_000},
		{planted.Options{Nodes: 5000, Applications: 40, Utilisation: 600, InterApp: 10}, 20_000_000},
		{planted.Options{Nodes: 5000, Applications: 40, Utilisation: 600, InterApp: 10, Running: 100}, 30_000_000},
	} {
		o := target.options
		b.Run(fmt.Sprintf("nodes=%d/applications=%d/running=%d", o.Nodes, o.Applications, o.Running), func(b *testing.B) {
			var spent, most int64
			var runs, left int
			worst := 0.0
			for b.Loop() {
				b.StopTimer()
				o.Seed = uint64(runs%20) + 1
				instance, err := planted.Draw(o)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				r := search.Solve(&instance.Problem, search.Options{Seed: 1, Ticks: target.ticks})
				b.StopTimer()
				report := constraint.Evaluate(&instance.Problem, r.Assignment)
				if report.Violated > 0 || report.Parts.Unplaced > 0 {
					left++
				}
				worst = max(worst, 100*float64(report.Violated)/float64(report.Constrained))
				spent, most = spent+r.Ticks, max(most, r.Ticks)
				runs++
				b.StartTimer()
			}
			b.ReportMetric(worst, "worst-%")
			b.ReportMetric(float64(left)/float64(runs), "left/op")
			b.ReportMetric(float64(spent)/float64(runs), "ticks/op")
			b.ReportMetric(float64(most), "most-ticks")
		})
	}
}
