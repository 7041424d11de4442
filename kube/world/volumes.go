package world

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
)

// This file keeps what is known of volumes, and says of each pod what its volumes come to: whether they
// are settled, so that the core may decide about the pod with all others; which nodes reach them (reach.go);
// and which of them count towards what a driver attaches to a node (disks.go).
//
// Settled are the claims of a pod that are all bound, to volumes that are known, so that nothing has to be made or set
// aside for it. Left to upstream's filters are claims that are not bound, are being deleted or
// lost, of ephemeral volumes, or of a driver without which no node takes them; and
// claims whose volume another pod, claim or PersistentVolume names as well, if some node limits what its driver attaches: once it is attached to a node, it takes nothing there for another.
// A claim for one pod at a time (ReadWriteOncePod) is a rule between the pods that name it (once.go).

// Volumes keeps what follows from the objects of each pod that has volumes, and of each node. What pods have
// in their stock is of the objects as they are known: whatever changes goes through See, Lose, meet and part.
type Volumes struct {
	catalogue
	journal *journal
	nodes   *nodes
	sets    *nodeSets
	shapes  *shapes
	slots   *slots
	waiting *waiting

	drivers map[string]*nodeDrivers
	users   map[types.NamespacedName]map[types.UID]*Pod // of each claim
	limited map[string]int                              // how many nodes limit what the driver attaches
	pods    map[types.UID]*Pod                          // that have volumes
}

// catalogue keeps the objects, and which of them name which.
type catalogue struct {
	csi         csitranslation.CSITranslator
	claims      map[types.NamespacedName]*v1.PersistentVolumeClaim
	volumes     map[string]*volume
	classes     map[string]*storagev1.StorageClass
	strict      map[string]bool // drivers without which no node takes their volumes
	attachments map[string]*storagev1.VolumeAttachment

	bound    map[string]map[types.NamespacedName]bool          // the claims that name each volume
	names    map[disk]int                                      // how many volumes, and pods by themselves, name it
	attached map[string]map[string]*storagev1.VolumeAttachment // by node
	of       map[string]map[string]*storagev1.VolumeAttachment // by volume
}

// VolumesOf takes in the claims, volumes and what else there is of storage.
func VolumesOf(w *World) *Volumes { return w.placed.volumes }

func newVolumes() *Volumes {
	return &Volumes{
		catalogue: catalogue{
			csi: csitranslation.New(), claims: map[types.NamespacedName]*v1.PersistentVolumeClaim{}, volumes: map[string]*volume{}, classes: map[string]*storagev1.StorageClass{},
			strict: map[string]bool{}, attachments: map[string]*storagev1.VolumeAttachment{}, bound: map[string]map[types.NamespacedName]bool{}, names: map[disk]int{},
			attached: map[string]map[string]*storagev1.VolumeAttachment{}, of: map[string]map[string]*storagev1.VolumeAttachment{},
		},
		drivers: map[string]*nodeDrivers{}, users: map[types.NamespacedName]map[types.UID]*Pod{}, limited: map[string]int{}, pods: map[types.UID]*Pod{},
	}
}

// disk is what a driver attaches: two volumes of one driver and handle are the same to it.
type disk struct{ driver, handle string }

func compareDisks(a, b disk) int {
	return cmp.Or(cmp.Compare(a.driver, b.driver), cmp.Compare(a.handle, b.handle))
}

// stock is what the volumes of a pod come to.
type stock struct {
	claims []types.NamespacedName
	inline []disk // of volumes that the pod names by itself
	// settled says that all of its claims are; reach is then which nodes they can be used on, nil if that is all.
	settled bool
	reach   *reach
	// holds are the disks that are attached where it is, of drivers that are limited somewhere. Takes are those of them that are its own, and so are in its vector; sorted.
	holds, takes []disk
	once         []types.NamespacedName // of the claims, those for one pod at a time that other pods name as well
	strict       bool                   // a driver of theirs has to be on the node
}

