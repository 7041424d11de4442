package alibaba2018_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/alibaba2018"
)

const oneMachine = "m_1,0,3,r7,96,100,USING\n"

func folder(tb testing.TB, machines, containers, batch string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range map[string]string{"machine_meta.csv": machines, "container_meta.csv": containers, "batch_task.csv": batch} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func readAll(dir string, o alibaba2018.Options) ([]trace.Record, *alibaba2018.Source, error) {
	src, err := alibaba2018.Open(dir, o)
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
		all = append(all, r.Clone())
	}
}

func TestMachines(t *testing.T) {
	got, src, err := readAll(folder(t, oneMachine+"m_2,60,3,r8,64,50,IMPORT\nm_1,50,3,r7,96,100,USING\nm_1,55,3,,96,50,USING\n", "", "M1,1,j_1,1,Terminated,100,200,100,0.5\n"), alibaba2018.Options{})
	if err != nil {
		t.Fatal(err)
	}
	groups := []cluster.Label{{Key: "failure_domain_1", Value: "3"}, {Key: "failure_domain_2", Value: "r7"}}
	node := func(at cluster.Time, what trace.What, n trace.Node) trace.Record {
		return trace.Record{Time: at * cluster.Second, What: what, Node: n}
	}
	want := []trace.Record{
		node(0, trace.NodeAdded, trace.Node{Name: "m_1", Capacity: cluster.Vector{96_000, 10_000_000}, Groups: groups}),
		node(55, trace.NodeChanged, trace.Node{Name: "m_1", Capacity: cluster.Vector{96_000, 5_000_000}, Groups: groups[:1]}),
		node(60, trace.NodeAdded, trace.Node{ID: 1, Name: "m_2", Capacity: cluster.Vector{64_000, 5_000_000}, Groups: []cluster.Label{groups[0], {Key: "failure_domain_2", Value: "r8"}}}),
	}
	if diff := cmp.Diff(want, got[:3]); diff != "" {
		t.Error(diff)
	}
	if notes := strings.Join(src.Notes(), "; "); !strings.Contains(notes, "1 rows of machines have a status other than USING") {
		t.Errorf("notes: %s", notes)
	}
}

// TestContainers gives rows in no order of time, and wants a container's life from its first row to where it has stopped.
func TestContainers(t *testing.T) {
	got, _, err := readAll(folder(t, oneMachine, strings.Join([]string{
		"c_2,m_1,70,app_1,stopped,400,800,1.56", "c_1,m_1,0,app_1,started,400,800,1.56", "c_2,m_1,40,app_1,started,400,800,1.56",
		"c_1,m_9,50,app_1,started,400,800,1.56", "c_3,m_9,0,app_2,started,50,800,-1", "c_2,m_1,90,app_1,allocated,400,800,1.56",
	}, "\n"), ""), alibaba2018.Options{})
	if err != nil {
		t.Fatal(err)
	}
	task := func(at cluster.Time, task trace.Task) trace.Record {
		task.Class, task.Priority, task.Work, task.LongRunning, task.Service = 3, 9, cluster.Never, true, true
		if task.Demand == nil {
			task.Demand = cluster.Vector{4000, 156_000}
		}
		return trace.Record{Time: at * cluster.Second, What: trace.TaskSubmitted, Task: task}
	}
	want := []trace.Record{
		task(0, trace.Task{Name: "c_1", Running: true}),
		task(0, trace.Task{Name: "c_3", Job: 1, Running: true, OnNode: 1, Demand: cluster.Vector{500, 0}}),
		task(40, trace.Task{Name: "c_2", Index: 1}),
		{Time: 70 * cluster.Second, What: trace.TaskKilled, Task: trace.Task{Index: 1}},
		task(90, trace.Task{Name: "c_2", Index: 1}),
	}
	if diff := cmp.Diff(want, got[1:]); diff != "" {
		t.Error(diff)
	}
}

