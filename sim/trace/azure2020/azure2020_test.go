package azure2020

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/stream"
)

// types are made up: 1, 2 and 4 run on machine 7, 2 on machine 3 as well, 3 on machine 3 alone.
const types = "id,vmTypeId,machineId,core,memory,hdd,ssd,nic\n" +
	"0,1,7,0.016666666666666666,0.5,,0.25,1e-05\n" +
	"1,2,7,0.5,0.5,,,\n" +
	"2,2,3,0.25,0.5,,,\n" +
	"3,3,3,1,1,,,\n" +
	"4,4,7,1,1,,,\n"

// vms are made up, as the database prints them.
const vms = "vmId,tenantId,vmTypeId,priority,starttime,endtime\r\n" +
	"10,100,1,0,-7157.0,0.5\r\n" +
	"11,100,2,1,-3.25,-1.0\r\n" +
	"12,101,2,1,0.125,\r\n" +
	"13,101,3,0,0.25,0.5\r\n" +
	"14,102,2,0,0.25,90.0\r\n"

// open writes the two tables and opens them.
func open(t *testing.T, types, vms string, o Options) (*Source, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"vmType.csv": types, "vm.csv": vms} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Open(dir, o)
}

// readAll reads a source to its end.
func readAll(src trace.Source) (all []trace.Record, err error) {
	var r trace.Record
	for {
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, r.Clone())
	}
}

// records opens the tables and reads them to their end.
func records(t *testing.T, types, vms string, o Options) ([]trace.Record, *Source, error) {
	t.Helper()
	s, err := open(t, types, vms, o)
	if err != nil {
		return nil, nil, err
	}
	all, err := readAll(s)
	return all, s, errors.Join(err, s.Close())
}

// line is a record as a line.
func line(r *trace.Record) string {
	if r.What == trace.NodeAdded {
		return fmt.Sprintf("%v node %d %v", r.Time, r.Node.ID, r.Node.Capacity)
	}
	t := &r.Task
	return fmt.Sprintf("%v job %d user %s %v priority %d unowned %v for %v", r.Time, t.Job, t.User, t.Demand, t.Priority, t.Unowned, t.Work)
}