func (s *stock) equal(o *stock) bool {
	return s.settled == o.settled && s.reach.same(o.reach) && slices.Equal(s.holds, o.holds) && slices.Equal(s.takes, o.takes) &&
		slices.Equal(s.once, o.once) && s.strict == o.strict
}

// See takes in an object as it is now: a claim, a volume, a storage class, a driver, what a node has of drivers, or an attachment.
func (v *Volumes) See(object runtime.Object) { v.take(object, true) }

// Lose takes in that it is gone.
func (v *Volumes) Lose(object runtime.Object) { v.take(object, false) }

func (v *Volumes) take(object runtime.Object, there bool) {
	v.journal.changes++
	switch o := object.(type) {
	case *v1.PersistentVolumeClaim:
		v.takeClaim(o, there)
	case *v1.PersistentVolume:
		v.takeVolume(o, there)
	case *storagev1.StorageClass:
		before := v.classes[o.Name]
		put(v.classes, o.Name, o, there)
		if before == nil || !there || before.Provisioner != o.Provisioner {
			v.refreshAll(v.pods)
		}
	case *storagev1.CSIDriver:
		is := there && o.Spec.PreventPodSchedulingIfMissing != nil && *o.Spec.PreventPodSchedulingIfMissing
		if is != v.strict[o.Name] {
			put(v.strict, o.Name, true, is)
			v.refreshAll(v.pods)
		}
	case *storagev1.CSINode:
		v.takeDrivers(o, there)
	case *storagev1.VolumeAttachment:
		v.takeAttachment(o, there)
	}
}

// isAlone reports whether no other pod uses the claim on the node where the pod is, or, of one that waits, anywhere; those that wait for a claim for one pod at a time do not.
func (v *Volumes) isAlone(p *Pod, key types.NamespacedName, claim *v1.PersistentVolumeClaim) bool {
	switch {
	case len(v.users[key]) == 1:
		return true
	case p.node == nil:
		return isOnce(claim)
	}
	for _, other := range v.users[key] {
		if other != p && other.node == p.node {
			return false
		}
	}
	return true
}

// put sets what the map has of the key, or deletes it.
func put[K comparable, V any](in map[K]V, key K, value V, there bool) {
	if there {
		in[key] = value
	} else {
		delete(in, key)
	}
}

// putInto is put for a map of maps, which has none that is empty.
func putInto[K, L comparable, V any](in map[K]map[L]V, key K, of L, value V, there bool) {
	switch {
	case there && in[key] == nil:
		in[key] = map[L]V{of: value}
	case there:
		in[key][of] = value
	default:
		if delete(in[key], of); len(in[key]) == 0 {
			delete(in, key)
		}
	}
}

func (v *Volumes) takeClaim(o *v1.PersistentVolumeClaim, there bool) {
	key := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	touched := []string{o.Spec.VolumeName}
	before := v.claims[key]
	if there && before == o {
		return // watches begin with what was surveyed
	}
	if before != nil {
		touched = append(touched, before.Spec.VolumeName)
		v.bind(before, key, false)
	}
	put(v.claims, key, o, there)
	if there {
		v.bind(o, key, true)
	}
	v.refreshAll(v.users[key])
	for _, name := range touched { // other claims that name it may be alone with it now, or no longer
		v.refreshUsers(name)
	}
}

func (v *catalogue) bind(o *v1.PersistentVolumeClaim, key types.NamespacedName, there bool) {
	if o.Spec.VolumeName != "" {
		putInto(v.bound, o.Spec.VolumeName, key, true, there)
	}
}

func (v *Volumes) takeVolume(o *v1.PersistentVolume, there bool) {
	before, now := v.volumes[o.Name], (*volume)(nil)
	if there {
		now = v.readVolume(o)
	}
	put(v.volumes, o.Name, now, there)
	if before.sameAs(now) {
		return
	}
	var twins []disk
	if before != nil && v.name(before.id, -1) {
		twins = append(twins, before.id)
	}
	if now != nil && v.name(now.id, 1) {
		twins = append(twins, now.id)
	}
	v.refreshUsers(o.Name)
	v.refreshHolders(twins)
	for _, name := range sortedKeys(v.of[o.Name]) {
		v.reattach(v.of[o.Name][name].Spec.NodeName)
	}
}

