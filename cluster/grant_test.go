package cluster

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// This file is the part of histories that is about grants and tasks that are told
// to end: what a random history does with them, and the slow and obvious rules
// that it holds the state to.

// upTo makes up the most of a demand; now and then it is no range at all.
func (h *history) upTo(demand Vector) Vector {
	most := slices.Clone(demand)
	how := h.byte()
	if len(most) >= 3 {
		most[0] += int64(how % 4)
		most[1] += int64(how / 4 % 4)
		if how >= 250 {
			most[how%3]--
		}
	}
	return most
}

// grant makes up a grant of the task: mostly one that its shape allows.
func (h *history) grant(t TaskID) Vector {
	how := h.byte()
	if int(t) >= h.s.TaskRows() || h.s.Task(t).Phase == Absent || how < 60 {
		return nil
	}
	shape := h.s.Shape(h.s.Task(t).Shape)
	grant := slices.Clone(shape.Demand)
	for k := range shape.Max {
		if room := shape.Max[k] - shape.Demand[k]; room > 0 {
			grant[k] += int64(h.byte()) % (room + 1)
		}
	}
	switch {
	case how >= 253:
		return grant[:1]
	case how >= 248:
		grant[how%3]++
	case how >= 244:
		grant[how%3]--
	}
	return grant
}

// reported is a grant as the world reports it, which need not be allowed.
func (h *history) reported() Vector {
	if how := h.byte(); how < 40 {
		return h.wide(Vector{int64(how % 9), int64(how / 5), int64(how % 3)}, fixed(int64(how%2)))
	}
	return nil
}

// takes is how much a run of the task with that grant takes.
func (h *history) takes(task *Task, grant Vector) Vector {
	if grant != nil {
		return grant
	}
	return h.s.Shape(task.Shape).Demand
}

// mayTake reports whether the shape of the task allows the grant.
func (h *history) mayTake(t TaskID, grant Vector) bool {
	shape := h.s.Shape(h.s.Task(t).Shape)
	if grant == nil || slices.Equal(grant, shape.Demand) {
		return true
	}
	if shape.Max == nil || len(grant) != len(shape.Max) {
		return false
	}
	for k, q := range grant {
		if q < shape.Demand[k] || q > shape.Max[k] {
			return false
		}
	}
	return true
}

// held sums what everybody but the task takes of the node, orphans included.
func (h *history) held(n NodeID, but TaskID) Vector {
	sum := make(Vector, len(h.s.kinds))
	add := func(demand Vector) {
		for k, q := range demand {
			sum[k] += q
		}
	}
	for i := range h.s.task {
		task := &h.s.task[i]
		if task.Phase == Absent || TaskID(i) == but {
			continue
		}
		if task.Node == n {
			add(h.takes(task, task.Grant()))
		}
		if task.Next == n {
			add(h.takes(task, task.nextGrant()))
		}
	}
	for _, o := range h.s.orphans {
		if o.node == n {
			add(o.demand)
		}
	}
	return sum
}

// place places with a grant, and checks that the task has it if it is accepted.
func (h *history) place(t TaskID, n NodeID) (Refusal, error) {
	gets := Allotment{Devices: h.devices()}
	gets.Grant = h.grant(t)
	leaves := int(t) < h.s.TaskRows() && h.s.Task(t).Phase == Leaving
	r := h.s.PlaceWith(t, n, gets)
	if r.Refused() {
		return r, nil
	}
	task := h.s.Task(t)
	has := task.Grant()
	if leaves {
		has = task.nextGrant()
	}
	if want := h.takes(task, gets.Grant); !h.mayTake(t, gets.Grant) || !slices.Equal(h.takes(task, has), want) {
		return r, fmt.Errorf("task row %d was granted %v, asked for %v", t, has, gets.Grant)
	}
	if has != nil {
		h.granted++
	}
	return r, nil
}

