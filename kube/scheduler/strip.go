package scheduler

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/sizes"
)

// stripping drops, in place, what no filter, score or report looks at. When a new
// version of a filter looks at more, this is the place to keep it. A panic would end the
// process, here as in each leader after it; an object that leads to one is kept as far as it
// was not stripped yet, which costs memory and is right all the same.
func stripping(counts *metrics.Cluster) cache.TransformFunc {
	return func(object any) (kept any, err error) {
		kept = object
		defer func() {
			if cause := recover(); cause != nil {
				counts.Panicked("watch")
				klog.Background().Error(nil, "stripping an object panicked; it is kept", "type", fmt.Sprintf("%T", object), "panic", cause, "stack", string(debug.Stack()))
			}
		}()
		strip(object)
		return kept, nil
	}
}

func strip(object any) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	switch o := object.(type) {
	case *v1.Pod:
		stripPod(o)
	case *v1.Node:
		o.Status.Images, o.Status.Conditions, o.Status.NodeInfo = nil, readiness(o.Status.Conditions), v1.NodeSystemInfo{}
		o.Annotations = nil
	case *v1.Service:
		o.Annotations, o.Labels, o.Spec, o.Status = nil, nil, v1.ServiceSpec{Selector: o.Spec.Selector}, v1.ServiceStatus{}
	case *policyv1.PodDisruptionBudget:
		o.Annotations, o.Labels, o.Spec = nil, nil, policyv1.PodDisruptionBudgetSpec{Selector: o.Spec.Selector}
		o.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: o.Status.DisruptionsAllowed}
	}
}

// readiness keeps whether a node is ready, and since when.
func readiness(all []v1.NodeCondition) []v1.NodeCondition {
	for _, c := range all {
		if c.Type == v1.NodeReady {
			return []v1.NodeCondition{{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime}}
		}
	}
	return nil
}

func stripPod(p *v1.Pod) {
	p.Annotations = marks(p.Annotations)
	if p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed {
		p.Labels, p.Finalizers = nil, nil
		p.Spec = v1.PodSpec{SchedulerName: p.Spec.SchedulerName, NodeName: p.Spec.NodeName}
		p.Status = v1.PodStatus{Phase: p.Status.Phase}
		return
	}
	stripContainers(p.Spec.InitContainers)
	stripContainers(p.Spec.Containers)
	p.Spec.EphemeralContainers = nil
	p.Spec.Volumes = stripVolumes(p.Spec.Volumes)
	p.Spec.ImagePullSecrets, p.Spec.HostAliases, p.Spec.DNSConfig, p.Spec.ReadinessGates = nil, nil, nil, nil
	p.Status = v1.PodStatus{
		Phase:                                p.Status.Phase,
		Conditions:                           reportedConditions(p.Status.Conditions),
		NominatedNodeName:                    p.Status.NominatedNodeName,
		Resize:                               p.Status.Resize,
		ResourceClaimStatuses:                p.Status.ResourceClaimStatuses,
		ExtendedResourceClaimStatus:          p.Status.ExtendedResourceClaimStatus,
		ContainerStatuses:                    keptSizes(p.Spec.Containers, p.Status.ContainerStatuses),
		InitContainerStatuses:                keptSizes(p.Spec.InitContainers, p.Status.InitContainerStatuses),
		AllocatedResources:                   p.Status.AllocatedResources,
		Resources:                            p.Status.Resources,
		NodeAllocatableResourceClaimStatuses: p.Status.NodeAllocatableResourceClaimStatuses,
	}
}

// marks keeps what says that the pod is a static one's picture, or that an autoscaler owns its size.
func marks(annotations map[string]string) (kept map[string]string) {
	for _, mark := range append(sizes.OwnersMarks(), v1.MirrorPodAnnotationKey) {
		if text, is := annotations[mark]; is {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[mark] = text
		}
	}
	return kept
}

func stripContainers(containers []v1.Container) {
	for i := range containers {
		c := &containers[i]
		c.Command, c.Args, c.Env, c.EnvFrom, c.VolumeDevices = nil, nil, nil, nil, nil
		c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle, c.SecurityContext = nil, nil, nil, nil, nil
		c.VolumeMounts = bindMounts(c.VolumeMounts)
	}
}

// bindMounts keeps the mounts that ask for a feature of the node.
func bindMounts(mounts []v1.VolumeMount) []v1.VolumeMount {
	var kept []v1.VolumeMount
	for _, m := range mounts {
		if len(m.BindMountOptions) > 0 {
			kept = append(kept, m)
		}
	}
	return kept
}

// reportedConditions keeps the conditions that say what we last reported, how a resize goes, and whom another scheduler has leave.
func reportedConditions(conditions []v1.PodCondition) []v1.PodCondition {
	var kept []v1.PodCondition
	for _, c := range conditions {
		switch c.Type {
		case v1.PodScheduled, v1.PodResizePending, v1.PodResizeInProgress, v1alpha1.Sized:
			kept = append(kept, c)
		case v1.DisruptionTarget:
			if c.Reason == v1.PodReasonPreemptionByScheduler {
				kept = append(kept, c)
			}
		default:
		}
	}
	return kept
}

// keptSizes keeps what containers were given where it is not what they ask for, as
// it is during and after a resize.
func keptSizes(containers []v1.Container, statuses []v1.ContainerStatus) []v1.ContainerStatus {
	var kept []v1.ContainerStatus
	for _, s := range statuses {
		at := slices.IndexFunc(containers, func(c v1.Container) bool { return c.Name == s.Name })
		if at >= 0 && given(&containers[at], &s) {
			continue
		}
		kept = append(kept, v1.ContainerStatus{Name: s.Name, Resources: s.Resources, AllocatedResources: s.AllocatedResources, State: s.State})
	}
	return kept
}

// given reports whether the container was given what it asks for, as far as its
// status says.
func given(c *v1.Container, s *v1.ContainerStatus) bool {
	asked := c.Resources.Requests
	return (s.Resources == nil || maps.EqualFunc(s.Resources.Requests, asked, equalQuantity)) &&
		(len(s.AllocatedResources) == 0 || maps.EqualFunc(s.AllocatedResources, asked, equalQuantity))
}

func equalQuantity(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }

// stripVolumes drops the volumes that any node can provide.
func stripVolumes(volumes []v1.Volume) []v1.Volume {
	var kept []v1.Volume
	for _, v := range volumes {
		if v.Projected == nil && v.ConfigMap == nil && v.Secret == nil && v.DownwardAPI == nil && v.EmptyDir == nil {
			kept = append(kept, v)
		}
	}
	return kept
}
