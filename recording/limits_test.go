package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/klauspost/compress/zstd"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestCallsAreBounded: the lines of a call take no more together than a call may, whatever
// they hold, and the next call begins anew.
func TestCallsAreBounded(t *testing.T) {
	const event, decision = `{"e":"solver_ready"}`, `{"d":"end"}`
	over := 500/(int(unsafe.Sizeof(sched.Decision{}))+len(decision)) + 1 // the first decision that is too many
	for _, tc := range []struct{ text, want string }{
		{`{"call":"more","in":[` + event + `]}` + "\n" + `{"call":"more","in":[` + event + "," + event + "]}\n", "f:3: event 2: "},
		{`{"call":"more","in":[` + event + `]}` + "\n" + `{"call":"step","in":[` + event + "]}\n" + `{"call":"step","in":[` + event + "]}\n", ""},
		{`{"call":"step","out":[` + strings.Repeat(decision+",", 7) + decision + "]}\n", fmt.Sprintf("f:2: decision %d: ", over)},
		{`{"call":"more","in":[{"e":"node","node":0,"labels":[[],[],[],[],[],[],[],[],[],[],[],[]]}]}` + "\n", "f:2: event 1: "},
		{`{"call":"more","in":[{"e":"constraint","constraint":0,"spec":{}}]}` + "\n", "f:2: event 1: "},
	} {
		r := reading(t, tc.text)
		r.most.call = 500
		var err error
		for err == nil {
			_, err = r.Next()
		}
		if want := tc.want + "the call takes more than 500 bytes up to here"; tc.want == "" && !errors.Is(err, io.EOF) || tc.want != "" && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s…", tc.text, err, want)
		}
	}
}

// TestTablesAreBounded: what multiplies counts as it multiplies, and rows that a core refuses
// count as nothing.
func TestTablesAreBounded(t *testing.T) {
	size := func(set func(*tables)) float64 {
		x := tables{kinds: 2, lanes: 1, viewed: make([]bool, 1)}
		x.make(cluster.Nodes, 999)
		set(&x)
		return x.size()
	}
	before := size(func(*tables) {})
	for name, tc := range map[string]struct {
		set  func(*tables)
		more bool
	}{
		"a view":        {func(x *tables) { x.viewed[0] = true }, true},
		"a lane":        {func(x *tables) { x.lanes++ }, true},
		"kinds":         {func(x *tables) { x.kinds = 20 }, true},
		"sets":          {func(x *tables) { x.make(cluster.Sets, 80) }, true},
		"a bound":       {func(x *tables) { x.bounds++ }, true},
		"a task":        {func(x *tables) { x.make(cluster.Tasks, 5) }, true},
		"a wild task":   {func(x *tables) { x.make(cluster.Tasks, 1<<31) }, false},
		"the same node": {func(x *tables) { x.make(cluster.Nodes, 7) }, false},
	} {
		if after := size(tc.set); (after > before) != tc.more {
			t.Errorf("%s: %v bytes, before %v", name, after, before)
		}
	}
	alone := size(func(x *tables) { x.lanes = 0 }) // no policy keeps anything
	if view := size(func(x *tables) { x.viewed[0] = true }) - before; view != alone {
		t.Errorf("a view takes %v bytes, and is a copy of tables of %v", view, alone)
	}
}

// TestLargeClusterIsRead: what is recorded of 12,500 nodes and 150,000 tasks, with labels and
// sets, is far below all bounds.
func TestLargeClusterIsRead(t *testing.T) {
	h := Header{Lanes: []Lane{{Policy: "kube"}}}
	for k := range 12 {
		h.Kinds = append(h.Kinds, cluster.Kind{Name: fmt.Sprint(k)})
	}
	dir := t.TempDir()
	w, err := NewWriter(dir, h, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	vector := make(cluster.Vector, 12)
	var in []cluster.Event
	var nodes []cluster.NodeID
	for n := range cluster.NodeID(12_500) {
		spec := cluster.NodeSpec{Name: fmt.Sprint("node-", n), Capacity: vector}
		for l := range 20 {
			spec.Labels = append(spec.Labels, cluster.Label{Key: fmt.Sprint("label.example.com/", l), Value: fmt.Sprint(n)})
		}
		nodes = append(nodes, n)
		in = append(in, cluster.NodeAdded{Node: n, Spec: spec})
	}
	for set := range cluster.SetID(20) {
		in = append(in, cluster.SetDefined{Set: set + 1, Nodes: nodes})
	}
	c := Call{Kind: Snapshot}
	for i := range cluster.TaskID(150_000) {
		in = append(in, cluster.TaskSubmitted{Task: i, Seq: cluster.Seq(i), Account: &cluster.Account{Submitted: 1 << 40, FirstRun: 1 << 41}})
		c.Out = append(c.Out, sched.Decision{Kind: sched.Place, Task: i, Seq: cluster.Seq(i), Attempt: 1, Grant: vector})
	}
	c.In = in
	w.call(&c)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	r, err := NewReader(file, "f")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	call, err := r.Next()
	if err != nil || len(call.In) != len(in) || len(call.Out) != len(c.Out) {
		t.Fatalf("%d events and %d decisions, %v", len(call.In), len(call.Out), err)
	}
	most := usual()
	if r.tables.size() > float64(most.tables)/4 || len(r.buffer) > most.line/2 {
		t.Errorf("the tables take %v bytes, a line %d", r.tables.size(), len(r.buffer))
	}
}

// TestWritesNothingUnreadable: an event that is too long ends the recording, and is said.
func TestWritesNothingUnreadable(t *testing.T) {
	h := Header{Kinds: []cluster.Kind{{Name: "cpu"}}, Lanes: []Lane{{Policy: "kube"}}}
	w, err := NewWriter(t.TempDir(), h, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	w.call(&Call{Kind: Step, In: []cluster.Event{cluster.SetDefined{Set: 1, Nodes: make([]cluster.NodeID, 3<<20)}}})
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "event 1 of step, a cluster.SetDefined, has 6291485 bytes as text, of which at most 4194304 can be read again") {
		t.Error(err)
	}
	h.Comment = strings.Repeat("x", maxHeader)
	if _, err := NewWriter(t.TempDir(), h, Limits{}); err == nil || !strings.Contains(err.Error(), "and at most 1048576 are read") {
		t.Error(err)
	}
}

// reading is a reader behind a header.
func reading(t *testing.T, text string) *Reader {
	t.Helper()
	h := Header{Kinds: []cluster.Kind{{Name: "cpu"}}, Lanes: []Lane{{Policy: "kube"}}}
	line, err := h.encode()
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(bytes.NewReader(z.EncodeAll([]byte(string(line)+text), nil)), "f")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}
