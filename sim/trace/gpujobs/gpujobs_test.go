package gpujobs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// tasksOf reads a source to its end.
func tasksOf(t *testing.T, s *Source) (nodes int, tasks []trace.Record) {
	t.Helper()
	for {
		var r trace.Record
		err := s.Next(&r)
		switch {
		case errors.Is(err, io.EOF):
			return nodes, tasks
		case err != nil:
			t.Fatal(err)
		case r.What == trace.NodeAdded:
			nodes++
		default:
			tasks = append(tasks, r.Clone())
		}
	}
}

// A job is as few pods as can be, or one on each of so many nodes, and has all its GPUs.
func TestWhole(t *testing.T) {
	for _, c := range []struct {
		pod, gpus, count int64
		want             string // count×devices
	}{
		{0, 1, 0, "1×1"},
		{0, 8, 0, "1×8"},
		{0, 12, 0, "1×8 1×4"},
		{0, 128, 0, "16×8"},
		{0, 0, 0, "1×0"},
		{4, 10, 0, "2×4 1×2"},
		{0, 64, 8, "8×8"},
		{0, 10, 4, "2×3 2×2"},
		{0, 0, 3, "3×0"},
		{0, 1, 2, "1×1 1×0"},
	} {
		o := Options{GPUs: 8, Pod: c.pod}
		var got []string
		cpu, pods := int64(0), int64(0)
		for _, p := range o.Whole(Pods{GPU: c.gpus * Device, Count: c.count, CPU: 1000}) {
			got = append(got, fmt.Sprintf("%d×%d", p.Count, p.GPU/Device))
			cpu += p.CPU * p.Count
			pods += p.Count
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%d GPUs on %d nodes: %s, want %s", c.gpus, c.count, text, c.want)
		}
		if cpu < 1000 || cpu >= 1000+pods {
			t.Errorf("%d GPUs on %d nodes have %d of 1000 thousandths of a core", c.gpus, c.count, cpu)
		}
	}
	if p := (&Options{GPUs: 8}).Whole(Pods{GPU: 250}); len(p) != 1 || p[0].GPU != 250 {
		t.Errorf("a share of a GPU became %v", p)
	}
}

// Jobs come in time order from the first on, as gangs with names of their own, on as many
// nodes as have room for all that is there at once.
func TestSource(t *testing.T) {
	l := NewList(false)
	o := Options{GPUs: 8, Cores: 64 * Core}
	add := func(at, work cluster.Time, gpus int64, name string) {
		l.Add(Job{At: at, Name: name, User: "u", Pods: o.Whole(Pods{GPU: gpus * Device, CPU: 4 * Core, Work: work})})
	}
	add(100, 50, 12, "late")
	add(40, 60, 8, "early") // over when late begins
	add(90, 100, 2, "")
	l.Omit("jobs without a GPU")
	s := l.Source(o)
	nodes, tasks := tasksOf(t, s)
	if nodes != 2 { // 14 GPUs at 100
		t.Errorf("%d nodes, want 2", nodes)
	}
	task := func(job uint64, index uint32, name string, pods uint32, gang int32, v ...int64) trace.Task {
		return trace.Task{Job: job, Index: index, Name: name, User: "u", JobTasks: pods, Gang: gang, Demand: v}
	}
	want := []trace.Record{
		{Time: 0, What: trace.TaskSubmitted, Task: task(1, 0, "early", 1, 0, 4*Core, 8*Device)},
		{Time: 50, What: trace.TaskSubmitted, Task: task(2, 0, "", 1, 0, 4*Core, 2*Device)},
		{Time: 60, What: trace.TaskSubmitted, Task: task(0, 0, "late-0", 2, 2, 2667, 8*Device)},
		{Time: 60, What: trace.TaskSubmitted, Task: task(0, 1, "late-1", 2, 2, 1334, 4*Device)},
	}
	for i, work := range []cluster.Time{60, 100, 50, 50} {
		want[i].Task.Work = work
	}
	if diff := gocmp.Diff(want, tasks); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]string{"left out 1 jobs without a GPU"}, s.Notes()); diff != "" {
		t.Error(diff)
	}
	o.Loose, o.Nodes, o.GPUs = true, 3, 4
	nodes, tasks = tasksOf(t, l.Source(o))
	if nodes != 3 || slices.ContainsFunc(tasks, func(r trace.Record) bool { return r.Task.Gang != 0 }) {
		t.Errorf("%d nodes, want 3, and no gang: %v", nodes, tasks)
	}
	if notes := l.Source(o).Notes(); len(notes) != 2 || !strings.HasPrefix(notes[1], "2 jobs ask for more on one node") {
		t.Error(notes)
	}
	o.TasksOnly = true
	if nodes, _ = tasksOf(t, l.Source(o)); nodes != 0 {
		t.Errorf("%d nodes beside another source", nodes)
	}
}

