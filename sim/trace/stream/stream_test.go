package stream_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/stream"
)

const head = `{"fairlead":"trace","version":5,"kinds":[{"name":"cpu","unit":"cores","per_unit":1000},{"name":"memory","unit":"GiB","per_unit":1024}]}` + "\n"

// readAll returns copies of all records.
func readAll(text string, opt stream.Options) ([]trace.Record, *stream.Reader, error) {
	r, err := stream.NewReader("t.jsonl", strings.NewReader(text), opt)
	if err != nil {
		return nil, r, err
	}
	var all []trace.Record
	for {
		var rec trace.Record
		err := r.Next(&rec)
		if errors.Is(err, io.EOF) {
			return all, r, nil
		}
		if err != nil {
			return all, r, err
		}
		rec.Node.Capacity = append(cluster.Vector(nil), rec.Node.Capacity...)
		rec.Node.Labels = append([]cluster.Label(nil), rec.Node.Labels...)
		rec.Node.Groups = append([]cluster.Label(nil), rec.Node.Groups...)
		rec.Node.Usage = append(cluster.Vector(nil), rec.Node.Usage...)
		input := rec.Task.Input
		rec.Task.Input = nil
		for _, b := range input {
			rec.Task.Input = append(rec.Task.Input, trace.Block{Bytes: b.Bytes, Replicas: slices.Clone(b.Replicas)})
		}
		rec.Task.Demand = append(cluster.Vector(nil), rec.Task.Demand...)
		rec.Task.Max = slices.Clone(rec.Task.Max)
		rec.Task.Tags, rec.Task.Budgets = slices.Clone(rec.Task.Tags), slices.Clone(rec.Task.Budgets)
		rec.Task.Requirements = append([]cluster.Requirement(nil), rec.Task.Requirements...)
		all = append(all, rec)
	}
}

func write(kinds []cluster.Kind, records []trace.Record) (string, error) {
	var b bytes.Buffer
	w := stream.NewWriter(&b, kinds)
	for i := range records {
		if err := w.Write(&records[i]); err != nil {
			return "", err
		}
	}
	err := w.Close()
	return b.String(), err
}

