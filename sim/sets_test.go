package sim

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// TestLargeSet: every node that a task may use is reported to the core, more than a hundred too, when
// its set is defined and when nodes come, change and go.
func TestLargeSet(t *testing.T) {
	state := cluster.NewState([]cluster.Kind{{Name: "cpu"}}, nil)
	emit := func(e cluster.Event) {
		t.Helper()
		if err := state.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	b := newNodes(state.Kinds(), nil)
	add := func(id uint64, disk string) {
		b.add(&trace.Node{ID: id, Capacity: cluster.Vector{1}, Labels: []cluster.Label{{Key: "disk", Value: disk}}}, emit)
	}
	for id := range uint64(170) {
		add(id, []string{"ssd", "ssd", "ssd", "hdd"}[id%4])
	}
	wanted := admission{requirements: []cluster.Requirement{{Key: "disk", Op: cluster.Equal, Value: "ssd"}}}
	set := b.set(wanted, emit)
	if again := b.set(wanted, emit); again != set {
		t.Errorf("the same is wanted again, and is set %d, not %d", again, set)
	}
	var want []cluster.NodeID
	for n := range cluster.NodeID(170) {
		if n%4 != 3 {
			want = append(want, n)
		}
	}
	check := func(when string) {
		t.Helper()
		var got []cluster.NodeID
		for n := range cluster.NodeID(state.NodeRows()) {
			if state.Eligible(set, n) {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the core knows %v, want %v", when, got, want)
		}
	}
	check("defined")
	add(170, "ssd")
	want = append(want, 170)
	check("one came")
	add(166, "hdd")
	want = slices.DeleteFunc(want, func(n cluster.NodeID) bool { return n == 166 })
	check("one changed")
	b.lose(169, emit)
	want = slices.DeleteFunc(want, func(n cluster.NodeID) bool { return n == 169 })
	check("one is lost")
	add(169, "ssd")
	want = slices.Sorted(slices.Values(append(want, 169)))
	check("it is back")
}
