package power_test

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/power"
)

// TestNodesDrawWhatTheirPartsDo goes through a node with two sockets and four GPUs, by hand: more before each task is what the node then draws more.
func TestNodesDrawWhatTheirPartsDo(t *testing.T) {
	s := cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "gpu", PerUnit: 1000, Devices: true}}, nil)
	apply := func(e cluster.Event) {
		t.Helper()
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	// 60 cores are 30 pairs of threads, and so two sockets of 16; P100.
	apply(cluster.NodeAdded{Spec: cluster.NodeSpec{Capacity: cluster.Vector{60_000, 4000}, Labels: []cluster.Label{{Key: "gpu-model", Value: "P100"}}}})
	apply(cluster.JobSubmitted{})
	meter := power.NewMeter(s.Kinds(), power.Openb())
	draws := func(want int64) {
		t.Helper()
		if got := meter.Watts(&s.View, 0); got != want {
			t.Errorf("it draws %d W, want %d", got, want)
		}
	}
	draws(2*15 + 4*25)
	for i, c := range []struct {
		cpu, gpu    int64
		devices     cluster.DeviceSet
		more, draws int64
	}{
		{1000, 500, 1, 120 - 15 + 250 - 25, 120 + 15 + 250 + 3*25}, // half a core wakes a socket
		{0, 300, 1, 0, 120 + 15 + 250 + 3*25},                      // on the GPU in use
		{0, 300, 2, 250 - 25, 120 + 15 + 2*250 + 2*25},             // there is not enough left of it
		{31_000, 0, 0, 0, 120 + 15 + 2*250 + 2*25},                 // 16 pairs are one socket
		{1000, 2000, 12, 120 - 15 + 2*(250-25), 2*120 + 4*250},     // two whole ones
		{1000, 0, 0, 0, 2*120 + 4*250},                             // all is at work
	} {
		task, shape := cluster.TaskID(i), cluster.ShapeID(i)
		spec := cluster.Shape{Demand: cluster.Vector{c.cpu, c.gpu}}
		apply(cluster.ShapeDefined{Shape: shape, Spec: spec})
		if more := meter.More(&s.View, &spec, 0); more != c.more {
			t.Errorf("task %d: %d W more, want %d", i, more, c.more)
		}
		apply(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Shape: shape})
		apply(cluster.TaskFound{Task: task, Seq: cluster.Seq(task), Devices: c.devices})
		draws(c.draws)
	}
}

// TestNodesOfOtherHardware: a node without the label is one without GPUs, and one of which nothing is known draws nothing.
func TestNodesOfOtherHardware(t *testing.T) {
	s := cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil)
	if err := s.Apply(0, cluster.NodeAdded{Spec: cluster.NodeSpec{Capacity: cluster.Vector{64}}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		table power.Table
		want  int64
	}{{power.Openb(), 30}, {nil, 0}} {
		meter := power.NewMeter(s.Kinds(), c.table)
		if got := meter.Watts(&s.View, 0); got != c.want {
			t.Errorf("it draws %d W, want %d", got, c.want)
		}
	}
	if _, err := power.Named("openc"); err == nil {
		t.Error("there is no table openc")
	}
}

// TestCurve: between two points of a curve a socket draws what is on the line between them.
func TestCurve(t *testing.T) {
	s := cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1000}}, nil)
	apply := func(e cluster.Event) {
		t.Helper()
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	apply(cluster.NodeAdded{Spec: cluster.NodeSpec{Capacity: cluster.Vector{80_000}}}) // 40 pairs of threads, two sockets
	apply(cluster.JobSubmitted{})
	meter := power.NewMeter(s.Kinds(), power.Table{{Cores: 20, Curve: []int64{40, 100, 120}, Off: 5}})
	if got := meter.Hardware(&s.View, 0).Off; got != 5 {
		t.Errorf("off it draws %d W", got)
	}
	for i, c := range []struct{ cpu, draws int64 }{
		{0, 2 * 40},
		{2000, 2 * (40 + 60/20)}, // of 20 pairs to the next point, one
		{18_000, 2 * (40 + 60/2)},
		{20_000, 2 * 100},
		{1000, 2*100 + 2}, // half a pair is one
		{39_000, 2 * 120},
	} {
		task, shape := cluster.TaskID(i), cluster.ShapeID(i)
		spec := cluster.Shape{Demand: cluster.Vector{c.cpu}}
		apply(cluster.ShapeDefined{Shape: shape, Spec: spec})
		more := meter.More(&s.View, &spec, 0) + meter.Watts(&s.View, 0)
		apply(cluster.TaskSubmitted{Task: task, Seq: cluster.Seq(task), Shape: shape})
		apply(cluster.TaskFound{Task: task, Seq: cluster.Seq(task)})
		if got := meter.Watts(&s.View, 0); got != c.draws || more != c.draws {
			t.Errorf("after task %d it draws %d W, and was to draw %d, want %d", i, got, more, c.draws)
		}
	}
}

// TestLargestNode: a node of as much as there may be draws no less than nothing, on a curve and off it.
func TestLargestNode(t *testing.T) {
	const most, watts = cluster.MaxQuantity, 1_000_000 // the most that a file of hardware may say
	for _, c := range []struct {
		hardware power.Hardware
		half     int64 // what a socket draws of which half is in use, or half of them
	}{
		{power.Hardware{Cores: 1, Curve: []int64{0, watts / 2, watts}}, watts / 2},
		{power.Hardware{Cores: 1, Curve: []int64{watts, watts}}, watts},
		{power.Hardware{Cores: 1, Curve: []int64{0, watts / 4, 3 * watts / 4, watts}}, watts / 2},
		{power.Hardware{Cores: 1, Socket: power.Draw{Idle: watts, Full: watts}}, watts},
	} {
		s := cluster.NewState([]cluster.Kind{{Name: "cpu", PerUnit: 1}}, nil)
		shape := cluster.Shape{Demand: cluster.Vector{most / 2}}
		for _, e := range []cluster.Event{
			cluster.NodeAdded{Spec: cluster.NodeSpec{Capacity: cluster.Vector{most}}}, cluster.JobSubmitted{}, cluster.ShapeDefined{Spec: shape}, cluster.TaskSubmitted{}, cluster.TaskFound{},
		} {
			if err := s.Apply(0, e); err != nil {
				t.Fatal(err)
			}
		}
		meter := power.NewMeter(s.Kinds(), power.Table{c.hardware})
		if got := meter.Watts(&s.View, 0); got != power.MostSockets*c.half {
			t.Errorf("%+v: half in use it draws %d W, want %d", c.hardware, got, power.MostSockets*c.half)
		}
		if more := meter.More(&s.View, &shape, 0); more < 0 || more > power.MostSockets*watts {
			t.Errorf("%+v: it would draw %d W more", c.hardware, more)
		}
	}
}