// Gangs that all nodes together do not hold, though what they ask for is less than these have, are said.
func TestTooWide(t *testing.T) {
	o := Options{GPUs: 8}
	l := NewList(false)
	l.Add(Job{Name: "fives", Pods: o.Whole(Pods{GPU: 20 * Device, Count: 4, Work: 5})})      // 20 GPUs: three nodes
	l.Add(Job{Name: "wide", Pods: []Pods{{Count: 1, GPU: 9 * Device}, {Count: 99, GPU: 1}}}) // too large, and said so
	l.Add(Job{Name: "shares", Pods: []Pods{{Count: 25, GPU: 600}}})                          // a device each
	for _, tc := range []struct {
		nodes int
		loose bool
		want  string
	}{
		{0, false, "2 jobs have pods that begin together and do not fit on 3 nodes together"},
		{3, false, "2 jobs have pods"},
		{4, false, ""},
		{3, true, ""},
	} {
		o.Nodes, o.Loose = tc.nodes, tc.loose
		notes := l.Source(o).Notes()
		said := ""
		if len(notes) > 1 {
			said = notes[1]
		}
		if len(notes) == 0 || !strings.HasPrefix(said, tc.want) || tc.want == "" && said != "" {
			t.Errorf("%d nodes, loose %v: %q, want %q", tc.nodes, tc.loose, notes, tc.want)
		}
	}
}

// Whether nodes hold pods is the same as placing them one by one says, the largest first.
func TestHolds(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	held := 0
	for i := range 2000 {
		s := &Source{options: Options{GPUs: 8, Cores: 16 * Core}, nodes: 1 + chance.IntN(5), counted: [3]bool{true, false, true}}
		var pods []Pods
		for range 1 + chance.IntN(3) {
			pods = append(pods, Pods{Count: 1 + chance.Int64N(6), GPU: chance.Int64N(9) * Device, CPU: chance.Int64N(9) * Core})
		}
		got, want := s.holds(pods), oneByOne(s, pods)
		if got != want {
			t.Fatalf("%d: %v on %d nodes: %v, one by one %v", i, pods, s.nodes, got, want)
		}
		if got {
			held++
		}
	}
	if held < 200 || held > 1800 {
		t.Errorf("%d of 2000 were held", held)
	}
}

// oneByOne places pod after pod on the first node that has room.
func oneByOne(s *Source, pods []Pods) bool {
	share := func(p Pods) float64 {
		return max(float64(p.GPU)/float64(8*Device), float64(p.CPU)/float64(16*Core))
	}
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(a, b Pods) int { return cmp.Compare(share(b), share(a)) })
	free := make([][2]int64, s.nodes)
	for i := range free {
		free[i] = [2]int64{8 * Device, 16 * Core}
	}
	for _, p := range pods {
		for range p.Count {
			at := slices.IndexFunc(free, func(f [2]int64) bool { return f[0] >= p.GPU && f[1] >= p.CPU })
			if at < 0 {
				return false
			}
			free[at][0] -= p.GPU
			free[at][1] -= p.CPU
		}
	}
	return true
}

