package experiment

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/report/page"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

// TestEveryExperiment runs each set-up at a tiny size and wants figures with points
// on every line and a number of ours beside what was published. Where a policy is
// not there yet kube takes its place: it is the set-up that is tried here.
func TestEveryExperiment(t *testing.T) {
	for _, e := range All() {
		t.Run(e.Name, func(t *testing.T) {
			if testing.Short() && e.Name == "qos-flow" {
				t.Skip("takes as long as half of the others; qos-v1 is like it")
			}
			o := Options{Size: tiny, Seed: 1, Policies: e.Policies}
			p, err := e.setUp(&o)
			if err != nil {
				t.Fatal(err)
			}
			standIn(p)
			results, err := e.carryOut(p, &o)
			if err != nil {
				t.Fatal(err)
			}
			if len(results.Runs) != len(p.cases) {
				t.Errorf("%d runs of %d cases", len(results.Runs), len(p.cases))
			}
			checkReproduction(t, results.Experiment)
			if strings.HasPrefix(e.Name, "sla-") || strings.HasPrefix(e.Name, "qos-") {
				checkSetups(t, results.Runs)
			}
			checkPrinted(t, results)
		})
	}
}

// standIn lets kube stand in for policies that there are not. The conclusion sees
// the names that it expects. Simulated time goes by ticks: by the clock nothing might be
// placed on a machine that is busy with something else.
func standIn(p *plan) {
	names := make([]string, len(p.cases))
	for i := range p.cases {
		c := &p.cases[i]
		names[i] = c.policy
		if _, err := policies.Find(c.policy); err != nil {
			c.policy = "kube"
		}
		if c.planner == sim.Measured {
			c.planner = sim.Ticks
		}
	}
	conclude := p.conclude
	p.conclude = func(all []outcome, r *report.Reproduction) {
		for i := range all {
			all[i].policy = names[i]
		}
		conclude(all, r)
	}
}

// checkSetups wants no two runs to pass for the same, as reports put those together
// that differ in the seed alone, and each to name its table of classes.
func checkSetups(t *testing.T, runs []report.Run) {
	t.Helper()
	seen := map[report.Setup]bool{}
	for _, r := range runs {
		if seen[r.Setup] {
			t.Errorf("two runs are the same by what is said of them: %+v", r.Setup)
		}
		if r.Setup.Classes == "" {
			t.Errorf("its classes are not named: %+v", r.Setup)
		}
		seen[r.Setup] = true
	}
}

func checkReproduction(t *testing.T, r *report.Reproduction) {
	t.Helper()
	if r.Name == "" || r.What == "" || r.Paper == "" || !strings.Contains(r.Data, "seed") || r.Real || r.Quick == (strings.HasPrefix(r.Name, "sla-") || r.Name == "knavigator") {
		t.Errorf("it says too little of itself: %+v", r)
	}
	if len(r.Goals) == 0 && r.Variants == nil && (len(r.Figures) == 0 || len(r.Compared) == 0) {
		t.Error("there is no figure, or nothing to compare")
	}
	for _, f := range r.Figures {
		if len(f.Lines) == 0 {
			t.Errorf("%s has no lines", f.Title)
		}
		for _, l := range f.Lines {
			if len(l.Points) == 0 {
				t.Errorf("%s: %s has no points", f.Title, l.Name)
			}
			if !slices.IsSortedFunc(l.Points, func(a, b [2]report.Number) int { return int(min(max((a[0]-b[0])*1e6, -1), 1)) }) {
				t.Errorf("%s: the points of %s do not rise: %v", f.Title, l.Name, l.Points)
			}
		}
	}
	for _, c := range r.Compared {
		if c.Published != nil && c.Ours == nil && r.Name != "firmament-fig17" { // where no task may be near the ideal
			t.Errorf("%s was published, and is not measured", c.What)
		}
	}
}