func TestRead(t *testing.T) {
	text := head + `{"t":0,"add":{"node":1,"name":"n1","capacity":{"memory":8,"cpu":4000},"labels":{"zone":"a","rack":"r\u0031"},"groups":{"upgrade":"u","rack":"r1"},"tier":3}}
{ "t" : 0 , "submit" : {"job":7,"task":0,"job_tasks":3,"user":"ann","class":2,"priority":-9,"demand":{"cpu":500},
"x":0}}
{"t":1,"submit":{"job":7,"task":1,"job_tasks":3,"user":"ann","class":2,"promise":"gold","priority":-9,"demand":{"cpu":500},"max":{"memory":7},"per_node":2,"name":"web/a","require":[["a=","!=","b"],["v",">","3"]],"prefer":[{"weight":50,"require":[["v","=","4"]]},{"require":[["w","<","1"],["v","=","5"]],"weight":-100}],"work":60,"speeds":[["gpu","k80",200000],["gpu","p\u0031",1000000000]],"fails":true,"on":1,"together":true,"gang":2,"due":[[30,10],[60,10],[61,0]],"input":[[64,1,0,18446744073709551615],[5,7],[0]],"tags":["web","app:a"],"long_running":true,"budgets":["y","x"],"unready":true,"owner":"web","pinned":true,"foreign":"volcano","unowned":true,"never_preempts":true,"gate":"quota"}}
{"t":1,"constrain":{"name":"c","owner":"a","any":[[{"subject":["b","a"],"target":["b"],"min":1,"group":"rack"},{"target":["c"],"max":0,"group":"node"}],[{"subject":["a"],"target":["a"],"max":3,"group":"node","self_counted":true}]]}}
{"t":1,"release":{"name":"c"}}
{"t":1,"budget":{"name":"x","least":2,"frees_unready":true}}
{"t":2,"usage":{"node":1,"used":{"memory":7}}}
{"change":{"node":1,"capacity":{}},"t":2}
{"t":3,"kill":{"job":7,"task":1}}
{"t":3,"lose":{"node":1}}`
	got, r, err := readAll(text, stream.Options{Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Record{
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Name: "n1", Capacity: cluster.Vector{4000, 8}, Labels: []cluster.Label{{Key: "rack", Value: "r1"}, {Key: "zone", Value: "a"}}, Groups: []cluster.Label{{Key: "rack", Value: "r1"}, {Key: "upgrade", Value: "u"}}, Tier: 3}},
		{Time: 1, What: trace.TaskSubmitted, Task: trace.Task{
			Job: 7, Index: 1, JobTasks: 3, User: "ann", Class: 2, Promise: "gold", Priority: -9, Demand: cluster.Vector{500, 0}, Max: cluster.Vector{500, 7}, PerNode: 2, Name: "web/a",
			Requirements: []cluster.Requirement{{Key: "a=", Op: cluster.NotEqual, Value: "b"}, {Key: "v", Op: cluster.Greater, Value: "3"}},
			Prefers: []trace.Preference{
				{Weight: 50, Requirements: []cluster.Requirement{{Key: "v", Op: cluster.Equal, Value: "4"}}},
				{Weight: -100, Requirements: []cluster.Requirement{{Key: "w", Op: cluster.Less, Value: "1"}, {Key: "v", Op: cluster.Equal, Value: "5"}}},
			},
			Work: 60, Speeds: []trace.Speed{{On: cluster.Label{Key: "gpu", Value: "k80"}, Rate: 200_000}, {On: cluster.Label{Key: "gpu", Value: "p1"}, Rate: trace.MostSpeed}}, Fails: true, Running: true, OnNode: 1, Together: true, Gang: 2, Due: []trace.Due{{Within: 30, Worth: 10}, {Within: 60, Worth: 10}, {Within: 61}},
			Input: []trace.Block{{Bytes: 64, Replicas: []uint64{1, 0, 1<<64 - 1}}, {Bytes: 5, Replicas: []uint64{7}}, {Replicas: []uint64{}}},
			Tags:  []string{"app:a", "web"}, LongRunning: true, Budgets: []string{"x", "y"}, Unready: true,
			Owner: "web", Pinned: true, Foreign: "volcano", Unowned: true, NeverPreempts: true, Gate: "quota",
		}},
		{Time: 1, What: trace.ConstraintAdded, Constraint: cluster.Constraint{Name: "c", Owner: "a", Weight: cluster.DefaultWeight, Any: [][]cluster.Bound{
			{{Subject: []string{"a", "b"}, Target: []string{"b"}, Min: 1, Max: cluster.Unbounded, Group: "rack"}, {Target: []string{"c"}, Group: cluster.EachNode}},
			{{Subject: []string{"a"}, Target: []string{"a"}, Max: 3, Group: cluster.EachNode, SelfCounted: true}},
		}}},
		{Time: 1, What: trace.ConstraintRemoved, Constraint: cluster.Constraint{Name: "c"}},
		{Time: 1, What: trace.BudgetAdded, Budget: cluster.Budget{Name: "x", Least: 2, FreesUnready: true}},
		{Time: 2, What: trace.NodeUsed, Node: trace.Node{ID: 1, Usage: cluster.Vector{0, 7}}},
		{Time: 2, What: trace.NodeChanged, Node: trace.Node{ID: 1, Capacity: cluster.Vector{0, 0}}},
		{Time: 3, What: trace.TaskKilled, Task: trace.Task{Job: 7, Index: 1}},
		{Time: 3, What: trace.NodeLost, Node: trace.Node{ID: 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// The record broken over two lines is two broken lines.
	if count, first := r.Skipped(); count != 2 || len(first) != 2 || first[0].Line != 3 {
		t.Errorf("skipped %d: %v", count, first)
	}
}

func TestBroken(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{``, `t.jsonl:1: want the header`},
		{head, `t.jsonl:2: want a record {"t":...} below the header: unexpected EOF`},
		{"{}\n", `t.jsonl:1:1: want the header {`},
		{`{"fairlead":"trace","version":8,"new":0}`, `t.jsonl:1:31: want version 1 to 7 of the format, got "8,`},
		{`{"fairlead":"trace","version":5,"kinds":[{"name":"cpu","unit":"","per_unit":0}]}`, `t.jsonl:1:78: want a kind with a name, and a per_unit of at least 1`},
		{head + "nonsense", `t.jsonl:2:1: want a record {"t":...}, got "nonsense"`},
		{head + `{"t":1.5,"lose":{"node":1}}`, `t.jsonl:2:6: want a time in microseconds, got "1.5`},
		{head + `{"t":-1,"lose":{"node":1}}`, `t.jsonl:2:6: want a time`},
		{head + `{"t":5,"lose":{"node":1}}` + "\n" + `{"t":4,"lose":{"node":1}}`, `t.jsonl:3:6: want a time of at least 5`},
		{head + `{"lose":{"node":1}}`, `t.jsonl:2:19: want t, and one of`},
		{head + `{"t":5}`, `t.jsonl:2:7: want t, and one of`},
		{head + `{"t":5,"lose":{"node":1},"lose":{"node":1}}`, `t.jsonl:2:26: want one of add`},
		{head + `{"t":5,"lost":{"node":1}}`, `t.jsonl:2:8: want a field of a record, got "lost"; did you mean lose?`},
		{head + `{"t":5,"lose":{"node":1}} x`, `t.jsonl:2:27: want the end of the line, got "x"`},
		{head + `{"t":5,"lose":{"node":1}`, `t.jsonl:2:25: want a comma or }`},
		{head + `{"t":5,"add":{"node":1,"capacity":{"cpu":-1}}}`, `t.jsonl:2:42: want a quantity from 0 to 2^45, got "-1}}}"`},
		{head + `{"t":5,"add":{"node":1,"capacity":{"cpu":35184372088833}}}`, `t.jsonl:2:42: want a quantity from 0 to 2^45`},
		{head + `{"t":5,"add":{"node":1,"capacity":{"disk":1}}}`, `t.jsonl:2:36: want a kind that the header names, got "disk"; there are cpu, memory`},
		{head + `{"t":5,"add":{"node":1,"tier":4}}`, `t.jsonl:2:31: want a tier from 0 to 3, got "4}}`},
		{head + `{"t":5,"add":{"node":1}}`, `t.jsonl:2:23: want node and capacity`},
		{head + `{"t":5,"add":{"node":1,"capacity":{},"labels":{"a":"1","a":"2"}}}`, `t.jsonl:2:56: want each label once`},
		{head + `{"t":5,"kill":{"job":1}}`, `want job and task in the object that ends here`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"class":256}}`, `t.jsonl:2:55: want a class from 0 to 255`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"Class":2}}`, `t.jsonl:2:47: want a field of submit, got "Class"; did you mean class?`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"pernode":2}}`, `t.jsonl:2:47: want a field of submit, got "pernode"; did you mean per_node?`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"max":{"cpu":4},"demand":{"cpu":5}}}`, `t.jsonl:2:69: want max of cpu to be at least the demand, 5, and not 4`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"max":{"cpus":4}}}`, `t.jsonl:2:54: want a kind that the header names, got "cpus"; did you mean cpu?`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"prefer":[{"weight":0,"require":[["a","=","b"]]}]}}`, "want a weight that is not 0, and requirements, in the preference that ends here"},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"prefer":[{"weight":101,"require":[["a","=","b"]]}]}}`, "want a weight from -100 to 100"},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"due":[[5,1],[5,1]]}}`, "want moments that are later and later, and worth less and less, at most 16, in what ends here: due within 0.000005s"},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"due":[[5,1],[6,2]]}}`, "want moments that are later and later"},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"due":[[0,1]]}}`, "want moments that are later and later"},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"due":[` + strings.Repeat("[1,0],", 100) + `[2,0]]}}`, "want moments that are later and later"},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"due":[[5]]}}`, "want a comma"},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"speeds":[["gpu","k80"]]}}`, "want a comma"},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"speeds":[["gpu","k80",0]]}}`, "the speed 0 with gpu=k80, want 1 to 1000000000"},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"speeds":[["gpu","k80",1],["disk","k80",1]]}}`, "want one key"},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"speeds":[` + strings.Repeat(`["a","b",1],`, 100) + `["a","c",1]]}}`, "at most 64, in what ends here: 65 speeds"},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"apart":true}}`, `t.jsonl:2:47: want a field of submit; since version 2, apart is per_node 1, got`},
		{head + `{"t":5,"change":{"node":1,"capcity":{}}}`, `t.jsonl:2:27: want a field of a node, got "capcity"; did you mean capacity?`},
		{head + `{"t":5,"lose":{"nodes":1}}`, `t.jsonl:2:16: want a field of lose, got "nodes"; did you mean node?`},
		{head + `{"t":5,"kill":{"job":1,"index":1}}`, `t.jsonl:2:24: want a field of kill, got "index"; there are job, task`},
		{head + `{"t":5,"usage":{"node":1}}`, `t.jsonl:2:25: want node and used in the object that ends here`},
		{head + `{"t":5,"usage":{"node":1,"capacity":{}}}`, `t.jsonl:2:26: want a field of usage, got "capacity"; there are node, used`},
		{head + `{"t":5,"usage":{"node":1,"used":{"cpu":-4}}}`, `t.jsonl:2:40: want a quantity from 0 to 2^45`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"input":[64]}}`, `t.jsonl:2:56: want a block [bytes, node, ...], got "64]}}"`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"input":[[-1,4]]}}`, `t.jsonl:2:57: want the bytes of a block, from 0 to 2^45`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"input":[[1,2,3,4,5]]}}`, `t.jsonl:2:65: want at most 3 nodes that hold the block, each once, got "5]]}}"`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"input":[[1,2,2]]}}`, `t.jsonl:2:61: want at most 3 nodes that hold the block, each once, got "2]]}}"`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"tags":["a","a"]}}`, `t.jsonl:2:59: want each tag once, and none empty, got "\"a\"]}}"`},
		{head + `{"t":5,"constrain":{"name":"c","any":[[{"target":["a"],"group":"node","min":2,"max":1}]]}}`, `a constraint that can be (constraint "c": max is 1, want at least the min 2)`},
		{head + `{"t":5,"constrain":{"name":"c","any":[[{"targets":["a"]}]]}}`, `t.jsonl:2:41: want a field of a bound, got "targets"; did you mean target?`},
		{head + `{"t":5,"constrain":{"any":[[{"target":["a"],"group":"node"}]]}}`, `want a name in the constraint that ends here`},
		{head + `{"t":5,"release":{}}`, `want name in the object that ends here`},
		{strings.Replace(head, "kinds", "kind", 1), `t.jsonl:1:33: want a field of the header, got "kind"; did you mean kinds?`},
		{strings.Replace(head, "per_unit", "perunit", 1), `t.jsonl:1:71: want a field of a kind, got "perunit"; did you mean per_unit?`},
		{strings.Replace(head, `"kinds"`, `"typical":[{"demand":{"cpu":1}}],"kinds"`, 1), `t.jsonl:1:55: want a kind that the header names`},
		{strings.Replace(head, "]}", `],"typical":[{"demand":{"cpu":1},"task":1}]}`, 1), `want a field of typical, got "task"; did you mean tasks?`},
		{strings.Replace(head, "]}", `],"typical":[{"demand":{"cpu":1}}]}`, 1), `want demand and tasks in the object that ends here`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"require":["a=b"]}}`, `want [key, operator, value]`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"require":[["a","<","b"]]}}`, `want an integer in quotes`},
		{head + `{"t":5,"submit":{"job":1,"task":0,"demand":{},"user":"\x"}}`, `want the user's name in proper JSON`},
	} {
		_, _, err := readAll(tc.text, stream.Options{})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s\n got %v\nwant %s", strings.TrimPrefix(tc.text, head), err, tc.want)
		}
		if _, ok := errors.AsType[*trace.Error](err); !ok {
			t.Errorf("%v is no *trace.Error", err)
		}
	}
}

