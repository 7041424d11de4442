package world

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	csiplugins "k8s.io/csi-translation-lib/plugins"

	"fairlead.dev/fairlead/cluster"
)

// This file counts the disks that drivers attach to nodes, as upstream's NodeVolumeLimits does. A driver of which some node takes so many and no
// more is a need (columns.go), of which a pod takes one for each disk that is its own. All others are counted against the node: those that
// several pods on it share, once, and those that are attached already, which stay so for a while after their pod has left; so nobody is evicted for a place that does not come of it.

// unlimited is of what driver a node has that says no limit.
const unlimited = 1 << 20

// nodeDrivers is what a node says of drivers.
type nodeDrivers struct {
	limits   map[string]int64 // how many disks, by driver
	replaced sets.Set[string] // plugins that drivers replace there
}

// replaces reports whether a driver has taken the place of the plugin on the node.
func (d *nodeDrivers) replaces(plugin string) bool { return d != nil && d.replaced.Has(plugin) }

// replaced reports whether drivers replace the plugin wherever nodes have drivers at all.
func replaced(plugin string) bool {
	switch plugin {
	case csiplugins.AWSEBSInTreePluginName, csiplugins.PortworxVolumePluginName, csiplugins.GCEPDInTreePluginName, csiplugins.AzureDiskInTreePluginName, csiplugins.CinderInTreePluginName:
		return true
	}
	return false
}

func readDrivers(o *storagev1.CSINode) *nodeDrivers {
	d := &nodeDrivers{limits: map[string]int64{}, replaced: sets.New(strings.Split(o.Annotations[v1.MigratedPluginsAnnotationKey], ",")...)}
	for _, driver := range o.Spec.Drivers {
		if driver.Allocatable != nil && driver.Allocatable.Count != nil {
			d.limits[driver.Name] = int64(*driver.Allocatable.Count)
		}
	}
	return d
}

// leaves is how many disks of the driver the node has room for beside those that no vector counts.
func (n *node) leaves(driver string) int64 {
	if n.drivers != nil {
		if limit, is := n.drivers.limits[driver]; is {
			return max(0, limit-n.uncounted[driver])
		}
	}
	return unlimited
}

// takeDrivers takes in what a node says of drivers.
func (v *Volumes) takeDrivers(o *storagev1.CSINode, there bool) {
	before, now := v.drivers[o.Name], (*nodeDrivers)(nil)
	if there {
		now = readDrivers(o)
	}
	put(v.drivers, o.Name, now, there)
	n := v.nodes.byName[o.Name]
	if n != nil {
		v.nodes.reequip(n, func() { n.drivers = now })
	}
	if came, went := v.limit(now, 1), v.limit(before, -1); came || went {
		v.refreshAll(v.pods)
	}
	if n != nil && (before == nil || now == nil || !before.replaced.Equal(now.replaced)) {
		v.sets.update(n)
	}
}

// limit counts the node among those that limit its drivers, or out of them. It reports whether a driver was
// limited nowhere before, or is so now.
func (v *Volumes) limit(of *nodeDrivers, change int) (flips bool) {
	if of == nil {
		return false
	}
	for driver := range of.limits {
		was := v.limited[driver]
		if v.limited[driver] += change; v.limited[driver] == 0 {
			delete(v.limited, driver)
		}
		flips = flips || was == 0 || v.limited[driver] == 0
	}
	return flips
}

// equip says of a node that is new what is known of its drivers.
func (v *Volumes) equip(n *node) {
	n.drivers = v.drivers[n.object.Name]
	n.uncounted = v.count(n)
}

