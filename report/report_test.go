package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// TestMain knows the flag with which go test ./report -update rewrites the
// golden files.
func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the golden files in testdata")
	m.Run()
}

// golden compares got with the file of that name in testdata, or rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	update, err := strconv.ParseBool(flag.Lookup("update").Value.String())
	if err != nil {
		t.Fatal(err)
	}
	if update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if it should, run go test ./report -update. Got:\n%s\nwant:\n%s", path, got, want)
	}
}

// durations is the distribution of n durations that rise evenly to largest.
func durations(n int, largest cluster.Time) *report.Distribution {
	var h report.Histogram
	for i := 1; i <= n; i++ {
		h.Add(largest * cluster.Time(i) / cluster.Time(n))
	}
	return h.Distribution()
}

// availability is that of tasks that ran for so many ten-thousandths of their
// lives.
func availability(tasks ...cluster.Time) *report.Availability {
	var a report.Availabilities
	for _, running := range tasks {
		a.Add(running, 10_000)
	}
	return a.Summary()
}

// run is a run with plausible numbers in every field; slow scales its times.
func run(policy string, seed uint64, slow cluster.Time) report.Run {
	s := int(slow)
	return report.Run{
		Setup: report.Setup{
			Policy: policy, Chosen: report.Chosen{TieBreak: "id"}, Cluster: "google2011-1250", Workload: "google2011 <1/10>",
			Seed: seed, Until: 86400, Speedup: 1, Overcommit: "cpu=1.6,memory=2", Initial: "keep", Overheads: "hot=2s,cold=8s",
			EvictedWork: "lost", Heartbeat: 5, Watchdog: 60, PlannerTime: "ticks", Faults: "none",
		},
		Nodes: 1250, NodesActive: 1250 - 17*s, Simulated: 86400,
		Tasks: report.Tasks{
			Submitted: 13527, Placed: 13404 - s, Finished: 13204 - s, Failed: 3, Killed: 40, Running: 150,
			Pending: 130 + s, Preempted: 1200 / s, Migrated: 12, Evicted: 1212/s + 7,
		},
		PlacementLatency: durations(1000, slow*700*cluster.Millisecond),
		TaskResponse:     durations(1000, slow*130*cluster.Second),
		JobResponse:      durations(100, slow*2*cluster.Hour),
		Utilisation:      map[string]report.Utilisation{"cpu": {Mean: 0.41, Max: 0.77}, "memory": {Mean: 1.0 / 3, Max: 0.5}},
		Allocation:       map[string]report.Allocation{"memory": {Mean: 0.5512, Final: 0.61}, "cpu": {Mean: 0.632, Final: 0.7}},
		Classes: map[string]report.Class{
			"gold": {
				Submitted: 100, Placed: 99, Finished: 98, Pending: 1, Preempted: 2, PlacementLatency: durations(99, cluster.Second),
				Availability: availability(10_000, 9_995, 9_800),
				Promise:      &report.Promise{Target: 1, Fulfilment: 0.75, Deficit: 0.01025, Gini: 0.0013, Penalties: 12.345678},
				Bill:         &report.Bill{Overhead: 0.0125, Cores: 2.5, Revenue: 1234.5},
				Shortfall:    new(shortfall(report.Number(s) / 8)),
			},
			"bronze": {Submitted: 5, Pending: 5},
		},
		Unserved:       unserved(report.Number(s)),
		Moves:          &report.Moves{Decided: 13, Freed: 2, Lost: map[string]report.Number{"cpu": 0.25, "memory": 0.125}, Gain: &report.Gain{Nodes: report.Number(2-s) / 2, Served: 3}},
		Fragmentation:  map[string]report.Fragmentation{"gpu": {Final: 0.25}},
		Latencies:      map[string]report.Curve{"all": {{0.7, 0.5}, {1, 1}}, "gold": {{0.5, 1}}},
		Availabilities: map[string]report.Curve{"gold": {{0.98, 0.25}, {1, 1}}},
		Series: &report.Series{Step: 60, Columns: map[string][]report.Number{
			"pending": {5, 0, 130}, "running": {0, 7, 150}, "allocation.cpu.gold": {0, 1.0 / 3, 0.5}, "utilisation.cpu": {0, 0.1, 0.123456789},
		}},
		Heat:    &report.Heat{Times: []report.Number{0, 43_200}, Nodes: 2, Fill: "AAAA", Names: "AAAA"},
		Sample:  &report.Sample{Tasks: []uint64{17, 1<<52 - 1}, Response: []report.Number{12.5, 3}, Latency: []report.Number{0, 0.25}, Of: 13_204},
		Planner: report.NewPlanner(8640, 14628, slow*310*cluster.Millisecond, 0),
		Reasons: map[string]int{"cpu": 120, "apart": 5, "eligibility": 5, "memory": s},
	}
}

