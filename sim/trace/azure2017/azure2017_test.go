package azure2017

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/stream"
)

// folder is a small trace: bins of 300 s up to 1500 s, dev from 1,800,000 s on.
func folder() map[string]string {
	return map[string]string{
		"flav_map.txt":          "1,0.75 a\n8,56 o\n",
		"v1.interval_map.txt":   "0 0\n300 1\n600 2\n900 2\n1200 3\n",
		"v1.train.txt":          "300 a,|,o,a,|\n600 a,a,a,|\n",
		"v1.dev.txt":            "1800000 a,|,o,a,|\n1800300 o,|\n",
		"v1.dev.c1801200.txt":   "1800000 U0,|,U2,C3,|\n1800300 C2,|\n",
		"v1.test.txt":           "2100000 a,|\n2186400 o,o,|\n",
		"v1.test.c2187000.txt":  "2100000 U1,|\n2186400 C2,U1,|\n",
		"v1.test.old.notes.txt": "not read",
	}
}

// write writes the files, of which some are to be different, into a folder.
func write(t *testing.T, different map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files := folder()
	maps.Copy(files, different)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// small are options with few nodes.
func small(part string) Options {
	o := Default()
	o.Part, o.Nodes = part, 2
	return o
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

// records opens the folder and reads it to its end.
func records(dir string, o Options) ([]trace.Record, *Source, error) {
	s, err := Open(dir, o)
	if err != nil {
		return nil, nil, err
	}
	all, err := readAll(s)
	return all, s, errors.Join(err, s.Close())
}

// lived are the durations of the tasks, in order.
func lived(all []trace.Record) (works []cluster.Time) {
	for _, r := range all {
		if r.What == trace.TaskSubmitted {
			works = append(works, r.Task.Work)
		}
	}
	return works
}

// line is a record as a line, without its work.
func line(r *trace.Record) string {
	if r.What == trace.NodeAdded {
		return fmt.Sprintf("%v node %d %v", r.Time, r.Node.ID, r.Node.Capacity)
	}
	t := &r.Task
	return fmt.Sprintf("%v job %d task %d of %d %v %v priority %d unowned %v", r.Time, t.Job, t.Index, t.JobTasks, t.Demand, t.Tags, t.Priority, t.Unowned)
}

// Nodes come first, then batches as jobs, at the hour of their day.
func TestRead(t *testing.T) {
	all, s, err := records(write(t, nil), small(dev))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range all {
		got = append(got, line(&all[i]))
	}
	want := []string{
		"0s node 1 [48000 262144]",
		"0s node 2 [48000 262144]",
		"72000s job 180000000000 task 0 of 1 [1000 768] [flavour:a] priority 9 unowned true",
		"72000s job 180000000001 task 0 of 2 [8000 57344] [flavour:o] priority 9 unowned true",
		"72000s job 180000000001 task 1 of 2 [1000 768] [flavour:a] priority 9 unowned true",
		"72300s job 180030000000 task 0 of 1 [8000 57344] [flavour:o] priority 9 unowned true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if end := s.End(); end != 20*cluster.Hour+20*cluster.Minute {
		t.Errorf("it ends at %v, want 20:20, the horizon", end)
	}
	o := small(dev)
	o.Movable, o.TasksOnly = true, true
	all, _, err = records(write(t, nil), o)
	if err != nil || len(all) != 4 || all[0].Task.Unowned || all[0].Task.Priority != 0 {
		t.Errorf("movable, and tasks only: %d records, %v", len(all), err)
	}
}

// All parts follow each other, and a VM is the same in whatever part it is read. train alone ends where dev begins.
func TestParts(t *testing.T) {
	dir := write(t, nil)
	all, s, err := records(dir, small(All))
	if err != nil {
		t.Fatal(err)
	}
	if end := s.End(); end != 2187000*cluster.Second {
		t.Errorf("all ends at %v, want the horizon of test", end)
	}
	tasks := all[2:]
	for _, part := range []struct {
		name   string
		days   cluster.Time
		tasks  int
		ending cluster.Time
	}{
		{train, 0, 6, 1800000 * cluster.Second},
		{dev, 20, 4, (1801200 - 20*day) * cluster.Second},
		{test, 24, 3, (2187000 - 24*day) * cluster.Second},
	} {
		own, s, err := records(dir, small(part.name))
		if err != nil {
			t.Fatal(err)
		}
		own = own[2:]
		for i := range own {
			own[i].Time += part.days * cluster.Day
		}
		if diff := cmp.Diff(tasks[:part.tasks], own); diff != "" {
			t.Errorf("%s: %s", part.name, diff)
		}
		if s.End() != part.ending {
			t.Errorf("%s ends at %v, want %v", part.name, s.End(), part.ending)
		}
		tasks = tasks[part.tasks:]
	}
}

// Durations lie in their bins and before the horizon; who is still there goes on; the same
// seed draws the same, and another seed others.
func TestDurations(t *testing.T) {
	dir := write(t, nil)
	differ := false
	first, s, err := records(dir, small(All))
	if err != nil {
		t.Fatal(err)
	}
	notes := s.Notes()
	for i, want := range []string{"drew how long 6 VMs live, by flavour, from those of dev", "drew how much longer 3 VMs live that were there when they were seen last"} {
		if len(notes) <= i || notes[i] != want {
			t.Errorf("notes %q, want %q", notes, want)
		}
	}
	for seed := range uint64(100) {
		o := small(All)
		o.Seed = seed
		all, _, err := records(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := records(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		works := lived(all)
		if diff := cmp.Diff(works, lived(again)); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		differ = differ || !cmp.Equal(works, lived(first))
		const never = cluster.Never / cluster.Second
		// Six of train; dev's U0, U2, C3 and C2; test's U1, C2 and U1, of which the last ends at its horizon or before.
		for i, in := range [][2]cluster.Time{
			{1, never},
			{1, never},
			{1, never},
			{1, never},
			{1, never},
			{1, never},
			{1, 300},
			{600, 1200},
			{1200, never},
			{900, never},
			{300, 600},
			{600, never},
			{300, 600},
		} {
			if w := works[i]; w < in[0]*cluster.Second || w != cluster.Never && w >= in[1]*cluster.Second {
				t.Errorf("seed %d: VM %d lives %v, want from %d s on, before %d s", seed, i, w, in[0], in[1])
			}
		}
	}
	if !differ {
		t.Error("100 seeds draw the same")
	}
}

// A stream holds all of it.
func TestRoundTrip(t *testing.T) {
	o := small(All)
	want, _, err := records(write(t, nil), o)
	if err != nil {
		t.Fatal(err)
	}
	src, err := Open(write(t, nil), o)
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
	if back.End() != src.End() {
		t.Errorf("the stream ends at %v, want %v", back.End(), src.End())
	}
}

// What cannot be read is named, with its file and line.
func TestBroken(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"flav_map.txt", "1,0.75 a\n8,56 a\n", "flav_map.txt:2:3: want a flavour that is not there yet"},
		{"flav_map.txt", "1,0.75 |\n", "flav_map.txt:1:3: want the letter of a flavour"},
		{"flav_map.txt", "1 a\n", "flav_map.txt:1: want 3 fields"},
		{"flav_map.txt", "-1,1 a\n", "flav_map.txt:1:1: want a number of cores"},
		{"v1.interval_map.txt", "0 0\n300 2\n", "v1.interval_map.txt:2:2: want the bin of the line before, or the one after"},
		{"v1.interval_map.txt", "0 0\n0 1\n", "v1.interval_map.txt:2:1: want a duration, the first 0"},
		{"v1.interval_map.txt", "300 0\n", "v1.interval_map.txt:1:1: want a duration, the first 0"},
		{"v1.interval_map.txt", "\n", "v1.interval_map.txt:2: want a bin"},
		{"v1.train.txt", "300 a,|\n300 a,|\n", "v1.train.txt:2:1: want a time after 300"},
		{"v1.train.txt", "300 a,b,|\n", "v1.train.txt:1:2: want flavours of flav_map.txt"},
		{"v1.train.txt", "300 |,a\n", "v1.train.txt:1:2: want a flavour before each bar"},
		{"v1.train.txt", "300\n", "v1.train.txt:1: want 2 fields"},
		{"v1.train.txt", "", "v1.train.txt:1: want arrivals"},
		{"v1.train.txt", "1800001 a,|\n", "v1.dev.txt:1:1: want a time after 1800001"},
		{"v1.dev.txt", "1800000 a,|,o,a,|\n1900000 o,|\n", "v1.dev.txt:2:1: want a time until 1801200"},
		{"v1.dev.c1801200.txt", "1800000 U0,|,U2,C3,|\n", "v1.dev.c1801200.txt:2: want what became of the VMs of time 1800300"},
		{"v1.dev.c1801200.txt", "1800000 U0,|,U2,C3,|\n1800300 C2,|\n\n1800600 C2,|\n", "v1.dev.c1801200.txt:4: want the end of the file"},
		{"v1.dev.c1801200.txt", "1800100 U0,|,U2,C3,|\n1800300 C2,|\n", "v1.dev.c1801200.txt:1:1: want the time 1800000"},
		{"v1.dev.c1801200.txt", "1700000 U0,|,U2,C3,|\n1800300 C2,|\n", "v1.dev.c1801200.txt:1:1: want the time 1800000"},
		{"v1.dev.c1801200.txt", "1800000 U0,|,U2,|,C3,|\n1800300 C2,|\n", "v1.dev.c1801200.txt:1:2: want as many as have come"},
		{"v1.dev.c1801200.txt", "1800000 U0,|,U2,C3,|,|\n1800300 C2,|\n", "v1.dev.c1801200.txt:1:2: want as many as have come"},
		{"v1.dev.c1801200.txt", "1800000 U0,|,U2,|\n1800300 C2,|\n", "v1.dev.c1801200.txt:1:2: want as many as have come"},
		{"v1.dev.c1801200.txt", "1800000 U0,|,U2,C3,C3,|\n1800300 C2,|\n", "v1.dev.c1801200.txt:1:2: want as many as have come"},
		{"v1.dev.c1801200.txt", "1800000 U0,|,U2,C4,|\n1800300 C2,|\n", "v1.dev.c1801200.txt:1:2: want U and C, each with the number of a bin, from 0 to 3"},
		{"v1.dev.c1801200.txt", "1800000 U0,|,U2,D3,|\n1800300 C2,|\n", "v1.dev.c1801200.txt:1:2: want U and C"},
		{"v1.dev.c1801200.txt", "1800000 U0,|,U2,C2,|\n1800300 C2,|\n", "v1.dev.c1801200.txt:1:2: want C with the bin of 1200 s"},
		{"v1.dev.c1801200.txt", "1800000 U0,|,U2,C3,|\n1800300 U3,|\n", "v1.dev.c1801200.txt:2:2: want U with a bin of at most 900 s"},
		{"v1.dev.c1801300.txt", "", "2 files v1.dev.cSECOND.txt"},
	} {
		_, _, err := records(write(t, map[string]string{c.file: c.text}), small(All))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got %v, want %q", c.file, c.text, err, c.want)
		}
	}
	if _, err := Open(write(t, nil), small("tset")); err == nil || !strings.Contains(err.Error(), `a part "tset"`) {
		t.Errorf("an unknown part: %v", err)
	}
}

// A broken line is left out with what belongs to it in the other file, and the rest goes on in step.
func TestLenient(t *testing.T) {
	for _, c := range []struct {
		file, text string
		left       int // of the 13 VMs
	}{
		{"v1.train.txt", "300 a,|,z,a,|\n600 a,a,a,|\n", 10},
		{"v1.dev.txt", "1800000 z,|\n1800300 o,|\n", 10},
		{"v1.dev.c1801200.txt", "1800000 U0,|\n1800300 C2,|\n", 10},
		{"v1.dev.c1801200.txt", "1800000 U0,|,U2,C3,|\n", 12},
		{"v1.dev.c1801200.txt", "1800300 C2,|\n", 10},
		{"v1.dev.c1801200.txt", "1800000 U0,|,U2,C3,|\n1800100 C2,|\n1800300 C2,|\n", 13},
		{"v1.dev.c1801200.txt", "1800000 U0,|,U2,C3,|\n1800300 C2,|\n1800400 C2,|\n", 13},
		{"v1.interval_map.txt", "0 0\n300 1\n600 2\n900 2\nx\n1200 3\n", 13},
	} {
		o := small(All)
		o.Lenient, o.TasksOnly = true, true
		all, s, err := records(write(t, map[string]string{c.file: c.text}), o)
		if err != nil || len(all) != c.left {
			t.Errorf("%s %q: %d VMs, want %d; %v", c.file, c.text, len(all), c.left, err)
			continue
		}
		if count, first := s.Skipped(); count == 0 || first[0].File == "" {
			t.Errorf("%s %q: nothing is said of what was left out", c.file, c.text)
		}
	}
}

// What is broken in dev is counted once in whatever part is played, as lives are learned of it.
func TestLenientPart(t *testing.T) {
	dir := write(t, map[string]string{"v1.dev.txt": "1800000 z,|\n1800300 o,|\n"})
	for _, part := range Parts() {
		o := small(part)
		o.Lenient = true
		_, s, err := records(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if count, first := s.Skipped(); count != 2 || !strings.HasSuffix(first[0].File, "v1.dev.txt") {
			t.Errorf("%s: %d lines, %v, want one of dev and what belongs to it", part, count, first)
		}
	}
}

// FuzzRead holds that no folder makes the reader panic or hang, and that what it gives is in time order and can be
// written as a stream.
func FuzzRead(f *testing.F) {
	seed := folder()
	f.Add(seed["flav_map.txt"], seed["v1.interval_map.txt"], seed["v1.dev.txt"], seed["v1.dev.c1801200.txt"], false)
	f.Add("1,2 a\n", "0 0\n5 1\n", "1 a,a,|,a\n2 a,|\n", "1 U0,C1,|,U1\n2 C1\n", true)
	f.Fuzz(func(t *testing.T, flavours, bins, arrivals, fates string, lenient bool) {
		o := small(dev)
		o.Lenient = lenient
		all, s, err := records(write(t, map[string]string{
			"flav_map.txt": flavours, "v1.interval_map.txt": bins, "v1.dev.txt": arrivals, "v1.dev.c1801200.txt": fates,
		}), o)
		if err != nil {
			return
		}
		w := stream.NewWriter(io.Discard, s.Kinds())
		for i := range all {
			if err := w.Write(&all[i]); err != nil {
				t.Fatal(err)
			}
			if task := &all[i].Task; task.Index >= max(task.JobTasks, 1) {
				t.Fatalf("task %d of %d", task.Index, task.JobTasks)
			}
		}
	})
}
