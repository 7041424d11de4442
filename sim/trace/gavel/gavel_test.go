package gavel

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

const (
	throughputs = `{"v100": {"('A3C', 1)": {"null": 8, "('A3C', 1)": [4, 4]}, "('LM (batch size 5)', 8)": {"null": 0.5}}, "k80": {"('A3C', 1)": {"null": 2}}}`

	good  = "A3C\tpython3 main.py --workers 4, really\trl\t--max-steps\t0\t800\t1\t5.4\t1.2\t7.5\n"
	other = "LM (batch size 5)\tcd %s && python main.py\t--steps\t1\t30\t2.000000\t8\n"
)

// read opens the text as a file and reads at most 10,000 records of it.
func read(t *testing.T, text, table string, o Options) ([]trace.Record, *gpujobs.Source, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jobs.trace")
	o.Table = filepath.Join(filepath.Dir(file), "table.json")
	for name, text := range map[string]string{file: text, o.Table: table} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(file, o)
	if err != nil {
		return nil, nil, err
	}
	var all []trace.Record
	for len(all) < 10_000 {
		var r trace.Record
		if err := s.Next(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Clone())
	}
	return all, s, nil
}

// A job works for its steps over the throughput of its type, in both forms of a line.
func TestRead(t *testing.T) {
	all, _, err := read(t, good+other, throughputs, Default())
	if err != nil {
		t.Fatal(err)
	}
	const second = cluster.Second
	want := []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{8000}}},
		{What: trace.NodeAdded, Node: trace.Node{ID: 2, Capacity: cluster.Vector{8000}}},
		{What: trace.TaskSubmitted, Task: trace.Task{
			Job: 1, JobTasks: 1, User: "LM (batch size 5)", Demand: cluster.Vector{8000}, Work: 60 * second,
		}},
		{What: trace.TaskSubmitted, Time: 5500 * cluster.Millisecond, Task: trace.Task{
			Job: 0, JobTasks: 1, User: "A3C", Priority: 5, Demand: cluster.Vector{1000}, Work: 100 * second, Due: []trace.Due{{Within: 120 * second, Worth: 1}},
		}},
	}
	if diff := gocmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	o := Default()
	all, s, err := read(t, strings.Replace(good, "\t800\t1\t", "\t800\t4\t", 1), throughputs, o)
	if err != nil || all[1].Task.Work != 100*second || all[1].Task.Demand[0] != 4000 || len(s.Notes()) != 1 || !strings.HasPrefix(s.Notes()[0], "1 jobs are of a type") {
		t.Errorf("on more GPUs than were measured: %v, %v, %v", all, s.Notes(), err)
	}
	o.Worker = "k80"
	all, _, err = read(t, strings.Replace(good, "1.2", "-1.000000", 1), throughputs, o)
	if err != nil || len(all) != 2 || all[1].Task.Work != 400*second || all[1].Task.Due != nil {
		t.Errorf("on K80: %v, %v", all, err)
	}
}

// On nodes of several kinds a job is as fast on each as the table says, and is kept off those on which it does not run.
func TestKinds(t *testing.T) {
	const table = `{"v100": {"('A3C', 1)": {"null": 8}, "('LM (batch size 5)', 8)": {"null": 0}}, "p100": {"('A3C', 1)": {"null": 6}, "('LM (batch size 5)', 8)": {"null": 0.5}},
		"k80": {"('A3C', 1)": {"null": 1e-9}, "('LM (batch size 5)', 8)": {"null": 0.1}}}`
	o := Default()
	o.Kinds, o.GPUs = []Kind{{"k80", 1}, {"v100", 2}, {"p100", 0}}, 4
	model := func(name string) cluster.Label { return cluster.Label{Key: "gpu-model", Value: name} }
	all, _, err := read(t, good+other, table, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"k80", "v100", "v100"} {
		if n := all[i].Node; n.ID != uint64(i+1) || n.Capacity[0] != 4000 || len(n.Labels) != 1 || n.Labels[0] != model(want) {
			t.Errorf("node %d: %+v, want a %s", i, n, want)
		}
	}
	lm, a3c := all[3].Task, all[5].Task // a gang of two pods, and one
	if lm.Gang != 2 || lm.Work != 300*cluster.Second || len(lm.Requirements) != 1 || lm.Requirements[0].Value != "k80|p100" {
		t.Errorf("what does not run on a v100: %+v", lm)
	}
	if diff := gocmp.Diff([]trace.Speed{{On: model("k80"), Rate: trace.SpeedUnit}, {On: model("p100"), Rate: 5 * trace.SpeedUnit}}, lm.Speeds); diff != "" {
		t.Error(diff)
	}
	if a3c.Work != 100*cluster.Second || a3c.Requirements != nil || a3c.Prefers != nil {
		t.Errorf("what runs everywhere: %+v", a3c)
	}
	if diff := gocmp.Diff([]trace.Speed{{On: model("v100"), Rate: trace.SpeedUnit}, {On: model("k80"), Rate: 1}, {On: model("p100"), Rate: 750_000}}, a3c.Speeds); diff != "" {
		t.Error(diff)
	}
	o.Prefer = true
	if all, _, err = read(t, good, table, o); err != nil || gocmp.Diff(trace.FastFirst(a3c.Speeds), all[3].Task.Prefers) != "" || all[3].Task.Prefers == nil {
		t.Errorf("it prefers %+v, %v", all[3].Task.Prefers, err)
	}
	o.Kinds = append(o.Kinds, Kind{"t4", 1})
	if _, _, err = read(t, good, table, o); err == nil || !strings.Contains(err.Error(), "want throughputs of GPUs t4; there are k80, p100, v100") {
		t.Errorf("an unknown kind: %v", err)
	}
}