// unserved is what a run did not serve whose tasks waited so many times as long as those of another one.
func unserved(slow report.Number) *report.Unserved {
	u := &report.Unserved{
		Shortfall: shortfall(slow),
		Shares:    &report.ShareGap{Mean: 0.0625, Largest: 0.5},
	}
	u.Add(report.SizeWait{UpTo: 0.01, Tasks: 900, Mean: 2 * slow, Longest: 61 * slow})
	u.Add(report.SizeWait{UpTo: 0.5, Tasks: 40, Mean: 100 * slow, Longest: 4000 * slow})
	return u
}

// shortfall is what tasks did not get that waited so many times as long as others.
func shortfall(slow report.Number) report.Shortfall {
	return report.Shortfall{
		Waited: map[string]report.Number{"cpu": 12.5 * slow, "memory": 7.25 * slow},
		Lost:   map[string]report.Number{"cpu": 0.75, "memory": 0.5},
	}
}

// reading is what a run read in a day: 10 kB from its own nodes, 5 from elsewhere
// in the rack, 1 from afar, and 2 from nowhere.
func reading() *report.Reads {
	return report.NewReads(report.Reads{Runs: 7, Local: 10_000, Rack: 5000, Remote: 1000, Missing: 2000, RunLocality: 0.5}, 86400)
}

// keeping is how three constraints were kept.
func keeping() *report.Constraints {
	return &report.Constraints{
		Count: 3, Hard: 1, HardViolated: 1, Subjects: 40,
		Violated: report.Level{Mean: 0.0625, Final: 0.1}, Cost: report.Level{Mean: 2.625, Final: 4.4},
	}
}

// bare is a run of which nothing is known but its policy.
func bare(policy string) report.Run { return report.Run{Setup: report.Setup{Policy: policy}} }

// samples are the results of which the golden files are prints.
func samples() map[string][]report.Run {
	lost := run("kube-like", 1, 40)
	lost.Tasks.Unplaceable = 2
	lost.Reasons = map[string]int{"cpu": 11_120, "unplaceable": 2, "ports": 3, "apart": 7, "memory": 7, "spread": 1, "zone": 1}
	lost.Interrupted = true
	lost.NodesOverfull = 3
	lost.Examples = map[string]string{report.Overfull: "node n1 holds 3.5 of cpu, over its limit of 1"}
	calm := run("quincy", 1, 1)
	calm.Tasks.Pending, calm.Reasons = 0, nil
	other := run("quincy", 1, 2)
	other.Workload = "batch"
	other.Tasks.Pending, other.TaskResponse, other.Reasons = 9, nil, nil
	return map[string][]report.Run{
		"none":  {},
		"two":   {calm, run("kube-like", 1, 3)},
		"seeds": {run("quincy", 1, 1), run("kube-like", 1, 3), run("quincy", 2, 2), run("kube-like", 2, 5)},
		"odd":   {calm, lost, other, bare("spread")},
	}
}

func TestGolden(t *testing.T) {
	all := samples()
	for _, c := range []struct {
		sample string
		format report.Format
	}{
		{"none", report.Table},
		{"two", report.Table},
		{"seeds", report.Table},
		{"odd", report.Table},
		{"none", report.JSON},
		{"odd", report.JSON},
		{"none", report.CSV},
		{"odd", report.CSV},
	} {
		var text bytes.Buffer
		if err := report.Write(&text, c.format, report.Results{Runs: all[c.sample]}); err != nil {
			t.Fatal(err)
		}
		golden(t, c.sample+"."+string(c.format), text.String())
	}
}

// A table with all its usual columns is readable in a window of 120.
func TestTableWidth(t *testing.T) {
	var text bytes.Buffer
	if err := report.Write(&text, report.Table, report.Results{Runs: samples()["seeds"]}); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(l) - 1; n > 120 {
			t.Errorf("%d columns: %s", n, l)
		}
	}
}

