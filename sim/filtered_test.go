package sim

import (
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// TestEachTaintIsNamed: of a set of taints those are named that are in the way, a cordon as a cordon, whether the
// requirement names the sets that are tolerated or those that are not.
func TestEachTaintIsNamed(t *testing.T) {
	labels := []cluster.Label{{Key: trace.Taints, Value: "gpu=yes:NoSchedule,own:NoExecute,node.kubernetes.io/unschedulable:NoSchedule"}}
	want := []sched.Filtered{{Mechanism: "taint", Wants: "gpu=yes:NoSchedule"}, {Mechanism: "cordon"}}
	for _, r := range []cluster.Requirement{
		{Key: trace.Taints, Op: cluster.Equal, Value: "|own:NoExecute"},
		{Key: trace.Taints, Op: cluster.NotEqual, Value: labels[0].Value + "|gpu=yes:NoSchedule|node.kubernetes.io/unschedulable:NoSchedule"},
	} {
		if got := filteredBy(r, labels); !slices.Equal(got, want) {
			t.Errorf("%v: %+v, want %+v", r, got, want)
		}
	}
}

// TestFilteredBy: what keeps a task off a node is named as an engineer knows it, by what Kubernetes
// writes into the node's taints.
func TestFilteredBy(t *testing.T) {
	taints := cluster.Requirement{Key: trace.Taints, Value: "x"}
	for _, tc := range []struct {
		name   string
		wanted cluster.Requirement
		labels []cluster.Label
		want   sched.Filtered // alone
	}{
		{"a label", cluster.Requirement{Key: "zone", Value: "a"}, []cluster.Label{{Key: "zone", Value: "b"}}, sched.Filtered{Mechanism: "label", Wants: "zone=a"}},
		{"a claim", cluster.Requirement{Key: trace.Claims + "shop/data (zone in a)", Value: "yes"}, nil, sched.Filtered{Mechanism: "claim", Wants: "shop/data (zone in a)"}},
		{"cordoned", taints, []cluster.Label{{Key: trace.Taints, Value: "node.kubernetes.io/unschedulable:NoSchedule"}}, sched.Filtered{Mechanism: "cordon"}},
		{"not ready", taints, []cluster.Label{{Key: trace.Taints, Value: "node.kubernetes.io/not-ready:NoExecute"}}, sched.Filtered{Mechanism: "not ready"}},
		{"unreachable", taints, []cluster.Label{{Key: trace.Taints, Value: "node.kubernetes.io/unreachable:NoExecute"}}, sched.Filtered{Mechanism: "not ready"}},
		{"a taint", taints, []cluster.Label{{Key: trace.Taints, Value: "gpu=yes:NoSchedule"}}, sched.Filtered{Mechanism: "taint", Wants: "gpu=yes:NoSchedule"}},
	} {
		if got := filteredBy(tc.wanted, tc.labels); len(got) != 1 || got[0] != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}