func TestCutShort(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	text := []byte(head)
	for i := range 50_000 {
		text = fmt.Appendf(text, `{"t":%d,"lose":{"node":%d}}`+"\n", i, i*7919%1000)
	}
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	cut := b.String()[:b.Len()/2]
	got, _, err := readAll(cut, stream.Options{})
	var broken *trace.Error
	if !errors.As(err, &broken) || !errors.Is(err, io.ErrUnexpectedEOF) || broken.Line != len(got)+2 {
		t.Errorf("after %d records: %v", len(got), err)
	}
	kept, r, err := readAll(cut, stream.Options{Lenient: true})
	if count, _ := r.Skipped(); err != nil || count != 1 || len(kept) != len(got) || len(got) == 0 {
		t.Errorf("lenient: %d records, %d skipped, %v; want %d and 1", len(kept), count, err, len(got))
	}
}

func TestWriterRefuses(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1}}
	for _, r := range []trace.Record{
		{},
		{What: trace.NodeLost, Time: -1},
		{What: trace.NodeAdded},
		{What: trace.NodeAdded, Node: trace.Node{Capacity: cluster.Vector{-1}}},
		{What: trace.NodeUsed},
		{What: trace.NodeUsed, Node: trace.Node{Usage: cluster.Vector{-1}}},
		{What: trace.TaskSubmitted, Task: trace.Task{Demand: cluster.Vector{1}, Work: -1}},
		{What: trace.TaskSubmitted, Task: trace.Task{Demand: cluster.Vector{1}, PerNode: -1}},
		{What: trace.TaskSubmitted, Task: trace.Task{Demand: cluster.Vector{1}, Input: []trace.Block{{Bytes: -1}}}},
		{What: trace.TaskSubmitted, Task: trace.Task{Demand: cluster.Vector{1}, Input: []trace.Block{{Replicas: []uint64{1, 2, 3, 4}}}}},
		{What: trace.TaskSubmitted, Task: trace.Task{Demand: cluster.Vector{1}, Input: []trace.Block{{Replicas: []uint64{1, 1}}}}},
	} {
		if text, err := write(kinds, []trace.Record{r}); err == nil {
			t.Errorf("%+v was written as %s", r, text)
		}
	}
}

