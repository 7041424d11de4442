package sim

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
)

// TestFilteredBy: what keeps a task off a node is named as an engineer knows it, by what Kubernetes
// writes into the node's taints.
func TestFilteredBy(t *testing.T) {
	taints := cluster.Requirement{Key: trace.Taints, Value: "x"}
	for _, tc := range []struct {
		name   string
		wanted cluster.Requirement
		labels []cluster.Label
		want   sched.Filtered
	}{
		{"a label", cluster.Requirement{Key: "zone", Value: "a"}, []cluster.Label{{Key: "zone", Value: "b"}}, sched.Filtered{Mechanism: "label", Wants: "zone=a"}},
		{"cordoned", taints, []cluster.Label{{Key: trace.Taints, Value: "node.kubernetes.io/unschedulable:NoSchedule"}}, sched.Filtered{Mechanism: "cordon"}},
		{"not ready", taints, []cluster.Label{{Key: trace.Taints, Value: "node.kubernetes.io/not-ready:NoExecute"}}, sched.Filtered{Mechanism: "not ready"}},
		{"unreachable", taints, []cluster.Label{{Key: trace.Taints, Value: "node.kubernetes.io/unreachable:NoExecute"}}, sched.Filtered{Mechanism: "not ready"}},
		{"a taint", taints, []cluster.Label{{Key: trace.Taints, Value: "gpu=yes:NoSchedule"}}, sched.Filtered{Mechanism: "taint", Wants: "gpu=yes:NoSchedule"}},
	} {
		if got := filteredBy(tc.wanted, tc.labels); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}