// name counts who names the disk. It reports whether one names it alone now, or did before.
func (v *catalogue) name(d disk, change int) bool {
	if d == (disk{}) {
		return false
	}
	was := v.names[d]
	if v.names[d] += change; v.names[d] == 0 {
		delete(v.names, d)
	}
	return was == 1 && change > 0 || was == 2 && change < 0
}

// refreshUsers refreshes the pods that use the volume by a claim.
func (v *Volumes) refreshUsers(volume string) {
	keys := slices.SortedFunc(maps.Keys(v.bound[volume]), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		v.refreshAll(v.users[key])
	}
}

// refreshHolders refreshes the pods that use one of the disks.
func (v *Volumes) refreshHolders(disks []disk) {
	if len(disks) == 0 {
		return
	}
	touched := map[types.UID]*Pod{}
	for uid, p := range v.pods {
		if slices.ContainsFunc(disks, func(d disk) bool { return slices.Contains(p.stock.holds, d) }) {
			touched[uid] = p
		}
	}
	v.refreshAll(touched)
}

// meet takes in a pod that was not known.
func (v *Volumes) meet(p *Pod) {
	s := v.inventory(p.object)
	if s == nil {
		return
	}
	p.stock, v.pods[p.object.UID] = s, p
	for _, key := range s.claims {
		putInto(v.users, key, p.object.UID, p, true)
	}
	twins := v.nameAll(s.inline, 1)
	p.stock = v.read(p)
	v.refreshOthers(p, nil)
	v.refreshHolders(twins)
}

// nameAll counts a pod among those who name the disks, or out of them. It returns those for which name says so.
func (v *catalogue) nameAll(disks []disk, change int) (twins []disk) {
	for _, d := range disks {
		if v.name(d, change) {
			twins = append(twins, d)
		}
	}
	return twins
}

// part forgets a pod that is gone.
func (v *Volumes) part(p *Pod) {
	if p.stock == nil {
		return
	}
	delete(v.pods, p.object.UID)
	for _, key := range p.stock.claims {
		putInto(v.users, key, p.object.UID, p, false)
	}
	v.refreshOthers(p, nil)
	v.refreshHolders(v.nameAll(p.stock.inline, -1))
}

// refreshOthers refreshes those that use a claim of the pod: on the node, or, without one, anywhere.
func (v *Volumes) refreshOthers(p *Pod, on *node) {
	for _, key := range p.stock.claims {
		if len(v.users[key]) == 1 && v.users[key][p.object.UID] == p { // as nearly always
			continue
		}
		for _, other := range inOrder(v.users[key]) {
			if other != p && (on == nil || other.node == on) {
				v.refresh(other)
			}
		}
	}
}

// inventory is what the pod itself says of its volumes; nil if no storage object bears on it.
func (v *catalogue) inventory(pod *v1.Pod) *stock {
	var s stock
	for i := range pod.Spec.Volumes {
		of := &pod.Spec.Volumes[i]
		if key, ok := claimOf(pod, of); ok {
			if !slices.Contains(s.claims, key) {
				s.claims = append(s.claims, key)
			}
			continue
		}
		if d := v.inlineDisk(pod, of); d != (disk{}) && !slices.Contains(s.inline, d) {
			s.inline = append(s.inline, d)
		}
	}
	if len(s.claims)+len(s.inline) == 0 {
		return nil
	}
	return &s
}

// claimOf is the claim that a volume of the pod goes by.
func claimOf(pod *v1.Pod, of *v1.Volume) (types.NamespacedName, bool) {
	switch {
	case of.PersistentVolumeClaim != nil:
		return types.NamespacedName{Namespace: pod.Namespace, Name: of.PersistentVolumeClaim.ClaimName}, true
	case of.Ephemeral != nil:
		return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name + "-" + of.Name}, true
	}
	return types.NamespacedName{}, false
}

