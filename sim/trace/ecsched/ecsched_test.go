package ecsched

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
)

// read gives all records of the text as a file.
func read(t *testing.T, text string, o Options) ([]trace.Record, *Source, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jobs.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(file, o)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close() //nolint:errcheck // it was only read
	all, err := records(s)
	return all, s, err
}

func records(s *Source) ([]trace.Record, error) {
	var all []trace.Record
	for {
		var r trace.Record
		if err := s.Next(&r); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, err
		}
		all = append(all, r)
	}
}

func TestRead(t *testing.T) {
	all, _, err := read(t, "1 0 71 1 2\n\n7  21\t56 4 0", Options{Nodes: Equal(2, 5, 6)})
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{5, 6}}},
		{What: trace.NodeAdded, Node: trace.Node{ID: 2, Capacity: cluster.Vector{5, 6}}},
		{What: trace.TaskSubmitted, Task: trace.Task{Job: 1, JobTasks: 1, Demand: cluster.Vector{1, 2}, Work: 71 * cluster.Second}},
		{Time: 21 * cluster.Second, What: trace.TaskSubmitted, Task: trace.Task{Job: 7, JobTasks: 1, Demand: cluster.Vector{4, 0}, Work: 56 * cluster.Second}},
	}
	if diff := gocmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

func TestNodes(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes []cluster.Vector
		count int
		slots int64
	}{{"default", Default(), 50, 2500}, {"test bed", TestBed(), 30, 1750}} {
		var cpu, memory int64
		for _, n := range c.nodes {
			cpu, memory = cpu+n[0], memory+n[1]
		}
		if len(c.nodes) != c.count || cpu != c.slots || memory != c.slots {
			t.Errorf("%s: %d nodes with %d and %d slots, want %d with %d", c.name, len(c.nodes), cpu, memory, c.count, c.slots)
		}
	}
}

// What cannot be read is named, or left out and counted.
func TestBrokenLines(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"2 5 71 1", ":2: want 5 fields between blanks"},
		{"2 5 71 1 1 1", ":2: want 5 fields between blanks"},
		{"-2 5 71 1 1", ":2:1: want a job number"},
		{"1 5 71 1 1", ":2:1: want the number of a job that is not there yet"},
		{"2 4 71 1 1", ":2:2: want a time that is not before"},
		{"2 5.5 71 1 1", ":2:2: want a whole number of seconds"},
		{"2 5 9999999999999 1 1", ":2:3: want a whole number of seconds"},
		{"2 5 71 -1 1", ":2:4: want a whole number of slots"},
		{"2 5 71 1 35184372088833", ":2:5: want a whole number of slots"},
	} {
		text := "1 5 71 1 1\n" + c.line + "\n3 5 71 1 1\n"
		_, _, err := read(t, text, Options{})
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), "jobs.txt"+c.want) {
			t.Errorf("%s: got %v, want %q", c.line, err, c.want)
		}
		all, s, err := read(t, text, Options{Lenient: true})
		if err != nil || len(all) != 2 {
			t.Errorf("%s, lenient: %d records, %v", c.line, len(all), err)
			continue
		}
		if count, first := s.Skipped(); count != 1 || len(first) != 1 {
			t.Errorf("%s, lenient: skipped %d", c.line, count)
		}
	}
	for _, text := range []string{"", "\n \n"} {
		if _, _, err := read(t, text, Options{Lenient: true}); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "want a job, five") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzRead holds that no file makes the reader panic or hang, and that what it
// gives is whole and in time order.
func FuzzRead(f *testing.F) {
	f.Add("1 0 71 1 2\n7 21 56 4 0\n", true)
	f.Add("1 0 71", false)
	f.Fuzz(func(t *testing.T, text string, lenient bool) {
		all, _, _ := read(t, text, Options{Lenient: lenient})
		for i, r := range all {
			if i > 0 && r.Time < all[i-1].Time || len(r.Task.Demand) != 2 || r.Task.Work < 0 {
				t.Fatalf("record %d: %+v", i, r)
			}
		}
	})
}

// The authors' list, compared with its sums as computed by awk.
func TestDataJobs(t *testing.T) {
	data := os.Getenv("FAIRLEAD_DATA")
	if data == "" {
		t.Skip("FAIRLEAD_DATA is not set: it names the folder that holds ecsched")
	}
	s, err := Open(filepath.Join(data, "ecsched", "jobs-9549.txt"), Options{Nodes: Default()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // it was only read
	all, err := records(s)
	if err != nil {
		t.Fatal(err)
	}
	type sums struct {
		Nodes, Jobs, Shapes int
		Work, Last          cluster.Time
		CPU, Memory         int64
		CPUTime             cluster.Time // slots times work
	}
	var got sums
	shapes := map[[2]int64]bool{}
	for _, r := range all {
		if r.What == trace.NodeAdded {
			got.Nodes++
			continue
		}
		d := r.Task.Demand
		got.Jobs++
		got.Last = r.Time
		got.Work += r.Task.Work
		got.CPU += d[0]
		got.Memory += d[1]
		got.CPUTime += cluster.Time(d[0]) * r.Task.Work
		shapes[[2]int64{d[0], d[1]}] = true
	}
	got.Shapes = len(shapes)
	want := sums{
		Nodes: 50, Jobs: 9549, Shapes: 40, Work: 8_672_965 * cluster.Second, Last: 19_859 * cluster.Second,
		CPU: 33_607, Memory: 24_584, CPUTime: 40_465_453 * cluster.Second,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
