package recording

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/strict"
	"fairlead.dev/fairlead/sched"
)

// TestEveryEventHasAnEncoding reads the source of package cluster for what the
// closed sum of events holds, and wants each in the samples, and a name for
// each.
func TestEveryEventHasAnEncoding(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../cluster/event.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "event" && f.Recv != nil {
			want = append(want, f.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
	for _, e := range Samples() {
		got = append(got, reflect.TypeOf(e).Name())
	}
	slices.Sort(want)
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("samples of %v, the events are %v", got, want)
	}
	if names := needs(); len(names) != len(want) {
		t.Errorf("%d names of events, there are %d", len(names), len(want))
	}
}

// TestEventsComeBack writes each sample and reads it again; and encoding/json,
// slow and obvious, writes the same bytes.
func TestEventsComeBack(t *testing.T) {
	for _, e := range Samples() {
		var x encoder
		if !x.event(e) {
			t.Errorf("%T has no encoding", e)
			continue
		}
		var w wireEvent
		if err := strict.Decode(x.line, &w); err != nil {
			t.Errorf("%T: %s: %v", e, x.line, err)
			continue
		}
		if err := w.check(needs()); err != nil {
			t.Errorf("%T: %s: %v", e, x.line, err)
			continue
		}
		if got := w.event(); !reflect.DeepEqual(got, e) {
			t.Errorf("%+v came back as %+v", e, got)
		}
		if slow, err := json.Marshal(w); err != nil || string(slow) != string(x.line) {
			t.Errorf("written as %s, encoding/json writes %s, %v", x.line, slow, err)
		}
	}
	for _, d := range []sched.Decision{
		{Kind: sched.Place, Task: 1, Seq: 1 << 60, Attempt: 3, Node: 4, Devices: 1 << 63},
		{Kind: sched.Evict},
		{Kind: sched.Resize, Task: 1, Grant: cluster.Vector{5, 0}},
		{Kind: sched.Resize, Task: 1, Grant: cluster.Vector{}},
		{Kind: sched.End, Node: cluster.NoNode},
	} {
		var x encoder
		x.decision(d)
		var w wireDecision
		err := strict.Decode(x.line, &w)
		if got, wrong := w.decision(); err != nil || wrong != nil || !reflect.DeepEqual(got, d) {
			t.Errorf("%+v came back as %+v, %v, %v", d, got, err, wrong)
		}
		if slow, err := json.Marshal(w); err != nil || string(slow) != string(x.line) {
			t.Errorf("written as %s, encoding/json writes %s, %v", x.line, slow, err)
		}
	}
	if (&encoder{}).event(nil) {
		t.Error("nothing was written as an event")
	}
}

// TestMissingNames leaves out each name that an event must have.
func TestMissingNames(t *testing.T) {
	for event, names := range needs() {
		for missing := range strings.FieldsSeq(names) {
			var parts []string
			for name := range strings.FieldsSeq(names) {
				if name != missing {
					parts = append(parts, `,"`+name+`":0`)
				}
			}
			var w wireEvent
			if err := strict.Decode([]byte(`{"e":"`+event+`"`+strings.Join(parts, "")+`}`), &w); err != nil {
				t.Fatal(err)
			}
			if err := w.check(needs()); err == nil || !strings.HasSuffix(err.Error(), "has no "+missing) {
				t.Errorf("%s without %s: %v", event, missing, err)
			}
		}
	}
}

// TestWritingCostsNoMemory: a call of events and decisions is written without
// an allocation.
func TestWritingCostsNoMemory(t *testing.T) {
	h := Header{Kinds: []cluster.Kind{{Name: "cpu"}}, Lanes: []Lane{{Policy: "kube"}}}
	w, err := NewWriter(t.TempDir(), h, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c := Call{Kind: Step, At: 12345, Out: make([]sched.Decision, 20)}
	for range 10 {
		for _, e := range Samples() {
			switch e.(type) {
			case cluster.NodeAdded, cluster.NodeChanged, cluster.ShapeDefined: // whose text here is no plain one
			case cluster.ConstraintDefined, cluster.ClassDefined: // which come seldom
			default:
				c.In = append(c.In, e)
			}
		}
	}
	if per := testing.AllocsPerRun(200, func() { w.call(&c) }); per >= 1 {
		t.Errorf("%v allocations for a call of %d events", per, len(c.In))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkWrite(b *testing.B) {
	h := Header{Kinds: []cluster.Kind{{Name: "cpu"}}, Lanes: []Lane{{Policy: "kube"}}}
	w, err := NewWriter(b.TempDir(), h, Limits{FileBytes: 1 << 40})
	if err != nil {
		b.Fatal(err)
	}
	c := Call{Kind: Step, At: 12345, Out: make([]sched.Decision, 50)}
	for i := range 100 {
		c.In = append(c.In, cluster.TaskStarted{Task: cluster.TaskID(i * 7), Attempt: 1, Node: cluster.NodeID(i * 31 % 5000)})
	}
	b.ReportAllocs()
	for b.Loop() {
		c.At += cluster.Millisecond
		w.call(&c)
	}
	b.ReportMetric(float64(w.Bytes())/float64(b.N), "file-B/op")
}
