package experiment

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/flow/ecsched"
	"fairlead.dev/fairlead/mcmf"
	"fairlead.dev/fairlead/queue"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	authors "fairlead.dev/fairlead/sim/trace/ecsched"
)

// ecschedSetup is one way to run the list of jobs of ECSched's authors.
type ecschedSetup struct {
	nodes  []cluster.Vector
	once   bool   // all is submitted at the start
	window int    // of the queue that policies see; 0 is 100
	solves int    // of the flow, in a heartbeat
	solver string // of the flow
	queue  int    // what the baselines may place in a heartbeat; 0 is all that they see
	keep   bool   // tasks that fit nowhere keep their place in the queue
}

// storedSettings are the settings of the authors' stored results.
func storedSettings() ecschedSetup {
	return ecschedSetup{nodes: authors.Default(), solves: 1, solver: ecsched.Literal, queue: 1, keep: true}
}

// ecschedPolicies are the policies of the tables, in the order of their columns.
func ecschedPolicies() []string {
	return []string{"ecsched-dp", "ecsched-ml", "ecsched-kube", "ecsched-swarm"}
}

// TestECSched repeats the stored results of ECSched's authors (specs/ecsched.md,
// §8), who publish the mean time from submission to end of 9,549 jobs on 50 nodes,
// and with their settings and the order of their solver finds them exactly. With
// the default solver, which breaks ties otherwise, both are within half a per cent of
// them (TestECSchedTies).
func TestECSched(t *testing.T) {
	published := map[string]float64{"ecsched-dp": 1416.36, "ecsched-ml": 1368.18, "ecsched-kube": 1801.77, "ecsched-swarm": 1773.02}
	setup := storedSettings()
	for _, name := range ecschedPolicies() {
		took, _ := setup.run(t, name)
		got := math.Round(100*took.mean()) / 100
		t.Logf("%-14s %.2f, published %.2f", name, got, published[name])
		if got != published[name] {
			t.Errorf("%s: mean completion %.2f s, published %.2f", name, got, published[name])
		}
	}
	setup.solver = ""
	for _, name := range ecschedPolicies()[:2] {
		took, _ := setup.run(t, name)
		off := took.mean()/published[name] - 1
		t.Logf("%-14s with the default solver %.2f, %+.2f %%", name, took.mean(), 100*off)
		if math.Abs(off) > 0.005 {
			t.Errorf("%s with the default solver: mean completion %.2f s, published %.2f: %+.2f %%", name, took.mean(), published[name], 100*off)
		}
	}
}

// TestECSchedTies solves with every algorithm. Which of equally cheap flows is taken
// decides who waits from then on, and could move the mean by more than a per cent; an
// order of queue and nodes singles out one of them, and all come to the same.
func TestECSchedTies(t *testing.T) {
	long(t)
	for _, name := range ecschedPolicies()[:2] {
		var means []float64
		for _, algorithm := range mcmf.Algorithms() {
			setup := storedSettings()
			setup.solver = string(algorithm)
			took, _ := setup.run(t, name)
			means = append(means, took.mean())
			t.Logf("%-10s %-26s %.2f", name, algorithm, took.mean())
		}
		if slices.Max(means) != slices.Min(means) {
			t.Errorf("%s: means of %.2f by %v, want all alike", name, means, mcmf.Algorithms())
		}
	}
}

// TestECSchedEqualThroughput repeats the table of specs/ecsched.md, §8: the
// published setups, and the same with baselines that may place as much as the
// flow. Its figures came from an implementation of its own, in floats; those of
// ecsched-kube depend on ties there and here, and so does ecsched-ml where all
// jobs come at once, by up to 0.7 %.
func TestECSchedEqualThroughput(t *testing.T) {
	long(t)
	equal, paper := authors.Default(), authors.TestBed()
	for _, row := range []struct {
		name  string
		setup ecschedSetup
		want  [4]float64 // dp, ml, kube, swarm
	}{
		{"50 equal nodes, queue 1 a heartbeat", ecschedSetup{nodes: equal, solves: 1, queue: 1}, [4]float64{1416, 1368, 1807, 1773}},
		{"50 equal nodes, queue 100 a heartbeat", ecschedSetup{nodes: equal, solves: 1}, [4]float64{1416, 1368, 1434, 1462}},
		{"50 equal nodes, all see the whole queue", ecschedSetup{nodes: equal, solves: 1, window: 9549}, [4]float64{1248, 1194, 1256, 1258}},
		{"test bed, 1 solve, queue 1 a heartbeat", ecschedSetup{nodes: paper, solves: 1, queue: 1}, [4]float64{4486, 4506, 5285, 5246}},
		{"test bed, 5 solves, queue 50 a heartbeat", ecschedSetup{nodes: paper, solves: 5, queue: 50}, [4]float64{4535, 4483, 4475, 4520}},
		{"test bed, all jobs at once", ecschedSetup{nodes: paper, solves: 5, queue: 50, once: true}, [4]float64{13229, 13285, 13358, 13352}},
	} {
		row.setup.keep = true
		for _, solver := range []string{ecsched.Literal, ""} {
			row.setup.solver = solver
			row.setup.compare(t, row.name, row.want)
		}
	}
	// What the paper's code has, and its stored results have not: tasks that fit
	// nowhere go to the end of the queue.
	for _, solver := range []string{ecsched.Literal, ""} {
		setup := ecschedSetup{nodes: paper, solves: 5, queue: 50, solver: solver}
		setup.compare(t, "test bed, 5 solves, queue 50 a heartbeat, recycling", [4]float64{})
	}
}

