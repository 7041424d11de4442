package cluster_test

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestCopiesKnowWhatIsInNoRow: the time and the solver's readiness stand in no row, so that
// no touch reports them. A copy of everything has them, and so has one that follows.
func TestCopiesKnowWhatIsInNoRow(t *testing.T) {
	s := newCluster(t)
	follower := cluster.NewState(s.Kinds(), s.Classes())
	follower.CopyAll(&s.View)
	if follower.SolverReady() {
		t.Error("a copy says that the solver is ready before it is")
	}
	apply(t, s, 7, cluster.SolverReady{})
	follower.CopyRest(&s.View)
	whole := cluster.NewState(s.Kinds(), s.Classes())
	whole.CopyAll(&s.View)
	for name, got := range map[string]*cluster.State{"that follows": follower, "of everything": whole} {
		if !got.SolverReady() || got.Now() != 7*cluster.Second {
			t.Errorf("a copy %s: ready %v at %v, want it ready at 7s", name, got.SolverReady(), got.Now())
		}
	}
}

// TestCopyStandsAlone: what changes in a state changes nothing in its copy, until that follows.
func TestCopyStandsAlone(t *testing.T) {
	s := newCluster(t)
	for task := range cluster.TaskID(2) {
		place(t, s, task+1, 0)
		apply(t, s, 1, cluster.TaskStarted{Task: task + 1, Attempt: 1, Node: 0})
	}
	mirror := cluster.NewState(s.Kinds(), s.Classes())
	mirror.CopyAll(&s.View)
	before := mirror.Picture()
	apply(t, s, 2, cluster.TaskEnded{Task: 1, Seq: 1}, cluster.NodeChanged{Node: 1, Spec: cluster.NodeSpec{Name: "n3", Capacity: cluster.Vector{1, 1}}})
	place(t, s, 3, 0)
	picture(t, mirror, before)
}

// manyNodes is more than a set holds in other tests: three words of bits and a part of one.
const manyNodes = 230

// manySet has all but every seventh of the nodes.
func manySet() []cluster.NodeID {
	var rows []cluster.NodeID
	for n := range cluster.NodeID(manyNodes) {
		if n%7 != 0 {
			rows = append(rows, n)
		}
	}
	return rows
}

// TestLargeSet: a set keeps all of its many nodes, when it is defined, replaced, changed node by
// node, and copied; the change log has each that came or left.
func TestLargeSet(t *testing.T) {
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil)
	for n := range cluster.NodeID(manyNodes) {
		apply(t, s, 0, cluster.NodeAdded{Node: n, Spec: cluster.NodeSpec{Name: "n", Capacity: cluster.Vector{1}}})
	}
	mirror := cluster.NewState(s.Kinds(), s.Classes())
	mirror.CopyAll(&s.View)
	members := func() (rows []cluster.NodeID) {
		for n := range cluster.NodeID(manyNodes) {
			if s.Eligible(1, n) != mirror.Eligible(1, n) {
				t.Fatalf("node row %d: in the set %v, in its copy %v", n, s.Eligible(1, n), mirror.Eligible(1, n))
			}
			if s.Eligible(1, n) {
				rows = append(rows, n)
			}
		}
		return rows
	}
	var want []cluster.NodeID
	for _, tc := range []struct {
		name string
		e    cluster.Event
		want []cluster.NodeID
	}{
		{"defined", cluster.SetDefined{Set: 1, Nodes: manySet()}, manySet()},
		{"grown by the last", cluster.EligibilityChanged{Set: 1, Node: 224, Eligible: true}, append(manySet(), 224)},
		{"shrunk by one in the middle", cluster.EligibilityChanged{Set: 1, Node: 150}, slices.DeleteFunc(append(manySet(), 224), func(n cluster.NodeID) bool { return n == 150 })},
		{"replaced", cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{3, 149, 229}}, []cluster.NodeID{3, 149, 229}},
		{"filled again", cluster.SetDefined{Set: 1, Nodes: manySet()}, manySet()},
	} {
		read := s.LogEnd()
		apply(t, s, 1, tc.e)
		touches, _ := s.ChangesSince(read)
		mirror.CopyRows(&s.View, touches)
		var logged, differ []cluster.NodeID
		for _, touch := range touches {
			if touch.Table == cluster.Sets && touch.Node != cluster.NoNode {
				logged = append(logged, touch.Node)
			}
		}
		for n := range cluster.NodeID(manyNodes) {
			if slices.Contains(want, n) != slices.Contains(tc.want, n) {
				differ = append(differ, n)
			}
		}
		if want = slices.Sorted(slices.Values(tc.want)); !slices.Equal(members(), want) {
			t.Errorf("%s: the set has %v, want %v", tc.name, members(), want)
		}
		if !slices.Equal(logged, differ) {
			t.Errorf("%s: the log has %v, want %v", tc.name, logged, differ)
		}
	}
	whole := cluster.NewState(s.Kinds(), s.Classes())
	whole.CopyAll(&s.View)
	mirror = whole
	if !slices.Equal(members(), want) {
		t.Errorf("a copy of everything has %v, want %v", members(), want)
	}
}
