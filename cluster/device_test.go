package cluster_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// fourDevices is a node with four devices of 10, of which 6, 10, 0 and 4 are
// left, and a waiting task that asks for so much. The task on the last one is
// leaving.
func fourDevices(t *testing.T, share int64) (s *cluster.State, task cluster.TaskID) {
	t.Helper()
	s = cluster.NewState([]cluster.Kind{{Name: "gpu", PerUnit: 10, Devices: true}}, []cluster.Class{{Name: "all"}})
	apply := func(e cluster.Event) {
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	apply(cluster.NodeAdded{Spec: cluster.NodeSpec{Name: "n0", Capacity: cluster.Vector{40}}})
	apply(cluster.JobSubmitted{})
	submit := func(share int64) cluster.TaskID {
		id := cluster.TaskID(s.TaskRows())
		apply(cluster.ShapeDefined{Shape: cluster.ShapeID(id), Spec: cluster.Shape{Demand: cluster.Vector{share}}})
		apply(cluster.TaskSubmitted{Task: id, Seq: cluster.Seq(id) + 1, Shape: cluster.ShapeID(id)})
		return id
	}
	for _, held := range []struct {
		share   int64
		devices cluster.DeviceSet
	}{{4, 0b0001}, {10, 0b0100}, {6, 0b1000}} {
		if r := s.Place(submit(held.share), 0, held.devices); r.Refused() {
			t.Fatal(r)
		}
	}
	apply(cluster.TaskStarted{Task: 2, Attempt: 1})
	if r := s.Evict(2); r.Refused() {
		t.Fatal(r)
	}
	return s, submit(share)
}

// Devices that are not enough, too many, full or not there are refused, and
// what is leaving counts as left: the task is reserved until it has gone.
func TestPlaceOnDevices(t *testing.T) {
	for _, tc := range []struct {
		name    string
		share   int64
		devices cluster.DeviceSet
		have    int64         // of the devices wanted, if it is refused
		phase   cluster.Phase // if it is not
	}{
		{"a share of the first", 6, 0b0001, 0, cluster.Starting},
		{"more than is left of the first", 7, 0b0001, 0, 0},
		{"a share of a full one", 1, 0b0100, 0, 0},
		{"a share of one that is emptying", 7, 0b1000, 0, cluster.Reserved},
		{"a share of two", 6, 0b0011, 0, 0},
		{"two whole ones of which one is in use", 20, 0b0011, 1, 0},
		{"two whole ones of which one is emptying", 20, 0b1010, 0, cluster.Reserved},
		{"one where two are asked for", 20, 0b0010, 0, 0},
		{"a fifth", 6, 0b10000, 0, 0},
		{"the fullest that suffices", 4, 0, 0, cluster.Starting},
	} {
		s, task := fourDevices(t, tc.share)
		refusal := s.Place(task, 0, tc.devices)
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if tc.phase == 0 {
			if refusal.Code != cluster.NoDevice || refusal.Have != tc.have {
				t.Errorf("%s: %+v, want to be refused for devices, with %d", tc.name, refusal, tc.have)
			}
			continue
		}
		if got := s.Task(task).Phase; refusal.Refused() || got != tc.phase {
			t.Errorf("%s: %+v, the task is %v; want %v", tc.name, refusal, got, tc.phase)
		}
		if tc.devices != 0 && s.Task(task).Devices != tc.devices {
			t.Errorf("%s: has devices %b, want %b", tc.name, s.Task(task).Devices, tc.devices)
		}
	}
}

// The choice is the fullest that suffices, without what is leaving if possible.
func TestPickDevices(t *testing.T) {
	for _, tc := range []struct {
		demand int64
		want   cluster.DeviceSet
		ok     bool
	}{
		{0, 0, true},
		{3, 0b1000, true},
		{5, 0b0001, true},
		{7, 0b0010, true},
		{20, 0b1010, true},
		{30, 0, false},
	} {
		s, _ := fourDevices(t, 1)
		needs := cluster.NeedsOf(s.DeviceKinds(), cluster.Vector{tc.demand})
		if got, ok := s.PickDevices(0, needs); got != tc.want || ok != tc.ok {
			t.Errorf("%+v: devices %b (%v), want %b (%v)", needs, got, ok, tc.want, tc.ok)
		}
	}
}

// A task that asks for devices fits on an empty node that has as many, large enough.
func TestFitsEmptyOnDevices(t *testing.T) {
	for _, tc := range []struct {
		name  string
		share int64
		fits  bool
	}{{"none", 0, true}, {"a share", 4, true}, {"one", 10, true}, {"all four", 40, true}, {"five", 50, false}} {
		s, task := fourDevices(t, tc.share)
		if got := s.FitsEmpty(s.Task(task).Shape, 0); got != tc.fits {
			t.Errorf("%s: fits on the empty node %v, want %v", tc.name, got, tc.fits)
		}
	}
}
