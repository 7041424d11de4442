package trace

import (
	"errors"
	"io"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// Shares of a largest node of 32 cores and 128 GiB: nodes are rounded down, tasks up.
func TestScale(t *testing.T) {
	share := func(name string) cluster.Kind {
		return cluster.Kind{Name: name, Unit: "of the largest node", PerUnit: 10_000_000}
	}
	src := &memory{[]cluster.Kind{share("cpu"), share("memory")}, []Record{
		{What: NodeAdded, Node: Node{ID: 1, Capacity: cluster.Vector{5_000_000, 10_000_000}}},
		{What: NodeUsed, Node: Node{ID: 1, Usage: cluster.Vector{1, 1}}},
		{What: NodeAdded, Node: Node{ID: 2, Capacity: cluster.Vector{1, 1}}},
		{What: TaskSubmitted, Task: Task{Job: 1, Demand: cluster.Vector{1, 1}, Max: cluster.Vector{625_000, 0}}},
		{What: TaskKilled, Task: Task{Job: 1}},
	}}
	kinds := []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}, {Name: "memory", Unit: "GiB", PerUnit: 1 << 10}}
	scaled, err := Scale(src, kinds, cluster.Vector{32_000, 128 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(scaled.Kinds(), kinds) {
		t.Errorf("kinds are %v", scaled.Kinds())
	}
	for _, want := range []struct {
		what         What
		vector, most cluster.Vector
	}{
		{NodeAdded, cluster.Vector{16_000, 128 << 10}, nil},
		{NodeAdded, cluster.Vector{0, 0}, nil},
		{TaskSubmitted, cluster.Vector{1, 1}, cluster.Vector{2_000, 0}},
		{TaskKilled, nil, nil},
	} {
		var r Record
		if err := scaled.Next(&r); err != nil {
			t.Fatal(err)
		}
		v := r.Task.Demand
		if r.What.OfNode() {
			v = r.Node.Capacity
		}
		if r.What != want.what || !slices.Equal(v, want.vector) || !slices.Equal(r.Task.Max, want.most) {
			t.Errorf("got %v %v, at most %v; want %v", r.What, v, r.Task.Max, want)
		}
	}
	if err := scaled.Next(&Record{}); !errors.Is(err, io.EOF) {
		t.Errorf("then %v", err)
	}
	if _, err := Scale(src, kinds[:1], cluster.Vector{1}); err == nil {
		t.Error("one kind for two: no error")
	}
}

// Beside keeps all of the first source and takes the tasks of the second, whose jobs have
// other numbers.
func TestBeside(t *testing.T) {
	apart := cluster.Constraint{Name: "apart"}
	all := &memory{kindsNamed("cpu"), []Record{
		{Time: 0, What: NodeAdded, Node: Node{ID: 1, Capacity: cluster.Vector{4}}},
		{Time: 1, What: NodeUsed, Node: Node{ID: 1, Usage: cluster.Vector{1}}},
		{Time: 2, What: ConstraintAdded, Constraint: apart},
		{Time: 2, What: TaskSubmitted, Task: Task{Job: 1, Demand: cluster.Vector{1}, Input: []Block{{Bytes: 1}}}},
	}}
	tasks := &memory{kindsNamed("gpu", "cpu"), []Record{
		{Time: 0, What: NodeAdded, Node: Node{ID: 1, Capacity: cluster.Vector{4, 9}}},
		{Time: 1, What: TaskSubmitted, Task: Task{Job: 1, Demand: cluster.Vector{1, 2}, Input: []Block{{Bytes: 1}}}},
		{Time: 2, What: ConstraintRemoved, Constraint: apart},
		{Time: 3, What: TaskKilled, Task: Task{Job: 1}},
	}}
	m, err := Beside(all, tasks)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		what  What
		job   uint64
		v     cluster.Vector
		input int
	}{
		{NodeAdded, 0, cluster.Vector{4, 0}, 0},
		{TaskSubmitted, 1 | 1<<63, cluster.Vector{2, 1}, 0},
		{ConstraintAdded, 0, nil, 0},
		{TaskSubmitted, 1, cluster.Vector{1, 0}, 1},
		{ConstraintRemoved, 0, nil, 0},
		{TaskKilled, 1 | 1<<63, nil, 0},
	} {
		var r Record
		if err := m.Next(&r); err != nil {
			t.Fatal(err)
		}
		v, job := r.Task.Demand, r.Task.Job
		if r.What.OfNode() {
			v = r.Node.Capacity
		}
		if r.What != TaskSubmitted && r.What != TaskKilled {
			job = 0
		}
		if r.What != want.what || job != want.job || (r.What == TaskSubmitted || r.What.OfNode()) && !slices.Equal(v, want.v) || r.What == TaskSubmitted && len(r.Task.Input) != want.input {
			t.Errorf("%d: got %+v, want %+v", i, r, want)
		}
	}
	if err := m.Next(&Record{}); !errors.Is(err, io.EOF) {
		t.Errorf("then %v", err)
	}
}
