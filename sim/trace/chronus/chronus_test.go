package chronus

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

const header = "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,best_effort,job_type\n"

// read opens the text as a file and reads at most 10,000 records of it.
func read(t *testing.T, text string, o gpujobs.Options) ([]trace.Record, *gpujobs.Source, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "chronus.csv")
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
	good  = "0,vc_ed69ec,1,5601,5530,mobilenet_v2,96,5,159-189-229-289,10-8-5-2,0,soft\n"
	other = "1,vc_6214e9,8,7505,760,alexnet,106,6,235,10,0,strict\n"
)

// A job is due as its lists say, unless it is best effort.
func TestRead(t *testing.T) {
	all, s, err := read(t, header+good+other+"10,vc_ed69ec,16,918,6832,vgg16,146,10,918,10,1,best\n5,a,0,1,1,x,1,1,1,1,0,strict\n", Default())
	if err != nil {
		t.Fatal(err)
	}
	tasks, at := jobs(all)
	const minute = cluster.Minute
	want := []trace.Task{
		{Job: 2, Name: "10-0", JobTasks: 2, Gang: 2, User: "vc_ed69ec", Demand: cluster.Vector{8000}, Work: 146 * minute},
		{Job: 2, Name: "10-1", Index: 1, JobTasks: 2, Gang: 2, User: "vc_ed69ec", Demand: cluster.Vector{8000}, Work: 146 * minute},
		{
			Job: 0, Name: "0", JobTasks: 1, User: "vc_ed69ec", Priority: 2, Demand: cluster.Vector{1000}, Work: 96 * minute,
			Due: []trace.Due{{Within: 159 * minute, Worth: 10}, {Within: 189 * minute, Worth: 8}, {Within: 229 * minute, Worth: 5}, {Within: 289 * minute, Worth: 2}},
		},
		{
			Job: 1, Name: "1", JobTasks: 1, User: "vc_6214e9", Priority: 9, Demand: cluster.Vector{8000}, Work: 106 * minute,
			Due: []trace.Due{{Within: 235 * minute, Worth: 10}},
		},
	}
	if diff := gocmp.Diff(want, tasks); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]cluster.Time{0, 0, (5601 - 918) * minute, (7505 - 918) * minute}, at); diff != "" {
		t.Error(diff)
	}
	if notes := s.Notes(); len(notes) != 1 || notes[0] != "left out 1 jobs without a GPU" {
		t.Error(notes)
	}
}

// What cannot be read is named, or left out and counted.
func TestBrokenLines(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"0,u,1,1,1,m,1,1,9,10,0,strict", ":1: want a job that is not there yet"},
		{"9,u,-1,1,1,m,1,1,9,10,0,strict", ":3: want a number of GPUs"},
		{"9,u,1,1.5,1,m,1,1,9,10,0,strict", ":4: want a whole number of minutes"},
		{"9,u,1,1,1,m,99999999999999999999,1,9,10,0,strict", ":7: want a whole number of minutes"},
		{"9,u,1,1,1,m,1,1,9-8,10-9,0,soft", ":9: want times that are later and later"},
		{"9,u,1,1,1,m,1,1,0,10,0,soft", ":9: want times that are later and later"},
		{"9,u,1,1,1,m,1,1,9-12,10,0,soft", ":10: want as many values"},
		{"9,u,1,1,1,m,1,1,9-12,10-x,0,soft", ":10: want whole numbers"},
		{"9,u,1,1,1,m,1,1,9,10,2,strict", ":11: want 0 or 1"},
	} {
		text := header + good + c.line + "\n" + other
		_, _, err := read(t, text, Default())
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), "chronus.csv:3"+c.want) {
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
	f.Add(header+"9,u,1,1,1,m,1,1,"+strings.Repeat("1-", 40)+"9,"+strings.Repeat("1-", 40)+"1,0,soft\n", true)
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
