package sim

import (
	"bytes"
	"encoding/csv"
	"errors"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// Whatever users and nodes are called, the rows can be read back.
func TestNamesAreQuoted(t *testing.T) {
	for _, name := range []string{"ann", "", "ann, \"the\" boss", "a\nb", "a\rb", `"`, "ä b"} {
		l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{
			{What: trace.NodeAdded, Node: trace.Node{ID: 1, Name: "n" + name, Capacity: cluster.Vector{4}}},
			{What: trace.TaskSubmitted, Task: trace.Task{Job: 1, JobTasks: 1, User: name, Demand: cluster.Vector{1}, Work: cluster.Never}},
		}}
		var placements, tasks bytes.Buffer
		if _, err := Run(Config{Source: l, Lanes: lane(t, "kube"), Until: cluster.Minute, Output: Output{Placements: &placements, Tasks: &tasks}}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&placements).ReadAll()
		if err != nil || len(rows) != 1 || rows[0][6] != name {
			t.Errorf("placements of %q read as %q, error %v", name, rows, err)
		}
		rows, err = csv.NewReader(&tasks).ReadAll()
		if err != nil || len(rows) != 2 || rows[1][2] != name || rows[1][12] != "n"+name {
			t.Errorf("tasks of %q read as %q, error %v", name, rows, err)
		}
	}
}

// Quotes cost nothing where none are needed.
func TestPlainNamesCostNothing(t *testing.T) {
	l := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { l = appendField(l[:0], "ann") }); n > 0 {
		t.Errorf("%v allocations for a plain name", n)
	}
}

// A node may shrink below what runs on it. Nobody is evicted for that, and the
// report says so.
func TestNodeShrinksBelowItsTasks(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "memory", PerUnit: 1000}}
	node := func(at cluster.Time, what trace.What, id uint64, cpu int64) trace.Record {
		return trace.Record{Time: at, What: what, Node: trace.Node{ID: id, Name: "n" + string(rune('0'+id)), Capacity: cluster.Vector{cpu, 1000}}}
	}
	for _, c := range []struct {
		capacity int64
		overfull int
		example  string
	}{
		{1000, 1, "node n1 holds 3.5 of cpu, over its limit of 1"},
		{3500, 0, ""},
	} {
		l := &list{kinds: kinds, records: []trace.Record{
			node(0, trace.NodeAdded, 1, 4000),
			{What: trace.TaskSubmitted, Task: trace.Task{Job: 1, JobTasks: 1, Demand: cluster.Vector{3500, 1}, Work: cluster.Hour}},
			node(cluster.Second, trace.NodeAdded, 2, 1000),
			node(cluster.Second, trace.NodeChanged, 1, c.capacity),
		}}
		r, err := Run(Config{Source: l, Lanes: lane(t, "kube"), Until: cluster.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if r.NodesOverfull != c.overfull || r.Examples[report.Overfull] != c.example {
			t.Errorf("shrunk to %d: %d nodes overfull, %q; want %d, %q", c.capacity, r.NodesOverfull, r.Examples[report.Overfull], c.overfull, c.example)
		}
		if r.Tasks.Running != 1 || r.Tasks.Evicted != 0 || r.Nodes != 2 {
			t.Errorf("shrunk to %d: %d nodes, %+v", c.capacity, r.Nodes, r.Tasks)
		}
	}
}

// noRoom is a disk without room for a file.
type noRoom string

func (name noRoom) Write([]byte) (int, error) { return 0, errors.New("no room for " + string(name)) }

// Where nothing that a run writes can be written, its error is the first that happened.
func TestFirstErrorOfWriting(t *testing.T) {
	_, err := Run(Config{Source: story(1, 2), Lanes: lane(t, "kube"), Output: Output{Placements: noRoom("placements"), Tasks: noRoom("tasks")}})
	if err == nil || !strings.HasSuffix(err.Error(), "no room for placements") {
		t.Errorf("%v, want that there is no room for placements", err)
	}
}
