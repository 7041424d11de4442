package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// This file is what claims and volumes mean: which volume a claim may be bound to, and from which
// nodes a volume can be reached.

const (
	storageName = "storage"
	filesystem  = "Filesystem"
)

// OncePod is the access mode of a claim that one pod at a time may use.
const OncePod = "ReadWriteOncePod"

// Claim is a PersistentVolumeClaim.
type Claim struct {
	Namespace, Name string
	Owners          []Owner
	Volume          string // that it is bound to, or names
	Node            string // for which its volume is being made
	Bound           bool
	Lost            bool
	Leaving         bool
	Made            bool // of a template: it is not in a file

	wish
	uid string
}

// wish is what a claim asks of a volume, or a volume offers.
type wish struct {
	Class      string
	AccessMode []string
	Size       Amount
	Sized      bool // false: of a claim, any size will do
	SizeText   Quantity
	mode       string
	attributes string
	selector   *LabelSelector
}

// ClaimOf reads a claim.
func ClaimOf(o *Object) (*Claim, error) {
	s := &o.Spec
	c := &Claim{
		Namespace: cmp.Or(o.Metadata.Namespace, "default"), Name: o.Metadata.Name, Owners: o.Metadata.OwnerReferences, uid: o.Metadata.UID,
		Volume: s.VolumeName, Node: o.Metadata.Annotations.SelectedNode,
		Lost: o.Status.Phase == "Lost", Leaving: o.Metadata.DeletionTimestamp != "",
	}
	c.Bound = c.Volume != "" && (o.Metadata.Annotations.Bound != "" || o.Status.Phase == "Bound")
	return c, c.asks(&ClaimSpec{
		Resources: s.Resources, AccessModes: s.AccessModes, StorageClassName: s.StorageClassName,
		VolumeMode: s.VolumeMode, AttributesClass: s.AttributesClass, Selector: s.Selector,
	}, &o.Metadata.Annotations.ClaimAnnotations)
}

// NewClaim is a claim as a controller makes it of a template. Standard is the class of one that names none.
func NewClaim(namespace, name, standard string, t *ClaimTemplate) (*Claim, error) {
	c := &Claim{Namespace: namespace, Name: name, Made: true}
	err := c.asks(&t.Spec, &t.Metadata.Annotations)
	if t.Spec.StorageClassName == nil && t.Metadata.Annotations.Class == nil {
		c.Class = standard
	}
	return c, err
}

// Again is a claim of that name that asks for the same, and is not bound.
func (c *Claim) Again(name string) *Claim {
	return &Claim{Namespace: c.Namespace, Name: name, Made: true, wish: c.wish}
}

func (w *wish) asks(s *ClaimSpec, a *ClaimAnnotations) (err error) {
	w.Class, w.AccessMode, w.attributes, w.selector = classOf(s.StorageClassName, a), s.AccessModes, s.AttributesClass, s.Selector
	w.mode = cmp.Or(s.VolumeMode, filesystem)
	if s.Selector != nil {
		if err := s.Selector.Check(); err != nil {
			return Within("spec.selector", err)
		}
	}
	sizes, err := ParseAll("spec.resources.requests", s.Resources.Requests)
	w.Size, w.Sized = sizes[storageName]
	w.SizeText = s.Resources.Requests[storageName]
	return err
}

func classOf(name *string, a *ClaimAnnotations) string {
	switch {
	case a.Class != nil:
		return *a.Class
	case name != nil:
		return *name
	}
	return ""
}

// Text is the same for claims that ask for the same.
func (w *wish) Text() string {
	selector := ""
	if w.selector != nil {
		selector = fmt.Sprintf("%q", *w.selector)
	}
	return fmt.Sprintf("%q %q %v %t %q %q %s", w.Class, w.AccessMode, w.Size, w.Sized, w.mode, w.attributes, selector)
}

// PersistentVolume is an object of that kind.
type PersistentVolume struct {
	Name      string
	Driver    string // that attaches it; empty: none of CSI
	Handle    string
	Terms     []NodeTerm // one of which a node must meet to reach it; nil: any node
	Zones     []Expression
	Available bool
	Leaving   bool

	wish
	labels map[string]string
	claim  *ClaimRef
}