// lines are the records as lines.
func lines(all []trace.Record) (lines []string) {
	for i := range all {
		lines = append(lines, line(&all[i]))
	}
	return lines
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		want    []string
		notes   []string
	}{
		{
			"the machine with most types",
			Options{Nodes: 1},
			[]string{
				"0s node 1 [1000000000 1000000000 1000000000 1000000000 1000000000]",
				"0s job 10 user 100 [16666666 500000000 0 250000000 10000] priority 9 unowned true for 43200s",
				"10800s job 12 user 101 [500000000 500000000 0 0 0] priority 0 unowned true for never",
				"21600s job 14 user 102 [500000000 500000000 0 0 0] priority 9 unowned true for 7754400s",
			},
			[]string{"left out 1 VMs of types that do not run on machine 7", "left out 1 VMs that ended before the trace began"},
		},
		{
			"another machine, movable",
			Options{Nodes: 1, TasksOnly: true, Machine: 3, Chosen: true, Movable: true},
			[]string{
				"10800s job 12 user 101 [250000000 500000000 0 0 0] priority 0 unowned false for never",
				"21600s job 13 user 101 [1000000000 1000000000 0 0 0] priority 2 unowned false for 21600s",
				"21600s job 14 user 102 [250000000 500000000 0 0 0] priority 2 unowned false for 7754400s",
			},
			[]string{"left out 1 VMs of types that do not run on machine 3", "left out 1 VMs that ended before the trace began"},
		},
	} {
		all, s, err := records(t, types, vms, c.options)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, lines(all)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if diff := cmp.Diff(c.notes, s.Notes()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Sixty sixtieths fit.
func TestShares(t *testing.T) {
	all, s, err := records(t, types, vms, Options{TasksOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if all[0].Task.Demand[0]*60 > s.Kinds()[0].PerUnit {
		t.Errorf("60 × %d is more than %d", all[0].Task.Demand[0], s.Kinds()[0].PerUnit)
	}
}

// A stream holds all of it.
func TestRoundTrip(t *testing.T) {
	want, _, err := records(t, types, vms, Options{Nodes: 2})
	if err != nil {
		t.Fatal(err)
	}
	src, err := open(t, types, vms, Options{Nodes: 2})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := stream.Copy(&text, src, &trace.Losses{}); err != nil {
		t.Fatal(err)
	}
	back, err := stream.NewReader("t", &text, stream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(back)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if back.End() != 14*cluster.Day {
		t.Errorf("the stream ends at %v", back.End())
	}
}

// What cannot be read is named, or left out and counted.
func TestBroken(t *testing.T) {
	const head = "vmId,vmTypeId,priority,starttime,endtime\n"
	const good = head + "1,1,0,1.5,2\n"
	for _, c := range []struct{ types, vms, want string }{
		{types, "vmId,priority,starttime,endtime\n", "vm.csv:1: want a column vmTypeId"},
		{types, "vmId,vmTypeId,priority,start,endtime\n", `vm.csv:1:4: want a column, got "start"; there are`},
		{types, head, "vm.csv:2: want a row below"},
		{types, good + "1,1,0,1.5,2\n", "vm.csv:3:1: want a VM that is not there yet"},
		{types, good + "2,9,0,1.5,2\n", "vm.csv:3:2: want a type of VM that vmType.csv has"},
		{types, good + "2,1,2,1.5,2\n", "vm.csv:3:3: want 0, high, or 1, low"},
		{types, good + "2,1,0,1.25,2\n", "vm.csv:3:4: want a time that is not before that of the row before; write the table ORDER BY starttime"},
		{types, good + "2,1,0,soon,2\n", "vm.csv:3:4: want a time in days"},
		{types, good + "2,1,0,1.5,1\n", "vm.csv:3:5: want a time that is not before starttime"},
		{types, good + "2,1,0\n", "vm.csv:3: want 5 fields"},
		{"vmTypeId,machineId,core,memory\n1,1,1.5,1\n", good, "vmType.csv:2:3: want a share of a machine, from 0 to 1"},
		{"vmTypeId,machineId,core,memory\n1,1,1,1\n1,1,1,1\n", good, "vmType.csv:3:2: want a type of machine that is not there yet"},
	} {
		_, _, err := records(t, c.types, c.vms, Options{})
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	all, s, err := records(t, types, good+"x\n2,1,0,1.5,2\n", Options{Lenient: true})
	if count, _ := s.Skipped(); err != nil || len(all) != 2 || count != 1 {
		t.Errorf("lenient: %d records, %d left out, %v", len(all), count, err)
	}
	if _, err := open(t, types, vms, Options{Machine: 5, Chosen: true}); err == nil || !strings.Contains(err.Error(), "want a type of VM that runs on machine 5; most run on machine 7") {
		t.Errorf("a machine that there is not: %v", err)
	}
}

// The database itself is not read, but it is known, and what to do is said.
func TestDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.sqlite")
	for text, want := range map[string]string{
		"SQLite format 3\x00and more": "want a folder with vm.csv and vmType.csv, the tables of this SQLite database as text; write them: go -C formats build -o ../bin/ ./cmd/fairlead-sqlite && bin/fairlead-sqlite " + file + " DIR",
		"vmId\n":                      "want a folder with vm.csv and vmType.csv, the tables of the database as text",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(file, Options{}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzRead holds that no tables make the reader panic or hang, and that what it gives is in time order and can be
// written as a stream.
func FuzzRead(f *testing.F) {
	f.Add(types, vms, false)
	f.Add("vmTypeId,machineId,core,memory\n1,1,1,1\n", "vmId,vmTypeId,priority,starttime,endtime\n1,1,0,-0,NULL\n", true)
	f.Fuzz(func(t *testing.T, types, vms string, lenient bool) {
		all, s, err := records(t, types, vms, Options{Lenient: lenient, Nodes: 1})
		if err != nil {
			return
		}
		w := stream.NewWriter(io.Discard, s.Kinds())
		for i := range all {
			if err := w.Write(&all[i]); err != nil {
				t.Fatal(err)
			}
		}
	})
}
