package acme

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

const header = "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,end_time,fail_time,stop_time,duration,queue,gpu_time\n"

// read opens the text as a file and reads at most 10,000 records of it.
func read(t *testing.T, text string, o gpujobs.Options) ([]trace.Record, *gpujobs.Source, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "acme.csv")
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
	good  = "5778432,u5907,1,8,128,,,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,,,117,32,936.0\n"
	other = "5778469,u5907,1,8,128,,,Other,COMPLETED,2023-03-01 00:23:58+08:00,2023-03-01 00:24:11+08:00,2023-03-01 01:09:04+08:00,,,2693,13,21544.0\n"
)

// Seren's and Kalos's logs differ in some columns.
func TestRead(t *testing.T) {
	all, s, err := read(t, header+other+good+
		"dlctk696,uf794,8,64,960,1000,100.0,Other,CANCELLED,2023-02-28 16:18:23+00:00,,,,,18,10.0,1152.0\nx,u,1,1,1,,,Debug,COMPLETED,2023-02-28 16:18:23+00:00,,,,,,,\n", Default())
	if err != nil {
		t.Fatal(err)
	}
	tasks, at := jobs(all)
	if len(tasks) != 10 {
		t.Fatalf("%d tasks, want 10", len(tasks))
	}
	const second = cluster.Second
	want := []trace.Task{
		{Job: 1, Name: "5778432", JobTasks: 1, User: "u5907", Demand: cluster.Vector{128_000, 0, 8000}, Work: 117 * second, Fails: true},
		{Job: 2, Name: "dlctk696-0", JobTasks: 8, Gang: 8, User: "uf794", Demand: cluster.Vector{120_000, 1000 << 10, 8000}, Work: 18 * second},
		{Job: 0, Name: "5778469", JobTasks: 1, User: "u5907", Demand: cluster.Vector{128_000, 0, 8000}, Work: 2693 * second},
	}
	if diff := gocmp.Diff(want, []trace.Task{tasks[0], tasks[1], tasks[9]}); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]cluster.Time{0, second, 336 * second}, []cluster.Time{at[0], at[8], at[9]}); diff != "" {
		t.Error(diff)
	}
	if notes := s.Notes(); len(notes) != 1 || notes[0] != "left out 1 jobs that have not ended" {
		t.Error(notes)
	}
	const seren = "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
	if all, _, err = read(t, seren+"1,u,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,,,117,32,936.0\n", Default()); err != nil || len(all) != 2 {
		t.Errorf("Seren: %d records, %v", len(all), err)
	}
}

// What cannot be read is named, or left out and counted.
func TestBrokenLines(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"5778432,u,1,8,128,,,Other,FAILED,2023-03-01 00:18:22+08:00,,,,,1,1,1", ":1: want a job that is not there yet"},
		{"1,u,a,8,128,,,Other,FAILED,2023-03-01 00:18:22+08:00,,,,,1,1,1", ":3: want a number of nodes"},
		{"1,u,1,a,128,,,Other,FAILED,2023-03-01 00:18:22+08:00,,,,,1,1,1", ":4: want a number of GPUs"},
		{"1,u,1,8,a,,,Other,FAILED,2023-03-01 00:18:22+08:00,,,,,1,1,1", ":5: want a number of cores"},
		{"1,u,1,8,1,a,,Other,FAILED,2023-03-01 00:18:22+08:00,,,,,1,1,1", ":6: want a number of GB"},
		{"1,u,1,8,1,,,Other,GONE,2023-03-01 00:18:22+08:00,,,,,1,1,1", ":9: want a state"},
		{"1,u,1,8,1,,,Other,FAILED,2023-03-01 00:18:22+08,,,,,1,1,1", ":10: want a date"},
		{"1,u,1,8,1,,,Other,FAILED,2023-03-01 00:18:22+08:00,,,,,a,1,1", ":15: want a duration"},
	} {
		text := header + good + c.line + "\n" + other
		_, _, err := read(t, text, Default())
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), "acme.csv:3"+c.want) {
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