// VolumeOf reads a volume.
func VolumeOf(o *Object) (*PersistentVolume, error) {
	s := &o.Spec
	v := &PersistentVolume{
		Name: o.Metadata.Name, labels: o.Metadata.Labels, claim: s.ClaimRef, Zones: zonesOf(o.Metadata.Labels),
		Available: o.Status.Phase == "Available", Leaving: o.Metadata.DeletionTimestamp != "",
		wish: wish{Class: classOf(s.StorageClassName, &o.Metadata.Annotations.ClaimAnnotations), AccessMode: s.AccessModes, mode: cmp.Or(s.VolumeMode, filesystem), attributes: s.AttributesClass},
	}
	v.Driver, v.Handle = attached(s)
	if s.NodeAffinity != nil && s.NodeAffinity.Required != nil {
		v.Terms = s.NodeAffinity.Required.NodeSelectorTerms
		if v.Terms == nil {
			v.Terms = []NodeTerm{}
		}
	}
	for i := range v.Terms {
		if err := v.Terms[i].Check(); err != nil {
			return nil, Within(fmt.Sprintf("spec.nodeAffinity.required.nodeSelectorTerms[%d]", i), err)
		}
	}
	sizes, err := ParseAll("spec.capacity", s.Capacity)
	v.Size = sizes[storageName]
	return v, err
}

// attached is the driver of CSI that attaches a volume, and what it calls it. Those of clouds that the
// kubelet once attached by itself have one by now.
func attached(s *Spec) (driver, handle string) {
	switch {
	case s.CSI != nil:
		return s.CSI.Driver, s.CSI.Handle
	case s.AWS != nil:
		return DriverOf("kubernetes.io/aws-ebs"), s.AWS.Volume
	case s.GCE != nil:
		return DriverOf("kubernetes.io/gce-pd"), s.GCE.Name
	case s.Azure != nil:
		return DriverOf("kubernetes.io/azure-disk"), s.Azure.URI
	case s.Cinder != nil:
		return DriverOf("kubernetes.io/cinder"), s.Cinder.Volume
	}
	return "", ""
}

// DriverOf is the driver of CSI by the name of a class's provisioner, which is that name but for those of
// clouds that were there before it.
func DriverOf(provisioner string) string {
	switch provisioner {
	case "kubernetes.io/aws-ebs":
		return "ebs.csi.aws.com"
	case "kubernetes.io/gce-pd":
		return "pd.csi.storage.gke.io"
	case "kubernetes.io/azure-disk":
		return "disk.csi.azure.com"
	case "kubernetes.io/cinder":
		return "cinder.csi.openstack.org"
	}
	return provisioner
}

// The labels that say where a volume is, those of old and of today.
const (
	zoneKey      = "topology.kubernetes.io/zone"
	regionKey    = "topology.kubernetes.io/region"
	oldZoneKey   = "failure-domain.beta.kubernetes.io/zone"
	oldRegionKey = "failure-domain.beta.kubernetes.io/region"
)

// zonesOf are the labels that say where a volume is, by the names of today.
func zonesOf(labels map[string]string) (zones []Expression) {
	for _, key := range []string{oldZoneKey, oldRegionKey, zoneKey, regionKey} {
		value, there := labels[key]
		if !there {
			continue
		}
		values := strings.Split(value, "__") // a volume that is in several
		for i, v := range values {
			values[i] = strings.TrimSpace(v)
		}
		if slices.Contains(values, "") {
			continue // upstream passes it over, too
		}
		slices.Sort(values)
		zones = append(zones, Expression{Key: key, Operator: OpIn, Values: slices.Compact(values)})
	}
	return zones
}

// Reached reports whether the volume can be reached from a node with these labels, by its node affinity.
func (v *PersistentVolume) Reached(labels map[string]string) bool {
	return v.Terms == nil || slices.ContainsFunc(v.Terms, func(t NodeTerm) bool { return t.Matches("", labels) })
}

// InZone reports whether a node with these labels is where the labels of the volume say that it is. A
// node without any such label is everywhere.
func (v *PersistentVolume) InZone(labels map[string]string) bool {
	anywhere := true
	for _, key := range []string{oldZoneKey, oldRegionKey, zoneKey, regionKey} {
		_, there := labels[key]
		anywhere = anywhere && !there
	}
	return anywhere || !slices.ContainsFunc(v.Zones, func(e Expression) bool {
		have, there := labels[e.Key]
		if newer := map[string]string{oldZoneKey: zoneKey, oldRegionKey: regionKey}[e.Key]; !there && newer != "" {
			have, there = labels[newer]
		}
		return !there || !slices.Contains(e.Values, have)
	})
}

