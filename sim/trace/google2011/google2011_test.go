package google2011_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/google2011"
)

const (
	machineFile = "machine_events-part-00000-of-00001.csv"
	taskFile    = "task_events-part-00000-of-00500.csv"

	oneMachine = "0,5,0,HofL,0.5,0.2493\n"
	oneTask    = "0,,7,0,,0,ann,2,9,0.125,0.07446,0.0004,1\n"
)

// folder makes a folder of files; those ending in .gz are packed.
func folder(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		data := []byte(text)
		if strings.HasSuffix(name, ".gz") {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := z.Write(data); err != nil {
				tb.Fatal(err)
			}
			if err := z.Close(); err != nil {
				tb.Fatal(err)
			}
			data = b.Bytes()
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func readAll(dir string, opt google2011.Options) ([]trace.Record, *google2011.Source, error) {
	src, err := google2011.Open(dir, opt)
	if err != nil {
		return nil, nil, err
	}
	var all []trace.Record
	for {
		var r trace.Record
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			return all, src, src.Close()
		}
		if err != nil {
			return all, src, errors.Join(err, src.Close())
		}
		r.Node.Capacity, r.Node.Labels = slices.Clone(r.Node.Capacity), slices.Clone(r.Node.Labels)
		r.Task.Demand, r.Task.Requirements = slices.Clone(r.Task.Demand), slices.Clone(r.Task.Requirements)
		all = append(all, r)
	}
}

// story reads the events of one task, as "time event" pairs, and returns what
// became of them.
func story(t *testing.T, events string) []trace.Record {
	t.Helper()
	var b strings.Builder
	for e := range strings.SplitSeq(events, ", ") {
		time, what, _ := strings.Cut(e, " ")
		code := slices.Index([]string{"SUBMIT", "SCHEDULE", "EVICT", "FAIL", "FINISH", "KILL", "LOST", "PENDING", "RUNNING"}, what)
		b.WriteString(time + ",,7,0,5," + string(rune('0'+code)) + ",ann,2,9,0.1,0.2,0,0\n")
	}
	records, _, err := readAll(folder(t, map[string]string{machineFile: oneMachine, taskFile: b.String()}), google2011.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return records[1:]
}

func TestLives(t *testing.T) {
	task := trace.Task{Job: 7, User: "ann", Class: 2, Priority: 9, Demand: cluster.Vector{1e6, 2e6}, Work: cluster.Never}
	submit := func(at, work cluster.Time) trace.Record {
		r := trace.Record{Time: at, What: trace.TaskSubmitted, Task: task}
		r.Task.Work = work
		return r
	}
	failing := submit(1, 3)
	failing.Task.Fails = true
	running := submit(0, 600)
	running.Task.Running, running.Task.OnNode = true, 5
	killed := func(at cluster.Time) trace.Record {
		return trace.Record{Time: at, What: trace.TaskKilled, Task: trace.Task{Job: 7}}
	}
	for _, tc := range []struct {
		events string
		want   []trace.Record
	}{
		{"1 SUBMIT", []trace.Record{submit(1, cluster.Never)}},
		{"1 SUBMIT, 3 SCHEDULE", []trace.Record{submit(1, cluster.Never)}},
		{"1 SUBMIT, 3 SCHEDULE, 9 FINISH", []trace.Record{submit(1, 6)}},
		{"1 SUBMIT, 3 SCHEDULE, 3 FINISH", []trace.Record{submit(1, 0)}},
		{"1 SUBMIT, 3 SCHEDULE, 6 FAIL", []trace.Record{failing}},
		{"1 SUBMIT, 3 SCHEDULE, 9 LOST", []trace.Record{submit(1, 6)}},
		{"1 SUBMIT, 3 SCHEDULE, 6 KILL", []trace.Record{submit(1, cluster.Never), killed(6)}},
		{"1 SUBMIT, 6 KILL", []trace.Record{submit(1, cluster.Never), killed(6)}},
		// The eviction is Borg's; the work is what the last run did.
		{"1 SUBMIT, 3 SCHEDULE, 6 EVICT, 7 SUBMIT, 8 SCHEDULE, 10 FINISH", []trace.Record{submit(1, 2)}},
		{"1 SUBMIT, 3 SCHEDULE, 6 EVICT, 7 KILL", []trace.Record{submit(1, cluster.Never), killed(7)}},
		// A finish without a run gives no work.
		{"1 SUBMIT, 3 SCHEDULE, 6 EVICT, 7 FINISH", []trace.Record{submit(1, cluster.Never), killed(7)}},
		// Each of these begins another life.
		{"1 SUBMIT, 3 SCHEDULE, 6 FAIL, 7 SUBMIT, 8 SCHEDULE, 10 FINISH", []trace.Record{failing, submit(7, 2)}},
		{"1 SUBMIT, 6 KILL, 6 SUBMIT", []trace.Record{submit(1, cluster.Never), killed(6), submit(6, cluster.Never)}},
		{"1 SUBMIT, 2 PENDING, 3 SCHEDULE, 4 RUNNING, 9 FINISH", []trace.Record{submit(1, 6)}},
		// The snapshot.
		{"0 SUBMIT, 0 SCHEDULE, 600 FINISH", []trace.Record{running}},
		{"0 SUBMIT, 600 SCHEDULE, 700 FINISH", []trace.Record{submit(0, 100)}},
		{"0 SUBMIT, 0 SCHEDULE, 600 FINISH, 700 SUBMIT", []trace.Record{running, submit(700, cluster.Never)}},
		{"0 SUBMIT, 0 KILL", nil},
		// Rows of a task that was not submitted, and the end of time.
		{"1 SCHEDULE, 2 FINISH, 3 KILL", nil},
		{"1 SUBMIT, 9223372036854775807 KILL", []trace.Record{submit(1, cluster.Never)}},
	} {
		got := story(t, tc.events)
		if diff := cmp.Diff(append([]trace.Record{}, tc.want...), got); diff != "" {
			t.Errorf("%s: %s", tc.events, diff)
		}
	}
}

// The tables are merged by time, from parts in Google's own layout, and a
// SCHEDULE at time 0 gives what a task of the snapshot asks for now.
func TestTables(t *testing.T) {
	records, src, err := readAll(folder(t, map[string]string{
		"machine_events/part-00000-of-00001.csv.gz":  "0,5,0,HofL,0.5,0.24930009\n0,6,0,JQ1t,,\n10,6,2,,1,1\n30,5,1,HofL,0.5,0.2493\n",
		"machine_attributes/part-00000-of-00001.csv": "0,5,v,1,0\n0,5,a=,x,0\n20,5,v,2,0\n20,5,a=,,1\n20,7,v,1,0\n",
		"task_constraints/part-00000-of-00500.csv":   "0,7,0,3,v,0\n0,7,0,1,a=,\n15,8,0,0,a=,x\n",
		"task_events/part-00010-of-00500.csv":        "15,,8,0,,0,bob,0,0,0.10000001,0,0,0\n",
		"task_events/part-00002-of-00500.csv.gz":     "0,2,7,0,,0,ann,2,9,,,,\n0,,7,0,5,1,ann,2,9,0.125,0.07446,0.0004,1\n",
		"task_events/README":                         "not a part",
	}), google2011.Options{})
	if err != nil {
		t.Fatal(err)
	}
	five := trace.Node{ID: 5, Capacity: cluster.Vector{5e6, 2_493_000}}
	full, bare := five, five
	full.Labels = []cluster.Label{{Key: "a=", Value: "x"}, {Key: "platform", Value: "HofL"}, {Key: "v", Value: "1"}}
	bare.Labels = []cluster.Label{{Key: "platform", Value: "HofL"}, {Key: "v", Value: "2"}}
	want := []trace.Record{
		{What: trace.NodeAdded, Node: full},
		{What: trace.NodeAdded, Node: trace.Node{ID: 6, Capacity: cluster.Vector{0, 0}, Labels: []cluster.Label{{Key: "platform", Value: "JQ1t"}}}},
		{What: trace.TaskSubmitted, Task: trace.Task{
			Job: 7, User: "ann", Class: 2, Priority: 9, Demand: cluster.Vector{1_250_000, 744_600}, PerNode: 1,
			Requirements: []cluster.Requirement{{Key: "v", Op: cluster.Greater, Value: "0"}, {Key: "a=", Op: cluster.NotEqual}},
			Work:         cluster.Never, Running: true, OnNode: 5,
		}},
		{Time: 10, What: trace.NodeChanged, Node: trace.Node{ID: 6, Capacity: cluster.Vector{1e7, 1e7}, Labels: []cluster.Label{}}},
		{Time: 15, What: trace.TaskSubmitted, Task: trace.Task{
			Job: 8, User: "bob", Demand: cluster.Vector{1_000_001, 0}, Work: cluster.Never,
			Requirements: []cluster.Requirement{{Key: "a=", Value: "x"}},
		}},
		{Time: 20, What: trace.NodeChanged, Node: bare},
		{Time: 30, What: trace.NodeLost, Node: trace.Node{ID: 5}},
	}
	if diff := cmp.Diff(want, records); diff != "" {
		t.Error(diff)
	}
	counts := google2011.Counts{Events: [9]int{2, 1}, Lives: 2, LastTaskEvent: 15}
	if diff := cmp.Diff(counts, src.Counts()); diff != "" {
		t.Error(diff)
	}
}

func TestBroken(t *testing.T) {
	for _, tc := range []struct{ machines, tasks, want string }{
		{oneMachine + "0,6,0,HofL,0.5\n", oneTask, machineFile + `:2: want 6 fields between commas, got "5"`},
		{oneMachine + "0,6,3,HofL,0.5,1\n", oneTask, machineFile + `:2:3: want a machine event: 0 (ADD), 1 (REMOVE) or 2 (UPDATE), got "3"`},
		{oneMachine + "0,6,0,HofL,-0.5,1\n", oneTask, machineFile + `:2:5: want a capacity of CPU of at least 0, got "-0.5"`},
		{oneMachine + "0,6,0,HofL,0.5,x\n", oneTask, machineFile + `:2:6: want a capacity of memory of at least 0, got "x"`},
		{oneMachine + oneMachine, oneTask, machineFile + `:2:3: want a REMOVE (1) before another ADD of the machine, got "0"`},
		{oneMachine + "0,6,1,HofL,0.5,1\n", oneTask, machineFile + `:2:3: want an ADD (0) before this event of the machine, got "1"`},
		{oneMachine + "x,6,0,HofL,0.5,1\n", oneTask, machineFile + `:2:1: want a time in microseconds, got "x"`},
		{oneMachine, oneTask + "9,,7,0,,9,ann,2,9,0,0,0,1\n", taskFile + `:2:6: want a task event from 0 (SUBMIT) to 8 (UPDATE_RUNNING), got "9"`},
		{oneMachine, oneTask + "9,,8,0,,0,ann,4,9,0,0,0,1\n", taskFile + `:2:8: want a scheduling class from 0 to 3, got "4"`},
		{oneMachine, oneTask + "9,,8,0,,0,ann,2,,0,0,0,1\n", taskFile + `:2:9: want a priority`},
		{oneMachine, oneTask + "9,,8,0,,0,ann,2,9,-1,0,0,1\n", taskFile + `:2:10: want a request for CPU of at least 0, got "-1"`},
		{oneMachine, oneTask + "9,,8,0,,0,ann,2,9,0,0,0,2\n", taskFile + `:2:13: want 0, or 1 if the job's tasks are on different machines, got "2"`},
		{oneMachine, oneTask + "9,,7,0,,1,ann,2,9,0,0,0,1\n", taskFile + `:2:5: want the machine on which the task is scheduled`},
		{oneMachine, "9" + oneTask[1:] + "8,,8,0,,0,ann,2,9,0,0,0,1\n", taskFile + `:2:1: want a time of at least 9, as in the row before, got "8"`},
		{oneMachine, oneTask + "\n", taskFile + `:2: want 13 fields between commas, got "1"`},
	} {
		dir := folder(t, map[string]string{machineFile: tc.machines, taskFile: tc.tasks})
		_, _, err := readAll(dir, google2011.Options{})
		var broken *trace.Error
		if !errors.As(err, &broken) || !strings.HasPrefix(err.Error(), filepath.Join(dir, tc.want)) {
			t.Errorf("got %v\nwant %s", err, tc.want)
		}
		// Each has a good machine, a good task and one broken line.
		records, src, err := readAll(dir, google2011.Options{Lenient: true})
		if err != nil || len(records) != 2 {
			t.Errorf("%s: lenient: %d records, %v", tc.want, len(records), err)
			continue
		}
		if count, first := src.Skipped(); count != 1 || len(first) != 1 {
			t.Errorf("%s: lenient: %d skipped, %v", tc.want, count, first)
		}
	}
}

func TestMissing(t *testing.T) {
	for _, tc := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{taskFile: oneTask}, "no machine_events: looked for machine_events-part-*-of-*.csv, machine_events/part-*-of-*.csv, and either with .gz"},
		{map[string]string{machineFile: oneMachine, "task_events.csv": oneTask}, "no task_events: looked for"},
		{map[string]string{machineFile: oneMachine, machineFile + ".gz": oneMachine, taskFile: oneTask}, "are the same part of machine_events; keep one"},
	} {
		if _, err := google2011.Open(folder(t, tc.files), google2011.Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
	if _, err := google2011.Open(filepath.Join(t.TempDir(), "nowhere"), google2011.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

func TestClose(t *testing.T) {
	src, err := google2011.Open(folder(t, map[string]string{machineFile: oneMachine, taskFile: oneTask}), google2011.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(src.Close(), src.Close()); err != nil {
		t.Error(err)
	}
	if err := src.Next(&trace.Record{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// fuzz reads whatever it is given without panic, in time order, and leniently
// without an error. The file is packed if it begins like gzip.
func fuzz(t *testing.T, machines, tasks string) {
	t.Helper()
	dir := folder(t, map[string]string{machineFile: machines, taskFile: tasks})
	strict, _, strictErr := readAll(dir, google2011.Options{})
	lenient, src, err := readAll(dir, google2011.Options{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	count, _ := src.Skipped()
	if (strictErr == nil) != (count == 0) {
		t.Errorf("strict: %v; lenient: %d skipped", strictErr, count)
	}
	if strictErr == nil && !cmp.Equal(strict, lenient) {
		t.Error("without broken lines, lenient reading differs from strict: ", cmp.Diff(strict, lenient))
	}
	for i, r := range lenient {
		if r.Time < 0 || r.Time == cluster.Never || i > 0 && r.Time < lenient[i-1].Time {
			t.Errorf("record %d at %v", i, r.Time)
		}
	}
}

func FuzzTaskEvents(f *testing.F) {
	f.Add(oneTask + "0,,7,0,5,1,ann,2,9,0.125,0.07446,3.8e-05,1\n600,,7,0,5,4,ann,2,9,0.125,0.07446,0,1\n")
	f.Add("0,,7,0,,0,,,0,,,,\n0,,7,0,,5,,,0,,,,\n0,,7,0,,0,,,0,,,,\n0,,7,0,5,1,,,0,,,,\n7,,7,0,5,3,,,0,,,,\n")
	f.Add("9,,7,0,,0,,,0,,,,\n8,,7,0,,5,,,0,,,\n9223372036854775807,,7,0,,0,,,0,,,,")
	f.Fuzz(func(t *testing.T, text string) { fuzz(t, oneMachine, text) })
}

func FuzzMachineEvents(f *testing.F) {
	f.Add(oneMachine + "7,5,2,HofL,1,1\n8,5,1,HofL,1,1\n")
	f.Add("0,5,0,,,\n0,5,0,,,\n0,5,1,,1e-3,.5\n9223372036854775807,5,0,,,")
	f.Fuzz(func(t *testing.T, text string) { fuzz(t, text, oneTask) })
}
