package timeline_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/timeline"
)

// drawn simulates a spec with its first policy, draws that, and returns both.
func drawn(t interface{ Fatal(...any) }, change func(*setup.Spec)) ([]byte, report.Run) {
	spec := setup.Default()
	spec.Policies = spec.Policies[:1]
	change(&spec)
	plan, err := spec.Plan(policies.All())
	if err != nil {
		t.Fatal(err)
	}
	run := plan.Runs()[0]
	source, err := plan.Sources.Open(run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	config, err := plan.Config(run, source, setup.Env{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	var name func(cluster.TaskID) string
	line := timeline.New(&text, config.Source.Kinds(), func(id cluster.TaskID) string { return name(id) })
	config.Calls = func(c sim.Call) {
		name = c.Name
		line.Call(timeline.Call{At: c.At, Lane: c.Lane, Begins: c.Kind == sim.Begin || c.Kind == sim.Step, Ends: c.Kind == sim.Finish || c.Kind == sim.Step, In: c.In, Out: c.Out})
	}
	result, err := sim.Run(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := line.Close(cluster.Time(math.Round(float64(result.Simulated) * 1e6))); err != nil {
		t.Fatal(err)
	}
	return text.Bytes(), result
}

func source(text string, until cluster.Time) func(*setup.Spec) {
	return func(s *setup.Spec) {
		s.Source.Cluster = text
		limit := setup.Time(until)
		s.Limits.Until = &limit
	}
}

// TestRunsAreDrawn: whatever goes wrong in a world, lanes hold one slice at a time.
func TestRunsAreDrawn(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		hostile := rapid.Bool().Draw(r, "hostile")
		seed := rapid.Uint64Range(1, 1000).Draw(r, "seed")
		text, result := drawn(r, func(s *setup.Spec) {
			source("synthetic:google?nodes=12&tasks-per-node=9", 20*cluster.Minute)(s)
			s.Seeds = setup.Seeds{seed}
			if hostile {
				s.World.Faults.Preset = "hostile"
			}
		})
		sum, err := timeline.Check(bytes.NewReader(text))
		if err != nil {
			r.Fatal(err)
		}
		if sum.Slices == 0 || sum.Counters == 0 || sum.Processes < 12 {
			r.Fatalf("%+v", sum)
		}
		if result.Tasks.Preempted > 0 && sum.Instants == 0 {
			r.Fatalf("%d tasks were evicted, and none is drawn", result.Tasks.Preempted)
		}
	})
}

// TestHundredThousandTasks: a long run is drawn well, and in little memory.
func TestHundredThousandTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	text, result := drawn(t, func(s *setup.Spec) {
		source("synthetic:google?nodes=3000&tasks-per-node=8", 10*cluster.Hour)(s)
		s.Policies[0].Name = "first-fit"
	})
	if result.Tasks.Submitted < 100_000 {
		t.Fatalf("%d tasks, want 100,000", result.Tasks.Submitted)
	}
	sum, err := timeline.Check(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if sum.Slices < result.Tasks.Placed {
		t.Errorf("%d slices of %d tasks that ran", sum.Slices, result.Tasks.Placed)
	}
}

// TestBusyIsWhatRan: of a run in which nothing goes wrong and starting takes no time, the slices of all nodes are as long as
// the tasks have run.
func TestBusyIsWhatRan(t *testing.T) {
	text, result := drawn(t, func(s *setup.Spec) {
		source("synthetic:google?nodes=20&tasks-per-node=8", cluster.Hour)(s)
		s.Limits.PlannerTime = "zero"
	})
	sum, err := timeline.Check(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	busy := int64(0)
	for process, of := range sum.Busy {
		if process != "scheduler" {
			busy += of
		}
	}
	running := 0.0 // the mean number of tasks that run, over time, from the series
	series := result.Series
	for _, n := range series.Columns["running"] {
		running += float64(n)
	}
	want := running * float64(series.Step)
	if got := float64(busy) / 1e6; math.Abs(got-want) > 0.02*want {
		t.Errorf("slices are %.0f s long, %.0f s of tasks ran", got, want)
	}
}

// TestCheckFindsFaults: what the check is for, it finds.
func TestCheckFindsFaults(t *testing.T) {
	const names = `{"ph":"M","name":"process_name","pid":2,"tid":1,"ts":0,"args":{"name":"n"}},{"ph":"M","name":"thread_name","pid":2,"tid":1,"ts":0,"args":{"name":"l"}},`
	for _, tc := range []struct{ events, want string }{
		{names + `{"ph":"X","name":"a","pid":2,"tid":1,"ts":0,"dur":9},{"ph":"X","name":"b","pid":2,"tid":1,"ts":5,"dur":9}`, "lies in"},
		{`{"ph":"X","name":"a","pid":2,"tid":1,"ts":0,"dur":9}`, "no name"},
		{names + `{"ph":"X","name":"a","pid":2,"tid":1,"ts":-1,"dur":9}`, "negative"},
		{names + `{"ph":"X","name":"a","pid":2,"tid":1,"ts":1,"dur":9},{"ph":"s","name":"a","pid":2,"tid":1,"ts":1,"id":1}`, "two ends"},
		{`{"ph":"C","name":"tasks","pid":1,"tid":1,"ts":1,"args":{"waiting":-1}}`, "counter"},
	} {
		if _, err := timeline.Check(strings.NewReader("[" + tc.events + "]")); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.events, err, tc.want)
		}
	}
	if _, err := timeline.Check(strings.NewReader("[{")); err == nil {
		t.Error("half a file is taken for whole")
	}
}