// Types are those that run, by how many GPUs they have.
func TestTypes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "table.json")
	if err := os.WriteFile(file, []byte(`{"v100": {"('B', 1)": {"null": 2}, "('A', 1)": {"null": 1}, "('A', 2)": {"null": 2}, "('C', 1)": {"null": 0}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := ReadTable(file, "v100")
	if err != nil {
		t.Fatal(err)
	}
	if one, two := strings.Join(table.Types("v100", 1), " "), strings.Join(table.Types("v100", 2), " "); one != "A B" || two != "A" {
		t.Errorf("on one GPU %s, on two %s", one, two)
	}
}

// What cannot be read is named, or left out and counted.
func TestBrokenLines(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"A3C\tx", ": want 10 fields between tabs"},
		{"A3D\tc\td\t-n\t0\t8\t1\t1\t-1\t0", ":1: want a job type that the table of throughputs has with the scale factor 1"},
		{"LM (batch size 5)\tc\td\t-n\t0\t8\t2\t1\t-1\t0", ":1: want a job type that the table of throughputs has with the scale factor 2"},
		{"A3C\tc\td\t-n\t0\t8\t0\t1\t-1\t0", ":7: want a scale factor from 1 on"},
		{"A3C\tc\td\t-n\t0\t-8\t1\t1\t-1\t0", ":6: want a number of steps"},
		{"A3C\tc\td\t-n\t0\t9007199254740992\t1\t1\t-1\t0", ":6: want steps that take at most a hundred years"},
		{"A3C\tc\td\t-n\t0\t8\t1\tx\t-1\t0", ":8: want a priority weight"},
		{"A3C\tc\td\t-n\t0\t8\t1\t1\t0\t0", ":9: want an SLO from 0.001"},
		{"A3C\tc\td\t-n\t0\t8\t1\t1\t-1\tnow", ":10: want an arrival time"},
	} {
		text := good + c.line + "\n" + other
		_, _, err := read(t, text, throughputs, Default())
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), "jobs.trace:2"+c.want) {
			t.Errorf("%s: got %v, want %q", c.line, err, c.want)
		}
		o := Default()
		o.Lenient, o.Nodes = true, 1
		all, s, err := read(t, text, throughputs, o)
		if err != nil || len(all) != 3 {
			t.Errorf("%s, lenient: %d records, %v", c.line, len(all), err)
			continue
		}
		if count, first := s.Skipped(); count != 1 || len(first) != 1 {
			t.Errorf("%s, lenient: skipped %d", c.line, count)
		}
	}
	for table, want := range map[string]string{
		"":                                    "table.json: want a table of throughputs",
		`{"v100": {"('A3C', 1)": [1]}}`:       "table.json: want a table of throughputs",
		`{"v100": {"('A3C', 1)": {}}}`:        "table.json: want a number of steps a second for ('A3C', 1) under null",
		`{"v100": {"A3C": {"null": 1}}}`:      "table.json: want a type of job and a number of GPUs such as ('A3C', 1), and not A3C",
		`{"v100": {"('A3C', 0)": {}}}`:        "and not ('A3C', 0)",
		`{"p100": {}, "k80": {}}`:             "table.json: want throughputs of GPUs v100; there are k80, p100",
		strings.Repeat(" ", mostTable) + "{}": "table.json: want a table of throughputs of at most",
	} {
		if _, _, err := read(t, good, table, Default()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("table %.40s: got %v, want %q", table, err, want)
		}
	}
	if _, err := Open("jobs.trace", Default()); err == nil || !strings.Contains(err.Error(), "name a table of throughputs") {
		t.Errorf("without a table: %v", err)
	}
}

// FuzzRead holds that no file makes the reader panic or hang, and that what it gives is in
// time order and within limits.
func FuzzRead(f *testing.F) {
	f.Add(good+other, throughputs, true)
	f.Add(good, `{"v100": {"('A3C', 1)": {"null": 1e-300}}}`, false)
	f.Add("A3C\t\t\t\t\t\t", `{"v100": {"('A3C', 1)": {"null": 0}}}`, true)
	f.Fuzz(func(t *testing.T, text, table string, lenient bool) {
		o := Default()
		o.Lenient, o.Nodes, o.Prefer = lenient, 1, true
		all, _, err := read(t, text, table, o)
		o.Kinds = []Kind{{"v100", 1}, {"k80", 1}}
		several, _, err2 := read(t, text, table, o)
		if err != nil && err2 != nil {
			return
		}
		for _, r := range several {
			if r.Task.Work < 0 || trace.CheckSpeeds(r.Task.Speeds) != nil {
				t.Fatalf("on several kinds: %+v", r)
			}
		}
		for i, r := range all {
			if i > 0 && r.Time < all[i-1].Time || r.Task.Work < 0 || trace.CheckDue(r.Task.Due) != nil {
				t.Fatalf("record %d: %+v", i, r)
			}
		}
	})
}
