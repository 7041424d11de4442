package qos

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// records opens the text as a file and reads it to its end.
func records(t *testing.T, text string, o Options) ([]trace.Record, *Source, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "workload.txt")
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

// Hosts come first, then the tasks in time order whatever their order in the
// file; demand is exact, or rounded up.
func TestRead(t *testing.T) {
	all, _, err := records(t, "{2,7,9,7200,0.375,0.0000015,11,1,[]}.\n\n{1,8,9,60,1,2,1,0,[]}.\n", Options{Hosts: 2, CPU: 3_750_000, Memory: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 4 || all[0].What != trace.NodeAdded || all[0].Node.ID == all[1].Node.ID {
		t.Fatalf("got %+v", all)
	}
	first, second := all[2], all[3]
	if first.Time != cluster.Second || first.Task.Index != 8 || first.Task.Work != cluster.Minute {
		t.Errorf("first task: %+v", first)
	}
	if d := second.Task.Demand; d[0] != 375_000 || d[1] != 2 || second.Task.PerNode != 1 || second.Task.Priority != 11 || second.Task.Job != 9 {
		t.Errorf("second task: %+v", second)
	}
}

// What cannot be read is named, or left out and counted.
func TestBrokenLines(t *testing.T) {
	const good = "{1,8,9,60,1,2,1,0,[]}.\n"
	for _, c := range []struct{ line, want string }{
		{"1,8,9,60,1,2,1,0,[]", "want a record"},
		{"{3,8,9,60,1,2,1,0,[]}.", ":2:2: want a task of the job that is not there yet"},
		{"{1,8,9,60,1,2,1,0}.", "9 fields"},
		{"{x,8,9,60,1,2,1,0,[]}.", ":2:1: want a whole number of seconds"},
		{"{1,8,9,60,-1,2,1,0,[]}.", ":2:5: want an amount of cpu"},
		{"{1,8,9,60,1,2,99,0,[]}.", ":2:7: want a priority"},
		{"{1,8,9,60,1,2,1,2,[]}.", ":2:8: want 0 or 1"},
		{"{1,8,9,60,1,2,1,0,[zone]}.", ":2:9: want no constraints"},
	} {
		_, _, err := records(t, good+c.line+"\n", Options{})
		if _, broken := errors.AsType[*trace.Error](err); !broken || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.line, err, c.want)
		}
		all, s, err := records(t, good+c.line+"\n"+strings.Replace(good, "8", "7", 1), Options{Lenient: true})
		if err != nil || len(all) != 2 {
			t.Errorf("%s, lenient: %d records, %v", c.line, len(all), err)
			continue
		}
		if count, first := s.Skipped(); count != 1 || len(first) != 1 {
			t.Errorf("%s, lenient: skipped %d", c.line, count)
		}
	}
}

func TestEmpty(t *testing.T) {
	for _, text := range []string{"", " \n\n"} {
		if _, _, err := records(t, text, Options{Lenient: true}); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "want a record {time") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzRead holds that no file makes the reader panic or hang, and that what it
// gives is in time order.
func FuzzRead(f *testing.F) {
	f.Add("{1,8,9,60,1,2,1,0,[]}.\n{0,8,9,60,1,2,1,0,[]}.\n", true)
	f.Add("{1,8,", false)
	f.Fuzz(func(t *testing.T, text string, lenient bool) {
		all, _, err := records(t, text, Options{Lenient: lenient})
		if err != nil {
			return
		}
		for i := 1; i < len(all); i++ {
			if all[i].Time < all[i-1].Time || len(all[i].Task.Demand) != 2 {
				t.Fatalf("record %d: %+v after %+v", i, all[i], all[i-1])
			}
		}
	})
}