// The table has a column for each kind that was held, whatever it is called:
// slots, where they are counted instead of resources.
func TestTableShowsTheKindsThatWereHeld(t *testing.T) {
	slots := run("quincy", 1, 1)
	slots.Allocation = map[string]report.Allocation{"slots": {Mean: 0.614}, "ports": {}}
	devices := run("quincy", 2, 1)
	devices.Allocation["gpu"] = report.Allocation{Mean: 0.25}
	devices.Allocation["a"] = report.Allocation{Mean: 0.125}
	for _, c := range []struct {
		run   report.Run
		kinds string
		means string
	}{
		{slots, "SLOTS", "61.4%"},
		{devices, "CPU MEMORY A GPU", "63.2% 55.1% 12.5% 25.0%"},
	} {
		var text bytes.Buffer
		if err := report.Write(&text, report.Table, report.Results{Runs: []report.Run{c.run}}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(text.String(), "\n")
		if head := strings.Join(strings.Fields(lines[0]), " "); head != "LATENCY TASK RESPONSE "+c.kinds+" NODES DECISIONS" {
			t.Errorf("the head is %q, want kinds %s", head, c.kinds)
		}
		if row := strings.Join(strings.Fields(lines[2]), " "); !strings.Contains(row, " "+c.means+" 1,233 ") {
			t.Errorf("the row is %q, want allocations %s", row, c.means)
		}
	}
}

// Where tasks have input, the table says how much of it was local and how much
// moved; a run without has a dash there.
func TestTableShowsWhatWasRead(t *testing.T) {
	with := run("quincy", 1, 1)
	with.Reads, with.Data = reading(), "hdfs"
	var text bytes.Buffer
	if err := report.Write(&text, report.Table, report.Results{Runs: []report.Run{with, run("kube", 1, 1)}}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text.String(), "\n")
	for i, want := range []string{" DATA MOVED NODES ", " LOCAL AN HOUR ACTIVE ", " 62.5% 250 B 1,233 ", " - - 1,233 "} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.Contains(got, want) {
			t.Errorf("line %d is %q, want %q in it", i, got, want)
		}
	}
	if got := strings.Fields(lines[2])[:2]; !reflect.DeepEqual(got, []string{"quincy", "hdfs"}) {
		t.Errorf("the first run is labelled %v", got)
	}
}

// Programs rely on these names, whatever the run. Those with a "?" are missing
// where there is nothing to show.
const contract = `
policy seed nodes nodes_active nodes_overfull
tie_break? solver? migrations? cluster? workload? data? until_s? simulated_s interrupted
speedup? overcommit? initial? overheads? evicted_work? heartbeat_s? watchdog_s? long_running? planner_time? usage? faults?
tasks.submitted tasks.placed tasks.finished tasks.failed tasks.killed tasks.running
tasks.pending tasks.unplaceable tasks.preempted tasks.migrated tasks.evicted tasks.without_placement? tasks.evictions_refused?
placement_latency_s?.mean placement_latency_s?.p50 placement_latency_s?.p90 placement_latency_s?.p99 placement_latency_s?.max
task_response_s?.mean task_response_s?.p50 task_response_s?.p90 task_response_s?.p99 task_response_s?.max
job_response_s?.mean job_response_s?.p50 job_response_s?.p90 job_response_s?.p99 job_response_s?.max
utilisation utilisation.cpu?.mean utilisation.cpu?.max
allocation allocation.cpu?.mean allocation.cpu?.final
classes
classes.gold?.submitted classes.gold?.placed classes.gold?.finished classes.gold?.pending classes.gold?.preempted
classes.gold?.placement_latency_s?.mean classes.gold?.placement_latency_s?.p50 classes.gold?.placement_latency_s?.p90
classes.gold?.placement_latency_s?.p99 classes.gold?.placement_latency_s?.max
classes.gold?.availability?.mean classes.gold?.availability?.min
classes.gold?.availability?.p50 classes.gold?.availability?.max
classes.gold?.target? classes.gold?.slo_fulfilment? classes.gold?.deficit? classes.gold?.gini? classes.gold?.penalties?
classes.gold?.due? classes.gold?.kept_deadlines? classes.gold?.worth? classes.gold?.gained?
classes.gold?.least_run_s? classes.gold?.evicted_runs? classes.gold?.evicted_early? classes.gold?.waited_s?
classes.gold?.overhead? classes.gold?.cores? classes.gold?.revenue? availability_curves?.gold?
notes?
reads?.runs reads?.bytes reads?.local_bytes reads?.rack_bytes reads?.remote_bytes reads?.missing_bytes
reads?.locality reads?.run_locality reads?.moved_bytes_per_hour
constraints?.count constraints?.hard constraints?.hard_violated constraints?.subjects
constraints?.violated?.mean constraints?.violated?.final constraints?.cost?.mean constraints?.cost?.final
fragmentation?.gpu?.final latency_curves?.all?
series?.step_s series?.columns series?.columns.pending?
heat?.times_s heat?.nodes heat?.fill heat?.names
sample?.tasks sample?.response_s sample?.latency_s sample?.of
planner.rounds planner.decisions planner.seconds planner.wall_s? planner.decisions_per_s
reasons reasons.cpu?
`