// resize changes a grant, and checks that it is accepted exactly where a slow and
// obvious rule allows it.
func (h *history) resize(t TaskID) (Refusal, error) {
	grant := h.grant(t)
	var before Task
	allowed := false
	if int(t) < h.s.TaskRows() {
		before = *h.s.Task(t)
		allowed = (before.Phase == Starting || before.Phase == Running) && !h.s.Job(before.Job).Foreign && h.mayTake(t, grant)
	}
	if allowed {
		had, wants, others := h.takes(&before, before.Grant()), h.takes(&before, grant), h.held(before.Node, t)
		for k, q := range wants {
			allowed = allowed && (q <= had[k] || q+others[k] <= h.s.Limit(before.Node)[k])
		}
	}
	r := h.s.Resize(t, grant)
	if r.Refused() == allowed {
		return r, fmt.Errorf("task row %d: resized to %v: %+v, should be allowed: %v", t, grant, r, allowed)
	}
	if allowed && !slices.Equal(h.s.Demand(t), h.takes(&before, grant)) {
		return r, fmt.Errorf("task row %d: resized to %v, and takes %v", t, grant, h.s.Demand(t))
	}
	if allowed && !slices.Equal(h.s.Demand(t), h.takes(&before, before.Grant())) {
		h.resized++
	}
	return r, nil
}

// stop tells a task to end.
func (h *history) stop() (string, error) {
	t := h.pick(func(t *Task) bool { return t.Phase != Absent && t.Told != ToEnd && !h.s.Job(t.Job).Foreign })
	allowed := int(t) < h.s.TaskRows() && h.s.Task(t).Phase != Absent && h.s.Task(t).Told != ToEnd && !h.s.Job(h.s.Task(t).Job).Foreign
	r := h.s.Stop(t)
	what := fmt.Sprintf("stop task row %d: %s", t, r.Code)
	if r.Refused() == allowed {
		return what, errors.New("it should not be so")
	}
	if allowed {
		h.stopped++
	}
	for n := range h.s.NodeRows() {
		if err := h.settle(NodeID(n)); err != nil {
			return what, err
		}
	}
	return what, nil
}

