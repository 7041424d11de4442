package world

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// This file is the API server's stock of volumes, claims and devices that
// random pods ask for. It stays the same, so that no test has to wait until the
// informers have seen it.

// libraryClaims are the volume claims, and one that does not exist.
func libraryClaims() []string {
	return []string{
		"in-a", "in-b", "labelled-a", "waits", "waits-for-nothing", "immediate", "once", "csi-1", "csi-2", "csi-3", "missing",
		"csi-4", "csi-5", "csi-6", "csi-7", "csi-8", "csi-9", "made-1", "made-2", "twin-1", "twin-2", "disk-a", "disk-b", "labelled-ab", "labelled-before",
		"elsewhere", "no-driver", "leaving", "lost", "half", "no-volume",
	}
}

// libraryDevices are the resource claims, and one that does not exist.
func libraryDevices() []string { return []string{"device-n1", "device-free", "missing"} }

func library() []runtime.Object {
	objects := []runtime.Object{
		makeNamespace("default", "red"), makeNamespace("other", "blue"), makeClass("slow"), makeClass("empty"),
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "now"}, Provisioner: "x", VolumeBindingMode: new(storagev1.VolumeBindingImmediate)},
		makeClaim("in-a", "slow", "v-in-a", v1.ReadWriteOnce), makeVolume("v-in-a", "in-a", "slow", "a"),
		makeClaim("in-b", "slow", "v-in-b", v1.ReadWriteOnce), makeVolume("v-in-b", "in-b", "slow", "b"),
		makeClaim("waits", "slow", "", v1.ReadWriteOnce), makeVolume("v-free", "", "slow", "c"),
		makeClaim("waits-for-nothing", "empty", "", v1.ReadWriteOnce),
		makeClaim("immediate", "now", "", v1.ReadWriteOnce),
		makeClaim("once", "slow", "v-once", v1.ReadWriteOncePod), makeVolume("v-once", "once", "slow", ""),
	}
	labelled := makeVolume("v-labelled-a", "labelled-a", "slow", "")
	labelled.Labels = map[string]string{v1.LabelTopologyZone: "a"}
	objects = append(objects, labelled, makeClaim("labelled-a", "slow", "v-labelled-a", v1.ReadWriteOnce))
	objects = append(objects, moreVolumes()...)
	for i := 1; i <= 9; i++ {
		claim := fmt.Sprintf("csi-%d", i)
		objects = append(objects, makeClaim(claim, "slow", "v-"+claim, v1.ReadWriteOnce), makeVolume("v-"+claim, claim, "slow", ""))
	}
	for i, limit := range []int32{1, 2, 3} {
		name := nodeName(i)
		objects = append(objects, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSINodeSpec{
			Drivers: []storagev1.CSINodeDriver{{Name: "csi.example.com", NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}},
		}})
	}
	return append(objects, devices()...)
}

// moreVolumes are those that differ from others in what drivers, zones or states make of them.
func moreVolumes() []runtime.Object {
	var objects []runtime.Object
	bound := func(claim, zone string, change func(*v1.PersistentVolume)) *v1.PersistentVolumeClaim {
		volume, of := makeVolume("v-"+claim, claim, "slow", zone), makeClaim(claim, "slow", "v-"+claim, v1.ReadWriteOnce)
		if change != nil {
			change(volume)
		}
		objects = append(objects, of, volume)
		return of
	}
	labelled := func(key, value string) func(*v1.PersistentVolume) {
		return func(v *v1.PersistentVolume) { v.Labels = map[string]string{key: value} }
	}
	disk := func(zone string) func(*v1.PersistentVolume) {
		return func(v *v1.PersistentVolume) {
			v.Labels = map[string]string{v1.LabelTopologyZone: zone, v1.LabelTopologyRegion: "r"}
			v.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "claimed-in-" + zone}}
		}
	}
	for _, claim := range []string{"twin-1", "twin-2"} {
		bound(claim, "", func(v *v1.PersistentVolume) { v.Spec.CSI.VolumeHandle = "twin" })
	}
	bound("disk-a", "a", disk("a"))
	bound("disk-b", "", disk("b"))
	bound("labelled-ab", "", labelled(v1.LabelTopologyZone, "a__b"))
	bound("labelled-before", "", labelled(v1.LabelFailureDomainBetaZone, "a"))
	bound("elsewhere", "", func(v *v1.PersistentVolume) { v.Spec.CSI.Driver = "other.example.com" })
	bound("no-driver", "c", func(v *v1.PersistentVolume) {
		v.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "nfs", Path: "/"}}
	})
	leaving := bound("leaving", "", nil)
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"kubernetes.io/pvc-protection"}
	bound("lost", "", nil).Status.Phase = v1.ClaimLost
	bound("half", "", nil).Annotations = nil
	made := makeClass("made")
	made.Provisioner = "csi.example.com"
	return append(objects, made, makeClaim("no-volume", "slow", "v-that-is-gone", v1.ReadWriteOnce),
		makeClaim("made-1", "made", "", v1.ReadWriteOnce), makeClaim("made-2", "made", "", v1.ReadWriteOnce))
}

func nodeName(i int) string { return fmt.Sprintf("n%d", i) }

// devices are a claim that is allocated on n1, one that is free, and the only
// device for it, on n2, which also comes as an extended resource.
func devices() []runtime.Object {
	free := makeDevice("device-free", "")
	free.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
	}}}
	return []runtime.Object{
		makeDevice("device-n1", "n1"), free,
		&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: new("example.com/device")}},
		&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n2-gpus"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: new("n2"), Pool: resourcev1.ResourcePool{Name: "n2", ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "gpu-0"}},
		}},
	}
}