// randomRecords returns records of all kinds and of odd content.
func randomRecords(rng *rand.Rand, n int) []trace.Record {
	texts := []string{"", "a", "zone", "=<>&", `"quoted\`, "größe\u2028", "line\nbreak", "GtXakjpd0CD41brK7k/27s3Eby3RpJKy7taB9S8UQRA="}
	text := func() string { return texts[rng.IntN(len(texts))] }
	vector := func() cluster.Vector { return cluster.Vector{rng.Int64N(3), rng.Int64N(cluster.MaxQuantity + 1)} }
	var all []trace.Record
	var now cluster.Time
	for range n {
		now += cluster.Time(rng.Int64N(2) * rng.Int64N(1e9))
		r := trace.Record{Time: now, What: trace.What(rng.IntN(9) + 1)}
		switch r.What {
		case trace.NodeAdded, trace.NodeChanged:
			r.Node = trace.Node{ID: rng.Uint64(), Name: text(), Capacity: vector()}
			for _, key := range rng.Perm(len(texts))[:rng.IntN(4)] {
				r.Node.Labels = append(r.Node.Labels, cluster.Label{Key: texts[key], Value: text()})
			}
			cluster.SortLabels(r.Node.Labels)
			if rng.IntN(2) == 0 {
				r.Node.Groups = []cluster.Label{{Key: "rack", Value: text()}, {Key: "zone", Value: text()}}
			}
		case trace.NodeLost:
			r.Node.ID = rng.Uint64()
		case trace.NodeUsed:
			r.Node.ID, r.Node.Usage = rng.Uint64(), vector()
		case trace.TaskKilled:
			r.Task = trace.Task{Job: rng.Uint64(), Index: rng.Uint32()}
		case trace.TaskSubmitted:
			r.Task = trace.Task{
				Job: rng.Uint64(), Index: rng.Uint32(), JobTasks: rng.Uint32N(2), User: text(), Class: uint8(rng.Uint32()),
				Priority: int32(rng.Uint32()), Demand: vector(), PerNode: rng.Int32N(3), Work: cluster.Never, Fails: rng.IntN(2) == 0,
			}
			if rng.IntN(2) == 0 {
				r.Task.Work = cluster.Time(rng.Int64N(3))
			}
			if rng.IntN(2) == 0 {
				r.Task.Running, r.Task.OnNode = true, rng.Uint64N(2)
			}
			for at := range rng.IntN(4) {
				r.Task.Speeds = append(r.Task.Speeds, trace.Speed{On: cluster.Label{Key: "größe", Value: []string{"=<>&", `"`, "ß"}[at]}, Rate: 1 + rng.Int64N(trace.MostSpeed)})
			}
			for at := range rng.IntN(3) {
				r.Task.Due = append(r.Task.Due, trace.Due{Within: cluster.Time(1 + at), Worth: int64(9 - at)})
			}
			for range rng.IntN(3) {
				q := cluster.Requirement{Key: text(), Op: cluster.Op(rng.IntN(4)), Value: text()}
				if q.Op >= cluster.Less {
					q.Value = "-12"
				}
				r.Task.Requirements = append(r.Task.Requirements, q)
				if rng.IntN(3) == 0 {
					r.Task.Prefers = append(r.Task.Prefers, trace.Preference{Weight: [...]int32{-100, -1, 1, 50, 100}[rng.IntN(5)], Requirements: slices.Clone(r.Task.Requirements)})
				}
			}
			r.Task.Together, r.Task.LongRunning, r.Task.Gang = rng.IntN(4) == 0, rng.IntN(4) == 0, int32(max(rng.IntN(8)-5, 0))
			if rng.IntN(2) == 0 {
				r.Task.Budgets, r.Task.Unready = []string{"b", "größe"}[:1+rng.IntN(2)], rng.IntN(2) == 0
			}
			if rng.IntN(2) == 0 {
				r.Task.Owner, r.Task.Foreign, r.Task.Gate = text(), text(), text()
				r.Task.Pinned, r.Task.Unowned, r.Task.NeverPreempts = rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0
			}
			if rng.IntN(2) == 0 {
				r.Task.Tags = []string{"=<>&", `quoted\`, "ß"}[:1+rng.IntN(3)]
			}
			for range rng.IntN(8) / 5 {
				first := rng.Uint64N(1 << 60)
				r.Task.Input = append(r.Task.Input, trace.Block{Bytes: rng.Int64N(cluster.MaxQuantity + 1), Replicas: []uint64{first, first + 1, 0}[:1+rng.IntN(3)]})
			}
		case trace.BudgetAdded:
			r.Budget = cluster.Budget{Name: "b" + text(), Least: rng.Int64N(3), FreesUnready: rng.IntN(2) == 0}
		case trace.ConstraintRemoved:
			r.Constraint.Name = "n" + text()
		case trace.ConstraintAdded:
			b := cluster.Bound{Subject: []string{"größe", "ß"}[:rng.IntN(3)], Target: []string{`"`}, Min: rng.Int32N(2), Max: cluster.Unbounded, Group: "g" + text()}
			if len(b.Subject) == 0 {
				b.Subject = nil
			}
			if rng.IntN(2) == 0 {
				b.Max, b.SelfCounted = b.Min+rng.Int32N(3), b.Subject != nil
			}
			r.Constraint = cluster.Constraint{Name: "n" + text(), Owner: text(), Any: [][]cluster.Bound{{b}, {b, b}}, Hard: rng.IntN(2) == 0}
			if len(b.Subject) > 0 && rng.IntN(2) == 0 {
				first, fewest := b, b
				first.Min, first.Max, first.OrFirst = 1, cluster.Unbounded, true
				fewest.Min, fewest.Max, fewest.OverFewest, fewest.LeastSets = 0, 1+rng.Int32N(3), true, rng.Int32N(3)
				r.Constraint.Arriving, r.Constraint.Any = true, [][]cluster.Bound{{first, fewest}}
			}
			if !r.Constraint.Hard {
				r.Constraint.Weight = 1 + rng.Int64N(cluster.MaxWeight)
			}
		}
		all = append(all, r)
	}
	return all
}

