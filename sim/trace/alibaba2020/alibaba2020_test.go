package alibaba2020

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
	machines = "82e5af3c,T4,96,512,2\n00000000,CPU,96,512,0\n"
	someJobs = "job_name,inst_id,user,status,start_time,end_time\n" + // as some copies of the trace have it
		"j1,id1,ann,Terminated,4550879.0,4551416.0\nj0,id0,bob,Running,4550800.0,\n"
	someTasks = "j1,ps,1.0,Terminated,4550880.0,4550980.0,600.0,29.296875,,\n" +
		"j1,worker,2.0,Failed,4550881.0,4550981.5,400.0,29.296875,50.0,T4\n" +
		"j0,tensorflow,1.0,Running,4550801.0,,600.0,29.296875,150.0,MISC\n" +
		"j0,evaluator,,Waiting,,,600.0,29.296875,100.0,MISC\n"
)

// read gives at most 10,000 records of a folder with these tables.
func read(t *testing.T, tables [3]string, o Options) ([]trace.Record, *gpujobs.Source, error) {
	t.Helper()
	dir := t.TempDir()
	for i, name := range []string{"pai_machine_spec.csv", "pai_job_table.csv", "pai_task_table.csv"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(tables[i]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(dir, o)
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

// A job's tasks are kinds of pods that ask for shares of a GPU, or whole ones, and work each for its time.
func TestRead(t *testing.T) {
	all, s, err := read(t, [3]string{machines, someJobs, someTasks}, Options{Options: gpujobs.Options{Loose: true}})
	if err != nil {
		t.Fatal(err)
	}
	const (
		second = cluster.Second
		memory = 30_000 // 29.296875 GB, in MiB
	)
	label := func(name string) []cluster.Label { return []cluster.Label{{Key: "gpu-model", Value: name}} }
	task := func(index uint32, name string, work cluster.Time, v ...int64) trace.Task {
		return trace.Task{Job: 1, Index: index, JobTasks: 3, Name: name, User: "ann", Work: work, Demand: v}
	}
	want := []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Name: "82e5af3c", Capacity: cluster.Vector{96_000, 512 << 10, 2000}, Labels: label("T4")}},
		{What: trace.NodeAdded, Node: trace.Node{ID: 2, Name: "00000000", Capacity: cluster.Vector{96_000, 512 << 10, 0}, Labels: label("CPU")}},
		{What: trace.TaskSubmitted, Task: trace.Task{
			Job: 1, JobTasks: 1, Name: "j0", User: "bob", Work: cluster.Never, Demand: cluster.Vector{6000, memory, 2000},
		}},
		{What: trace.TaskSubmitted, Time: 79 * second, Task: task(0, "j1-0", 100*second, 6000, memory, 0)},
		{What: trace.TaskSubmitted, Time: 79 * second, Task: task(1, "j1-1", 100_500*cluster.Millisecond, 4000, memory, 500)},
		{What: trace.TaskSubmitted, Time: 79 * second, Task: task(2, "j1-2", 100_500*cluster.Millisecond, 4000, memory, 500)},
	}
	for i := range want[3:] {
		want[3+i].Task.Job, want[3+i].Task.Fails = 0, i > 0
	}
	if diff := gocmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	if notes := s.Notes(); len(notes) != 1 || notes[0] != "left out 1 tasks that have not begun" {
		t.Error(notes)
	}
	all, _, err = read(t, [3]string{machines, someJobs, someTasks}, Options{Options: gpujobs.Options{TasksOnly: true}, Models: true})
	if err != nil || len(all) != 4 || all[1].Task.Gang != 3 || all[1].Task.Requirements != nil || all[2].Task.Requirements[0].Value != "T4" {
		t.Errorf("the tasks alone, as gangs, by models: %v, %v", all, err)
	}
}

// What cannot be read is named, or left out and counted.
func TestBrokenLines(t *testing.T) {
	for _, c := range []struct {
		table      int
		line, want string
	}{
		{0, "82e5af3c,T4,96,512,2", "pai_machine_spec.csv:3:1: want the name of a machine that is not there yet"},
		{0, "m,T4,x,512,2", "pai_machine_spec.csv:3:3: want a number of cores"},
		{0, "m,T4,96,512,65", "pai_machine_spec.csv:3:5: want a number of GPUs, at most 64"},
		{0, "m,T4,96", "pai_machine_spec.csv:3: want 5 fields"},
		{1, "j1,id1,ann,Terminated,1,2", "pai_job_table.csv:4:1: want the name of a job that is not there yet"},
		{1, "j2,id1,ann,Terminated,x,2", "pai_job_table.csv:4:5: want a time in seconds"},
		{2, "j9,ps,1.0,Terminated,1,2,1,1,1,", "pai_task_table.csv:5:1: want a job of pai_job_table"},
		{2, "j1,ps,x,Terminated,1,2,1,1,1,", "pai_task_table.csv:5:3: want a number of instances"},
		{2, "j1,ps,1,Terminated,1,x,1,1,1,", "pai_task_table.csv:5:6: want a time in seconds"},
		{2, "j1,ps,1,Terminated,2,1,1,1,1,", "pai_task_table.csv:5:6: want a time that is not before start_time"},
		{2, "j1,ps,1,Terminated,1,2,-1,1,1,", "pai_task_table.csv:5:7: want per cent of a core"},
		{2, "j1,ps,1,Terminated,1,2,1,x,1,", "pai_task_table.csv:5:8: want a number of GB"},
		{2, "j1,ps,1,Terminated,1,2,1,1,x,", "pai_task_table.csv:5:9: want per cent of a GPU"},
		{2, "j1,ps,1048576,Terminated,1,2,1,1,1,", "pai_task_table.csv:5:3: want at most 1048576 instances in a job"},
	} {
		tables := [3]string{machines, someJobs, someTasks}
		tables[c.table] += c.line + "\n"
		_, _, err := read(t, tables, Options{})
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.line, err, c.want)
		}
		all, s, err := read(t, tables, Options{Options: gpujobs.Options{Lenient: true}})
		if err != nil || len(all) != 6 {
			t.Errorf("%s, lenient: %d records, %v", c.line, len(all), err)
			continue
		}
		if count, _ := s.Skipped(); count != 1 {
			t.Errorf("%s, lenient: skipped %d", c.line, count)
		}
	}
}

// FuzzRead holds that no file makes the reader panic or hang, and that what it gives is in
// time order and within limits.
func FuzzRead(f *testing.F) {
	f.Add(machines, someJobs, someTasks, true)
	f.Add("m,,1,1,64\n", "j,,,,0,\n", "j,,1e6,,0,1e9,nan,NaN,1e7,\n", false)
	f.Fuzz(func(t *testing.T, machines, jobs, tasks string, lenient bool) {
		all, _, err := read(t, [3]string{machines, jobs, tasks}, Options{Options: gpujobs.Options{Lenient: lenient}, Models: true})
		if err != nil {
			return
		}
		for i, r := range all {
			if i > 0 && r.Time < all[i-1].Time || r.Task.Work < 0 || r.What == trace.TaskSubmitted && r.Task.Index >= r.Task.JobTasks {
				t.Fatalf("record %d: %+v", i, r)
			}
		}
	})
}