// compare runs the four policies, compares them with what is wanted, and says
// how much dp gains over the baselines.
func (e ecschedSetup) compare(t *testing.T, title string, want [4]float64) {
	t.Helper()
	results := map[string]completions{}
	for i, name := range ecschedPolicies() {
		took, used := e.run(t, name)
		results[name] = took
		t.Logf("%-52s %-11s %-14s %8.2f, specified %5.0f; cpu used %.3f", title, cmp.Or(e.solver, "default"), name, took.mean(), want[i], used)
		allowed := 0.5 / want[i] // they are rounded
		if name == "ecsched-kube" || e.once {
			allowed = 0.007
		}
		if off := took.mean()/want[i] - 1; want[i] > 0 && e.solver == ecsched.Literal && math.Abs(off) > allowed {
			t.Errorf("%s: %s has %.2f, specified is %.0f", title, name, took.mean(), want[i])
		}
	}
	for _, rival := range ecschedPolicies()[2:] {
		for _, ours := range ecschedPolicies()[:2] {
			t.Logf("%-52s %-11s %s against %s: %s", title, cmp.Or(e.solver, "default"), ours, rival, results[ours].against(results[rival]))
		}
	}
}

// run replays the list with a heartbeat of a second, as in the authors' simulator,
// and planner time zero. It returns the times and the share of the cpu that was
// in use.
func (e ecschedSetup) run(t *testing.T, name string) (completions, float64) {
	t.Helper()
	list, err := authors.Open(filepath.Join(data(t), "ecsched", "jobs-9549.txt"), authors.Options{Nodes: e.nodes})
	if err != nil {
		t.Fatal(err)
	}
	var src trace.Source = list
	if e.once {
		src = atOnce{list}
	}
	var tasks bytes.Buffer
	run, err := sim.Run(sim.Config{
		Source: src, Lanes: []sched.Lane{{Name: name, Policy: e.policy(t, name), When: sched.Trigger{Heartbeat: cluster.Second}}},
		Planner: sim.Planner{Time: sim.Zero}, Output: sim.Output{Tasks: &tasks},
	})
	if err != nil {
		t.Fatal(err)
	}
	took := completions{}
	for _, row := range rowsOf(t, &tasks)[1:] {
		took[row[0]] = seconds(t, row[6]) - seconds(t, row[5])
	}
	if len(took) != 9549 || run.Tasks.Finished != 9549 {
		t.Fatalf("%s: %d of 9,549 jobs ended: %+v", name, len(took), run.Tasks)
	}
	return took, float64(run.Utilisation["cpu"].Mean)
}

func (e ecschedSetup) policy(t *testing.T, name string) sched.Policy {
	t.Helper()
	o := ecsched.Options{Window: e.window, Solves: e.solves, Keep: e.keep, Solver: e.solver}
	var p sched.Policy
	var err error
	switch name {
	case "ecsched-dp":
		p, err = ecsched.New(o)
	case "ecsched-ml":
		o.Score = ecsched.MostLoaded
		p, err = ecsched.New(o)
	default:
		p, err = queue.New(name, queue.Options{ECSched: queue.ECSched{Window: e.window, Placements: e.queue, Keep: e.keep}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// atOnce is a source of which all is submitted at the start.
type atOnce struct{ trace.Source }

func (a atOnce) Next(r *trace.Record) error {
	err := a.Source.Next(r)
	r.Time = 0
	return err
}

// completions are how long each job took from its submission to its end, in
// seconds, by job.
type completions map[string]float64

func (c completions) mean() float64 {
	sum := 0.0
	for _, v := range c { // whole seconds: in any order the sum is the same
		sum += v
	}
	return sum / float64(len(c))
}

// against says how many times longer the rival takes, in the mean and job by
// job.
func (c completions) against(rival completions) string {
	var ratios []float64
	better, worse := 0, 0
	for job, v := range c {
		ratios = append(ratios, rival[job]/v)
		if rival[job] > v {
			better++
		} else if rival[job] < v {
			worse++
		}
	}
	slices.Sort(ratios)
	at := func(q float64) float64 { return ratios[int(q*float64(len(ratios)-1))] }
	share := func(n int) float64 { return 100 * float64(n) / float64(len(c)) }
	return fmt.Sprintf("means %.3f, p50 %.3f, p60 %.3f, p80 %.3f; %.0f %% of the jobs faster, %.0f %% slower",
		rival.mean()/c.mean(), at(0.5), at(0.6), at(0.8), share(better), share(worse))
}

// long skips a test that takes half a minute or more, unless such were asked for.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("FAIRLEAD_LONG") == "" {
		t.Skip("FAIRLEAD_LONG is not set: this takes a minute")
	}
}