func TestRoundTrip(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}, {Name: `odd "kind"`, PerUnit: 1}}
	for seed := range uint64(20) {
		want := randomRecords(rand.New(rand.NewPCG(seed, 0)), 200)
		text, err := write(kinds, want)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("not JSON: %s", line)
			}
		}
		got, r, err := readAll(text, stream.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(want, got) + cmp.Diff(kinds, r.Kinds()); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// all is a source of records in memory.
type all struct {
	kinds   []cluster.Kind
	records []trace.Record
}

func (a *all) Kinds() []cluster.Kind { return a.kinds }
func (a *all) Close() error          { return nil }

func (a *all) Next(r *trace.Record) error {
	if len(a.records) == 0 {
		return io.EOF
	}
	*r, a.records = a.records[0], a.records[1:]
	return nil
}

func TestCopy(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}, {Name: "gpu", PerUnit: 1000, Devices: true}}
	want := randomRecords(rand.New(rand.NewPCG(3, 0)), 100)
	var b bytes.Buffer
	if err := stream.Copy(&b, &all{kinds, want}, &trace.Losses{}); err != nil {
		t.Fatal(err)
	}
	got, r, err := readAll(b.String(), stream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got) + cmp.Diff(kinds, r.Kinds()); diff != "" {
		t.Error(diff)
	}
}