func TestContract(t *testing.T) {
	full := run("quincy", 1, 1)
	full.Planner.Wall, full.Solver, full.Migrations = 0.25, "race", 7
	full.Notes = []string{"who wins depends on the machine"}
	full.Reads, full.Data, full.Usage, full.LongRunning = reading(), "hdfs", "every=30s", "medea"
	full.Constraints = keeping()
	full.Tasks.WithoutPlacement, full.Tasks.EvictionsRefused = 3, 4
	gold := full.Classes["gold"]
	gold.Deadlines, gold.Lasting = &report.Deadlines{Due: 1}, &report.Lasting{LeastRun: 60}
	full.Classes = map[string]report.Class{"gold": gold}
	for _, r := range []report.Run{full, bare("spread")} {
		var text bytes.Buffer
		if err := report.Write(&text, report.JSON, report.Results{Runs: []report.Run{r}}); err != nil {
			t.Fatal(err)
		}
		var file struct {
			Version int
			Runs    []map[string]any
		}
		if err := json.Unmarshal(text.Bytes(), &file); err != nil {
			t.Fatal(err)
		}
		if file.Version != 1 || len(file.Runs) != 1 {
			t.Fatalf("version %d with %d runs, want version 1 with 1", file.Version, len(file.Runs))
		}
		for path := range strings.FieldsSeq(contract) {
			if missing := lookUp(file.Runs[0], path, r.Policy == full.Policy); missing != "" {
				t.Errorf("%s: %s has no %q", r.Policy, path, missing)
			}
		}
		if strings.Contains(text.String(), "null") {
			t.Errorf("%s: there is a null in\n%s", r.Policy, text.String())
		}
	}
}

// A month in steps of a minute is a file that programs still read: a number
// takes few bytes, and lists take no line for each.
func TestAMonthIsNotTooLarge(t *testing.T) {
	r := bare("spread")
	r.Series = &report.Series{Step: 60, Columns: map[string][]report.Number{}}
	random := rand.New(rand.NewPCG(1, 2))
	const columns, steps = 20, 43_200
	for c := range columns {
		column := make([]report.Number, steps)
		for i := range column {
			column[i] = report.Number(random.Float64())
		}
		r.Series.Columns["column "+strconv.Itoa(c)] = column
	}
	var text bytes.Buffer
	if err := report.Write(&text, report.JSON, report.Results{Runs: []report.Run{r}}); err != nil {
		t.Fatal(err)
	}
	if most := columns*steps*9 + 10_000; text.Len() > most {
		t.Errorf("%d bytes, want at most %d", text.Len(), most)
	}
	if lines := bytes.Count(text.Bytes(), []byte("\n")); lines > 100 {
		t.Errorf("%d lines", lines)
	}
}