// takeAttachment takes in that a volume is attached to a node, or is about to be.
func (v *Volumes) takeAttachment(o *storagev1.VolumeAttachment, there bool) {
	before := v.attachments[o.Name]
	if there && before != nil && apiequality.Semantic.DeepEqual(before.Spec, o.Spec) {
		return
	}
	if before != nil {
		v.attach(before, false)
	}
	put(v.attachments, o.Name, o, there)
	if there {
		v.attach(o, true)
	}
	if before != nil && before.Spec.NodeName != o.Spec.NodeName {
		v.reattach(before.Spec.NodeName)
	}
	v.reattach(o.Spec.NodeName)
}

func (v *catalogue) attach(o *storagev1.VolumeAttachment, there bool) {
	putInto(v.attached, o.Spec.NodeName, o.Name, o, there)
	if name := o.Spec.Source.PersistentVolumeName; name != nil {
		putInto(v.of, *name, o.Name, o, there)
	}
}

// attachedDisk is the disk that is attached; none if that is not known, or the volume is one that a driver has replaced, here as upstream.
func (v *catalogue) attachedDisk(o *storagev1.VolumeAttachment) disk {
	name := o.Spec.Source.PersistentVolumeName
	if o.Spec.Attacher == "" || name == nil || v.volumes[*name] == nil {
		return disk{}
	}
	csi := v.volumes[*name].object.Spec.CSI
	if csi == nil {
		return disk{}
	}
	return disk{o.Spec.Attacher, csi.VolumeHandle}
}

// isAttached reports whether the disk is attached to the node that the pod is on.
func (v *catalogue) isAttached(p *Pod, d disk) bool {
	on := p.object.Spec.NodeName
	if p.node != nil {
		on = p.node.object.Name
	}
	for _, o := range v.attached[on] {
		if v.attachedDisk(o) == d {
			return true
		}
	}
	return false
}

// reattach takes in that something else is attached to the node.
func (v *Volumes) reattach(name string) {
	n := v.nodes.byName[name]
	if n == nil {
		return
	}
	v.refreshAll(n.holders)
	v.recount(n)
}

// arrived takes in that the pod is on the node.
func (v *Volumes) arrived(p *Pod, n *node) {
	if p.stock == nil {
		return
	}
	n.holders[p.object.UID] = p
	v.refresh(p)
	v.refreshOthers(p, n)
	v.recount(n)
}

// left takes in that the pod is on the node no more, of which the core is yet to hear.
func (v *Volumes) left(p *Pod, n *node) {
	if p.stock == nil {
		return
	}
	delete(n.holders, p.object.UID)
	p.stock = v.read(p)
	v.refreshOthers(p, n)
	v.recount(n)
}

// recount counts the disks on the node that no vector counts, and reports the node if there are others.
func (v *Volumes) recount(n *node) {
	now := v.count(n)
	if maps.Equal(now, n.uncounted) {
		return
	}
	v.nodes.reequip(n, func() { n.uncounted = now })
}

// count counts the disks on the node that no vector counts, by driver.
func (v *Volumes) count(n *node) map[string]int64 {
	on := map[disk]bool{}
	for _, o := range v.attached[n.object.Name] {
		if d := v.attachedDisk(o); d != (disk{}) {
			on[d] = true
		}
	}
	for _, p := range n.holders {
		if len(p.stock.holds) == len(p.stock.takes) { // as of nearly every pod
			continue
		}
		for _, d := range p.stock.holds {
			on[d] = true
		}
	}
	if len(on) == 0 {
		return nil
	}
	for _, p := range n.holders {
		for _, d := range p.stock.takes {
			delete(on, d)
		}
	}
	if len(on) == 0 {
		return nil
	}
	by := map[string]int64{}
	for d := range on {
		by[d.driver]++
	}
	return by
}

// reequip changes what is known of the node's disks, and reports the node if it has room for others then.
func (ns *nodes) reequip(n *node, change func()) {
	before := ns.columns.capacity(n)
	change()
	if spec := ns.spec(n); !slices.Equal(spec.Capacity, before) {
		ns.journal.emit(cluster.NodeChanged{Node: n.row, Spec: spec})
	}
}
