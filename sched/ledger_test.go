package sched

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
)

// TestWhomAnEvictionServes: who comes to the node that a victim leaves, or else who is
// placed at all; a victim that moves serves itself; an eviction alone serves nobody.
func TestWhomAnEvictionServes(t *testing.T) {
	place := func(t cluster.TaskID, n cluster.NodeID) Action { return Action{Kind: Place, Task: t, Node: n} }
	evict := func(t cluster.TaskID) Action { return Action{Kind: Evict, Task: t} }
	victim := Decision{Kind: Evict, Task: 7, Node: 1}
	for _, tc := range []struct {
		name   string
		bundle []Action
		want   cluster.TaskID
	}{
		{"its node", []Action{evict(7), place(3, 2), place(4, 1), place(5, 1)}, 4},
		{"elsewhere", []Action{evict(7), place(3, 2), place(4, 3)}, 3},
		{"moves", []Action{evict(7), place(4, 1), place(7, 2)}, 7},
		{"alone", []Action{evict(7)}, cluster.NoTask},
	} {
		if got := served(tc.bundle, victim.Task, victim.Node); got != tc.want {
			t.Errorf("%s: serves task row %d, want %d", tc.name, got, tc.want)
		}
	}
	if _, serves := (Purpose{}).Serves(); serves {
		t.Error("what no bundle brought serves a task")
	}
}
