package sched_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// TestPiecesAreCountedByKind: nodes that lack devices of a kind are counted together, whatever kinds
// others lack, with the most that any of them has.
func TestPiecesAreCountedByKind(t *testing.T) {
	gpu, nic := cluster.DeviceNeed{Kind: 1, Count: 2, Share: 10}, cluster.DeviceNeed{Kind: 2, Count: 1, Share: 5}
	var r sched.Refusals
	for _, lack := range []cluster.Refusal{{Kind: 2, Have: 0}, {Kind: 1, Have: 1}, {Kind: 2, Have: 0}, {Kind: 1, Have: 0}, {Kind: 1, Have: 1}} {
		r.NoPieces(cluster.DeviceNeeds{gpu, nic}, lack)
	}
	want := []sched.Cause{
		sched.NoPieces{OnNodes: sched.OnNodes{Nodes: 3}, Need: gpu, Most: 1},
		sched.NoPieces{OnNodes: sched.OnNodes{Nodes: 2}, Need: nic, Most: 0},
	}
	if diff := cmp.Diff(want, r.Causes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