// refresh works out anew what the volumes of the pod come to, and has it take what follows.
func (v *Volumes) refresh(p *Pod) {
	if p.stock == nil {
		return
	}
	now := v.read(p)
	if p.stock.equal(now) {
		return
	}
	before := *p.stock
	p.stock = now
	if !slices.Equal(before.once, now.once) {
		v.shapes.rules.regroup([]*Pod{p})
		before.once = now.once
	}
	switch {
	case before.equal(now): // but for rules, which change nothing of a place that is kept
	case p.slot == nil: // somebody else's to place
	case p.placed():
		v.slots.reshape(p, v.shapes.known(p))
		if p.node != nil {
			v.recount(p.node)
		}
	case p.Stage == Queued || p.Stage == Waiting || p.Stage == AwaitingQuery:
		v.waiting.again(p)
	}
}

func (v *Volumes) refreshAll(pods map[types.UID]*Pod) {
	for _, p := range inOrder(pods) {
		v.refresh(p)
	}
}

// read is what the volumes of the pod come to now.
func (v *Volumes) read(p *Pod) *stock {
	s := &stock{claims: p.stock.claims, inline: p.stock.inline, settled: len(p.stock.claims) > 0}
	var asking []*volume
	hold := func(d disk, own bool) {
		s.strict = s.strict || v.strict[d.driver]
		if v.limited[d.driver] == 0 || d == (disk{}) || slices.Contains(s.holds, d) {
			return
		}
		s.holds = append(s.holds, d)
		if own && !v.isAttached(p, d) {
			s.takes = append(s.takes, d)
		}
	}
	for _, key := range s.claims {
		claim := v.claims[key]
		if claim == nil {
			s.settled = false
			continue
		}
		if isOnce(claim) && len(v.users[key]) > 1 {
			s.once = append(s.once, key)
		}
		of, alone := v.volumes[claim.Spec.VolumeName], v.isAlone(p, key, claim)
		if claim.Spec.VolumeName == "" || of == nil {
			s.settled = false
			hold(v.awaited(key, claim), alone)
			continue
		}
		alone = alone && len(v.bound[claim.Spec.VolumeName]) == 1 && v.names[of.id] <= 1
		hold(of.id, alone)
		s.settled = s.settled && isBound(claim) && !of.unclear && (alone || v.limited[of.id.driver] == 0)
		if of.asks != "" {
			asking = append(asking, of)
		}
	}
	s.settled = s.settled && !s.strict && !slices.ContainsFunc(p.object.Spec.Volumes, func(of v1.Volume) bool { return of.Ephemeral != nil })
	for _, d := range s.inline {
		hold(d, false)
	}
	slices.SortFunc(s.holds, compareDisks)
	slices.SortFunc(s.takes, compareDisks)
	if s.settled {
		s.reach = newReach(asking)
	}
	return s
}

// isBound reports whether upstream's filters ask no more of the claim than where its volume is.
func isBound(claim *v1.PersistentVolumeClaim) bool {
	_, completed := claim.Annotations[storagehelpers.AnnBindCompleted]
	return completed && claim.DeletionTimestamp == nil && claim.Status.Phase != v1.ClaimLost
}

// awaited is what upstream counts for a claim that is not bound: a disk of its own, of its class's driver.
func (v *catalogue) awaited(key types.NamespacedName, claim *v1.PersistentVolumeClaim) disk {
	class := v.classes[storagehelpers.GetPersistentVolumeClaimClass(claim)]
	if class == nil {
		return disk{}
	}
	driver := class.Provisioner
	if v.csi.IsMigratableIntreePluginByName(driver) {
		name, err := v.csi.GetCSINameFromInTreeName(driver)
		if err != nil || !replaced(driver) {
			return disk{}
		}
		driver = name
	}
	return disk{driver, "claim " + key.String()}
}

