package judge

// Which pods are alike, so that one query does for all of them.

import (
	v1 "k8s.io/api/core/v1"
)

// LocalKey is equal for pods that every node-local filter judges alike. It is upstream's own signature of a pod, made by those filters alone; a pod that
// they cannot sign is alike only to itself.
func (j *Judge) LocalKey(pod *v1.Pod) string {
	if signature := j.local.SignPod(j.ctx, pod); signature != nil {
		return string(signature)
	}
	return "pod " + string(pod.UID)
}

// MindsLabels reports whether some pod on a node requires to be away from others, so that labels and namespaces of the others matter even if they have no
// such rules of their own.
func (j *Judge) MindsLabels() bool { return len(j.view.antiAffinity.infos) > 0 }

// Prefers reports whether the pod's own spec prefers some feasible nodes to others: preferred node affinity, preferred pod (anti-)affinity, soft spread. Soft
// taints of nodes and preferences of other pods count in Preferred too, but are no property of the pod.
func Prefers(pod *v1.Pod) bool {
	for i := range pod.Spec.TopologySpreadConstraints {
		if pod.Spec.TopologySpreadConstraints[i].WhenUnsatisfiable == v1.ScheduleAnyway {
			return true
		}
	}
	affinity := pod.Spec.Affinity
	if affinity == nil {
		return false
	}
	node, near, away := affinity.NodeAffinity, affinity.PodAffinity, affinity.PodAntiAffinity
	return node != nil && len(node.PreferredDuringSchedulingIgnoredDuringExecution) > 0 ||
		near != nil && len(near.PreferredDuringSchedulingIgnoredDuringExecution) > 0 ||
		away != nil && len(away.PreferredDuringSchedulingIgnoredDuringExecution) > 0
}
