package world

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"fairlead.dev/fairlead/kube/judge"
)

// This file spares adding up what pods request that request the same: upstream's sum costs as much as all else that becomes of a plain pod when it is seen. Pods of one owner
// mostly do, and share it.

// readings keeps the pod of each owner that was read last; those without an owner are as of one.
type readings map[types.UID]*framework.PodInfo

// mostReadings are kept at a time.
const mostReadings = 10_000

// share takes over for a pod that is new what was read of another one, if it is the same.
func (r readings) share(p *Pod) {
	if p.object.UID == "" || !isPlain(p.object) {
		return
	}
	owner := types.UID("")
	if of := metav1.GetControllerOfNoCopy(p.object); of != nil {
		owner = of.UID
	}
	if last := r[owner]; last != nil && requestSame(last.Pod, p.object) {
		info := *last // with the sum
		info.Pod = p.object
		p.info = &info
		return
	}
	info, err := p.read()
	if err != nil {
		return
	}
	judge.Requests(info)
	if len(r) >= mostReadings { // most of them of owners that are gone
		clear(r)
	}
	r[owner] = info
}

// isPlain reports whether the requests of a pod's containers say all that the judge reads of it.
func isPlain(pod *v1.Pod) bool {
	spec, status := &pod.Spec, &pod.Status
	return len(spec.InitContainers) == 0 && spec.Overhead == nil && spec.Resources == nil &&
		(spec.Affinity == nil || spec.Affinity.PodAffinity == nil && spec.Affinity.PodAntiAffinity == nil) &&
		len(status.ContainerStatuses) == 0 && status.Resources == nil && status.AllocatedResources == nil && len(status.NodeAllocatableResourceClaimStatuses) == 0
}

// requestSame reports whether two plain pods request the same.
func requestSame(a, b *v1.Pod) bool {
	if len(a.Spec.Containers) != len(b.Spec.Containers) {
		return false
	}
	for i := range a.Spec.Containers {
		if !maps.EqualFunc(a.Spec.Containers[i].Resources.Requests, b.Spec.Containers[i].Resources.Requests, equalQuantity) {
			return false
		}
	}
	return true
}