// CSV has a cell for each value, and none for a list.
func TestCSVHasNoLists(t *testing.T) {
	var text bytes.Buffer
	if err := report.Write(&text, report.CSV, report.Results{Runs: []report.Run{run("quincy", 1, 1)}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"series", "heat", "sample", "latency_curves", "availability_curves", "["} {
		if strings.Contains(text.String(), name) {
			t.Errorf("there is %q in\n%s", name, text.String())
		}
	}
}

// lookUp follows path through tree, and returns the name that is missing on
// the way, if any. Names with a "?" may be missing unless all is set.
func lookUp(tree map[string]any, path string, all bool) (missing string) {
	var value any = tree
	for name := range strings.SplitSeq(path, ".") {
		name, optional := strings.CutSuffix(name, "?")
		below, _ := value.(map[string]any)
		next, ok := below[name]
		if !ok {
			if optional && !all {
				return ""
			}
			return name
		}
		value = next
	}
	return ""
}

// What is read back prints the same bytes, in every format.
func TestReadJSONReturnsWhatWasWritten(t *testing.T) {
	for name, runs := range samples() {
		var first, second bytes.Buffer
		if err := report.Write(&first, report.JSON, report.Results{Runs: runs}); err != nil {
			t.Fatal(err)
		}
		read, err := report.ReadJSON(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := report.Write(&second, report.JSON, read); err != nil {
			t.Fatal(err)
		}
		if first.String() != second.String() {
			t.Errorf("%s: written\n%s\nread back and written\n%s", name, first.String(), second.String())
		}
		again, err := report.ReadJSON(&second)
		if err != nil || !reflect.DeepEqual(read, again) {
			t.Errorf("%s: read %+v, then %+v, error %v", name, read, again, err)
		}
	}
}

func TestReadJSONIsStrict(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"version":2,"runs":[]}`, "results of version 2; supported versions: 1"},
		{`{"version":2,"races":[]}`, "results of version 2; supported versions: 1"},
		{`{"runs":[]}`, "results of version 0; supported versions: 1"},
		{`{"version":1,"races":[]}`, `version 1: races: unknown field; there are experiment, runs, spec, version`},
		{`{"version":1,"runs":[{"tasks":{"lost":1}}]}`, `version 1: runs[0].tasks.lost: unknown field; there are evicted, evictions_refused, failed, `},
		{`{"version":1,"runs":[{},{"polcy":"kube"}]}`, `version 1: runs[1].polcy: unknown field; did you mean policy?`},
		{`{"version":1,"runs":[{"series":{"step":1}}]}`, `version 1: runs[0].series.step: unknown field; did you mean step_s?`},
		{`{"version":1,"runs":[{"classes":{"gold":{"submited":1}}}]}`, `version 1: runs[0].classes.gold.submited: unknown field; did you mean submitted?`},
		{`{"version":1,"runs":[]} {}`, "not a results file"},
		{`{"version":1,"runs":[{"policy":"kube","seed":3,"sample":{"tasks":[1,2,3],"response_s":[1],"latency_s":[1,2,3],"of":3}}]}`, "policy kube, seed 3: its sample has 3 tasks, 1 responses and 3 latencies; want as many of each"},
		{`{"version":1,"runs":[{"seed":-1}]}`, "seed"},
		{`POLICY  PLACED`, "not a results file"},
		{``, "not a results file"},
	} {
		_, err := report.ReadJSON(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("reading %s: error %v, want one with %q", c.text, err, c.want)
		}
	}
}

// The same results print the same bytes, though they hold maps.
func TestWriteIsDeterministic(t *testing.T) {
	for _, format := range []report.Format{report.Table, report.JSON, report.CSV} {
		var first string
		for i := range 20 {
			var text bytes.Buffer
			if err := report.Write(&text, format, report.Results{Runs: samples()["odd"]}); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = text.String()
			} else if text.String() != first {
				t.Fatalf("%s printed\n%s\nthen\n%s", format, first, text.String())
			}
		}
	}
}

// A broken run prints nothing, not even the whole one before it.
func TestWriteErrors(t *testing.T) {
	broken := bare("spread")
	broken.Simulated = report.Number(math.NaN())
	for _, c := range []struct {
		format report.Format
		run    report.Run
		want   string
	}{
		{report.JSON, broken, "a measured value is NaN"},
		{report.CSV, broken, "a measured value is NaN"},
		{"html", bare("spread"), `there is no format "html"; there are "table", "json" and "csv"`},
	} {
		var text bytes.Buffer
		err := report.Write(&text, c.format, report.Results{Runs: []report.Run{bare("whole"), c.run}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.format, err, c.want)
		}
		if text.Len() > 0 {
			t.Errorf("%s: failed, and wrote %q", c.format, text.String())
		}
	}
	if f, err := report.ParseFormat("csv"); f != report.CSV || err != nil {
		t.Errorf("csv is the format %q, error %v", f, err)
	}
}

// TestTieBreakColumn wants the column where tie-breaks differ, and not where a run
// has none beside runs that have one.
func TestTieBreakColumn(t *testing.T) {
	fixed, lowest, none := run("kube", 1, 1), run("kube", 1, 1), run("quincy", 1, 1)
	fixed.TieBreak, lowest.TieBreak, none.TieBreak = "fixed", "lowest", ""
	for _, tc := range []struct {
		runs []report.Run
		want string // the beginning of the last run's line
	}{
		{[]report.Run{fixed, none}, "quincy  13,4"},
		{[]report.Run{fixed, lowest, none}, "quincy  -          13,4"},
	} {
		var text bytes.Buffer
		if err := report.Write(&text, report.Table, report.Results{Runs: tc.runs}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), "\n"+tc.want) {
			t.Errorf("no line begins with %q in\n%s", tc.want, text.String())
		}
	}
}
