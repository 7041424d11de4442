package sim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/google2011"
	"fairlead.dev/fairlead/sim/workload"
)

// overcommitted are the factors under which Google's snapshot fits.
func overcommitted() map[string]int64 { return map[string]int64{"cpu": 1600, "memory": 2000} }

// simulate runs the source to its end and reports how much CPU time each
// decision took, and the process's peak memory so far.
func simulate(b *testing.B, policy string, until cluster.Time, open func() (trace.Source, error)) {
	b.Helper()
	var r report.Run
	before := cpuSeconds(b)
	for b.Loop() {
		source, err := open()
		if err != nil {
			b.Fatal(err)
		}
		p, err := queue.New(policy, queue.Options{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		r, err = sim.Run(sim.Config{Source: source, Until: until, Overcommit: overcommitted(), Lanes: []sched.Lane{{Name: policy, Policy: p}}})
		if err != nil {
			b.Fatal(err)
		}
		if err := source.Close(); err != nil {
			b.Fatal(err)
		}
	}
	cpu := (cpuSeconds(b) - before) / float64(b.N)
	b.ReportMetric(cpu, "cpu-s/op")
	b.ReportMetric(cpu/float64(r.Tasks.Submitted)*1e6, "cpu-µs/task")
	b.ReportMetric(float64(r.Tasks.Submitted), "tasks/op")
	b.ReportMetric(peakMiB(b), "peak-MiB")
}

// cpuSeconds is the user and system time that the process has taken.
func cpuSeconds(b *testing.B) float64 {
	b.Helper()
	u := usage(b)
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// peakMiB is the largest resident size that the process has had.
func peakMiB(b *testing.B) float64 {
	b.Helper()
	return float64(usage(b).Maxrss) / 1024
}

func usage(b *testing.B) syscall.Rusage {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u
}

// BenchmarkGoogle2011 replays the snapshot of 12,477 nodes with Borg's
// placements, and the 83 minutes after it.
func BenchmarkGoogle2011(b *testing.B) {
	data := os.Getenv("FAIRLEAD_DATA")
	if data == "" {
		b.Skip("FAIRLEAD_DATA is not set: the folder with the real traces")
	}
	for _, policy := range []string{"kube", "priority"} {
		b.Run("policy="+policy, func(b *testing.B) {
			simulate(b, policy, 5611*cluster.Second, func() (trace.Source, error) {
				return google2011.Open(filepath.Join(data, "google2011"), google2011.Options{})
			})
		})
	}
}

// generated opens a Google-like workload of the given size.
func generated(nodes int, perNode float64) func() (trace.Source, error) {
	return func() (trace.Source, error) {
		g := workload.Default()
		g.Nodes, g.TasksPerNode = nodes, perNode
		return workload.New(g)
	}
}

// BenchmarkNodes shows how cost grows with nodes: a day of work in proportion
// to the cluster.
func BenchmarkNodes(b *testing.B) {
	for _, nodes := range []int{1000, 4000, 12500} {
		b.Run(fmt.Sprintf("nodes=%d/days=1", nodes), func(b *testing.B) {
			simulate(b, "kube", cluster.Day, generated(nodes, 11.57))
		})
	}
}

// BenchmarkDays shows how cost and memory grow with the length of the trace.
func BenchmarkDays(b *testing.B) {
	for _, days := range []cluster.Time{1, 4, 16} {
		b.Run(fmt.Sprintf("nodes=4000/days=%d", days), func(b *testing.B) {
			if testing.Short() && days > 1 {
				b.Skip("a minute is not short")
			}
			simulate(b, "kube", days*cluster.Day, generated(4000, 11.57))
		})
	}
}

// BenchmarkMonth is a month of 12,500 nodes with 25 million tasks. It takes
// minutes, and runs where FAIRLEAD_LONG is set.
func BenchmarkMonth(b *testing.B) {
	if os.Getenv("FAIRLEAD_LONG") == "" {
		b.Skip("FAIRLEAD_LONG is not set")
	}
	b.Run("nodes=12500/days=29/policy=kube", func(b *testing.B) {
		simulate(b, "kube", 29*cluster.Day, generated(12500, 11.57))
	})
}
