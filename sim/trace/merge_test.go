package trace

import (
	"errors"
	"io"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// memory is a source of records that are held in memory.
type memory struct {
	kinds   []cluster.Kind
	records []Record
}

func (m *memory) Kinds() []cluster.Kind { return m.kinds }
func (m *memory) Close() error          { return nil }
func (m *memory) Next(r *Record) error {
	if len(m.records) == 0 {
		return io.EOF
	}
	*r, m.records = m.records[0], m.records[1:]
	return nil
}

func kindsNamed(names ...string) []cluster.Kind {
	var kinds []cluster.Kind
	for _, n := range names {
		kinds = append(kinds, cluster.Kind{Name: n, PerUnit: 1})
	}
	return kinds
}

// Merge takes the nodes of one side and the tasks of the other, in time order,
// nodes first, and gives both the kinds of both.
func TestMerge(t *testing.T) {
	nodes := &memory{kindsNamed("cpu", "disk"), []Record{
		{Time: 0, What: NodeAdded, Node: Node{ID: 1, Capacity: cluster.Vector{4, 9}}},
		{Time: 3, What: TaskSubmitted, Task: Task{Job: 99, Demand: cluster.Vector{1, 1}}},
		{Time: 5, What: NodeAdded, Node: Node{ID: 2, Capacity: cluster.Vector{8, 1}}},
	}}
	tasks := &memory{kindsNamed("gpu", "cpu"), []Record{
		{Time: 0, What: NodeAdded, Node: Node{ID: 99, Capacity: cluster.Vector{4, 9}}},
		{Time: 2, What: TaskSubmitted, Task: Task{Job: 1, Demand: cluster.Vector{1, 2}}},
		{Time: 5, What: TaskSubmitted, Task: Task{Job: 2, Demand: cluster.Vector{3, 4}}},
		{Time: 6, What: TaskKilled, Task: Task{Job: 2}},
	}}
	m, err := Merge(nodes, tasks)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Kinds(); len(got) != 3 || got[0].Name != "cpu" || got[1].Name != "disk" || got[2].Name != "gpu" {
		t.Fatalf("kinds are %v", got)
	}
	want := []struct {
		at     cluster.Time
		what   What
		id     uint64
		vector cluster.Vector
	}{
		{0, NodeAdded, 1, cluster.Vector{4, 9, 0}},
		{2, TaskSubmitted, 1, cluster.Vector{2, 0, 1}},
		{5, NodeAdded, 2, cluster.Vector{8, 1, 0}},
		{5, TaskSubmitted, 2, cluster.Vector{4, 0, 3}},
		{6, TaskKilled, 2, nil},
	}
	for i, w := range want {
		var r Record
		if err := m.Next(&r); err != nil {
			t.Fatal(err)
		}
		id, vector := r.Task.Job, r.Task.Demand
		if r.What <= NodeLost {
			id, vector = r.Node.ID, r.Node.Capacity
		}
		if r.Time != w.at || r.What != w.what || id != w.id || !slices.Equal(vector, w.vector) {
			t.Errorf("record %d: %v %v %d %v, want %+v", i, r.Time, r.What, id, vector, w)
		}
	}
	if err := m.Next(&Record{}); !errors.Is(err, io.EOF) {
		t.Errorf("after the last record: %v", err)
	}
}

// flood is a source without end: a node, then a task a microsecond.
type flood struct {
	memory
	told cluster.Time
}

func (f *flood) Next(r *Record) error {
	*r = Record{Time: f.told, What: TaskSubmitted}
	if f.told == 0 {
		r.What = NodeAdded
	}
	f.told++
	return nil
}

// A source without end whose records are not wanted is read no further than
// the other's next record; behind Limit it ends.
func TestMergeReadsNotAhead(t *testing.T) {
	nodes := &flood{memory: memory{kinds: kindsNamed("cpu")}}
	tasks := &memory{kindsNamed("cpu"), []Record{{Time: 10, What: TaskSubmitted}, {Time: 20, What: TaskSubmitted}}}
	m, err := Merge(Limit(nodes, 1000), tasks)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []cluster.Time{0, 10, 20} {
		var r Record
		if err := m.Next(&r); err != nil || r.Time != want {
			t.Fatalf("%v %v, want a record at %v", r.Time, err, want)
		}
		if nodes.told > want+2 {
			t.Errorf("read %d records to find the one at %v", nodes.told, want)
		}
	}
	if err := m.Next(&Record{}); !errors.Is(err, io.EOF) {
		t.Errorf("after the last record: %v", err)
	}
}

// Kinds of one name in two units cannot be merged.
func TestMergeRefusesOtherUnits(t *testing.T) {
	a := &memory{kinds: []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}}}
	b := &memory{kinds: []cluster.Kind{{Name: "cpu", Unit: "slots", PerUnit: 1}}}
	if _, err := Merge(a, b); err == nil {
		t.Error("merged cores with slots")
	}
}

// Describe's quantiles are of numbers that occur, within a bucket of the exact
// ones.
func TestDescribe(t *testing.T) {
	m := &memory{kinds: kindsNamed("cpu")}
	m.records = append(m.records, Record{What: NodeAdded, Node: Node{ID: 1, Capacity: cluster.Vector{100}}})
	for i := range 1000 {
		m.records = append(m.records, Record{What: TaskSubmitted, Time: cluster.Time(i), Task: Task{
			Job: uint64(i / 10), User: "ann", Demand: cluster.Vector{int64(i * i)}, Running: i == 0, PerNode: int32(i % 2), Work: cluster.Never,
		}})
	}
	d, err := Describe(m, func(at cluster.Time) bool { return at >= 500 })
	if err != nil {
		t.Fatal(err)
	}
	if d.Nodes != 1 || d.Tasks != 500 || d.Running != 1 || d.Later != 499 || d.Jobs != 50 || d.Users != 1 || d.Apart != 250 || d.Endless != 500 || d.Shapes != 500 {
		t.Errorf("%+v", d)
	}
	if got, want := d.Demand[0].P50, int64(249*249); got < want*98/100 || got > want*102/100 {
		t.Errorf("median demand is %d, want about %d", got, want)
	}
}
