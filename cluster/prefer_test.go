package cluster_test

import (
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestUnmet: what is preferred counts where a node is not in the set, what is shunned where it is; and the sets are those of the moment.
func TestUnmet(t *testing.T) {
	s := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil)
	for n, name := range []string{"a", "b", "c"} {
		apply(t, s, 0, cluster.NodeAdded{Node: cluster.NodeID(n), Spec: cluster.NodeSpec{Name: name, Capacity: cluster.Vector{1}}})
	}
	apply(t, s, 0, cluster.SetDefined{Set: 1, Nodes: []cluster.NodeID{0, 1}})
	apply(t, s, 0, cluster.SetDefined{Set: 2, Nodes: []cluster.NodeID{1, 2}})
	spec := cluster.Shape{Demand: cluster.Vector{1}, Prefers: []cluster.Preference{{Set: 1, Weight: 30}, {Set: 2, Weight: -100}}}
	apply(t, s, 0, cluster.ShapeDefined{Shape: 0, Spec: spec})
	apply(t, s, 0, cluster.ShapeDefined{Shape: 1, Spec: cluster.Shape{Demand: cluster.Vector{1}}})
	want := func(want ...int64) {
		t.Helper()
		for n, unmet := range want {
			if got := cluster.Unmet(&s.View, 0, cluster.NodeID(n)); got != unmet {
				t.Errorf("node %d does not meet %d, want %d", n, got, unmet)
			}
			if got := cluster.Unmet(&s.View, 1, cluster.NodeID(n)); got != 0 {
				t.Errorf("who prefers nothing: node %d does not meet %d", n, got)
			}
		}
	}
	want(0, 100, 130)
	apply(t, s, 0, cluster.EligibilityChanged{Set: 1, Node: 0, Eligible: false})
	apply(t, s, 0, cluster.EligibilityChanged{Set: 2, Node: 1, Eligible: false})
	want(30, 0, 130)

	if err := s.Apply(0, cluster.SetForgotten{Set: 2}); err == nil || !strings.Contains(err.Error(), "set row 2 is still named by shape row 0") {
		t.Errorf("a set that is preferred is forgotten: %v", err)
	}
	for _, c := range []struct {
		p    cluster.Preference
		want string
	}{
		{cluster.Preference{Set: 1}, "shape row 7: preference for set row 1 has the weight 0, want -100 to 100, and not 0"},
		{cluster.Preference{Set: 1, Weight: 101}, "has the weight 101"},
		{cluster.Preference{Set: 1, Weight: -101}, "has the weight -101"},
		{cluster.Preference{Set: 9, Weight: 1}, "shape row 7: preference for set row 9: it is not defined"},
		{cluster.Preference{Set: cluster.AllNodes, Weight: 1}, "it is not defined"},
	} {
		err := s.Apply(0, cluster.ShapeDefined{Shape: 7, Spec: cluster.Shape{Demand: cluster.Vector{1}, Prefers: []cluster.Preference{c.p}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.p, err)
		}
	}
}
