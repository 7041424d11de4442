package google2019_test

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
	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/parquet"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/google2019"
)

const (
	machineFile = "machine_events-000000000000.json"
	taskFile    = "instance_events-000000000000.json"
	jobFile     = "collection_events-000000000000.json"

	oneMachine = `{"time":"0","machine_id":"5","type":"1","switch_id":"s1","capacity":{"cpus":0.5,"memory":0.25},"platform_id":"p1"}` + "\n"
	oneTask    = `{"time":"0","type":"0","collection_id":"7","scheduling_class":"2","collection_type":"0","priority":"200","alloc_collection_id":"0",` +
		`"instance_index":"0","machine_id":"0","resource_request":{"cpus":0.125,"memory":0.0625}}` + "\n"
)

// folder makes a folder of files; those ending in .gz are packed.
func folder(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, content := range files {
		data := []byte(content)
		if strings.HasSuffix(name, ".gz") {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, err := z.Write(data)
			if err := errors.Join(err, z.Close()); err != nil {
				tb.Fatal(err)
			}
			data = b.Bytes()
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func readAll(dir string, o google2019.Options) ([]trace.Record, *google2019.Source, error) {
	src, err := google2019.Open(dir, o)
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

// mustRead reads a folder that is right.
func mustRead(t *testing.T, files map[string]string, o google2019.Options) ([]trace.Record, *google2019.Source) {
	t.Helper()
	records, src, err := readAll(folder(t, files), o)
	if err != nil {
		t.Fatal(err)
	}
	return records, src
}

// story reads the events of one instance, as "time event" pairs, and returns what became of it. The rows are in two shards,
// in which they go backwards.
func story(t *testing.T, events string) []trace.Record {
	t.Helper()
	var shards [2]string
	for i, e := range strings.Split(events, ", ") {
		time, what, _ := strings.Cut(e, " ")
		machine := 0
		if what == "SCHEDULE" {
			machine = 5
		}
		line := fmt.Sprintf(`{"time":"%s","type":"%s","collection_id":"7","instance_index":"3","scheduling_class":"SENSITIVE","priority":"200","machine_id":"%d",`+
			`"resource_request":{"cpus":0.125,"memory":0.0625}}`+"\n", time, what, machine)
		shards[i%2] = line + shards[i%2]
	}
	records, _ := mustRead(t, map[string]string{machineFile: oneMachine, "instance_events-000000000000.json": shards[0], "instance_events-000000000001.json.gz": shards[1]}, google2019.Options{})
	return records[1:]
}

func TestLives(t *testing.T) {
	task := trace.Task{Job: 7, Index: 3, Class: 2, Priority: 9, Demand: cluster.Vector{1 << 17, 1 << 16}}
	submit := func(at, work cluster.Time) trace.Record {
		r := trace.Record{Time: at, What: trace.TaskSubmitted, Task: task}
		r.Task.Work = work
		return r
	}
	failing := submit(1, 3)
	failing.Task.Fails = true
	running := submit(0, 600)
	running.Task.Running, running.Task.OnNode = true, 5
	killed := func(at cluster.Time) trace.Record {
		return trace.Record{Time: at, What: trace.TaskKilled, Task: trace.Task{Job: 7, Index: 3}}
	}
	for _, tc := range []struct {
		events string
		want   []trace.Record
	}{
		{"1 SUBMIT", []trace.Record{submit(1, cluster.Never)}},
		{"1 SUBMIT, 1 QUEUE, 2 ENABLE, 3 SCHEDULE, 9 FINISH", []trace.Record{submit(1, 6)}},
		{"1 SUBMIT, 3 SCHEDULE, 6 FAIL", []trace.Record{failing}},
		{"1 SUBMIT, 3 SCHEDULE, 9 LOST", []trace.Record{submit(1, 6)}},
		{"1 SUBMIT, 3 SCHEDULE, 6 KILL", []trace.Record{submit(1, cluster.Never), killed(6)}},
		{"1 SUBMIT, 6 FINISH", []trace.Record{submit(1, cluster.Never), killed(6)}},
		{"1 SUBMIT, 3 SCHEDULE, 5 EVICT, 5 QUEUE, 8 SCHEDULE, 12 FINISH", []trace.Record{submit(1, 4)}},
		{"1 SUBMIT, 3 SCHEDULE, 5 EVICT, 6 SUBMIT, 8 SCHEDULE, 12 FINISH", []trace.Record{submit(1, 4)}},
		{"1 SUBMIT, 3 SCHEDULE, 9 FINISH, 10 SUBMIT, 11 SCHEDULE, 13 FINISH", []trace.Record{submit(1, 6), submit(10, 2)}},
		{"1 SUBMIT, 3 SCHEDULE, 4 UPDATE_RUNNING, 9 FINISH", []trace.Record{submit(1, 6)}},
		{"0 SUBMIT, 0 ENABLE, 0 SCHEDULE, 600 FINISH", []trace.Record{running}},
		{"0 SUBMIT, 0 SCHEDULE, 0 FINISH, 9 SUBMIT", []trace.Record{submit(9, cluster.Never)}},
		{"1 SUBMIT, 9223372036854775807 KILL", []trace.Record{submit(1, cluster.Never)}},
		{"1 KILL, 2 SUBMIT", []trace.Record{submit(2, cluster.Never)}},
	} {
		if diff := cmp.Diff(tc.want, story(t, tc.events)); diff != "" {
			t.Errorf("%s:\n%s", tc.events, diff)
		}
	}
}

// TestSnapshot says what runs at time 0 asks for what it has by then, and where its machine is not known it waits.
func TestSnapshot(t *testing.T) {
	row := func(index, kind, machine int, cpus float64) string {
		return fmt.Sprintf(`{"time":0,"type":%d,"collection_id":7,"instance_index":%d,"machine_id":%d,"resource_request":{"cpus":%v}}`+"\n", kind, index, machine, cpus)
	}
	records, src := mustRead(t, map[string]string{
		machineFile: oneMachine,
		taskFile: row(0, 10, 5, 0.75) + row(0, 3, 5, 0.5) + row(0, 0, 0, 0.25) + // the rows of time 0 stand in any order
			row(1, 0, 0, 0.25) + row(1, 3, -1, 0.25),
	}, google2019.Options{})
	if got := records[1].Task; !got.Running || got.OnNode != 5 || got.Demand[0] != 3<<18 {
		t.Errorf("a task that runs and was updated: %+v", got)
	}
	if got := records[2].Task; got.Running {
		t.Errorf("a task on a dedicated machine runs: %+v", got)
	}
	if notes := strings.Join(src.Notes(), "; "); !strings.Contains(notes, "1 tasks ran at the start on no machine") || !strings.Contains(notes, "no collection_events") {
		t.Errorf("notes: %s", notes)
	}
}

// TestTiers holds the bounds of Google's tiers against the priorities of 2011.
func TestTiers(t *testing.T) {
	for priority, want := range map[int]int32{0: 0, 25: 0, 99: 0, 100: 2, 103: 2, 115: 2, 116: 8, 119: 8, 120: 9, 200: 9, 359: 9, 360: 11, 450: 11} {
		files := map[string]string{machineFile: oneMachine, taskFile: strings.Replace(oneTask, `"200"`, fmt.Sprint(priority), 1)}
		if got, _ := mustRead(t, files, google2019.Options{}); got[1].Task.Priority != want {
			t.Errorf("priority %d becomes %d, want %d", priority, got[1].Task.Priority, want)
		}
		if got, _ := mustRead(t, files, google2019.Options{OwnPriorities: true}); got[1].Task.Priority != int32(priority) {
			t.Errorf("priority %d of its own becomes %d", priority, got[1].Task.Priority)
		}
	}
}

// TestAllocs reads an alloc set with a task in it, and a task beside it, either way.
func TestAllocs(t *testing.T) {
	row := func(job, set, alloc int) string {
		return fmt.Sprintf(`{"time":"9","type":"SUBMIT","collection_id":"%d","instance_index":"0","collection_type":"%d","alloc_collection_id":"%d"}`+"\n", job, set, alloc)
	}
	files := map[string]string{machineFile: oneMachine, taskFile: row(1, 1, 0) + row(2, 0, 1) + row(3, 0, 0)}
	for _, tc := range []struct {
		open bool
		want [2]uint64
		note string
	}{{false, [2]uint64{1, 3}, "left out 1 tasks in alloc sets"}, {true, [2]uint64{2, 3}, "left out 1 instances of alloc sets"}} {
		records, src := mustRead(t, files, google2019.Options{OpenAllocs: tc.open})
		if len(records) != 3 || records[1].Task.Job != tc.want[0] || records[2].Task.Job != tc.want[1] {
			t.Errorf("open %v: %+v", tc.open, records)
		}
		if notes := strings.Join(src.Notes(), "; "); !strings.Contains(notes, tc.note) {
			t.Errorf("open %v: notes: %s", tc.open, notes)
		}
	}
}

func TestMachines(t *testing.T) {
	attribute := func(at int, name, value string) string {
		return fmt.Sprintf(`{"time":"%d","machine_id":"5","name":"%s",%s}`+"\n", at, name, value)
	}
	records, _ := mustRead(t, map[string]string{
		machineFile: oneMachine +
			`{"time":"9","machine_id":"5","type":"UPDATE","capacity":{"cpus":"1","memory":1},"platform_id":"p1","switch_id":null}` + "\n" +
			`{"time":"10","machine_id":"5","type":"2"}` + "\n" + `{"time":"11","machine_id":"5","type":"2"}` + "\n",
		taskFile: oneTask,
		"machine_attributes-000000000000.json.gz": attribute(0, "k", `"value":"v","deleted":false`) + attribute(9, "k", `"deleted":true`),
	}, google2019.Options{})
	node := func(at cluster.Time, what trace.What, capacity cluster.Vector, labels ...cluster.Label) trace.Record {
		return trace.Record{Time: at, What: what, Node: trace.Node{ID: 5, Capacity: capacity, Labels: labels}}
	}
	p, k := cluster.Label{Key: "platform", Value: "p1"}, cluster.Label{Key: "k", Value: "v"}
	first, gone, second := node(0, trace.NodeAdded, cluster.Vector{1 << 19, 1 << 18}, k, p), node(9, trace.NodeChanged, cluster.Vector{1 << 19, 1 << 18}, p), node(9, trace.NodeChanged, cluster.Vector{1 << 20, 1 << 20}, p)
	first.Node.Groups = []cluster.Label{{Key: "rack", Value: "s1"}}
	gone.Node.Groups = first.Node.Groups
	second.Node.Groups = []cluster.Label{}
	want := []trace.Record{first, gone, second, node(10, trace.NodeLost, nil)}
	got := append(records[:1:1], records[2:]...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConstraintsAndCollections(t *testing.T) {
	constraint := func(relation, value string) string {
		return fmt.Sprintf(`{"name":"a","value":%s,"relation":"%s"}`, value, relation)
	}
	task := strings.Replace(oneTask, `"instance_index"`, `"constraint":[`+strings.Join([]string{
		constraint("0", `"x"`), constraint("NOT_EQUAL", `"x"`), constraint("2", `"3"`), constraint("3", `"3"`), constraint("4", `"3"`),
		constraint("5", `"3"`), constraint("PRESENT", "null"), constraint("7", `""`), constraint("2", `"3.5"`), constraint("3", `"3.5"`),
	}, ",")+`],"instance_index"`, 1)
	records, src := mustRead(t, map[string]string{
		machineFile: oneMachine, taskFile: task,
		jobFile: `{"time":"0","type":"SUBMIT","collection_id":"7","user":"ann","max_per_machine":"2","max_per_switch":"3","vertical_scaling":"3",` +
			`"start_after_collection_ids":["5","6"],"collection_name":"n","scheduler":"1"}` + "\n",
	}, google2019.Options{})
	got := records[1].Task
	var list []string
	for _, q := range got.Requirements {
		list = append(list, q.String())
	}
	if text := strings.Join(list, " "); text != "a=x a!=x a<3 a>3 a<4 a>2 a!= a= a<4 a>3" {
		t.Errorf("requirements: %s", text)
	}
	if got.User != "ann" || got.PerNode != 2 {
		t.Errorf("the collection's user and limit: %+v", got)
	}
	notes := strings.Join(src.Notes(), "; ")
	for _, want := range []string{"1 jobs are scaled vertically", "1 jobs start after others", "1 jobs have a limit for each switch"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note that %s: %s", want, notes)
		}
	}
}

// TestParquet writes the tables as Parquet, and wants the records of JSON, those of the list of constraints aside, which our
// writer has no words for.
func TestParquet(t *testing.T) {
	machines := table(t, []parquet.Column{
		{Name: "time", Kind: parquet.Integer},
		{Name: "machine_id", Kind: parquet.Integer},
		{Name: "type", Kind: parquet.Integer},
		{Name: "switch_id", Kind: parquet.Text},
		{Name: "capacity.cpus", Kind: parquet.Real},
		{Name: "capacity.memory", Kind: parquet.Real},
		{Name: "platform_id", Kind: parquet.Text},
	}, []any{0, 5, 1, "s1", 0.5, 0.25, "p1"})
	tasks := table(t, []parquet.Column{
		{Name: "time", Kind: parquet.Integer},
		{Name: "type", Kind: parquet.Text},
		{Name: "collection_id", Kind: parquet.Text},
		{Name: "priority", Kind: parquet.Real},
		{Name: "instance_index", Kind: parquet.Integer},
		{Name: "resource_request.cpus", Kind: parquet.Real},
		{Name: "resource_request.memory", Kind: parquet.Real},
		{Name: "scheduling_class", Kind: parquet.Integer},
	}, []any{0, "SUBMIT", "7", 200.0, 0, 0.125, 0.0625, 2}, []any{9, "KILL", "7", nil, 0, nil, nil, nil})
	want, _ := mustRead(t, map[string]string{
		machineFile: oneMachine, taskFile: oneTask + `{"time":"9","type":"7","collection_id":"7","instance_index":"0"}` + "\n",
	}, google2019.Options{})
	got, _ := mustRead(t, map[string]string{"machine_events-000000000000.parquet": machines, "instance_events/part-0.parquet": tasks}, google2019.Options{})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// table writes a Parquet file.
func table(t *testing.T, columns []parquet.Column, rows ...[]any) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewWriter(&b, columns)
	for _, row := range rows {
		for i, v := range row {
			switch v := v.(type) {
			case int:
				w.Int(i, int64(v))
			case float64:
				w.Float(i, v)
			case string:
				w.Text(i, []byte(v))
			case bool:
				w.Bool(i, v)
			}
		}
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestErrors(t *testing.T) {
	task := func(change ...string) map[string]string {
		return map[string]string{machineFile: oneMachine, taskFile: oneTask + strings.NewReplacer(change...).Replace(oneTask)}
	}
	timeIsFlag := table(t, []parquet.Column{{Name: "time", Kind: parquet.Flag}, {Name: "machine_id", Kind: parquet.Real}}, []any{nil, 0.5})
	unknown := table(t, []parquet.Column{{Name: "tyme", Kind: parquet.Integer}}, []any{0})
	for _, tc := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{taskFile: oneTask}, "no machine_events: looked for machine_events-000000000000.json, machine_events.json and machine_events/*.json"},
		{map[string]string{machineFile: oneMachine}, "no instance_events: looked for"},
		{map[string]string{machineFile: oneMachine, machineFile + ".gz": oneMachine, taskFile: oneTask}, "are the same shard of machine_events; keep one"},
		{map[string]string{machineFile: oneMachine, taskFile: ""}, taskFile + ":1: want a row of instance_events; the table is empty"},
		{task(`"0"`, `"x"`), taskFile + `:2: column time: want a time in microseconds, got "x"`},
		{task(`"type":"0"`, `"type":"11"`), `column type: want a type of event: a number from 0 to 10, or a name from SUBMIT to UPDATE_RUNNING, got "11"`},
		{task(`"type":"0",`, ``), `column type: want a type of event, got "nothing"`},
		{task(`"collection_id"`, `"colection_id"`), `want a column of instance_events, got "colection_id"; did you mean collection_id?`},
		{task(`0.125`, `-1`), `column resource_request.cpus: want a request for CPU of at least 0, got "-1"`},
		{task(`{"cpus":0.125,"memory":0.0625}`, `7`), `want an object {…}, or a list of them`},
		{task(`}}`, `}`), `want a comma or }`},
		{task(`"200"`, `[1]`), `want no list or object in priority`},
		{task(`{"cpus":0.125,"memory":0.0625}`, `[]`), `want no list or object in resource_request`},
		{map[string]string{"machine_events.parquet": timeIsFlag, taskFile: oneTask}, `row 1, column time: want a time in microseconds, got "nothing"`},
		{map[string]string{"machine_events.parquet": unknown, taskFile: oneTask}, `want a column of machine_events, got "tyme"; did you mean time?`},
		{map[string]string{"machine_events.parquet": "PAR1PAR1", taskFile: oneTask}, "machine_events.parquet: want a Parquet file, of 12 bytes at least"},
		{map[string]string{"machine_events.parquet": timeIsFlag[:len(timeIsFlag)-3], taskFile: oneTask}, "want a Parquet file, which ends with PAR1"},
	} {
		_, _, err := readAll(folder(t, tc.files), google2019.Options{})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got  %v\nwant %s", err, tc.want)
		}
	}
	if _, err := google2019.Open(filepath.Join(t.TempDir(), "nowhere"), google2019.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

func TestClose(t *testing.T) {
	src, err := google2019.Open(folder(t, map[string]string{machineFile: oneMachine, taskFile: oneTask}), google2019.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(src.Close(), src.Close()); err != nil {
		t.Error(err)
	}
	if err := src.Next(&trace.Record{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// fuzz reads whatever it is given without panic, in time order, and leniently with an error only where nothing can be read.
func fuzz(t *testing.T, machines, tasks, jobs string) {
	t.Helper()
	dir := folder(t, map[string]string{machineFile: machines, taskFile: tasks, jobFile: jobs})
	strict, _, strictErr := readAll(dir, google2019.Options{})
	lenient, src, err := readAll(dir, google2019.Options{Lenient: true})
	if err != nil {
		if strictErr == nil {
			t.Errorf("lenient: %v; strict is not", err)
		}
		return
	}
	count, _ := src.Skipped()
	if (strictErr == nil) != (count == 0) {
		t.Errorf("strict: %v; lenient: %d skipped", strictErr, count)
	}
	if strictErr == nil && !cmp.Equal(strict, lenient) {
		t.Error("without broken rows, lenient reading differs from strict: ", cmp.Diff(strict, lenient))
	}
	for i, r := range lenient {
		if r.Time < 0 || r.Time == cluster.Never || i > 0 && r.Time < lenient[i-1].Time {
			t.Errorf("record %d at %v", i, r.Time)
		}
	}
}

func FuzzInstanceEvents(f *testing.F) {
	f.Add(oneTask + `{"time":0,"type":"SCHEDULE","collection_id":7,"instance_index":0,"machine_id":5,"constraint":[{"name":"a","value":"1","relation":2},{"name":"b"}]}` + "\n")
	f.Add(oneTask + `{"time":9,"type":6,"collection_id":7,"instance_index":0,"resource_request":null,"constraint":[]}` + "\n" + oneTask)
	f.Fuzz(func(t *testing.T, tasks string) { fuzz(t, oneMachine, tasks, `{"time":0,"type":0,"collection_id":7}`) })
}

func FuzzOtherTables(f *testing.F) {
	f.Add(oneMachine+`{"time":9,"machine_id":5,"type":2}`, `{"time":0,"type":0,"collection_id":7,"user":"ann","start_after_collection_ids":["1"]}`)
	f.Fuzz(func(t *testing.T, machines, jobs string) { fuzz(t, machines, oneTask, jobs) })
}