// without is the pod without its claims, if they are settled.
func (s *stock) without(pod *v1.Pod) *v1.Pod {
	if s == nil || !s.settled {
		return pod
	}
	left := *pod
	left.Spec.Volumes = slices.DeleteFunc(slices.Clone(pod.Spec.Volumes), func(of v1.Volume) bool { return of.PersistentVolumeClaim != nil })
	return &left
}

// volume is what was read of a PersistentVolume.
type volume struct {
	object *v1.PersistentVolume
	id     disk // zero of one that no driver attaches
	// plugin is the one in Kubernetes that a driver replaces on nodes that say so, where the volume is as in replacing.
	plugin    string
	replacing *v1.PersistentVolume
	unclear   bool   // it could not be read
	asks      string // of nodes, in a text that is equal for volumes that ask the same
}

// sameAs reports whether nothing that is read of the two differs.
func (of *volume) sameAs(o *volume) bool {
	return of == o || of != nil && o != nil && of.id == o.id && of.unclear == o.unclear && of.asks == o.asks && (of.object.Spec.CSI == nil) == (o.object.Spec.CSI == nil)
}

// readVolume reads a PersistentVolume.
func (v *catalogue) readVolume(o *v1.PersistentVolume) *volume {
	of := &volume{object: o}
	if csi := o.Spec.CSI; csi != nil {
		of.id = named(csi.Driver, csi.VolumeHandle)
	} else if v.csi.IsPVMigratable(o) {
		plugin, err := v.csi.GetInTreePluginNameFromSpec(o, nil)
		if err == nil && replaced(plugin) {
			of.plugin = plugin
			of.replacing, err = v.csi.TranslateInTreePVToCSI(klog.Background(), o)
		}
		of.unclear = err != nil
		if err == nil && of.replacing != nil && of.replacing.Spec.CSI != nil {
			of.id = named(of.replacing.Spec.CSI.Driver, of.replacing.Spec.CSI.VolumeHandle)
		}
	}
	of.asks = of.text()
	return of
}

// named is a disk, or none if half of its name is missing.
func named(driver, handle string) disk {
	if driver == "" || handle == "" {
		return disk{}
	}
	return disk{driver, handle}
}

// text is what the volume asks of nodes; empty if nothing.
func (of *volume) text() string {
	asks := struct {
		Nodes, Replaced *v1.VolumeNodeAffinity
		Plugin          string
		Zones           map[string]string
	}{Nodes: of.object.Spec.NodeAffinity, Zones: map[string]string{}}
	for _, key := range topologyLabels() {
		if value, has := of.object.Labels[key]; has {
			asks.Zones[key] = value
		}
	}
	if of.replacing != nil && of.replacing.Spec.NodeAffinity != nil {
		asks.Replaced, asks.Plugin = of.replacing.Spec.NodeAffinity, of.plugin
	}
	if asks.Nodes == nil && asks.Replaced == nil && len(asks.Zones) == 0 {
		return ""
	}
	text, err := json.Marshal(asks)
	if err != nil {
		of.unclear = true
	}
	return string(text)
}

// inlineDisk is the disk that a volume in the pod's own spec is, where a driver replaces its plugin.
func (v *catalogue) inlineDisk(pod *v1.Pod, of *v1.Volume) disk {
	if !v.csi.IsInlineMigratable(of) {
		return disk{}
	}
	plugin, err := v.csi.GetInTreePluginNameFromSpec(nil, of)
	if err != nil || !replaced(plugin) {
		return disk{}
	}
	pv, err := v.csi.TranslateInTreeInlineVolumeToCSI(klog.Background(), of, pod.Namespace)
	if err != nil || pv == nil || pv.Spec.CSI == nil {
		return disk{}
	}
	driver, err := v.csi.GetCSINameFromInTreeName(plugin)
	if err != nil {
		return disk{}
	}
	return named(driver, pv.Spec.CSI.VolumeHandle)
}
