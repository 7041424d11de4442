package swf

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

const head = "; Version: 2.2\n; MaxNodes: 2\n; MaxProcs: 5\n;\n"

// job is a line with what is read of it, the rest made up: number, submit and
// run time, processors and memory as allocated and used, as requested, status,
// user.
func job(read ...any) string {
	return fmt.Sprintf("  %v %v 7 %v %v -1 %v %v 99 %v %v %v 3 -1 1 -1 -1 -1\n", read...)
}

// read gives at most 10,000 records of the text as a file.
func read(t *testing.T, text string, o Options) ([]trace.Record, *Source, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log.swf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(file, o)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close() //nolint:errcheck // it was only read
	var all []trace.Record
	for len(all) < 10_000 {
		var r trace.Record
		if err := s.Next(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return all, s, err
		}
		r.Node.Capacity = append(cluster.Vector(nil), r.Node.Capacity...)
		all = append(all, r)
	}
	return all, s, nil
}

// outline prints a record a line: "node 1 [3000]" or "5s 1/0 of 2 [1000] 10s".
func outline(all []trace.Record) string {
	var b strings.Builder
	for _, r := range all {
		if t := r.Task; r.What == trace.TaskSubmitted {
			fmt.Fprintf(&b, "%v %d/%d of %d %v %v\n", r.Time, t.Job, t.Index, t.JobTasks, []int64(t.Demand), t.Work)
		} else {
			fmt.Fprintf(&b, "node %d %v\n", r.Node.ID, []int64(r.Node.Capacity))
		}
	}
	return b.String()
}

func TestRead(t *testing.T) {
	all, s, err := read(t, head+job(1, 0, 10, -1, -1, 2, -1, 1, 14)+"\n; a comment between\n"+job(2, 2.5, 0, 1, -1, -1, -1, 0, -1), Options{})
	if err != nil {
		t.Fatal(err)
	}
	one := trace.Task{Job: 1, JobTasks: 2, User: "14", Demand: cluster.Vector{1000}, Work: 10 * cluster.Second}
	two := one
	two.Index = 1
	want := []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{3000}}},
		{What: trace.NodeAdded, Node: trace.Node{ID: 2, Capacity: cluster.Vector{2000}}},
		{What: trace.TaskSubmitted, Task: one},
		{What: trace.TaskSubmitted, Task: two},
		{What: trace.TaskSubmitted, Time: 2500 * cluster.Millisecond, Task: trace.Task{Job: 2, JobTasks: 1, Demand: cluster.Vector{1000}, Fails: true}},
	}
	if diff := gocmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	if left := s.Notes(); left != nil {
		t.Errorf("left out %v", left)
	}
}

// With gangs the tasks of a job come together: the first says it for all.
func TestGangs(t *testing.T) {
	all, _, err := read(t, head+job(1, 0, 10, -1, -1, 2, -1, 1, 14), Options{Gangs: true, TasksOnly: true})
	if err != nil || len(all) != 2 || all[0].Task.Gang != 2 {
		t.Errorf("%+v, %v, want a gang of 2", all, err)
	}
}

// What is requested counts before what was allocated and used; memory counts if
// nodes have a size, and is rounded up.
func TestWhatIsAskedFor(t *testing.T) {
	text := head + job(1, 0, 10, 4, 1, 1, 1025, 1, 1) + job(2, 0, 10, 1, 1024, -1, -1, 1, 1) + job(3, 0, 10, 1, -1.00, 0, -1, 1, 1)
	all, s, err := read(t, text, Options{Memory: 4096})
	if err != nil {
		t.Fatal(err)
	}
	want := "node 1 [3000 4096]\nnode 2 [2000 4096]\n0s 1/0 of 1 [1000 2] 10s\n0s 2/0 of 1 [1000 1] 10s\n0s 3/0 of 1 [1000 0] 10s\n"
	if diff := gocmp.Diff(want, outline(all)); diff != "" {
		t.Error(diff)
	}
	if len(s.Kinds()) != 2 {
		t.Errorf("kinds %v", s.Kinds())
	}
}

