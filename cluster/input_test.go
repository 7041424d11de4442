package cluster_test

import (
	"errors"
	"reflect"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestInput: a task's input is known until it ends, follows into a copy, and
// names what is wrong with it.
func TestInput(t *testing.T) {
	s := newCluster(t)
	input := []cluster.Block{
		{Bytes: 64, Replicas: [3]cluster.NodeID{0, 1, cluster.NoNode}},
		{Bytes: cluster.MaxQuantity - 64, Replicas: [3]cluster.NodeID{9, cluster.NoNode, cluster.NoNode}}, // of a node that is yet to come
	}
	apply(t, s, 1, cluster.TaskSubmitted{Task: 7, Seq: 7, Input: input})
	view := cluster.NewState(s.Kinds(), nil)
	view.CopyAll(&s.View)
	for _, state := range []*cluster.State{s, view} {
		if got := state.Input(7); !reflect.DeepEqual(got, input) {
			t.Errorf("input is %v, want %v", got, input)
		}
		if got := state.Input(1); got != nil {
			t.Errorf("a task without input has %v", got)
		}
	}
	apply(t, s, 2, cluster.TaskEnded{Task: 7, Seq: 7}, cluster.TaskSubmitted{Task: 7, Seq: 8})
	view.CopyRows(&s.View, []cluster.Touch{{Table: cluster.Tasks, Row: 7}})
	if s.Input(7) != nil || view.Input(7) != nil {
		t.Errorf("the next task of the row has input %v, its copy %v", s.Input(7), view.Input(7))
	}
	none := cluster.NoNode
	for _, bad := range []struct {
		want   string
		blocks []cluster.Block
	}{
		{"task row 8: block 0 of the input has -1 bytes, want 0 to 35184372088832 in all", []cluster.Block{{Bytes: -1, Replicas: [3]cluster.NodeID{0, none, none}}}},
		{"task row 8: block 1 of the input has 1 bytes, want 0 to 35184372088832 in all", []cluster.Block{{Bytes: cluster.MaxQuantity, Replicas: [3]cluster.NodeID{none, none, none}}, {Bytes: 1}}},
		{"task row 8: block 0 of the input: node row 268435456 is too large", []cluster.Block{{Replicas: [3]cluster.NodeID{0, 1 << 28, none}}}},
		{"task row 8: block 0 of the input names node row 1 twice", []cluster.Block{{Replicas: [3]cluster.NodeID{1, none, 1}}}},
	} {
		if err := s.Apply(0, cluster.TaskSubmitted{Task: 8, Seq: 9, Input: bad.blocks}); err == nil || err.Error() != bad.want {
			t.Errorf("got %v, want %s", err, bad.want)
		}
	}
}

// TestUsage: what was measured is known until the node is lost, is nobody's
// limit, and names what is wrong with it.
func TestUsage(t *testing.T) {
	s := newCluster(t)
	if got := s.Usage(1); got != nil {
		t.Errorf("nobody reported it, and usage is %v", got)
	}
	seen := s.LogEnd()
	apply(t, s, 1, cluster.UsageReported{Node: 1, Usage: cluster.Vector{9, 9}}, cluster.UsageReported{Node: 1, Usage: cluster.Vector{5, 0}})
	if touches, _ := s.ChangesSince(seen); len(touches) != 2 || touches[0] != (cluster.Touch{Table: cluster.Nodes, Row: 1, Node: cluster.NoNode}) {
		t.Errorf("the log names %+v", touches)
	}
	view := cluster.NewState(s.Kinds(), nil)
	view.CopyAll(&s.View)
	want := cluster.Vector{5, 0}
	if got, copied := s.Usage(1), view.Usage(1); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(copied, want) || s.Usage(0) != nil {
		t.Errorf("usage is %v, its copy %v, that of another node %v", got, copied, s.Usage(0))
	}
	place(t, s, 1, 1) // more is used than there is, and demand fits
	apply(t, s, 2, cluster.NodeChanged{Node: 1, Spec: cluster.NodeSpec{Name: "n2", Capacity: cluster.Vector{4, 9}}})
	if got := s.Usage(1); !reflect.DeepEqual(got, want) {
		t.Errorf("the node has changed, and its usage is %v", got)
	}
	for want, vector := range map[string]cluster.Vector{
		`node "n2": usage has 1 quantities, the cluster has 2 kinds`:          {1},
		`node "n2": usage of memory is -1, want 0 to 35184372088832`:          {0, -1},
		`node "n2": usage of cpu is 35184372088833, want 0 to 35184372088832`: {cluster.MaxQuantity + 1, 0},
	} {
		if err := s.Apply(0, cluster.UsageReported{Node: 1, Usage: vector}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	apply(t, s, 3, cluster.NodeLost{Node: 1})
	if err := s.Apply(3, cluster.UsageReported{Node: 1, Usage: want}); !errors.Is(err, cluster.ErrStale) {
		t.Errorf("of a lost node: %v, want stale", err)
	}
	apply(t, s, 4, cluster.NodeAdded{Node: 1, Spec: cluster.NodeSpec{Name: "n2", Capacity: cluster.Vector{4, 8}}})
	if got := s.Usage(1); got != nil {
		t.Errorf("the node is new, and its usage is %v", got)
	}
}

// TestLasts: how long a task lasts is known until it ends, follows into a copy, and is not of the next task of the row.
func TestLasts(t *testing.T) {
	s := newCluster(t)
	apply(t, s, 1, cluster.TaskSubmitted{Task: 7, Seq: 7, Lasts: cluster.Hour})
	view := cluster.NewState(s.Kinds(), nil)
	read := uint64(0)
	check := func(want cluster.Time) {
		t.Helper()
		touches, _ := s.ChangesSince(read)
		view.CopyRows(&s.View, touches)
		read = s.LogEnd()
		if is, copied := cluster.Lasts(&s.View, 7), cluster.Lasts(&view.View, 7); is != want || copied != want {
			t.Errorf("it lasts %v, in the copy %v, want %v", is, copied, want)
		}
		if other := cluster.Lasts(&s.View, 99); other != 0 {
			t.Errorf("a task that is not there lasts %v", other)
		}
	}
	check(cluster.Hour)
	apply(t, s, 2, cluster.TaskEnded{Task: 7, Seq: 7}, cluster.TaskSubmitted{Task: 7, Seq: 8})
	check(0)
	err := s.Apply(2, cluster.TaskSubmitted{Task: 8, Seq: 9, Lasts: -1})
	if want := "task row 8: a run lasts -0.000001s, want 0 or more"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestTasksWithoutInputCostNothing: no table of inputs is made for them.
func TestTasksWithoutInputCostNothing(t *testing.T) {
	s := newCluster(t)
	seq := cluster.Seq(9)
	per := testing.AllocsPerRun(100, func() {
		seq++
		for _, e := range []cluster.Event{cluster.TaskSubmitted{Task: 4, Seq: seq}, cluster.TaskEnded{Task: 4, Seq: seq}} {
			if err := s.Apply(0, e); err != nil {
				t.Fatal(err)
			}
		}
		s.TrimLog(s.LogEnd())
	})
	if per > 2 { // the events themselves, as interfaces
		t.Errorf("%v allocations for a task that comes and goes", per)
	}
}
