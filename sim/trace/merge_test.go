package trace

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
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
		{Time: 4, What: NodeUsed, Node: Node{ID: 1, Usage: cluster.Vector{1, 1}}},
		{Time: 5, What: NodeAdded, Node: Node{ID: 2, Capacity: cluster.Vector{8, 1}}},
	}}
	tasks := &memory{kindsNamed("gpu", "cpu"), []Record{
		{Time: 0, What: NodeUsed, Node: Node{ID: 99, Usage: cluster.Vector{4, 9}}},
		{Time: 0, What: NodeAdded, Node: Node{ID: 99, Capacity: cluster.Vector{4, 9}}},
		{Time: 2, What: TaskSubmitted, Task: Task{Job: 1, Demand: cluster.Vector{1, 2}, Input: []Block{{Bytes: 1, Replicas: []uint64{99}}}}},
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
		if r.Task.Input != nil {
			t.Errorf("record %d: input %v lies on nodes that are not there", i, r.Task.Input)
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
	next cluster.Time
}

func (f *flood) Next(r *Record) error {
	*r = Record{Time: f.next, What: TaskSubmitted}
	if f.next == 0 {
		r.What = NodeAdded
	}
	f.next++
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
		if nodes.next > want+2 {
			t.Errorf("read %d records to find the one at %v", nodes.next, want)
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
	if d.Nodes != 1 || d.Tasks != 500 || d.Running != 1 || d.Later != 499 || d.Jobs.Count != 50 || d.Users.Count != 1 || d.Endless != 500 || d.Shapes.Count != 500 {
		t.Errorf("%+v", d)
	}
	if got, want := d.Demand[0].P50, int64(249*249); got < want*98/100 || got > want*102/100 {
		t.Errorf("median demand is %d, want about %d", got, want)
	}
}

func TestDescribeWhatIsSpecial(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "gpu", PerUnit: 1000, Devices: true}}
	m := &memory{kinds: kinds}
	for i, zone := range []string{"a", "b", "a"} {
		m.records = append(m.records, Record{What: NodeAdded, Node: Node{ID: uint64(i), Capacity: cluster.Vector{1, 1}, Labels: []cluster.Label{{Key: "zone", Value: zone}}}})
	}
	for i, gpu := range []int64{0, 0, 400, 1000, 8000} {
		r := Record{What: TaskSubmitted, Time: cluster.Time(10 * i), Task: Task{
			Job: uint64(i), Priority: int32(-i), Demand: cluster.Vector{1, gpu}, PerNode: int32(i / 2), Work: 5, Fails: i == 4,
		}}
		if i > 0 {
			r.Task.Requirements = []cluster.Requirement{{Key: "zone", Op: cluster.NotEqual, Value: "a"}, {Key: "v", Op: cluster.Greater, Value: "1"}}[:1+i/4]
		}
		m.records = append(m.records, r)
	}
	d, err := Describe(m, func(cluster.Time) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	if d.Required != 4 || d.Fails != 1 || d.FirstLater != 10 || d.LastLater != 40 || d.Users.Count != 0 {
		t.Errorf("%+v", d)
	}
	diff := cmp.Diff([]Label{{"zone", Distinct{Count: 2}}}, d.Labels) +
		cmp.Diff(Tally[int64]{Counts: []Count[int64]{{ShareOfDevice, 1}, {0, 2}, {1, 1}, {8, 1}}}, d.Devices[1]) +
		cmp.Diff(Tally[int32]{Counts: []Count[int32]{{0, 2}, {1, 2}, {2, 1}}}, d.PerNode) +
		cmp.Diff(Tally[int32]{Counts: []Count[int32]{{-4, 1}, {-3, 1}, {-2, 1}, {-1, 1}, {0, 1}}}, d.Priorities) +
		cmp.Diff(Tally[string]{Counts: []Count[string]{{"v >", 1}, {"zone !=", 4}}}, d.Requirements)
	if diff != "" {
		t.Error(diff)
	}
}

// What is counted has bounds, and says when it has reached them.
func TestBounds(t *testing.T) {
	var d distinct[int]
	for i := range mostDistinct + 5 {
		d.add(i)
		d.add(i / 2)
	}
	if got := d.count(); got.Count != mostDistinct || got.String() != "more than 1048576" {
		t.Errorf("%v different ones", got)
	}
	var all tally[int]
	for i := range mostTallied + 5 {
		all.add(i)
		all.add(7)
	}
	if list := all.list(); list.Others != 5 || len(list.Counts) != mostTallied || list.Counts[7].Tasks != mostTallied+6 {
		t.Errorf("%d values, %d others", len(list.Counts), list.Others)
	}
}

// knows is a source that knows what its tasks typically ask for.
type knows struct {
	memory
	typical []fragmentation.Typical
}

func (k *knows) Typical() []fragmentation.Typical { return k.typical }

// Quantities follow the finer unit, wherever they stand, also in what tasks
// typically ask for.
func TestMergeUnits(t *testing.T) {
	nodes := &memory{[]cluster.Kind{{Name: "disk", PerUnit: 1}, {Name: "memory", Unit: "GiB", PerUnit: 1 << 30}, {Name: "cpu", Unit: "cores", PerUnit: 1}}, []Record{
		{What: NodeAdded, Node: Node{ID: 1, Capacity: cluster.Vector{7, 4 << 30, 8}}},
	}}
	tasks := &knows{memory{[]cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}, {Name: "memory", Unit: "GiB", PerUnit: 1 << 10}}, []Record{
		{What: TaskSubmitted, Task: Task{Job: 1, Demand: cluster.Vector{500, 3}}},
	}}, []fragmentation.Typical{{Demand: cluster.Vector{250, 1}, Tasks: 9}}}
	m, err := Merge(Limit(nodes, cluster.Hour), Limit(tasks, cluster.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var vectors []cluster.Vector
	for {
		var r Record
		err := m.Next(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		vectors = append(vectors, append(slices.Clone(r.Node.Capacity), r.Task.Demand...))
	}
	if diff := cmp.Diff([]cluster.Vector{{7, 4 << 30, 8000}, {0, 3 << 20, 500}}, vectors); diff != "" {
		t.Error(diff)
	}
	known, ok := m.(TypicalSource)
	if !ok {
		t.Fatal("what is merged knows nothing of its tasks")
	}
	if diff := cmp.Diff([]fragmentation.Typical{{Demand: cluster.Vector{0, 1 << 20, 250}, Tasks: 9}}, known.Typical()); diff != "" {
		t.Error(diff)
	}
}

// Kinds that cannot be brought together are an error, and so is a quantity that
// becomes too large.
func TestMergeRefuses(t *testing.T) {
	gpu := func(name string, per int64) []cluster.Kind {
		return []cluster.Kind{{Name: name, PerUnit: per, Devices: true}}
	}
	for _, c := range []struct {
		nodes, tasks []cluster.Kind
		want         string
	}{
		{[]cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 3}}, []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 2}}, "measures cpu in units of 3"},
		{[]cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1}}, []cluster.Kind{{Name: "cpu", Unit: "slots", PerUnit: 1}}, "measures cpu in units of 1"},
		{gpu("gpu", 10), []cluster.Kind{{Name: "gpu", PerUnit: 10}}, "gpu comes in devices in one of the cluster and the workload"},
	} {
		if _, err := Merge(&memory{kinds: c.nodes}, &memory{kinds: c.tasks}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	cores, slots := &memory{kinds: []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1}}}, &memory{kinds: []cluster.Kind{{Name: "cpu", Unit: "slots", PerUnit: 1}}}
	if _, err := Beside(cores, slots); err == nil || !strings.HasPrefix(err.Error(), `the workload measures cpu in units of 1 "cores", --beside in units of 1 "slots"; `) {
		t.Error(err)
	}
	many := &memory{[]cluster.Kind{{Name: "cpu", PerUnit: 1}}, []Record{{What: TaskSubmitted, Task: Task{Job: 5, Demand: cluster.Vector{1 << 44}}}}}
	b, err := Beside(&memory{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1000}}}, many)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Next(&Record{}); err == nil || !strings.HasPrefix(err.Error(), "--beside: task submitted at 0s: task 0 of job 5: 17592186044416 of cpu") {
		t.Error(err)
	}
	nodes := &memory{[]cluster.Kind{{Name: "cpu", PerUnit: 1}}, []Record{{What: NodeAdded, Node: Node{ID: 7, Capacity: cluster.Vector{1 << 44}}}}}
	m, err := Merge(nodes, &memory{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1000}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Next(&Record{}); err == nil || !strings.Contains(err.Error(), "node 7: 17592186044416 of cpu are too many") {
		t.Error(err)
	}
}