// What becomes of jobs that did not end well, or of which too little is known.
func TestStatus(t *testing.T) {
	text := head +
		job(1, 0, 10, 1, -1, -1, -1, 5, 1) + // cancelled while it ran
		job(2, 0, 0, 1, -1, 1, -1, 5, 1) + job(3, 0, -1, 1, -1, 1, -1, 5, 1) + // cancelled before
		job(4, 0, 9, 1, -1, 1, -1, 1, 1) + job(4, 0, 3, 1, -1, 1, -1, 2, 1) + job(4, 0, 6, 1, -1, 1, -1, 3, 1) + // in two parts
		job(5, 1, -1, 1, -1, 1, -1, 1, 1) + job(6, 1, 7, -1, -1, -1, -1, -1, 1) + job(7, 1, 7, 1, -1, 1, -1, -1, 1)
	all, s, err := read(t, text, Options{TasksOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := outline(all), "0s 1/0 of 1 [1000] 10s\n0s 4/0 of 1 [1000] 9s\n1s 7/0 of 1 [1000] 7s\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	want := []string{
		"left out 2 jobs that were cancelled before they began", "left out 2 parts of interrupted jobs",
		"left out 1 jobs without a run time", "left out 1 jobs without a number of processors",
	}
	if diff := gocmp.Diff(want, s.Notes()); diff != "" {
		t.Error(diff)
	}
}

func TestMachine(t *testing.T) {
	for _, c := range []struct {
		header string
		o      Options
		nodes  int
		procs  string // of each
		want   string
	}{
		{"; MaxNodes: 2\n; MaxProcs: 5\n", Options{}, 2, "[3000] [2000]", ""},
		{";MaxNodes:2\n", Options{}, 2, "[1000] [1000]", ""},
		{"; MaxProcs: 3 (and some)\n", Options{}, 3, "[1000] [1000] [1000]", ""},
		{"; MaxProcs: 4\n; MaxProcs: 9\n", Options{Nodes: 1}, 1, "[4000]", ""},
		{"; MaxNodes: 2\n; MaxProcs: 5\n", Options{Procs: 8}, 2, "[4000] [4000]", ""},
		{"", Options{Nodes: 1, Procs: 7}, 1, "[7000]", ""},
		{"; MaxProcs: many\n", Options{Procs: 2}, 2, "[1000] [1000]", ""},
		{"; MaxProcs: 5\n", Options{TasksOnly: true}, 0, "", ""},
		{"", Options{}, 0, "", "log.swf: want a header with MaxProcs or MaxNodes as a number; or say how many there are, with nodes and procs"},
		{"; MaxProcs: many\n; MaxNodes: -1\n", Options{}, 0, "", "want a header with MaxProcs"},
		{"; MaxNodes: 4\n; MaxProcs: 99999999999\n", Options{}, 0, "", `log.swf:2: want a number from 0 to 35184372088, or -1 where it is unknown; or say how many there are, with nodes and procs, got "99999999999"`},
		{"; MaxNodes: 4\n; MaxProcs: 99999999999999999999\n", Options{}, 0, "", "log.swf:2: want a number from 0 to"},
		{"; MaxNodes: 4\n; MaxProcs: -2\n", Options{}, 0, "", "log.swf:2: want a number from 0 to"},
		{"; MaxNodes: 2\n; MaxProcs: 99999999999\n", Options{Procs: 4}, 2, "[2000] [2000]", ""},
		{"; MaxProcs: 99999999999\n", Options{TasksOnly: true}, 0, "", ""},
		{"; MaxNodes: 9\n; MaxProcs: 5\n", Options{}, 0, "", "there are 9 nodes and 5 processors"},
		{"; MaxNodes: 10000001\n", Options{}, 0, "", "at most 10000000 nodes"},
	} {
		all, _, err := read(t, c.header+job(1, 0, 10, 1, -1, 1, -1, 1, 1), c.o)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %+v: %v, want %q", c.header, c.o, err, c.want)
			continue
		}
		var got []string
		for _, r := range all[:max(len(all)-1, 0)] {
			got = append(got, fmt.Sprint([]int64(r.Node.Capacity)))
		}
		if strings.Join(got, " ") != c.procs || len(got) != c.nodes {
			t.Errorf("%q, %+v: got %v, want %s", c.header, c.o, got, c.procs)
		}
	}
}