// checkPrinted prints the results in each way, and reads the JSON again.
func checkPrinted(t *testing.T, results report.Results) {
	t.Helper()
	var text bytes.Buffer
	for _, format := range []report.Format{report.Table, report.CSV, report.JSON} {
		text.Reset()
		if err := report.Write(&text, format, results); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
	again, err := report.ReadJSON(&text)
	if err != nil || again.Experiment == nil || len(again.Experiment.Figures) != len(results.Experiment.Figures) {
		t.Errorf("the JSON, read again: %v", err)
	}
	text.Reset()
	if err := page.WriteExperiment(&text, results.Experiment); err != nil {
		t.Error(err)
	}
}

// TestFreeExperiments runs policies that there are in place of the paper's.
func TestFreeExperiments(t *testing.T) {
	ran := 0
	for _, e := range All() {
		results, err := e.Run(Options{Size: tiny, Seed: 1, Policies: []string{"random"}})
		if !e.Free {
			if err == nil || !strings.Contains(err.Error(), "compares the policies of its paper") {
				t.Errorf("%s: %v, want it refused", e.Name, err)
			}
			continue
		}
		ran++
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		ours := results.Experiment.Figures[0].Lines[0].Name // where nothing but this is kept of runs
		if len(results.Runs) > 0 {
			ours = results.Runs[0].Policy
		}
		if !strings.HasPrefix(ours, "random") {
			t.Errorf("%s: ran %s", e.Name, ours)
		}
	}
	if ran == 0 {
		t.Error("no experiment is free to run other policies")
	}
}

// TestErrors wants to be told the name that is wrong, the policy that is missing,
// the folder that is not there, and that it was stopped.
func TestErrors(t *testing.T) {
	if _, err := Find("firmament-fig71"); err == nil || !strings.Contains(err.Error(), "did you mean firmament-fig17?") {
		t.Errorf("a wrong name: %v", err)
	}
	e := &Experiment{Name: "fig1", Policies: []string{"kube", "clairvoyant"}, Free: true, setUp: setUpBreaking}
	if _, err := e.Run(Options{Size: tiny}); err == nil || !strings.Contains(err.Error(), "fig1 needs the policy clairvoyant: ") {
		t.Errorf("a policy that is not there: %v", err)
	}
	if !slices.Equal(e.Missing(), []string{"clairvoyant"}) {
		t.Errorf("missing %v", e.Missing())
	}
	e.Policies = []string{"kube"}
	results, err := e.Run(Options{Size: tiny, Stop: func() bool { return true }})
	if !errors.Is(err, ErrStopped) || len(results.Runs) != 1 || results.Experiment != nil {
		t.Errorf("stopped: %v with %d runs", err, len(results.Runs))
	}
	asked := 0
	e = &Experiment{Name: "medea-two-schedulers", Policies: []string{"kube"}, Free: true, setUp: setUpTwo}
	results, err = e.Run(Options{Size: tiny, Stop: func() bool { asked++; return asked > 1 }})
	if !errors.Is(err, ErrStopped) || results.Experiment != nil {
		t.Errorf("stopped in the middle of a step: %v", err)
	}
	if _, _, err := googlePlan(&Options{Data: t.TempDir()}, 12, cluster.Minute); err == nil || !strings.Contains(err.Error(), "machine_events") {
		t.Errorf("no data: %v", err)
	}
}

// TestJobs counts what the breaking point is made of: so many nodes and tasks, and
// the load that was asked for, within what chance allows.
func TestJobs(t *testing.T) {
	p, err := setUpBreaking(&Options{Size: Quick, Seed: 1, Policies: []string{"kube"}})
	if err != nil {
		t.Fatal(err)
	}
	src, err := p.cases[0].open()
	if err != nil {
		t.Fatal(err)
	}
	d, err := trace.Describe(src, func(cluster.Time) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	busy := float64(d.Tasks) * float64(d.Work.P50) / (float64(d.LastLater) * float64(d.Capacity[0]))
	if d.Nodes != 100 || d.Capacity[0] != 1200 || d.Jobs.Count != 960 || d.Tasks != 9600 || busy < 0.75 || busy > 0.85 {
		t.Errorf("%d nodes, %d slots, %d jobs, %d tasks, %.2f busy", d.Nodes, d.Capacity[0], d.Jobs.Count, d.Tasks, busy)
	}
}

// TestSample wants the test bed's tasks to be as the paper says they are.
func TestSample(t *testing.T) {
	tasks, err := sample(sampled, 1)
	if err != nil {
		t.Fatal(err)
	}
	bound, work, before := 0, cluster.Time(0), cluster.Time(0)
	for i := range tasks {
		task := &tasks[i]
		if task.at < before || task.at+task.work > sampleHours*cluster.Hour || task.work < cluster.Second || slices.Min(task.demand) < 1 || slices.Max(task.demand) > mostSlots {
			t.Fatalf("task %d: %+v", i, task)
		}
		before, work = task.at, work+task.work
		if task.typ > 0 {
			bound++
		}
		if task.typ == 1 && slices.Max(task.demand) > 25 {
			t.Fatalf("task %d has a type of node that it is too large for: %+v", i, task)
		}
	}
	share, mean := 100*float64(bound)/sampled, (work / sampled).Seconds()
	t.Logf("%.1f %% with affinity, mean work %.0f s; the paper's sample has 6 %% and 764 s", share, mean)
	if len(tasks) != 8300 || share < 5 || share > 7 || mean < 382 || mean > 1528 {
		t.Errorf("%d tasks", len(tasks))
	}
}

// TestWaits feeds submissions and placements in pieces, and wants the waits of
// batch tasks that came after the start, each to its first place.
func TestWaits(t *testing.T) {
	records := []trace.Record{
		{Time: 0, What: trace.TaskSubmitted, Task: trace.Task{Job: 1}},
		{Time: 5, What: trace.TaskSubmitted, Task: trace.Task{Job: 2, Index: 1}},
		{Time: 5, What: trace.TaskSubmitted, Task: trace.Task{Job: 3, Priority: 9}},
		{Time: 6, What: trace.TaskSubmitted, Task: trace.Task{Job: 4}},
		{Time: 7, What: trace.TaskKilled, Task: trace.Task{Job: 4}},
		{Time: 20, What: trace.TaskSubmitted, Task: trace.Task{Job: 4}},
		{Time: 30, What: trace.TaskSubmitted, Task: trace.Task{Job: 2, Index: 1}},
	}
	w := &waits{Source: &listed{records: records}, since: map[[2]uint64][]cluster.Time{}}
	for range records {
		var r trace.Record
		if err := w.Next(&r); err != nil {
			t.Fatal(err)
		}
	}
	const text = "8,,1,0,n,1,,,,,,,\n9,,2,1,n,1,,,,,,,\n10,,2,1,n,2,,,,,,,\n11,,2,1,n,1,,,,,,,\n12,,3,0,n,1,,,,,,,\n27,,4,0,n,1,,,,,,,\n31,,2,1,n,1,,,,,,,\n"
	for i := range text {
		if _, err := w.Write([]byte(text[i : i+1])); err != nil {
			t.Fatal(err)
		}
	}
	// 4 and 1 of job 2, which comes twice; 7 of job 4, which was killed before.
	if w.took.Count() != 3 || w.took.Max() != 7 || w.took.Mean() != 4 {
		t.Errorf("%d waits, at most %d; want 4, 1 and 7", w.took.Count(), w.took.Max())
	}
	if _, err := w.Write([]byte("x,,2,1,n,1,,,,,,,\n")); err == nil || !strings.Contains(err.Error(), "column 1") {
		t.Errorf("a time that is none: %v", err)
	}
}

// listed is a source of records that are at hand.
type listed struct {
	trace.Source
	records []trace.Record
}

func (l *listed) Next(r *trace.Record) error {
	*r, l.records = l.records[0], l.records[1:]
	return nil
}

// TestFigures computes small distributions by hand.
func TestFigures(t *testing.T) {
	rising := []float64{0.5, 1, 2, 4}
	l := distribution("x", rising)
	if len(l.Points) != 4 || l.Points[1] != [2]report.Number{1, 0.5} || l.Points[3] != [2]report.Number{4, 1} {
		t.Errorf("distribution: %v", l.Points)
	}
	many := make([]float64, 1001)
	for i := range many {
		many[i] = float64(i)
	}
	if l = distribution("x", many); len(l.Points) != 200 || l.Points[199] != [2]report.Number{1000, 1} {
		t.Errorf("distribution of many: %d points, %v", len(l.Points), l.Points[len(l.Points)-1])
	}
	if above(rising, 1) != 0.5 || above(rising, 4) != 0 || above(rising, 0.1) != 1 || above(nil, 1) != 0 {
		t.Errorf("above 1: %g", above(rising, 1))
	}
	base := &report.Run{Sample: &report.Sample{Tasks: []uint64{1, 2, 4}, Response: []report.Number{8, 6, 1}}}
	other := &report.Run{Sample: &report.Sample{Tasks: []uint64{1, 2, 3}, Response: []report.Number{4, 12, 1}}}
	if got := factors(base, other); !slices.Equal(got, []float64{0.5, 2}) {
		t.Errorf("factors: %v", got)
	}
	lines := timeline("x", []round{{1, 5 * cluster.Second}, {9, cluster.Second}, {25, 2 * cluster.Second}}, 10)
	if len(lines.Points) != 2 || lines.Points[0][1] != 5 || lines.Points[1][1] != 2 {
		t.Errorf("timeline: %v", lines.Points)
	}
	near := &report.Line{Points: [][2]report.Number{{1, 1.05}, {2, 3}, {3, 1.1}, {4, 1}}}
	if least, ok := shortest(near); least != 3 || !ok {
		t.Errorf("the shortest near the ideal is %g", float64(least))
	}
}
