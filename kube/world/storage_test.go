package world

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
)

// This file changes what there is of storage while a property runs. What nodes say of drivers, attachments and drivers
// upstream's filters read where informers keep them, so that they are put there; they hear of claims and volumes by handlers, so that these stay, and
// it is the world that hears of them late.

const diskDriver = "pd.csi.storage.gke.io" // that replaces GCE's disks

// store is where upstream's filters read objects of the kind at once; nil if they do not.
func (b *bench) store(object runtime.Object) cache.Indexer {
	switch object.(type) {
	case *storagev1.CSINode:
		return b.factory.Storage().V1().CSINodes().Informer().GetIndexer()
	case *storagev1.VolumeAttachment:
		return b.factory.Storage().V1().VolumeAttachments().Informer().GetIndexer()
	case *storagev1.CSIDriver:
		return b.factory.Storage().V1().CSIDrivers().Informer().GetIndexer()
	}
	return nil
}

// restoreStorage makes storage what it was at first, and tells the world.
func (r *rig) restoreStorage() {
	for _, kind := range []runtime.Object{&storagev1.CSINode{}, &storagev1.VolumeAttachment{}, &storagev1.CSIDriver{}} {
		if err := r.store(kind).Replace(nil, ""); err != nil {
			r.tb.Fatal(err)
		}
	}
	for _, object := range r.storage {
		r.keep(object, true)
	}
}

// keep puts the object where it belongs, or takes it away, and tells the world.
func (r *rig) keep(object runtime.Object, there bool) {
	r.tb.Helper()
	if in := r.store(object); in != nil {
		change := in.Add
		if !there {
			change = in.Delete
		}
		if err := change(object); err != nil {
			r.tb.Fatal(err)
		}
	}
	if there {
		VolumesOf(r.world).See(object)
	} else {
		VolumesOf(r.world).Lose(object)
	}
}

// drawDrivers draws what a node says of drivers, which may be nothing.
func (r *rig) drawDrivers(t *rapid.T, name string) {
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if often(t, 4, "silent") {
		r.keep(node, false)
		return
	}
	if often(t, 2, "replaces") {
		node.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: "kubernetes.io/gce-pd"}
	}
	for _, driver := range []string{"csi.example.com", diskDriver, "other.example.com"} {
		limit := pick(t, "limit", nil, new(int32(0)), new(int32(1)), new(int32(1)), new(int32(2)), new(int32(3)))
		if often(t, 4, "absent") {
			continue
		}
		node.Spec.Drivers = append(node.Spec.Drivers, storagev1.CSINodeDriver{Name: driver, NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: limit}})
	}
	r.keep(node, true)
}

// drawAttachment draws that a volume is attached to a node, or no more.
func (r *rig) drawAttachment(t *rapid.T) {
	volume := pick(t, "attached", "v-csi-1", "v-csi-2", "v-csi-3", "v-csi-4", "v-twin-1", "v-disk-a", "v-elsewhere", "v-gone")
	of := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("attachment-", number(t, 6, "attachment"))},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: pick(t, "attacher", "csi.example.com", "csi.example.com", "other.example.com"), NodeName: nodeName(number(t, 4, "to")),
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
		},
	}
	for _, old := range r.store(of).List() { // it never moves
		if o := old.(*storagev1.VolumeAttachment); o.Name == of.Name {
			r.keep(o, false)
		}
	}
	if !often(t, 3, "detached") {
		r.keep(of, true)
	}
}

// drawStrict draws whether nodes have to have the driver.
func (r *rig) drawStrict(t *rapid.T) {
	name, strict := pick(t, "driver", "csi.example.com", "other.example.com"), often(t, 3, "strict")
	r.keep(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: &strict}}, true)
}

// drawStorage draws changes of storage, some of which the world has yet to hear of.
func (r *rig) drawStorage(t *rapid.T) {
	for i := range 4 {
		if often(t, 2, "drivers") {
			r.drawDrivers(t, nodeName(i))
		}
	}
	for range max(0, number(t, 6, "attachments")-2) {
		r.drawAttachment(t)
	}
	if often(t, 6, "strict drivers") {
		r.drawStrict(t)
	}
	if often(t, 3, "not told") {
		r.hide(t)
	}
}

// hide lets the world not know of some claims, volumes and classes, as if it had yet to hear of them.
func (r *rig) hide(t *rapid.T) {
	for _, object := range r.objects() {
		if often(t, 3, "late") {
			VolumesOf(r.world).Lose(object)
		}
	}
}

// tell lets the world know of all claims, volumes and classes.
func (r *rig) emitObjects(t *rapid.T) {
	objects := r.objects()
	for len(objects) > 0 {
		at := number(t, len(objects), "next")
		VolumesOf(r.world).See(objects[at])
		objects = slices.Delete(objects, at, at+1)
	}
}

// told are the objects that do not change, in their order.
func (r *rig) objects() []runtime.Object {
	return slices.DeleteFunc(slices.Clone(r.storage), func(o runtime.Object) bool { return r.store(o) != nil })
}

// checkDisks counts the disks on each node as upstream does, by what the world knows, and holds the room that the core sees there to that.
func (r *rig) checkDisks() error {
	v := r.world.placed.volumes
	for name, n := range r.world.nodes.byName {
		on := map[disk]bool{}
		for _, pod := range r.placed() {
			if pod.Spec.NodeName != name {
				continue
			}
			s := v.inventory(pod)
			if s == nil {
				continue
			}
			for _, d := range s.inline {
				on[d] = true
			}
			for _, key := range s.claims {
				claim := v.claims[key]
				switch {
				case claim == nil:
				case v.volumes[claim.Spec.VolumeName] != nil:
					on[v.volumes[claim.Spec.VolumeName].id] = true
				default:
					on[v.awaited(key, claim)] = true
				}
			}
		}
		for _, o := range v.attached[name] {
			on[v.attachedDisk(o)] = true
		}
		for i, c := range r.world.columns.columns {
			if c.need.driver == "" || n.drivers == nil {
				continue
			}
			limit, is := n.drivers.limits[c.need.driver]
			if !is {
				continue
			}
			for d := range on {
				if d.driver == c.need.driver {
					limit--
				}
			}
			capacity, used := r.core.View().Capacity(n.row)[firstExtended+i], int64(0)
			for _, p := range n.pods {
				used += p.slot.shape.demand[firstExtended+i]
			}
			if left := capacity - used; left != limit && (capacity > 0 || limit > left) {
				return fmt.Errorf("node %s has room for %d disks of %s in the core, and for %d by what is there: %v", name, left, c.need.driver, limit, on)
			}
		}
	}
	return nil
}
