//go:build !nohighs

package exact_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/constraint/planted"
)

func plant(b *testing.B, o planted.Options) *constraint.Problem {
	b.Helper()
	instance, err := planted.Draw(o)
	if err != nil {
		b.Fatal(err)
	}
	return &instance.Problem
}

// BenchmarkModel builds models of everything, and says how large they are: by counts with every step
// of extent and with the first alone, and literally.
func BenchmarkModel(b *testing.B) {
	for _, size := range []struct {
		nodes, applications int
		literal             bool
	}{{50, 2, true}, {100, 2, true}, {100, 5, true}, {100, 10, true}, {500, 20, false}} {
		for _, kind := range []struct {
			name   string
			levels int32
		}{{"aggregated", 0}, {"aggregated", 1}, {"literal", 0}} {
			if kind.name == "literal" && !size.literal {
				continue
			}
			b.Run(fmt.Sprintf("%s/levels=%d/nodes=%d/applications=%d", kind.name, kind.levels, size.nodes, size.applications), func(b *testing.B) {
				p := plant(b, planted.Options{Nodes: size.nodes, Applications: size.applications, Utilisation: 400, InterApp: 5, Seed: 1})
				var m *exact.Model
				for b.Loop() {
					m = models()[kind.name](p, exact.Scope{Base: p.Start(), Levels: kind.levels})
				}
				b.ReportMetric(float64(m.Columns()), "columns")
				b.ReportMetric(float64(m.Rows()), "rows")
				b.ReportMetric(float64(len(m.Value)), "nonzeros")
			})
		}
	}
}

// BenchmarkRepair mends what the heuristic Serial leaves, until nothing is found any more.
func BenchmarkRepair(b *testing.B) {
	for _, o := range []planted.Options{
		{Nodes: 100, Applications: 10, Utilisation: 500, InterApp: 5, Seed: 1},
		{Nodes: 500, Applications: 20, Utilisation: 500, InterApp: 10, Seed: 1},
		{Nodes: 500, Applications: 40, Utilisation: 700, InterApp: 10, Seed: 1},
		{Nodes: 5000, Applications: 40, Running: 100, Utilisation: 600, InterApp: 10, Seed: 1},
	} {
		b.Run(fmt.Sprintf("nodes=%d/applications=%d/running=%d", o.Nodes, o.Applications, o.Running), func(b *testing.B) {
			p := plant(b, o)
			start, _ := greedy.Serial().Solve(p)
			var r exact.Repaired
			for b.Loop() {
				var err error
				if r, err = exact.Repair(p, start, solver(b), exact.Defaults()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(constraint.Evaluate(p, start).Violated), "violated-before")
			b.ReportMetric(float64(constraint.Evaluate(p, r.Assignment).Violated), "violated-after")
			b.ReportMetric(float64(r.Models), "models")
			b.ReportMetric(float64(r.Ticks), "ticks")
		})
	}
}