// What cannot be read is named, or left out and counted.
func TestBrokenLines(t *testing.T) {
	good, other := job(1, 5, 10, 1, -1, 1, -1, 1, 1), job(3, 6, 10, 1, -1, 1, -1, 1, 1)
	for _, c := range []struct{ line, want string }{
		{"1 2 3\n", ":6: want 18 fields between blanks, got \"3\""},
		{job(-1, 5, 10, 1, -1, 1, -1, 1, 1), ":6:1: want a job number"},
		{job(1, 5, 10, 1, -1, 1, -1, 1, 1), ":6:1: want the number of a job that is not there yet"},
		{job(2, 4, 10, 1, -1, 1, -1, 1, 1), ":6:2: want a submit time that is not before"},
		{job(2, -1, 10, 1, -1, 1, -1, 1, 1), ":6:2: want a submit time in seconds"},
		{job(2, 1e300, 10, 1, -1, 1, -1, 1, 1), ":6:2: want a submit time in seconds"},
		{job(2, 5, -2, 1, -1, 1, -1, 1, 1), ":6:4: want a run time"},
		{job(2, 5, "NaN", 1, -1, 1, -1, 1, 1), ":6:4: want a run time"},
		{job(2, 5, 10, 1, -1, 16777217, -1, 1, 1), ":6:8: want a number of processors"},
		{job(2, 5, 10, "x", -1, -1, -1, 1, 1), ":6:5: want a number of processors"},
		{job(2, 5, 10, 1, -1, 1, "much", 1, 1), ":6:10: want an amount of memory"},
		{job(2, 5, 10, 1, -1, 1, -1, 6, 1), ":6:11: want a status from 0 to 5"},
		{job(2, 5, 10, 1, -1, 1, -1, 1, "ann"), ":6:12: want the number of a user"},
	} {
		_, _, err := read(t, head+good+c.line+other, Options{})
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), "log.swf"+c.want) {
			t.Errorf("%s: got %v, want %q", c.line, err, c.want)
		}
		all, s, err := read(t, head+good+c.line+other, Options{Lenient: true})
		if err != nil || len(all) != 4 {
			t.Errorf("%s, lenient: %d records, %v", c.line, len(all), err)
			continue
		}
		if count, first := s.Skipped(); count != 1 || len(first) != 1 {
			t.Errorf("%s, lenient: skipped %d", c.line, count)
		}
	}
	for _, text := range []string{"", head} {
		if _, _, err := read(t, text, Options{Lenient: true}); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "want a job, 18 numbers") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzSWF holds that no file makes the reader panic or hang, that what it gives
// is in time order, and that each task is whole.
func FuzzSWF(f *testing.F) {
	f.Add(head+job(1, 0, 10, -1, -1, 2, -1, 1, 14)+job(2, 2.5, 0, 1, 77, -1, -1, 0, -1), true, true)
	f.Add("; MaxProcs: 3\n"+job(4, 0, 3, 1, -1, 1, -1, 2, 1)+job(5, 1, -1, 1, -1, 1, -1, 5, 1), false, false)
	f.Add("; MaxNodes: 1e9\n1 2", true, false)
	f.Fuzz(func(t *testing.T, text string, lenient, memory bool) {
		o := Options{Lenient: lenient}
		if memory {
			o.Memory = 5
		}
		all, s, _ := read(t, text, o)
		for i, r := range all {
			if i > 0 && r.Time < all[i-1].Time {
				t.Fatalf("record %d: %+v after %+v", i, r, all[i-1])
			}
			if r.What == trace.TaskSubmitted && (len(r.Task.Demand) != len(s.Kinds()) || r.Task.Work < 0 || r.Task.Index >= r.Task.JobTasks) {
				t.Fatalf("record %d: %+v", i, r)
			}
		}
	})
}
