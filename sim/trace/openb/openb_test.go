package openb

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
	someNodes = "sn,cpu_milli,memory_mib,gpu,model\nn0,96000,393216,2,G2\nn1,32000,262144,0,\n"
	podHeader = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)

// folder writes a node list of both kinds and the list default.
func folder(t *testing.T, nodes, pods string) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{"openb_node_list_gpu_node.csv": nodes, "openb_node_list_all_node.csv": nodes, "openb_pod_list_default.csv": pods} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read gives at most 10,000 records of the folder.
func read(t *testing.T, dir string, o Options) ([]trace.Record, *Source, error) {
	t.Helper()
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
		all = append(all, r)
	}
	return all, s, nil
}

// arrivalsOf prints a pod a line: when, job, name, GPUs asked for.
func arrivalsOf(all []trace.Record) string {
	var b strings.Builder
	for _, r := range all {
		if r.What == trace.TaskSubmitted {
			fmt.Fprintf(&b, "%v %d %s %d\n", r.Time, r.Task.Job, r.Task.Name, r.Task.Demand[gpu])
		}
	}
	return b.String()
}

func TestRead(t *testing.T) {
	pods := podHeader + "p0,12000,16384,1,460,G2|T4,LS,Running,5,9,6\n\np1,6000,12288,8,1000,,BE,Pending,4,,\np2,6000,1,0,0,,,Failed,1,2,1\n"
	all, _, err := read(t, folder(t, someNodes, pods), Default())
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 0, Name: "n0", Capacity: cluster.Vector{96_000, 393_216, 2000}, Labels: []cluster.Label{{Key: "gpu-model", Value: "G2"}}}},
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Name: "n1", Capacity: cluster.Vector{32_000, 262_144, 0}}},
		{What: trace.TaskSubmitted, Time: cluster.Second, Task: trace.Task{
			Job: 0, JobTasks: 1, Name: "p0", Class: 3, Demand: cluster.Vector{12_000, 16_384, 460}, Work: cluster.Never,
			Requirements: []cluster.Requirement{{Key: "gpu-model", Op: cluster.Equal, Value: "G2|T4"}},
		}},
		{What: trace.TaskSubmitted, Time: 2 * cluster.Second, Task: trace.Task{Job: 1, JobTasks: 1, Name: "p1", Demand: cluster.Vector{6000, 12_288, 8000}, Work: cluster.Never}},
		{What: trace.TaskSubmitted, Time: 3 * cluster.Second, Task: trace.Task{Job: 2, JobTasks: 1, Name: "p2", Demand: cluster.Vector{6000, 1, 0}, Work: cluster.Never}},
	}
	if diff := gocmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

// Lists have other columns, and in another order.
func TestColumnsByName(t *testing.T) {
	all, _, err := read(t, folder(t, "model,sn,gpu,memory_mib,cpu_milli\nG2,n0,2,7,8\n", "gpu_milli,num_gpu,memory_mib,cpu_milli,name\n300,1,2,3,p0\n"), Default())
	if err != nil {
		t.Fatal(err)
	}
	if c, d := all[0].Node.Capacity, all[1].Task.Demand; !gocmp.Equal(c, cluster.Vector{8, 7, 2000}) || !gocmp.Equal(d, cluster.Vector{3, 2, 300}) {
		t.Errorf("capacity %v, demand %v", c, d)
	}
}

