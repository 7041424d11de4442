package dlrm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

const (
	firstLine = "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,memory_request,memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,deletion_time\n"
	good      = "i0,HN,a,12,12,1,1,25,25,120.0,120.0,640.0,800.0,8,5.0,7.5,9.0\n"
)

// read opens the text as a file and reads it to its end.
func read(t *testing.T, text string, o Options) ([]trace.Record, *Source, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dlrm.csv")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(file, o)
	if err != nil {
		return nil, nil, err
	}
	var all []trace.Record
	for {
		var r trace.Record
		if err := s.Next(&r); errors.Is(err, io.EOF) {
			return all, s, nil
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

// Amounts that are no whole number of quantities are rounded up; an instance is
// submitted when it was created and runs from when it was scheduled.
func TestRead(t *testing.T) {
	all, _, err := read(t, firstLine+"i1,CN,b,64,64,0,0,1.5,2,0.0001,1,2.5,3,-1,6,,\n"+good+"i2,CN,a,2,2,0,0,1,1,16,16,80,100,2,,,3.25\n", Options{CPUNodes: 1, GPUNodes: 1, GPUs: 4})
	if err != nil {
		t.Fatal(err)
	}
	role := func(value string) []cluster.Requirement {
		return []cluster.Requirement{{Key: "role", Op: cluster.Equal, Value: value}}
	}
	want := []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 0, Name: "cn-0000", Labels: []cluster.Label{{Key: "role", Value: "CN"}}, Capacity: cluster.Vector{192_000, 1 << 20, 0, 200, 4 << 20}}},
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Name: "hn-0000", Labels: []cluster.Label{{Key: "role", Value: "HN"}}, Capacity: cluster.Vector{128_000, 768 << 10, 4000, 400, 4 << 20}}},
		{What: trace.TaskSubmitted, Task: trace.Task{
			Job: 1, Index: 1, JobTasks: 2, Name: "i2", Class: 3, PerNode: 2, Requirements: role("CN"),
			Demand: cluster.Vector{2000, 16 << 10, 0, 1, 80 << 10}, Work: 3250 * cluster.Millisecond,
		}},
		{What: trace.TaskSubmitted, Time: 5 * cluster.Second, Task: trace.Task{
			Job: 1, Index: 0, JobTasks: 2, Name: "i0", Class: 3, PerNode: 8, Requirements: role("HN"),
			Demand: cluster.Vector{12_000, 120 << 10, 1000, 25, 640 << 10}, Work: 1500 * cluster.Millisecond,
		}},
		{What: trace.TaskSubmitted, Time: 6 * cluster.Second, Task: trace.Task{
			Job: 0, JobTasks: 1, Name: "i1", Class: 3, Requirements: role("CN"),
			Demand: cluster.Vector{64_000, 1, 0, 2, 2560}, Work: cluster.Never,
		}},
	}
	if diff := gocmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

// What cannot be read is named, or left out and counted.
func TestBrokenLines(t *testing.T) {
	for _, c := range []struct {
		field     int
		text      string
		wantField int
		want      string
	}{
		{1, "i0", 1, "an instance that is not there yet"},
		{2, "XN", 2, "CN or HN"},
		{4, "-1", 4, "a number of cores"},
		{6, "x", 6, "a number of GPUs"},
		{6, "1.5", 6, "a share of one GPU, or whole ones"},
		{8, "", 8, "per cent of a network card"},
		{10, "1e9", 10, "a number of GiB"},
		{12, "?", 12, "a number of GiB"},
		{3, "", 3, "the name of a service"},
		{14, "-2", 14, "a number of instances from 1, or -1"},
		{14, "0", 14, "a number of instances from 1, or -1"},
		{15, "later", 15, "a time in seconds"},
		{15, "8", 16, "a time that is not before creation_time"},
		{17, "7", 17, "a time that is not before the others"},
	} {
		fields := strings.Split(strings.TrimSpace(good), ",")
		fields[c.field-1] = c.text
		text := firstLine + good + strings.Join(fields, ",") + "\n" + strings.Replace(good, "i0", "i9", 1)
		_, _, err := read(t, text, Options{})
		want := fmt.Sprintf(":3:%d: want %s", c.wantField, c.want)
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), want) {
			t.Errorf("field %d is %q: got %v, want %q", c.field, c.text, err, want)
		}
		all, s, err := read(t, text, Options{Lenient: true})
		if err != nil || len(all) != 2 {
			t.Errorf("field %d is %q, lenient: %d records, %v", c.field, c.text, len(all), err)
			continue
		}
		if count, first := s.Skipped(); count != 1 || len(first) != 1 || all[1].Task.JobTasks != 2 {
			t.Errorf("field %d is %q, lenient: skipped %d, %d tasks in the job", c.field, c.text, count, all[1].Task.JobTasks)
		}
	}
	for _, c := range []struct{ text, want string }{
		{firstLine + "i0,HN\n", ":2: want 17 fields between commas"},
		{strings.Replace(firstLine, "role,", "", 1), ":1: want a column role"},
		{strings.Replace(firstLine, "role", "kind", 1), `:1:2: want a column, got "kind"; there are instance_sn,`},
		{"", ":1: want a line that names the columns"},
	} {
		if _, _, err := read(t, c.text, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// FuzzRead holds that no file makes the reader panic or hang, and that what it
// gives is in time order and within limits.
func FuzzRead(f *testing.F) {
	f.Add(firstLine+good+"i1,CN,b,64,64,0,0,1.5,2,0.0001,1,2.5,3,-1,NaN,,\n", true)
	f.Add(firstLine+"i1,CN,b,64,64,0,0,1,2,1e7,1,1e99,3,-1,3,2,1\n", false)
	f.Add("instance_sn,role", false)
	f.Fuzz(func(t *testing.T, text string, lenient bool) {
		all, _, err := read(t, text, Options{Lenient: lenient, CPUNodes: 1})
		if err != nil {
			return
		}
		for i, r := range all[1:] {
			if r.Time < all[i].Time || r.Task.Work < 0 || r.Task.PerNode < 0 {
				t.Fatalf("record %d: %+v after %+v", i+1, r, all[i])
			}
			for _, q := range r.Task.Demand {
				if q < 0 || q > cluster.MaxQuantity {
					t.Fatalf("record %d: %+v", i+1, r)
				}
			}
		}
	})
}