// known is a source that knows what its tasks typically ask for.
type known struct {
	all
	typical []fragmentation.Typical
}

func (k *known) Typical() []fragmentation.Typical { return k.typical }
func (k *known) End() cluster.Time                { return 3 * cluster.Hour }

func TestCopyTypical(t *testing.T) {
	want := []fragmentation.Typical{
		{Demand: cluster.Vector{4000, 500}, Tasks: 37, Requirements: []cluster.Requirement{{Key: "model", Op: cluster.Equal, Value: "T4|A10"}}},
		{Demand: cluster.Vector{0, 0}, Tasks: 1},
	}
	src := &known{all{
		kinds:   []cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "gpu", PerUnit: 1000, Devices: true}},
		records: []trace.Record{{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{1, 0}}}},
	}, want}
	var b bytes.Buffer
	if err := stream.Copy(&b, src, &trace.Losses{}); err != nil {
		t.Fatal(err)
	}
	_, r, err := readAll(b.String(), stream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, r.Typical()); diff != "" || r.End() != 3*cluster.Hour {
		t.Errorf("until %v; %s", r.End(), diff)
	}
}

// Text that is not UTF-8 is an error wherever it stands, or else counted.
func TestCopyLoses(t *testing.T) {
	const odd = "a\xff"
	node := trace.Node{ID: 1, Capacity: cluster.Vector{1}}
	task := trace.Task{Demand: cluster.Vector{1}}
	for _, spoil := range []func(*trace.Node, *trace.Task){
		func(n *trace.Node, _ *trace.Task) { n.Name = odd },
		func(n *trace.Node, _ *trace.Task) { n.Labels = []cluster.Label{{Key: odd}} },
		func(n *trace.Node, _ *trace.Task) { n.Labels = []cluster.Label{{Value: odd}} },
		func(n *trace.Node, _ *trace.Task) { n.Groups = []cluster.Label{{Value: odd}} },
		func(_ *trace.Node, t *trace.Task) { t.Name = odd },
		func(_ *trace.Node, t *trace.Task) { t.User = odd },
		func(_ *trace.Node, t *trace.Task) { t.Requirements = []cluster.Requirement{{Key: odd}} },
		func(_ *trace.Node, t *trace.Task) { t.Requirements = []cluster.Requirement{{Value: odd}} },
	} {
		n, s := node, task
		spoil(&n, &s)
		src := func() *all {
			return &all{[]cluster.Kind{{Name: "cpu", PerUnit: 1}}, []trace.Record{{What: trace.NodeAdded, Node: n}, {What: trace.TaskSubmitted, Task: s}}}
		}
		if err := stream.Copy(io.Discard, src(), &trace.Losses{}); err == nil || !strings.Contains(err.Error(), "the format holds no text that is not UTF-8") {
			t.Errorf("%+v %+v: %v", n, s, err)
		}
		losses := trace.Losses{Lenient: true}
		var b bytes.Buffer
		if err := stream.Copy(&b, src(), &losses); err != nil || len(losses.Counts) != 1 || losses.Counts[0].Count != 1 {
			t.Errorf("lenient: %v, %v", losses.Counts, err)
		}
		if got, _, err := readAll(b.String(), stream.Options{}); err != nil || len(got) != 2 || !strings.Contains(b.String(), "a\\ufffd") {
			t.Errorf("lenient: %d records, %v:\n%s", len(got), err, b.String())
		}
	}
}