// elastic is a state with a node of 8 cpu and a running task that takes 2 to 6.
func elastic(t *testing.T) *State {
	t.Helper()
	s := NewState(historyKinds(), nil)
	for _, e := range []Event{
		NodeAdded{Node: 0, Spec: NodeSpec{Name: "n", Capacity: Vector{8, 8, 8}}},
		ShapeDefined{Shape: 0, Spec: Shape{Demand: Vector{2, 2, 4}, Max: Vector{6, 2, 4}}},
		ShapeDefined{Shape: 1, Spec: Shape{Demand: Vector{3, 1, 0}}},
		JobSubmitted{Job: 0, Name: "j"},
		TaskSubmitted{Task: 0, Seq: 1, Job: 0, Shape: 0},
		TaskSubmitted{Task: 1, Seq: 2, Job: 0, Shape: 1},
	} {
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestRefusedGrants: who asks for a grant that cannot be is told the numbers.
func TestRefusedGrants(t *testing.T) {
	s := elastic(t)
	for _, tc := range []struct {
		name string
		do   func() Refusal
		want Refusal
	}{
		{"more than most", func() Refusal { return s.PlaceWith(0, 0, Allotment{Grant: Vector{7, 2, 4}}) }, Refusal{Code: NotInRange, Kind: 0, Need: 7, Have: 6}},
		{"less than least", func() Refusal { return s.PlaceWith(0, 0, Allotment{Grant: Vector{2, 1, 4}}) }, Refusal{Code: NotInRange, Kind: 1, Need: 1, Have: 2}},
		{"other devices", func() Refusal { return s.PlaceWith(0, 0, Allotment{Grant: Vector{2, 2, 8}}) }, Refusal{Code: NotInRange, Kind: 2, Need: 8, Have: 4}},
		{"no vector", func() Refusal { return s.PlaceWith(0, 0, Allotment{Grant: Vector{2}}) }, Refusal{Code: NotInRange}},
		{"not placed", func() Refusal { return s.Resize(0, nil) }, Refusal{Code: NotRunning}},
		{"a fixed one", func() Refusal { return s.PlaceWith(1, 0, Allotment{Grant: Vector{4, 1, 0}}) }, Refusal{Code: NotInRange, Kind: 0, Need: 4, Have: 3}},
		{"placed", func() Refusal { return s.PlaceWith(1, 0, Allotment{Grant: Vector{3, 1, 0}}) }, Refusal{}},
		{"no room", func() Refusal { return s.PlaceWith(0, 0, Allotment{Grant: Vector{6, 2, 4}}) }, Refusal{Code: NoRoom, Kind: 0, Need: 6, Have: 5}},
		{"room", func() Refusal { return s.PlaceWith(0, 0, Allotment{Grant: Vector{4, 2, 4}}) }, Refusal{}},
		{"no room to grow", func() Refusal { return s.Resize(0, Vector{6, 2, 4}) }, Refusal{Code: NoRoom, Kind: 0, Need: 6, Have: 5}},
		{"what leaves is no room", func() Refusal { s.Evict(1); return s.Resize(0, Vector{6, 2, 4}) }, Refusal{Code: NoRoom, Kind: 0, Need: 6, Have: 5}},
		{"grown", func() Refusal { return s.Resize(0, Vector{5, 2, 4}) }, Refusal{}},
		{"shrunk", func() Refusal { return s.Resize(0, nil) }, Refusal{}},
		{"evicted", func() Refusal { s.Evict(0); return s.Resize(0, nil) }, Refusal{Code: NotRunning}},
	} {
		if got := tc.do(); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestRangesThatAreNone: the error names the kind and its numbers.
func TestRangesThatAreNone(t *testing.T) {
	for _, tc := range []struct {
		most Vector
		want string
	}{
		{Vector{1, 2, 4}, "max of cpu is 1, want at least the demand 2"},
		{Vector{2, 2, 8}, "max of gpu is 2 with a demand of 1, want them equal, as it comes in devices"},
		{Vector{2, 2}, "max has 2 quantities, the cluster has 3 kinds"},
		{Vector{2, MaxQuantity + 1, 4}, "max of memory is"},
	} {
		err := elastic(t).Apply(0, ShapeDefined{Shape: 5, Spec: Shape{Demand: Vector{2, 2, 4}, Max: tc.most}})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v, want %s", tc.most, err, tc.want)
		}
	}
	s := elastic(t)
	if err := s.Apply(0, ShapeDefined{Shape: 5, Spec: Shape{Demand: Vector{2, 2, 4}, Max: Vector{2, 2, 4}}}); err != nil || s.Shape(5).Max != nil {
		t.Errorf("a range of one: %v, %v", err, s.Shape(5).Max)
	}
}

// TestReshapedRangeMovesAGrantLeast: what is in the new range stays.
func TestReshapedRangeMovesAGrantLeast(t *testing.T) {
	s := elastic(t)
	if r := s.PlaceWith(0, 0, Allotment{Grant: Vector{5, 2, 4}}); r.Refused() {
		t.Fatal(r)
	}
	for i, tc := range []struct{ least, most, want Vector }{
		{Vector{1, 1, 4}, Vector{6, 6, 4}, Vector{5, 2, 4}},
		{Vector{1, 3, 4}, Vector{4, 6, 4}, Vector{4, 3, 4}},
		{Vector{3, 1, 4}, nil, Vector{3, 1, 4}},
		{Vector{1, 1, 4}, Vector{6, 6, 4}, Vector{3, 1, 4}},
	} {
		shape := ShapeID(7 + i)
		for _, e := range []Event{ShapeDefined{Shape: shape, Spec: Shape{Demand: tc.least, Max: tc.most}}, TaskReshaped{Task: 0, Seq: 1, Shape: shape}} {
			if err := s.Apply(0, e); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.Demand(0); !slices.Equal(got, tc.want) {
			t.Errorf("reshaped to %v to %v it takes %v, want %v", tc.least, tc.most, got, tc.want)
		}
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestTaskFillsTwoCacheLines keeps tasks small: searches for victims read every task of
// every node, so that each byte of one costs them time.
func TestTaskFillsTwoCacheLines(t *testing.T) {
	if size := reflect.TypeFor[Task]().Size(); size > 128 {
		t.Errorf("a task has %d bytes, want at most 128; keep what few tasks have beside it, as grants", size)
	}
}