func TestBatch(t *testing.T) {
	got, src, err := readAll(folder(t, oneMachine, "", strings.Join([]string{
		"R2_1,1.0,j_3,1,Failed,157297,157325,100,0.49", "M1,2,j_3,1,Terminated,157000,157297,50.0,", "task_Nzg3ODAwNDgz,1,j_4,2,Running,9,0,100,0.49",
		"M1,1,j_5,1,Terminated,0,60,100,101", "M1,1,j_6,1,Waiting,0,0,100,0.49", "MergeTask,1,j_7,1,Terminated,1,1,,0.49",
	}, "\n")), alibaba2018.Options{})
	if err != nil {
		t.Fatal(err)
	}
	job := uint64(1 << 32)
	task := func(at cluster.Time, number uint64, task trace.Task) trace.Record {
		task.Job, task.Priority = job+number, 2
		task.Owner, _, _ = strings.Cut(task.Name, "/")
		if task.JobTasks == 0 {
			task.JobTasks = 1
		}
		if task.Demand == nil {
			task.Demand = cluster.Vector{1000, 49_000}
		}
		return trace.Record{Time: at * cluster.Second, What: trace.TaskSubmitted, Task: task}
	}
	want := []trace.Record{
		task(0, 0, trace.Task{Name: "j_5/M1/0", Work: cluster.Minute, Demand: cluster.Vector{1000, 0}}),
		task(1, 1, trace.Task{Name: "j_7/MergeTask/0", Demand: cluster.Vector{0, 49_000}}),
		task(9, 2, trace.Task{Name: "j_4/task_Nzg3ODAwNDgz/0", Work: cluster.Never}),
		task(157000, 3, trace.Task{Name: "j_3/M1/0", JobTasks: 2, Work: 297 * cluster.Second, Demand: cluster.Vector{500, 0}}),
		task(157000, 3, trace.Task{Name: "j_3/M1/1", JobTasks: 2, Index: 1, Work: 297 * cluster.Second, Demand: cluster.Vector{500, 0}}),
		task(157297, 4, trace.Task{Name: "j_3/R2_1/0", Work: 28 * cluster.Second, Fails: true}),
	}
	if diff := cmp.Diff(want, got[1:]); diff != "" {
		t.Error(diff)
	}
	notes := strings.Join(src.Notes(), "; ")
	for _, note := range []string{"left out 1 rows of batch_task with neither", "1 tasks of batch jobs wait for others", "1 amounts of -1 or 101"} {
		if !strings.Contains(notes, note) {
			t.Errorf("no note that %s: %s", note, notes)
		}
	}
	if src.End() != 157325*cluster.Second {
		t.Errorf("ends at %v", src.End())
	}
}

func TestErrors(t *testing.T) {
	const batch = "M1,1,j_1,1,Terminated,100,200,100,0.5\n"
	for _, tc := range []struct{ machines, containers, batch, want string }{
		{"", "", batch, "no machine_meta.csv is there, nor machine_meta.csv.gz; unpack machine_meta.tar.gz into the folder"},
		{oneMachine, "", "", "neither container_meta.csv nor batch_task.csv is there"},
		{"m_1,0,3,r7,96,100\n", "", batch, "machine_meta.csv:1: want 7 fields between commas"},
		{"m_1,now,3,r7,96,100,USING\n", "", batch, "machine_meta.csv:1:2: want a time, a whole number of seconds"},
		{oneMachine, "", batch + "M1,0,j_1,1,Terminated,100,200,100,0.5\n", "batch_task.csv:2:2: want a number of instances, from 1 to ten million"},
		{oneMachine, "", "M1,1,j_1,1,Terminated,100,99,100,0.5\n", "batch_task.csv:1:7: want an end that is not before the start, or 0"},
		{oneMachine, "", "M1,1,j_1,1,Terminated,100,200,x,0.5\n", "batch_task.csv:1:8: want a request in hundredths of a core"},
		{oneMachine, ",m_1,0,app_1,started,400,800,1\n", "", "container_meta.csv:1:1: want a container's name"},
		{oneMachine, "\n", "", "container_meta.csv:2: want a row of 8 fields"},
	} {
		if _, _, err := readAll(folder(t, tc.machines, tc.containers, tc.batch), alibaba2018.Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got  %v\nwant %s", err, tc.want)
		}
	}
	if _, err := alibaba2018.Open(filepath.Join(t.TempDir(), "nowhere"), alibaba2018.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

func FuzzTables(f *testing.F) {
	f.Add(oneMachine+"m_1,7,,,1,1,\n", "c_1,m_1,0,app_1,started,400,400,1.56\nc_1,m_1,9,app_1,stopped,,,\n", "M1,3,j_1,1,Failed,10,20,100,0.5\nR2_1,1,j_1,1,,0,0,,\n")
	f.Fuzz(func(t *testing.T, machines, containers, batch string) {
		dir := folder(t, machines, containers, batch)
		limited := func(o alibaba2018.Options) (n int, err error) {
			src, err := alibaba2018.Open(dir, o)
			if err != nil {
				return 0, err
			}
			defer src.Close() //nolint:errcheck // it was only read
			var r trace.Record
			for last := cluster.Time(0); n < 10_000; n++ { // a row may be ten million tasks
				if err := src.Next(&r); err != nil {
					if errors.Is(err, io.EOF) {
						err = nil
					}
					return n, err
				}
				if r.Time < last {
					t.Errorf("record %d at %v, after one at %v", n, r.Time, last)
				}
				last = r.Time
			}
			return n, nil
		}
		strict, err := limited(alibaba2018.Options{})
		lenient, lenientErr := limited(alibaba2018.Options{Lenient: true})
		if err == nil && (lenientErr != nil || lenient != strict) {
			t.Errorf("strict: %d records; lenient: %d, %v", strict, lenient, lenientErr)
		}
	})
}