// A job of a million pods is given out pod by pod, and not held.
func TestLargeJob(t *testing.T) {
	l := NewList(false)
	o := Options{GPUs: 1}
	l.Add(Job{Pods: o.Whole(Pods{GPU: MostGPUs * Device, Work: cluster.Hour})})
	s := l.Source(o)
	if len(s.jobs[0].Pods) != 1 || s.nodes != mostNodes {
		t.Errorf("%d kinds of pods, %d nodes", len(s.jobs[0].Pods), s.nodes)
	}
}

// Dates are what package time makes of them.
func TestDate(t *testing.T) {
	for text, want := range map[string]string{
		"2017-10-09 07:01:55":          "2017-10-09T07:01:55Z",
		"2020-02-29 23:59:59":          "2020-02-29T23:59:59Z",
		"2023-03-01T00:18:22+08:00":    "2023-03-01T00:18:22+08:00",
		"2023-05-17 11:00:58.25-05:30": "2023-05-17T11:00:58-05:30",
		"1999-12-31 00:00:00Z":         "1999-12-31T00:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339, want)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := ParseDate([]byte(text))
		if !ok || got != cluster.Time(at.Unix())*cluster.Second {
			t.Errorf("%s: %v, want %d", text, got, at.Unix())
		}
	}
	for _, text := range []string{
		"", "2017-10-09", "2017-13-09 07:01:55", "2017-00-09 07:01:55", "2017-10-09 24:01:55", "2017/10/09 07:01:55", "17-10-09 07:01:55",
		"2017-10-09 07:01:55+8", "2017-10-09 07:01:55+0a:00", "2017-10-09 07:01:55 PST", "9999-10-09 07:01:55", "2017-10-0x 07:01:55",
	} {
		if got, ok := ParseDate([]byte(text)); ok {
			t.Errorf("%s is %v", text, got)
		}
	}
}

// FuzzDate holds that no text panics, and that dates are in order of their text.
func FuzzDate(f *testing.F) {
	f.Add("2017-10-09 07:01:55", "2023-03-01 00:18:22+08:00")
	f.Add("2020-02-29T23:59:59.5Z", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, okX := ParseDate([]byte(a))
		y, okY := ParseDate([]byte(b))
		if len(a) == 19 && len(b) == 19 && okX && okY && a[10] == b[10] && a < b && x > y+3*cluster.Day {
			t.Errorf("%s is %v and %s is %v", a, x, b, y)
		}
		if okX && (x < -cluster.Day*2 || x > 300*366*cluster.Day) {
			t.Errorf("%s is %v", a, x)
		}
	})
}

// The helpers for fields refuse what is out of bounds, and the row says so.
func TestFields(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.csv")
	for _, c := range []struct{ text, want string }{
		{"8.0,0.4,COMPLETED,a", "8 400 false true a"},
		{"2,2.5,FAILED,b", "2 3000 true true b"},
		{"1048577,1,COMPLETED,a", "t.csv:2:1: want a number"},
		{"1,1e9,COMPLETED,a", "t.csv:2:2: want GPUs"},
		{"1,1,DONE,a", "t.csv:2:3: want a state"},
		{"1,1,FAILED,", "t.csv:2:4: want the name of a job"},
		{"1,1,FAILED,first", "t.csv:2:4: want a job that is not there yet"},
	} {
		if err := os.WriteFile(file, []byte("n,g,s,j\n"+c.text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		l := NewList(false)
		l.Add(Job{Name: "first"})
		got := ""
		err := trace.ReadTable(file, &l.Skips, trace.Header{Needed: []string{"n", "g", "s", "j"}}, func(c trace.Columns, row *trace.Row) error {
			n, g := Count(row, c["n"], "a number", MostGPUs), Share(row, c["g"], "GPUs", 3)
			fails, ended := State(row, c["s"])
			got = fmt.Sprintln(n, g, fails, ended, l.Name(row, c["j"]))
			got = strings.Join(strings.Fields(got), " ")
			return row.Err()
		})
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(strings.ReplaceAll(got, " ", ""), strings.ReplaceAll(c.want, " ", "")) {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}
