package world

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	volumehelpers "k8s.io/cloud-provider/volume/helpers"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// This file says which nodes reach the volumes of settled claims, as upstream's VolumeBinding and VolumeZone have
// it: those that match the affinity of each volume, and are in the zones and regions that its labels name.
// It is part of the node set of a pod (nodeset.go), by what the volumes ask and not by which they are, so that pods share sets, and a
// set says the same for as long as it lives.

// reach is what volumes ask of nodes. It is nil if they ask nothing.
type reach struct {
	key string // equal where they ask the same
	of  []*volume
}

// newReach is what the volumes ask.
func newReach(of []*volume) *reach {
	if len(of) == 0 {
		return nil
	}
	slices.SortFunc(of, func(a, b *volume) int { return cmp.Compare(a.asks, b.asks) })
	of = slices.CompactFunc(of, func(a, b *volume) bool { return a.asks == b.asks })
	texts := make([]string, len(of))
	for i, one := range of {
		texts[i] = one.asks
	}
	return &reach{strings.Join(texts, "\n"), of}
}

func (r *reach) same(o *reach) bool { return r == o || r != nil && o != nil && r.key == o.key }

// admits reports whether all of the volumes can be used on the node.
func (r *reach) admits(n *node) bool {
	return r == nil || !slices.ContainsFunc(r.of, func(of *volume) bool { return !of.near(n) || !of.zoned(n) })
}

// lacking is what the node lacks, in words; empty if it reaches the volumes.
func (r *reach) lacking(n *node) string {
	if r == nil {
		return ""
	}
	for _, of := range r.of {
		switch {
		case !of.near(n):
			return cmp.Or(unmetTerms(n.object, of.on(n).Spec.NodeAffinity.Required), "its node affinity")
		case !of.zoned(n):
			for _, key := range topologyLabels() {
				if value, has := of.object.Labels[key]; has && !inZones(n.object.Labels, key, value) {
					return key + "=" + value
				}
			}
		}
	}
	return ""
}

// on is the volume as it is on the node: as its driver has it where that replaces its plugin.
func (of *volume) on(n *node) *v1.PersistentVolume {
	if of.replacing != nil && n.drivers.replaces(of.plugin) {
		return of.replacing
	}
	return of.object
}

// near reports whether the node matches the volume's affinity.
func (of *volume) near(n *node) bool {
	return storagehelpers.CheckNodeAffinity(of.on(n), n.object.Labels) == nil
}

// topologyLabels are the labels of volumes that name zones and regions, in upstream's order.
func topologyLabels() []string {
	return []string{v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion, v1.LabelTopologyZone, v1.LabelTopologyRegion}
}

// zoned reports whether the node is where the volume's labels say. A node that has no such label may be anywhere.
func (of *volume) zoned(n *node) bool {
	has := n.object.Labels
	anywhere := !slices.ContainsFunc(topologyLabels(), func(key string) bool { _, labelled := has[key]; return labelled })
	return anywhere || !slices.ContainsFunc(topologyLabels(), func(key string) bool {
		value, asks := of.object.Labels[key]
		return asks && !inZones(has, key, value)
	})
}

// inZones reports whether the labels of a node are in the zones, or regions, that a volume's label lists. A list that cannot be read asks nothing.
func inZones(has map[string]string, key, list string) bool {
	zones, err := volumehelpers.LabelZonesToSet(list)
	if err != nil {
		return true
	}
	in, labelled := has[key]
	if !labelled {
		switch key { // its newer name does as well
		case v1.LabelFailureDomainBetaZone:
			key = v1.LabelTopologyZone
		case v1.LabelFailureDomainBetaRegion:
			key = v1.LabelTopologyRegion
		}
		in, labelled = has[key]
	}
	return labelled && zones.Has(in)
}
