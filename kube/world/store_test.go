package world

import (
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// This file makes volumes and claims, of which upstream's filters hear by themselves.

// store puts a line's object into the API server and waits until it is seen.
func (s *story) store(l *line) error {
	var object runtime.Object
	switch l.of {
	case "class":
		object = makeClass(l.name)
	case "claim":
		claim := makeClaim(l.name, l.one("class", ""), l.one("volume", ""), v1.PersistentVolumeAccessMode(l.one("mode", string(v1.ReadWriteOnce))))
		if owner := l.one("owner", ""); owner != "" {
			claim.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: owner, UID: types.UID("uid-" + owner), Controller: new(true)}}
		}
		object = claim
	case "volume":
		object = makeVolume(l.name, l.one("claim", ""), l.one("class", ""), l.one("on", ""))
	case "device":
		claim, err := deviceOf(l)
		if err != nil {
			return err
		}
		object = claim
	case "drivers":
		limit, err := strconv.Atoi(l.one("limit", "0"))
		if err != nil {
			return err
		}
		object = &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: l.name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: "csi.example.com", NodeID: l.name, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(limit))}},
		}}}
	case "attached":
		object = &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: l.name}, Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "csi.example.com", NodeName: l.one("on", ""), Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new(l.one("volume", ""))},
		}}
	}
	if err := l.done(); err != nil {
		return err
	}
	s.create(s.tb, object)
	waitForPlugins()
	VolumesOf(s.world).See(object)
	return nil
}

// deviceOf is a claim of devices: of what a node offers, if it asks for one or a pod has it; else it stands for devices that are on the node.
func deviceOf(l *line) (*resourcev1.ResourceClaim, error) {
	node, has, holder := l.one("on", ""), l.one("has", ""), l.one("for", "")
	claim := makeDevice(l.name, node)
	if !l.flag("one") && has == "" {
		return claim, l.done()
	}
	claim.Spec = oneDevice(l.name).Spec
	if has != "" {
		claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{{Request: "one", Driver: "gpu.example.com", Pool: node, Device: has}}
		claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: holder, UID: types.UID("uid-" + holder)}}
	}
	return claim, l.done()
}

// offer has a node offer so many devices, which are set aside from then on.
func (s *story) offer(l *line) error {
	s.reserves = true
	count, err := strconv.Atoi(l.one("devices", "1"))
	if err != nil {
		return err
	}
	var list []resourcev1.Device
	for d := range count {
		list = append(list, resourcev1.Device{Name: fmt.Sprint("gpu-", d)})
	}
	for _, object := range devicesOn(l.name, nil, list...) {
		s.create(s.tb, object)
	}
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	if _, err := s.client.ResourceV1().DeviceClasses().Get(s.rival.ctx, class.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		s.create(s.tb, class)
	}
	waitForPlugins()
	return l.done()
}

// makeClass is a storage class whose volumes wait for their first consumer.
func makeClass(name string) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "kubernetes.io/no-provisioner",
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}
}

// makeClaim is a claim; bound, if it names a volume.
func makeClaim(name, class, volume string, mode v1.PersistentVolumeAccessMode) *v1.PersistentVolumeClaim {
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: &class, VolumeName: volume, AccessModes: []v1.PersistentVolumeAccessMode{mode},
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		},
		Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending},
	}
	if volume != "" {
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		claim.Status.Phase = v1.ClaimBound
	}
	return claim
}

// makeVolume is a CSI volume in a zone; bound, if it names a claim.
func makeVolume(name, claim, class, zone string) *v1.PersistentVolume {
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"},
		Spec: v1.PersistentVolumeSpec{
			Capacity:    v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadWriteOncePod}, StorageClassName: class,
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: name}},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
	}
	if zone != "" {
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}},
		}}}}
	}
	if claim != "" {
		volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: claim, UID: types.UID("uid-" + claim)}
		volume.Status.Phase = v1.VolumeBound
	}
	return volume
}

// makeDevice is a resource claim; allocated, if it names a node.
func makeDevice(name, node string) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"}}
	if node == "" {
		return claim
	}
	claim.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
	return claim
}
