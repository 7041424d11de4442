package judge

// Which pods need upstream's filters one by one, and which are described by a resource vector and a set of nodes.

import (
	v1 "k8s.io/api/core/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// Bespoke reports whether the pod's own spec makes its feasibility or its preference depend on other pods or on objects of its own: pod (anti-)affinity,
// spread, preferred node affinity, volumes with limits or conflicts, resource claims, and extended resources that a device class provides. Plain requests
// and host ports are not bespoke: a vector of resources describes them. The result follows the device classes, which are not part of the pod.
func (j *Judge) Bespoke(pod *v1.Pod) bool {
	if len(pod.Spec.TopologySpreadConstraints) > 0 || j.personal(pod) {
		return true
	}
	affinity := pod.Spec.Affinity
	if affinity == nil {
		return false
	}
	return affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil ||
		affinity.NodeAffinity != nil && len(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0
}

// personal reports whether filters look at objects that belong to the pod apart from its spec: volumes and claims.
func (j *Judge) personal(pod *v1.Pod) bool {
	if len(pod.Spec.ResourceClaims) > 0 || j.usesDeviceClass(pod) {
		return true
	}
	translator := csitranslation.New()
	for i := range pod.Spec.Volumes {
		if judgedVolume(&pod.Spec.Volumes[i]) || translator.IsInlineMigratable(&pod.Spec.Volumes[i]) {
			return true
		}
	}
	return false
}

// judgedVolume reports whether a volume filter looks at the volume: claims, and disks that two pods may not always share.
func judgedVolume(volume *v1.Volume) bool {
	return volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil || exclusive(volume)
}

// exclusive reports whether the volume is a disk that two pods on a node may not always share.
func exclusive(volume *v1.Volume) bool {
	return volume.GCEPersistentDisk != nil || volume.AWSElasticBlockStore != nil || volume.ISCSI != nil || volume.RBD != nil
}

// ExcludesDisks reports whether the pod names disks by itself that keep it off nodes where others have them.
func ExcludesDisks(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if exclusive(&pod.Spec.Volumes[i]) {
			return true
		}
	}
	return false
}

// usesDeviceClass reports whether the pod requests an extended resource that a device class provides, so that DynamicResources has a say in it.
func (j *Judge) usesDeviceClass(pod *v1.Pod) bool {
	if j.devices == nil {
		return false
	}
	uses := func(containers []v1.Container) bool {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if j.ProvidesDevices(name) {
					return true
				}
			}
		}
		return false
	}
	return uses(pod.Spec.InitContainers) || uses(pod.Spec.Containers)
}

// ProvidesDevices reports whether a device class provides the extended resource, on nodes that do not offer it themselves.
func (j *Judge) ProvidesDevices(name v1.ResourceName) bool {
	return j.devices != nil && util.IsDRAExtendedResourceName(name) && j.devices.DeviceClassResolver().GetDeviceClass(name) != nil
}

// hasEmptySpread reports whether a hard spread constraint selects every pod with an empty selector. PreFilter counts no pod for such a selector, but the
// extensions that follow pods count all, so a case with one cannot be kept current. It is also pointless, as the constraint can never be violated.
func hasEmptySpread(pod *v1.Pod) bool {
	for i := range pod.Spec.TopologySpreadConstraints {
		constraint := &pod.Spec.TopologySpreadConstraints[i]
		selector := constraint.LabelSelector
		if selector != nil && len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
			return true
		}
	}
	return false
}
