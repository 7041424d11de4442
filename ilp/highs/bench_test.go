//go:build !nohighs

package highs_test

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/ilp"
)

// BenchmarkInstance makes an instance and does nothing with it.
func BenchmarkInstance(b *testing.B) {
	e := ready(b)
	for b.Loop() {
		e.Version()
	}
}

// BenchmarkSolve solves to the optimum, or for 2,000 ticks.
func BenchmarkSolve(b *testing.B) {
	for _, columns := range []int{2, 50, 1000} {
		m := knapsack(columns, 10, 1)
		b.Run(fmt.Sprintf("columns=%d", columns), func(b *testing.B) {
			ticks := int64(0)
			for b.Loop() {
				ticks += solve(b, m, nil, ilp.Limits{Ticks: 2000}).Ticks
			}
			b.ReportMetric(float64(ticks)/float64(b.N), "ticks/op")
		})
	}
}