// names writes a stream in which every task has a name of its own.
type names struct {
	left int
	line []byte
}

func (n *names) Read(p []byte) (int, error) {
	if len(n.line) == 0 && n.left == 0 {
		return 0, io.EOF
	}
	if len(n.line) == 0 {
		n.line = fmt.Appendf(nil, `{"t":0,"submit":{"job":1,"task":%d,"name":"a name of some length, %d","demand":{}}}`+"\n", n.left, n.left)
		n.left--
	}
	c := copy(p, n.line)
	n.line = n.line[c:]
	return c, nil
}

// TestMemory reads more names than fit in the memory that it may take.
func TestMemory(t *testing.T) {
	const tasks = 400_000
	r, err := stream.NewReader("t", io.MultiReader(strings.NewReader(head), &names{left: tasks}), stream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var rec trace.Record
	for range tasks {
		if err := r.Next(&rec); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 12<<20 {
		t.Errorf("%d tasks took %d bytes", tasks, grown)
	}
	if err := r.Next(&rec); !errors.Is(err, io.EOF) {
		t.Errorf("after all tasks: %v", err)
	}
}

// What is read is JSON, in time order, and survives being written and read.
func FuzzReader(f *testing.F) {
	f.Add(head + `{"t":0,"add":{"node":1,"name":"n1","capacity":{"cpu":4000},"labels":{"zone":"a"}}}`)
	f.Add(head + `{"t":1,"submit":{"job":7,"task":1,"demand":{"cpu":5},"per_node":2,"name":"web/a","require":[["a","!=","b"]],"work":6,"on":1}}` + "\n" + `{"t":1,"kill":{"job":7,"task":1}}`)
	f.Add(head + `{"t":3,"change":{"node":1,"name":"\u00e9\"","capacity":{}}}` + "\n" + `{"t":3,"lose":{"node":1}}`)
	f.Add(`{"fairlead":"trace","version":5}`)
	f.Add(strings.Replace(head, "]}", `],"typical":[{"demand":{"cpu":1},"tasks":2,"require":[["a","=","b"]]}]}`, 1))
	f.Fuzz(func(t *testing.T, text string) {
		if _, _, err := readAll(text, stream.Options{Lenient: true}); err != nil {
			if _, _, strict := readAll(text, stream.Options{}); strict == nil {
				t.Fatal("lenient reading fails where strict reading does not: ", err)
			}
		}
		records, r, err := readAll(text, stream.Options{})
		if err != nil {
			return
		}
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(text, "\x1f\x8b") && !json.Valid([]byte(line)) {
				t.Fatalf("accepted %q", line)
			}
		}
		again, err := write(r.Kinds(), records)
		if err != nil {
			t.Fatal(err)
		}
		back, _, err := readAll(again, stream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(records, back); diff != "" {
			t.Error(diff)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	text, err := write([]cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "memory", PerUnit: 1}}, randomRecords(rand.New(rand.NewPCG(1, 0)), 100_000))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	lines := 0
	for b.Loop() {
		r, err := stream.NewReader("t", strings.NewReader(text), stream.Options{})
		if err != nil {
			b.Fatal(err)
		}
		var rec trace.Record
		for ; err == nil; err = r.Next(&rec) {
			lines++
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
}
