package experiment

import (
	"errors"
	"io"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// read returns the tasks of a source.
func read(t *testing.T, src trace.Source) (tasks []trace.Record) {
	t.Helper()
	for {
		var r trace.Record
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			return tasks
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.What == trace.TaskSubmitted {
			tasks = append(tasks, r.Clone())
		}
	}
}

// TestPeakOf counts, at each arrival, whoever is there, and wants the most of that; and as many hosts as give it that share.
func TestPeakOf(t *testing.T) {
	host := cluster.Vector{48 * vmCore, 128 * vmGiB}
	open := func() trace.Source { return newCloud(0, host, 12*cluster.Hour, 3, 7) }
	got, err := peakOf(open())
	if err != nil {
		t.Fatal(err)
	}
	var want [2]int64
	tasks := read(t, open())
	for _, at := range tasks {
		var used [2]int64
		for i := range tasks {
			if r := &tasks[i]; r.Time <= at.Time && r.Time+r.Task.Work > at.Time {
				used[0] += r.Task.Demand[0]
				used[1] += r.Task.Demand[1]
			}
		}
		want[0], want[1] = max(want[0], used[0]), max(want[1], used[1])
	}
	if got != want || want[0] == 0 {
		t.Errorf("of %d VMs %v is there at once, want %v", len(tasks), got, want)
	}
	for _, tc := range []struct {
		peak [2]int64
		load float64
		want int
	}{{[2]int64{480 * vmCore, vmGiB}, 0.8, 13}, {[2]int64{vmCore, 1280 * vmGiB}, 0.8, 13}, {[2]int64{408 * vmCore, 0}, 0.86, 10}} {
		if got := hostsFor(tc.peak, host, tc.load); got != tc.want {
			t.Errorf("%v takes %d hosts, want %d", tc.peak, got, tc.want)
		}
	}
}

// TestOneIn: jobs come whole or not at all, and about one in so many of them does.
func TestOneIn(t *testing.T) {
	open := func() trace.Source { return newCloud(0, cluster.Vector{1, 1}, 10*cluster.Day, 3, 7) }
	all, kept := map[uint64]int{}, map[uint64]int{}
	for _, r := range read(t, open()) {
		all[r.Task.Job]++
	}
	for _, r := range read(t, &oneIn{open(), 8}) {
		kept[r.Task.Job]++
	}
	for job, tasks := range kept {
		if tasks != all[job] {
			t.Errorf("of job %d come %d tasks of %d", job, tasks, all[job])
		}
	}
	if share := float64(len(kept)) / float64(len(all)); share < 0.11 || share > 0.14 {
		t.Errorf("%d of %d jobs come, want one in eight", len(kept), len(all))
	}
}

// TestEmptyNodes: the mean is over the samples within the time that is scored.
func TestEmptyNodes(t *testing.T) {
	r := report.Run{Series: &report.Series{Step: 60, Columns: map[string][]report.Number{
		"nodes": {10, 10, 10, 20}, "nodes_active": {10, 5, 10, 5}, "utilisation.cpu": {0, 0.25, 0.5, 0.5}, "utilisation.memory": {0, 0.5, 0.25, 0.25},
	}}}
	if got, ok := emptyNodes(&r, cluster.Minute, 3*cluster.Minute); !ok || got != 0.25 {
		t.Errorf("%v are empty, want a quarter", got)
	}
	if got, ok := emptyAtBest(&r, cluster.Minute, 3*cluster.Minute); !ok || got != 0.5 {
		t.Errorf("%v would be empty at best, want half", got)
	}
	if _, ok := emptyNodes(&r, cluster.Hour, 2*cluster.Hour); ok {
		t.Error("there is a mean of no sample")
	}
}