// Where says in words where the volume is; empty if it can be reached from anywhere.
func (v *PersistentVolume) Where() string {
	var terms, parts []string
	for i := range v.Terms {
		terms = append(terms, v.Terms[i].String())
	}
	if v.Terms != nil {
		parts = append(parts, cmp.Or(strings.Join(terms, " or "), "nowhere"))
	}
	for i := range v.Zones {
		if text := v.Zones[i].String(); len(terms) != 1 || !slices.Contains(strings.Split(terms[0], " and "), text) {
			parts = append(parts, "its label "+text)
		}
	}
	return strings.Join(parts, ", ")
}

// Serves reports whether the claim may be bound to the volume, wherever the node is; and whether the volume
// is kept for this claim alone.
func (v *PersistentVolume) Serves(c *Claim) (may, kept bool) {
	kept = v.claim != nil && v.claim.Namespace == c.Namespace && v.claim.Name == c.Name && (v.claim.UID == "" || v.claim.UID == c.uid)
	switch {
	case v.claim != nil && !kept, v.Size.less(c.Size), v.mode != c.mode, v.attributes != c.attributes, v.Leaving:
		return false, kept
	case kept:
		return true, true
	}
	lacks := slices.ContainsFunc(c.AccessMode, func(mode string) bool { return !slices.Contains(v.AccessMode, mode) })
	selected := c.selector == nil || c.selector.Matches(v.labels)
	return v.Available && selected && v.Class == c.Class && !lacks, false
}

// For is the claim that the volume is kept for, behind its namespace; empty: for none.
func (v *PersistentVolume) For() string {
	if v.claim == nil {
		return ""
	}
	return v.claim.Namespace + "/" + v.claim.Name
}

// Allowed reports whether the class makes volumes for a node with these labels.
func (c *StorageClass) Allowed(labels map[string]string) bool {
	return len(c.AllowedTopologies) == 0 || slices.ContainsFunc(c.AllowedTopologies, func(t TopologyTerm) bool {
		for _, e := range t.MatchLabelExpressions {
			if have, there := labels[e.Key]; !there || !slices.Contains(e.Values, have) {
				return false
			}
		}
		return len(t.MatchLabelExpressions) > 0
	})
}

// Makes reports whether the class makes volumes at all.
func (c *StorageClass) Makes() bool {
	return c.Provisioner != "" && c.Provisioner != "kubernetes.io/no-provisioner"
}

// Where says in words for which nodes the class makes volumes; empty: for all.
func (c *StorageClass) Where() string {
	var terms []string
	for _, t := range c.AllowedTopologies {
		var all []string
		for _, e := range t.MatchLabelExpressions {
			all = append(all, (&Expression{Key: e.Key, Operator: OpIn, Values: e.Values}).String())
		}
		terms = append(terms, cmp.Or(strings.Join(all, " and "), "nowhere"))
	}
	return strings.Join(terms, " or ")
}

// Room is how large a volume of a class may be, on some nodes.
type Room struct {
	Class string
	nodes *LabelSelector
	most  Amount
	known bool
}

// RoomOf reads a CSIStorageCapacity.
func RoomOf(o *Object) (Room, error) {
	c := &o.StorageCapacity
	r := Room{Class: c.Class, nodes: c.Nodes}
	for _, of := range []struct {
		field string
		size  Quantity
	}{{"maximumVolumeSize", c.MaxSize}, {"capacity", c.Capacity}} {
		if of.size == "" || r.known {
			continue
		}
		if r.most, r.known = of.size.parse(); !r.known {
			return r, Wrong(of.field, "a quantity such as 100Gi", string(of.size))
		}
	}
	if c.Nodes != nil {
		if err := c.Nodes.Check(); err != nil {
			return r, Within("nodeTopology", err)
		}
	}
	return r, nil
}

// Holds reports whether a volume as large as that may be there.
func (r *Room) Holds(c *Claim, labels map[string]string) bool {
	return r.known && r.Class == c.Class && !r.most.less(c.Size) && r.nodes != nil && r.nodes.Matches(labels)
}
