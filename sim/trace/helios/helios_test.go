package helios

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

const header = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"

// read opens the text as a file and reads at most 10,000 records of it.
func read(t *testing.T, text string, o gpujobs.Options) ([]trace.Record, *gpujobs.Source, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "helios.csv")
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
	good  = "1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0\n"
	other = "1425512,uVMrF,vchbv,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,2020-06-09 18:45:36,249,0\n"
)

// A job is a pod on each of its nodes; one that its user cancelled ends then.
func TestRead(t *testing.T) {
	all, s, err := read(t, header+other+good+
		"7,u,vc,16,12,2,CANCELLED,2020-06-09 18:41:28,,,10,0\n8,u,vc,0,6,1,TIMEOUT,2020-06-09 18:41:29,,,10.5,0\n9,u,vc,1,1,1,SUSPENDED,2020-06-09 18:41:29,,,1,0\n", Default())
	if err != nil {
		t.Fatal(err)
	}
	tasks, at := jobs(all)
	const second = cluster.Second
	want := []trace.Task{
		{Job: 1, Name: "1425511", JobTasks: 1, User: "vcJkd", Demand: cluster.Vector{1000, 1000}, Work: 36848 * second},
		{Job: 0, Name: "1425512", JobTasks: 1, User: "vchbv", Demand: cluster.Vector{16_000, 4000}, Work: 249 * second, Fails: true},
		{Job: 2, Name: "7-0", JobTasks: 2, Gang: 2, User: "vc", Demand: cluster.Vector{6000, 8000}, Work: 10 * second},
		{Job: 2, Name: "7-1", Index: 1, JobTasks: 2, Gang: 2, User: "vc", Demand: cluster.Vector{6000, 8000}, Work: 10 * second},
		{Job: 3, Name: "8", JobTasks: 1, User: "vc", Demand: cluster.Vector{6000, 0}, Work: 10_500 * cluster.Millisecond, Fails: true},
	}
	if diff := gocmp.Diff(want, tasks); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]cluster.Time{0, 26 * second, 27 * second, 27 * second, 28 * second}, at); diff != "" {
		t.Error(diff)
	}
	if notes := s.Notes(); len(notes) != 1 || notes[0] != "left out 1 jobs that were suspended" {
		t.Error(notes)
	}
}

// What cannot be read is named, or left out and counted.
func TestBrokenLines(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"1425511,u,vc,1,1,1,FAILED,2020-06-09 18:41:01,,,1,0", ":1: want a job that is not there yet"},
		{"1,u,vc,x,1,1,FAILED,2020-06-09 18:41:01,,,1,0", ":4: want a number of GPUs"},
		{"1,u,vc,1,-1,1,FAILED,2020-06-09 18:41:01,,,1,0", ":5: want a number of cores"},
		{"1,u,vc,1,1,9999999,FAILED,2020-06-09 18:41:01,,,1,0", ":6: want a number of nodes"},
		{"1,u,vc,1,1,1,DONE,2020-06-09 18:41:01,,,1,0", ":7: want a state"},
		{"1,u,vc,1,1,1,FAILED,yesterday,,,1,0", ":8: want a date"},
		{"1,u,vc,1,1,1,FAILED,2020-06-09 18:41:01,,,,0", ":11: want a duration in seconds"},
	} {
		text := header + good + c.line + "\n" + other
		_, _, err := read(t, text, Default())
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), "helios.csv:3"+c.want) {
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
