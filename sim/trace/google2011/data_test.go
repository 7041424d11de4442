package google2011_test

import (
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/google2011"
)

// The tests in this file read the real trace and compare it with the figures
// of the specification (specs/traces.md, sections 2.1 to 2.6), which were
// computed by other means.

func openData(tb testing.TB) *google2011.Source {
	tb.Helper()
	data := os.Getenv("FAIRLEAD_DATA")
	if data == "" {
		tb.Skip("FAIRLEAD_DATA is not set: it names the folder that holds google2011")
	}
	src, err := google2011.Open(filepath.Join(data, "google2011"), google2011.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = src.Close() })
	return src
}

type capacity struct {
	platform    string // its first four letters
	cpu, memory int64
}

type usage struct{ cpu, memory int64 }

// snapshot is what the trace says of time 0.
type snapshot struct {
	machines map[uint64]capacity
	tasks    []trace.Task
	total    usage
	on       map[uint64]*usage   // requested on each machine
	bands    map[string]*usage   // requested by what runs in each band
	running  map[string]int      // by band
	jobs     map[uint64]struct{} // distinct
	strays   int                 // that run on a machine that is not there
}

func band(priority int32) string {
	switch {
	case priority < 2:
		return "free"
	case priority < 9:
		return "middle"
	}
	return "production"
}

func readSnapshot(t *testing.T) snapshot {
	t.Helper()
	src := trace.Limit(openData(t), 0)
	s := snapshot{
		machines: map[uint64]capacity{}, on: map[uint64]*usage{}, jobs: map[uint64]struct{}{}, running: map[string]int{},
		bands: map[string]*usage{"free": {}, "middle": {}, "production": {}},
	}
	var r trace.Record
	for {
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			return s
		}
		if err != nil {
			t.Fatal(err)
		}
		switch r.What {
		case trace.NodeAdded:
			if len(s.tasks) > 0 {
				t.Fatal("a node after a task")
			}
			c := capacity{r.Node.Labels[0].Value[:4], r.Node.Capacity[0], r.Node.Capacity[1]}
			s.machines[r.Node.ID] = c
			s.on[r.Node.ID] = &usage{}
			s.total.cpu += c.cpu
			s.total.memory += c.memory
		case trace.TaskSubmitted:
			s.add(r.Task)
		case trace.NodeChanged, trace.NodeLost, trace.NodeUsed, trace.TaskKilled, trace.ConstraintAdded, trace.ConstraintRemoved, trace.BudgetAdded:
			t.Fatalf("%v at time 0", r.What)
		}
	}
}

func (s *snapshot) add(task trace.Task) {
	task.Demand = slices.Clone(task.Demand)
	s.tasks = append(s.tasks, task)
	s.jobs[task.Job] = struct{}{}
	if !task.Running {
		return
	}
	b := band(task.Priority)
	s.running[b]++
	s.bands[b].cpu += task.Demand[0]
	s.bands[b].memory += task.Demand[1]
	if on := s.on[task.OnNode]; on != nil {
		on.cpu += task.Demand[0]
		on.memory += task.Demand[1]
	} else {
		s.strays++
	}
}

func TestSnapshotMachines(t *testing.T) {
	s := readSnapshot(t)
	got := map[capacity]int{}
	for _, c := range s.machines {
		got[c]++
	}
	want := map[capacity]int{
		{"HofL", 5_000_000, 4_995_000}: 6672, {"HofL", 5_000_000, 2_493_000}: 3835, {"HofL", 5_000_000, 7_490_000}: 992,
		{"GtXa", 10_000_000, 10_000_000}: 788, {"70ZO", 2_500_000, 2_498_000}: 123, {"HofL", 5_000_000, 1_241_000}: 54,
		{"HofL", 5_000_000, 308_500}: 5, {"HofL", 5_000_000, 9_678_000}: 4, {"GtXa", 10_000_000, 5_000_000}: 3,
		{"HofL", 5_000_000, 615_800}: 1,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(capacity{})); diff != "" {
		t.Error(diff)
	}
	if len(s.machines) != 12_477 {
		t.Errorf("%d machines, want 12,477", len(s.machines))
	}
	near(t, "CPU of the cell", float64(s.total.cpu)/1e7, 6603, .5)
	near(t, "memory of the cell", float64(s.total.memory)/1e7, 5863, .5)
}

