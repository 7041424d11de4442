package mcmf_test

import (
	"fmt"
	"slices"
	"testing"

	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/mcmf/mcmftest"
)

// BenchmarkScratch solves networks from nothing, as docs/bench/mcmf.md has them.
func BenchmarkScratch(b *testing.B) {
	machines := sized(12_500, 250)
	spread := mcmftest.LoadSpread{Machines: machines, Tasks: sized(10_000, 200)}
	dense := mcmftest.ECSched{Machines: sized(5000, 100), Containers: sized(300, 30)}
	window := mcmftest.ECSched{Machines: sized(500, 50), Containers: sized(300, 30)}
	for _, shape := range []struct {
		name string
		make func() *mcmf.Graph
	}{
		{"quincy80", func() *mcmf.Graph { return mcmftest.Uniform(machines, .80).New(1).Graph }},
		{"hot80", func() *mcmf.Graph { return mcmftest.Hot(machines, .80).New(1).Graph }},
		{"hot95", func() *mcmf.Graph { return mcmftest.Hot(machines, .95).New(1).Graph }},
		{"hot105", func() *mcmf.Graph { return mcmftest.Hot(machines, 1.05).New(1).Graph }},
		{"loadspread", func() *mcmf.Graph { return spread.New(1).Graph }},
		{"ecsched", func() *mcmf.Graph { return dense.New(1).Graph }},
		{"window", func() *mcmf.Graph { return window.New(1).Graph }},
		{"goto8", func() *mcmf.Graph { return mcmftest.GOTO8(sized(1<<12, 1<<10)).New(1) }},
		{"netgen8", func() *mcmf.Graph { return mcmftest.NETGEN8(sized(1<<14, 1<<8)).New(1) }},
		{"netgensr", func() *mcmf.Graph { return mcmftest.NETGENSR(sized(1<<12, 1<<7)).New(1) }},
	} {
		b.Run(fmt.Sprintf("shape=%s", shape.name), func(b *testing.B) {
			graph, ticks := shape.make(), int64(0)
			for b.Loop() {
				r := mcmf.NewSolver(graph).Solve(mcmf.Options{})
				if r.Status != mcmf.Optimal {
					b.Fatal(r)
				}
				ticks = r.Ticks
			}
			b.ReportMetric(float64(ticks), "ticks/op")
		})
	}
}

// BenchmarkBatch solves again after changes: k of churn (half of them end, half
// arrive), a rack that fails, 1,000 changed costs, a tenth more room.
func BenchmarkBatch(b *testing.B) {
	machines := sized(12_500, 250)
	for _, shape := range []struct {
		name        string
		utilisation float64
	}{{"hot80", .80}, {"hot95", .95}, {"hot105", 1.05}} {
		w := mcmftest.Hot(machines, shape.utilisation).New(1)
		s := mcmf.NewSolver(w.Graph)
		if r := s.Solve(mcmf.Options{}); r.Status != mcmf.Optimal {
			b.Fatal(r)
		}
		for _, k := range []int{1, 10, 100, 1000} {
			b.Run(fmt.Sprintf("shape=%s/k=%d", shape.name, k), func(b *testing.B) {
				batches(b, s, func() { w.Churn(k) })
			})
		}
		b.Run(fmt.Sprintf("shape=%s/costs=1000", shape.name), func(b *testing.B) {
			batches(b, s, func() { w.Reprice(1000) })
		})
		b.Run(fmt.Sprintf("shape=%s/rack", shape.name), func(b *testing.B) {
			batches(b, s, func() {
				if r := s.Solve(mcmf.Options{}); r.Status != mcmf.Optimal {
					b.Fatal(r)
				}
				w.FailRack()
			}, func() { w.RestoreRacks() })
		})
		b.Run(fmt.Sprintf("shape=%s/room", shape.name), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				w := mcmftest.Hot(machines, shape.utilisation).New(1)
				s := mcmf.NewSolver(w.Graph)
				s.Solve(mcmf.Options{})
				w.Grow(.1)
				b.StartTimer()
				s.Solve(mcmf.Options{})
			}
		})
	}
}

// batches measures the solves after a change, in CPU time of the thread, and
// reports their median and 99th percentile in microseconds. After each, what is
// to be undone is undone and solved, which does not count.
func batches(b *testing.B, s *mcmf.Solver, change func(), undo ...func()) {
	b.Helper()
	var times []float64
	var ticks int64
	solve := func() int64 {
		r := s.Solve(mcmf.Options{})
		if r.Status != mcmf.Optimal {
			b.Fatal(r)
		}
		return r.Ticks
	}
	for range 5 { // until lists have the room they need
		change()
		solve()
	}
	for b.Loop() {
		change()
		begin := threadCPU()
		ticks += solve()
		times = append(times, float64(threadCPU()-begin)/1e3)
		for _, f := range undo {
			f()
			solve()
		}
	}
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2], "median-µs")
	b.ReportMetric(times[len(times)*99/100], "p99-µs")
	b.ReportMetric(float64(ticks)/float64(len(times)), "ticks/op")
}

// BenchmarkGrowth shows how the time from nothing and that of 1,000 changes grow
// with the size of the cluster and with its utilisation.
func BenchmarkGrowth(b *testing.B) {
	for _, machines := range []int{1250, 2500, 5000, 12_500, 25_000} {
		growth(b, sized(machines, machines/50), 80)
	}
	for _, percent := range []int{50, 90, 95, 98, 100, 102, 105, 110} {
		growth(b, sized(12_500, 250), percent)
	}
}

func growth(b *testing.B, machines, percent int) {
	b.Helper()
	b.Run(fmt.Sprintf("machines=%d/percent=%d", machines, percent), func(b *testing.B) {
		w := mcmftest.Hot(machines, float64(percent)/100).New(1)
		var s *mcmf.Solver
		var scratch, batches []float64
		timed := func() float64 {
			begin := threadCPU()
			if r := s.Solve(mcmf.Options{}); r.Status != mcmf.Optimal {
				b.Fatal(r)
			}
			return float64(threadCPU()-begin) / 1e6
		}
		for b.Loop() {
			s = mcmf.NewSolver(w.Graph)
			scratch = append(scratch, timed())
			for range 10 {
				w.Churn(1000)
				batches = append(batches, timed())
			}
		}
		slices.Sort(scratch)
		slices.Sort(batches)
		b.ReportMetric(scratch[len(scratch)/2], "scratch-ms")
		b.ReportMetric(batches[len(batches)/2], "batch-ms")
	})
}