// With their own times pods come in the order in which they were created, and
// run for as long as they did.
func TestTimed(t *testing.T) {
	o := Default()
	o.Timed = true
	dir := folder(t, someNodes, podHeader+"p0,1,1,0,0,,LS,Running,5,9,6\np1,1,1,0,0,,BE,Pending,4,8,\np2,1,1,0,0,,BE,Running,0,,\n")
	all, _, err := read(t, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range all[2:] {
		got = append(got, fmt.Sprint(r.Task.Job, " at ", r.Time, " for ", r.Task.Work))
	}
	if diff := gocmp.Diff([]string{"2 at 0s for never", "1 at 4s for 4s", "0 at 5s for 3s"}, got); diff != "" {
		t.Error(diff)
	}
	_, _, err = read(t, folder(t, someNodes, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"), o)
	if err == nil || !strings.Contains(err.Error(), "want a column creation_time") {
		t.Errorf("a list without times: %v", err)
	}
}

const fourPods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,700\nb,1,1,0,0\nc,1,1,1,300\nd,1,1,1,900\n"

// The GPUs asked for end where the next pod would pass the share; the same seed
// draws the same copies, and each has a name and a job of its own.
func TestInflate(t *testing.T) {
	dir := folder(t, someNodes, fourPods)
	o := Options{Nodes: "gpu", List: "default", Inflate: 2.5, Shuffle: true, Seed: 1}
	all, _, err := read(t, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := read(t, dir, o)
	if err != nil || arrivalsOf(again) != arrivalsOf(all) {
		t.Errorf("the same seed gives other pods, or %v", err)
	}
	load, names, jobs := int64(0), map[string]bool{}, map[uint64]bool{}
	for i, r := range all[2:] {
		load += r.Task.Demand[gpu]
		names[r.Task.Name], jobs[r.Task.Job] = true, true
		if copied := strings.Contains(r.Task.Name, "-copy-"); copied != (i >= 4) {
			t.Errorf("pod %d is %s", i, r.Task.Name)
		}
	}
	if load > 5000 || load <= 5000-900 || len(names) != len(all)-2 || len(jobs) != len(names) {
		t.Errorf("load %d of at most 5000; %d pods with %d names and %d jobs\n%s", load, len(all)-2, len(names), len(jobs), arrivalsOf(all))
	}
	o.Seed = 2
	other, _, err := read(t, dir, o)
	if err != nil || arrivalsOf(other) == arrivalsOf(all) {
		t.Errorf("another seed gives the same pods, or %v", err)
	}
}

// A list that asks for too much is cut where the next pod would pass the share.
func TestInflateCuts(t *testing.T) {
	all, _, err := read(t, folder(t, someNodes, fourPods), Options{Nodes: "all", List: "default", Inflate: .8})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := arrivalsOf(all), "1s 0 a 700\n2s 1 b 0\n3s 2 c 300\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	_, _, err = read(t, folder(t, someNodes, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nb,1,1,0,0\n"), Options{Nodes: "gpu", List: "default", Inflate: 1})
	if err == nil || !strings.Contains(err.Error(), "no pod asks for GPUs") {
		t.Errorf("copies without end: %v", err)
	}
}

func TestOptions(t *testing.T) {
	dir := folder(t, someNodes, fourPods)
	if err := os.WriteFile(filepath.Join(dir, "openb_pod_list_multigpu50.csv.gz"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir  string
		o    Options
		want string
	}{
		{dir, Options{Nodes: "cpu"}, "nodes=cpu, want gpu or all"},
		{dir, Options{Nodes: "gpu", Inflate: -1}, "inflate=-1, want"},
		{dir, Options{Nodes: "gpu", Timed: true, Shuffle: true}, "do not go with it"},
		{dir, Options{Nodes: "gpu", List: "nope"}, `no openb_pod_list_nope.csv is there; for "nope" there are default, multigpu50`},
		{t.TempDir(), Default(), "no openb_node_list_NAME_node.csv is there"},
		{filepath.Join(dir, "nowhere"), Default(), "nowhere"},
	} {
		if _, err := Open(c.dir, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.o, err, c.want)
		}
	}
}

// What cannot be read is named, or left out and counted.
func TestBrokenLines(t *testing.T) {
	const good = "p0,12000,16384,1,460,G2|T4,LS,Running,5,9,6\n"
	o := Default()
	o.Timed = true
	for _, c := range []struct{ line, want string }{
		{"p1,1", ":3: want 11 fields"},
		{",1,1,1,460,,LS,Running,5,9,6", ":3:1: want a name"},
		{"p0,1,1,1,460,,LS,Running,5,9,6", ":3:1: want a name that is not there yet"},
		{"p1,-1,1,1,460,,LS,Running,5,9,6", ":3:2: want a whole number of thousandths of a core"},
		{"p1,1,x,1,460,,LS,Running,5,9,6", ":3:3: want a whole number of MiB"},
		{"p1,1,1,x,460,,LS,Running,5,9,6", ":3:4: want a number of GPUs"},
		{"p1,1,1,1,1001,,LS,Running,5,9,6", ":3:5: want thousandths of a GPU"},
		{"p1,1,1,1,0,,LS,Running,5,9,6", ":3:5: want at least 1"},
		{"p1,1,1,2,460,,LS,Running,5,9,6", ":3:5: want 1000, since"},
		{"p1,1,1,1,460,,ls,Running,5,9,6", ":3:7: want BE, Burstable, Guaranteed or LS"},
		{"p1,1,1,1,460,,LS,Running,,9,6", ":3:9: want a whole number of seconds"},
		{"p1,1,1,1,460,,LS,Running,5,5,6", ":3:10: want a time that is not before"},
	} {
		dir := folder(t, someNodes, podHeader+good+c.line+"\n"+strings.Replace(good, "p0", "p2", 1))
		o.Lenient = false
		_, _, err := read(t, dir, o)
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.line, err, c.want)
		}
		o.Lenient = true
		all, s, err := read(t, dir, o)
		if err != nil || len(all) != 4 {
			t.Errorf("%s, lenient: %d records, %v", c.line, len(all), err)
			continue
		}
		if count, first := s.Skipped(); count != 1 || len(first) != 1 {
			t.Errorf("%s, lenient: skipped %d", c.line, count)
		}
	}
	for _, c := range []struct{ nodes, pods, want string }{
		{"sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,8,\n", fourPods, ":2:5: want a GPU model"},
		{"sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,8,G2\nn0,1,1,8,G2\n", fourPods, ":3:1: want a name that is not there yet"},
		{"sn,cpu_milli,memory_mib,gpu,model\n", fourPods, ":2: want a row below the line"},
		{"sn,cpu_milli,memory_mib,gpu\n", fourPods, ":1: want a column model"},
		{someNodes, "name,cpu_milli,memory_mib,num_gpu\n", ":1: want a column gpu_milli"},
		{someNodes, "name,cpus\n", `:1:2: want a column, got "cpus"; there are name,`},
		{someNodes, "name,name\n", ":1:2: want each column once"},
		{someNodes, "", ":1: want a line that names the columns"},
	} {
		if _, _, err := read(t, folder(t, c.nodes, c.pods), Default()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// FuzzRead holds that no file makes the reader panic or hang, that what it gives
// is in time order, and that the load stays below the share.
func FuzzRead(f *testing.F) {
	f.Add(someNodes, fourPods, uint8(13), false)
	f.Add(someNodes, podHeader+"p0,12000,16384,1,460,G2|T4,LS,Running,5,9,6\np1,1,1,0,0,,BE,Pending,4,,\n", uint8(0), true)
	f.Add("sn,cpu_milli,memory_mib,gpu,model\nn0,1", "name,gpu", uint8(1), false)
	f.Fuzz(func(t *testing.T, nodes, pods string, tenths uint8, timed bool) {
		dir := folder(t, nodes, pods)
		for _, o := range []Options{
			{Nodes: "gpu", List: "default", Inflate: float64(tenths) / 10, Shuffle: true, Lenient: true},
			{Nodes: "gpu", List: "default", Timed: timed},
		} {
			all, s, err := read(t, dir, o)
			if err != nil {
				continue
			}
			load := int64(0)
			for i, r := range all {
				if i > 0 && r.Time < all[i-1].Time {
					t.Fatalf("record %d: %+v after %+v", i, r, all[i-1])
				}
				if r.What == trace.TaskSubmitted {
					load += r.Task.Demand[gpu]
				}
			}
			if o.Inflate > 0 && float64(load) > o.Inflate*float64(s.gpus())+.5 {
				t.Fatalf("load %d, of %d at most %v times that", load, s.gpus(), o.Inflate)
			}
		}
	})
}