func TestSnapshotTasks(t *testing.T) {
	s := readSnapshot(t)
	if diff := cmp.Diff(map[string]int{"production": 56_053, "middle": 22_318, "free": 54_611}, s.running); diff != "" {
		t.Error("running:", diff)
	}
	if len(s.tasks) != 144_339 || len(s.jobs) != 3_981 {
		t.Errorf("%d tasks of %d jobs, want 144,339 of 3,981", len(s.tasks), len(s.jobs))
	}
	if s.strays != 13 {
		t.Errorf("%d tasks run on no machine, want 13", s.strays)
	}
	for _, w := range []struct {
		band        string
		cpu, memory float64 // per cent of the cell
	}{{"production", 73.2, 58.5}, {"middle", 18.4, 18.4}, {"free", 21.9, 16.4}} {
		near(t, w.band+" CPU", 100*float64(s.bands[w.band].cpu)/float64(s.total.cpu), w.cpu, .05)
		near(t, w.band+" memory", 100*float64(s.bands[w.band].memory)/float64(s.total.memory), w.memory, .05)
	}
	var cpus, memories []float64
	apart := 0
	for _, task := range s.tasks {
		cpus = append(cpus, float64(task.Demand[0])/1e7)
		memories = append(memories, float64(task.Demand[1])/1e7)
		if task.PerNode == 1 {
			apart++
		}
	}
	near(t, "different machines, %", 100*float64(apart)/float64(len(s.tasks)), 24.1, .05)
	quantiles(t, "CPU request", cpus, map[float64]float64{.01: .0006, .1: .0125, .25: .0125, .5: .0588, .75: .0625, .9: .125, .99: .3125, 1: .5}, .0001)
	quantiles(t, "memory request", memories, map[float64]float64{.1: .0039, .25: .0132, .5: .0256, .75: .0636, .9: .1184, .99: .2249, 1: .955}, .0002)
}

// The cell is over-committed, which is why a replay needs to know by how
// much it may be.
func TestSnapshotLoad(t *testing.T) {
	s := readSnapshot(t)
	var cpus, memories []float64
	for id, c := range s.machines {
		cpus = append(cpus, float64(s.on[id].cpu)/float64(c.cpu))
		memories = append(memories, float64(s.on[id].memory)/float64(c.memory))
	}
	quantiles(t, "CPU requested of a machine", cpus, map[float64]float64{.01: .65, .25: 1.05, .5: 1.15, .75: 1.25, .99: 1.48, 1: 1.58}, .006)
	quantiles(t, "memory requested of a machine", memories, map[float64]float64{.01: .33, .25: .82, .5: .98, .75: 1.12, .99: 1.54}, .006)
}

// Borg honoured its own restriction, so whoever reads the columns right finds no
// violation.
func TestSnapshotApart(t *testing.T) {
	type place struct{ job, machine uint64 }
	count := map[place]int{}
	s := readSnapshot(t)
	for _, task := range s.tasks {
		if task.Running {
			count[place{task.Job, task.OnNode}]++
		}
	}
	violations, checked := 0, 0
	for _, task := range s.tasks {
		if task.Running && task.PerNode == 1 {
			checked++
			if count[place{task.Job, task.OnNode}] > 1 {
				violations++
			}
		}
	}
	if violations != 0 || checked < 30_000 {
		t.Errorf("%d of %d tasks that want to be apart are not", violations, checked)
	}
}

func TestWindow(t *testing.T) {
	src := openData(t)
	counts := src.Counts()
	// The 144,339 and 132,982 rows of the snapshot, then those of the window.
	want := google2011.Counts{
		Events:        [9]int{144_339 + 57_152, 132_982 + 57_012, 4338, 581, 43_237, 10_505},
		Lives:         144_339 + 57_152 - 4338,
		LastTaskEvent: 5_611_086_346,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
	got := map[trace.What]int{}
	ended, failed := 0, 0
	var r trace.Record
	var last cluster.Time
	for {
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Time < last {
			t.Fatalf("%v after %v", r.Time, last)
		}
		last = r.Time
		got[r.What]++
		if r.What == trace.TaskSubmitted && r.Task.Work != cluster.Never {
			ended++
			if r.Task.Fails {
				failed++
			}
		}
	}
	if ended != 43_237+581 || failed != 581 {
		t.Errorf("%d lives end, %d fail, want 43,818 and 581", ended, failed)
	}
	records := map[trace.What]int{
		trace.NodeAdded: 12_477 + 8966, trace.NodeLost: 8957, trace.NodeChanged: 7380,
		trace.TaskSubmitted: want.Lives, trace.TaskKilled: 10_505,
	}
	if diff := cmp.Diff(records, got); diff != "" {
		t.Error(diff)
	}
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func quantiles(t *testing.T, what string, values []float64, want map[float64]float64, within float64) {
	t.Helper()
	slices.Sort(values)
	for _, p := range slices.Sorted(maps.Keys(want)) {
		at := min(int(p*float64(len(values))), len(values)-1)
		near(t, what, values[at], want[p], within)
	}
}

func BenchmarkStream(b *testing.B) {
	records := 0
	for b.Loop() {
		src := openData(b)
		var r trace.Record
		for src.Next(&r) == nil {
			records++
		}
		if err := src.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
}
