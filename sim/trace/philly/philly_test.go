package philly

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

const header = "timestamp,duration,num_gpus,gpu_time,cluster\n"

// read opens the text as a file and reads at most 10,000 records of it.
func read(t *testing.T, text string, o gpujobs.Options) ([]trace.Record, *gpujobs.Source, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "philly.csv")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
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

// jobs are a line for each task: when, and what of it is of interest.
func jobs(all []trace.Record) (tasks []trace.Task, at []cluster.Time) {
	for _, r := range all {
		if r.What == trace.TaskSubmitted {
			tasks, at = append(tasks, r.Task), append(at, r.Time)
		}
	}
	return tasks, at
}

const (
	good  = "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
	other = "2017-10-09 06:13:03,2951.5,8,23612.0,6214e9\n"
)

// Jobs come in time order, from the first on, in pods of a node's GPUs.
func TestRead(t *testing.T) {
	all, s, err := read(t, header+good+other+"2017-10-09 07:01:55,5,12,60,11cb48\n2017-10-09 07:01:55,5,0,60,11cb48\n", Default())
	if err != nil {
		t.Fatal(err)
	}
	tasks, at := jobs(all)
	const second = cluster.Second
	want := []trace.Task{
		{Job: 1, JobTasks: 1, User: "6214e9", Demand: cluster.Vector{8000}, Work: 2951500 * cluster.Millisecond},
		{Job: 0, JobTasks: 1, User: "11cb48", Demand: cluster.Vector{1000}, Work: 66 * second},
		{Job: 2, JobTasks: 2, Gang: 2, User: "11cb48", Demand: cluster.Vector{8000}, Work: 5 * second},
		{Job: 2, Index: 1, JobTasks: 2, Gang: 2, User: "11cb48", Demand: cluster.Vector{4000}, Work: 5 * second},
	}
	if diff := gocmp.Diff(want, tasks); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]cluster.Time{0, 2932 * second, 2932 * second, 2932 * second}, at); diff != "" {
		t.Error(diff)
	}
	if nodes := len(all) - len(tasks); nodes != 3 { // 21 GPUs at once, when the first job is still there
		t.Errorf("%d nodes", nodes)
	}
	if notes := s.Notes(); len(notes) != 1 || notes[0] != "left out 1 jobs without a GPU" {
		t.Error(notes)
	}
}

// What cannot be read is named, or left out and counted.
func TestBrokenLines(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"2017-10-09,66.0,1,66.0,a", ":1: want a date"},
		{"2017-10-09 07:01:55,-1,1,66.0,a", ":2: want a duration in seconds"},
		{"2017-10-09 07:01:55,9e9,1,66.0,a", ":2: want a duration in seconds, at most a hundred years"},
		{"2017-10-09 07:01:55,1,x,66.0,a", ":3: want a number of GPUs"},
		{"2017-10-09 07:01:55,1,1048577,66.0,a", ":3: want a number of GPUs"},
		{"2017-10-09 07:01:55,1,1", ": want 5 fields"},
	} {
		text := header + good + c.line + "\n" + other
		_, _, err := read(t, text, Default())
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), "philly.csv:3"+c.want) {
			t.Errorf("%s: got %v, want %q", c.line, err, c.want)
		}
		o := Default()
		o.Lenient = true
		all, s, err := read(t, text, o)
		if err != nil {
			t.Errorf("%s, lenient: %v", c.line, err)
			continue
		}
		if tasks, _ := jobs(all); len(tasks) != 2 {
			t.Errorf("%s, lenient: %d tasks", c.line, len(tasks))
		}
		if count, first := s.Skipped(); count != 1 || len(first) != 1 {
			t.Errorf("%s, lenient: skipped %d", c.line, count)
		}
	}
}

// FuzzRead holds that no file makes the reader panic or hang, and that what it gives is in
// time order and within limits.
func FuzzRead(f *testing.F) {
	f.Add(header+good+other, true)
	f.Add(header+good+strings.Repeat(",", 11), false)
	f.Add("["+entry+"]", true)
	f.Fuzz(func(t *testing.T, text string, lenient bool) {
		o := Default()
		o.Lenient, o.Nodes = lenient, 1
		all, _, err := read(t, text, o)
		if err != nil {
			return
		}
		for i, r := range all {
			if i > 0 && r.Time < all[i-1].Time || r.Task.Work < 0 || r.What == trace.TaskSubmitted && r.Task.Index >= r.Task.JobTasks || trace.CheckDue(r.Task.Due) != nil {
				t.Fatalf("record %d: %+v", i, r)
			}
			for _, q := range r.Task.Demand {
				if q < 0 || q > cluster.MaxQuantity {
					t.Fatalf("record %d: %+v", i, r)
				}
			}
		}
	})
}
