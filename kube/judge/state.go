package judge

// What the caller reports to the judge: nodes and pods that came, changed or left. Every change reaches the open cases in the same call.

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// SetNode reports a new node or a changed one. The node object must not be changed afterwards.
func (j *Judge) SetNode(node *v1.Node) {
	info, known := j.view.byName[node.Name]
	same := known && countsAlike(info.Node(), node)
	// Pods that keep others away begin to do so in a domain that their node joins, also for cases that found none of them before.
	repelling := known && len(info.PodsWithRequiredAntiAffinity) > 0
	j.view.setNode(node)
	switch {
	case same:
	case repelling:
		j.Renew()
	default:
		j.recount()
	}
}

// countsAlike reports whether the pods of all nodes are counted the same with either object of a node: (anti-)affinity counts by labels, spread by labels
// and taints. A heartbeat or a changed capacity therefore costs no open case its state.
func countsAlike(a, b *v1.Node) bool {
	return maps.Equal(a.Labels, b.Labels) && slices.EqualFunc(a.Spec.Taints, b.Spec.Taints, func(x, y v1.Taint) bool {
		return x.Key == y.Key && x.Value == y.Value && x.Effect == y.Effect
	})
}

// RemoveNode forgets a node and all pods on it: the caller must not remove those pods afterwards, and adds them again should the node return. A node that
// is not known is no error.
func (j *Judge) RemoveNode(name string) {
	if _, known := j.view.byName[name]; !known {
		return
	}
	j.view.removeNode(name)
	j.recount()
}

// NewPod prepares a pod for AddPod. The error names affinity terms that cannot be parsed, which the API server lets through; upstream then ignores the
// term, and so may the caller by using the returned value all the same. A pod without a UID is refused, with nil, because removal goes by UID.
func NewPod(pod *v1.Pod) (*framework.PodInfo, error) {
	if pod.UID == "" {
		return nil, fmt.Errorf("judge: pod %s has no UID: only pods read from the API server can be judged", klog.KObj(pod))
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return info, fmt.Errorf("judge: pod %s: %w", klog.KObj(pod), err)
	}
	return info, nil
}

// AddPod reports a pod that runs on the node, or will: bound by anyone, or assumed. The pod must not be on any node yet.
func (j *Judge) AddPod(pod *framework.PodInfo, node string) {
	info := j.mustKnow(pod, node)
	info.AddPodInfo(pod)
	j.view.relist(node, info)
	j.view.countClaims(pod.Pod, 1)
	// The order is upstream's: the extensions see a node that already has the pod.
	j.podAdded(pod, info)
}

// RemovePod reports that a pod left the node. It takes the value that was added, or one of the same pod with the same labels and affinity.
func (j *Judge) RemovePod(pod *framework.PodInfo, node string) {
	info := j.mustKnow(pod, node)
	if err := info.RemovePod(klog.FromContext(j.ctx), pod.Pod); err != nil {
		panic(fmt.Sprintf("judge: pod %s is removed from node %s, but was not added there: %v", klog.KObj(pod.Pod), node, err))
	}
	keepPorts(info, pod.Pod)
	j.view.relist(node, info)
	j.view.countClaims(pod.Pod, -1)
	// Again upstream's order: the extensions see a node that the pod has left.
	j.podRemoved(pod, info)
}

// keepPorts takes the node's host ports again for the pods that stay. Upstream keeps a set of ports, so that of two pods with one port, which others may
// well have bound, the first to leave would free it for both.
func keepPorts(info *framework.NodeInfo, left *v1.Pod) {
	if len(util.GetHostPorts(left)) == 0 {
		return
	}
	for _, pod := range info.Pods {
		for _, port := range util.GetHostPorts(pod.GetPod()) {
			info.UsedPorts.Add(port.HostIP, string(port.Protocol), port.HostPort)
		}
	}
}

func (j *Judge) mustKnow(pod *framework.PodInfo, node string) *framework.NodeInfo {
	info, known := j.view.byName[node]
	if !known {
		panic(fmt.Sprintf("judge: pod %s is added to or removed from node %s, which is not known: call SetNode first", klog.KObj(pod.Pod), node))
	}
	return info
}

// Requests are the resources that the pod takes from a node as NodeResourcesFit counts them: with overhead, init containers and sidecars, resources of the
// pod as a whole, and the larger of wanted and granted resources during a resize in place. Every pod also takes one of the node's pod slots, which is not
// in the result, and its host ports.
func Requests(pod *framework.PodInfo) *framework.Resource {
	return pod.CalculateResource().Resource.(*framework.Resource)
}
