package judge

// Extended resources that a device class provides. Upstream makes a claim for them when it has chosen a node, by what that does not offer itself; here they are
// posed as one before that.

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// ClaimsDevices reports whether the pod is given devices, by claims or by extended resources that a device class provides.
func ClaimsDevices(j *Judge, pod *v1.Pod) bool {
	return j.devices != nil && (len(pod.Spec.ResourceClaims) > 0 || j.usesDeviceClass(pod))
}

// extended are the pod's extended resources as a claim, nil if no class provides one, and whether they can be posed: not where one of the nodes offers such a resource
// itself, as then the pod would need no device there.
func (p *poser) extended(pod *v1.Pod, nodes []int) (*resourceapi.ResourceClaim, bool) {
	if !p.judge.usesDeviceClass(pod) {
		return nil, true
	}
	containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	wants := map[v1.ResourceName]bool{}
	for i := range containers {
		for name, q := range containers[i].Resources.Requests {
			wants[name] = wants[name] || !q.IsZero() && p.judge.ProvidesDevices(name)
		}
	}
	claim := &resourceapi.ResourceClaim{}
	claim.UID = pod.UID // which no other claim has
	for _, name := range sortedNames(wants) {
		if !wants[name] {
			continue
		}
		if slices.ContainsFunc(nodes, func(n int) bool { return offers(p.nodes[n], name) }) {
			return nil, false
		}
		claim.Name += string(name) + " "
		class := p.judge.devices.DeviceClassResolver().GetDeviceClass(name).Name
		for i, count := range devicesOf(containers, len(pod.Spec.InitContainers), name) {
			claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, resourceapi.DeviceRequest{Name: fmt.Sprint(name, " ", i), Exactly: &resourceapi.ExactDeviceRequest{
				DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
			}})
		}
	}
	claim.Name += "of " + pod.Name
	return claim, true
}

// offers reports whether a node offers the resource itself.
func offers(node *framework.NodeInfo, name v1.ResourceName) bool {
	return node.Allocatable.ScalarResources[name] > 0
}

// devicesOf is how many devices are requested at a time, as upstream does it: each container that stays has its own, and an init container takes those of containers that come
// after it first, so that what the largest lacks is one more request.
func devicesOf(containers []v1.Container, inits int, name v1.ResourceName) []int64 {
	var requests []int64
	lacks, later := int64(0), int64(0)
	for i, c := range slices.Backward(containers) {
		q := c.Resources.Requests[name]
		count, whole := q.AsInt64()
		switch sidecar := c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways; {
		case !whole || count == 0:
		case i < inits && !sidecar:
			lacks = max(lacks, count-later)
		default:
			later += count
			requests = append(requests, count)
		}
	}
	slices.Reverse(requests)
	if lacks > 0 {
		requests = slices.Insert(requests, 0, lacks)
	}
	return requests
}
