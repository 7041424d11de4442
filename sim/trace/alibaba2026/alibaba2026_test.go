package alibaba2026

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
	nodeHeader = "node_name,gpu_model,gpu_capacity_num,cpu_num\n"
	someNodes  = nodeHeader + "0,GPU-series-1,4,192\n3,A100-SXM4-80GB,8,128\n"
	jobHeader  = "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n"
	good       = "239255,13,A10,20,1,1,0,2764799,HP\n"
	other      = "437260,57,A100-SXM4-80GB,15,0.5,2,9589663,41060,Spot\n"
)

// read gives at most 10,000 records of a folder with these tables.
func read(t *testing.T, nodes, jobs string, o gpujobs.Options) ([]trace.Record, *gpujobs.Source, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"node_info_df.csv": nodes, "job_info_df.csv": jobs} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
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

// Jobs ask for a model, instance by instance, and say by their priority whether they are spot.
func TestRead(t *testing.T) {
	all, _, err := read(t, someNodes, jobHeader+other+good, gpujobs.Options{Loose: true})
	if err != nil {
		t.Fatal(err)
	}
	model := func(name string) []cluster.Requirement {
		return []cluster.Requirement{{Key: "gpu-model", Op: cluster.Equal, Value: name}}
	}
	label := func(name string) []cluster.Label { return []cluster.Label{{Key: "gpu-model", Value: name}} }
	spot := trace.Task{
		Job: 0, Name: "437260-0", JobTasks: 2, User: "57", Demand: cluster.Vector{15_000, 500}, Work: 41_060 * cluster.Second, Requirements: model("A100-SXM4-80GB"),
	}
	second := spot
	second.Index, second.Name = 1, "437260-1"
	want := []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Name: "0", Capacity: cluster.Vector{192_000, 4000}, Labels: label("GPU-series-1")}},
		{What: trace.NodeAdded, Node: trace.Node{ID: 2, Name: "3", Capacity: cluster.Vector{128_000, 8000}, Labels: label("A100-SXM4-80GB")}},
		{What: trace.TaskSubmitted, Task: trace.Task{
			Job: 1, Name: "239255", JobTasks: 1, User: "13", Priority: 9, Demand: cluster.Vector{20_000, 1000}, Work: 2_764_799 * cluster.Second, Requirements: model("A10"),
		}},
		{What: trace.TaskSubmitted, Time: 9_589_663 * cluster.Second, Task: spot},
		{What: trace.TaskSubmitted, Time: 9_589_663 * cluster.Second, Task: second},
	}
	if diff := gocmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	all, _, err = read(t, "", jobHeader+other, gpujobs.Options{TasksOnly: true})
	if err != nil || len(all) != 2 || all[0].Task.Gang != 2 {
		t.Errorf("the tasks alone, as a gang: %v, %v", all, err)
	}
}

// What cannot be read is named, or left out and counted.
func TestBrokenLines(t *testing.T) {
	for _, c := range []struct{ file, line, want string }{
		{"job", "239255,1,A10,1,1,1,0,1,HP", ":1: want a job that is not there yet"},
		{"job", "1,1,A10,-1,1,1,0,1,HP", ":4: want a number of cores"},
		{"job", "1,1,A10,1,x,1,0,1,HP", ":5: want a number of GPUs"},
		{"job", "1,1,A10,1,1,9999999,0,1,HP", ":6: want a number of instances"},
		{"job", "1,1,A10,1,1,1,,1,HP", ":7: want a time in seconds"},
		{"job", "1,1,A10,1,1,1,0,1,LP", ":9: want HP or Spot"},
		{"node", "0,A10,1,1", ":1: want the name of a node that is not there yet"},
		{"node", "1,A10,65,1", ":3: want a number of GPUs, at most 64"},
		{"node", "1,A10,1,x", ":4: want a number of cores"},
	} {
		nodes, jobs, line := someNodes, jobHeader+good+other, 4
		if c.file == "job" {
			jobs += c.line + "\n"
		} else {
			nodes += c.line + "\n"
		}
		want := c.file + "_info_df.csv:" + string(rune('0'+line)) + c.want
		_, _, err := read(t, nodes, jobs, gpujobs.Options{})
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", c.line, err, want)
		}
		all, s, err := read(t, nodes, jobs, gpujobs.Options{Lenient: true})
		if err != nil || len(all) != 5 {
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
	f.Add(someNodes, jobHeader+good+other, true)
	f.Add(nodeHeader+"0,A,64,1e6\n", jobHeader+"1,1,A,1e9,1e6,1e6,0,1e9,HP\n", false)
	f.Fuzz(func(t *testing.T, nodes, jobs string, lenient bool) {
		all, _, err := read(t, nodes, jobs, gpujobs.Options{Lenient: lenient})
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
