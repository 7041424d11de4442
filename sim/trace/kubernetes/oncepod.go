package kubernetes

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
)

// This file is volumes that pods cannot share: claims that one pod at a time may use, wherever it is, which is a
// hard constraint over the cluster; and disks that pods name themselves, of which Kubernetes lets a node mount one
// for one pod, unless all only read. The latter are refused by name where several pods have the same disk.

// wholeCluster is the group of which all nodes are one set.
const wholeCluster = "k8s:cluster"

// separate adds the constraints, and refuses the disks.
func (s *mounter) separate() {
	s.refuseDisks()
	claims, users := s.sharedOnce()
	if len(claims) == 0 || blind(s.Source) {
		return
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		n.groups = append(slices.Clone(n.groups), cluster.Label{Key: wholeCluster, Value: "all"})
		cluster.SortLabels(n.groups)
	}
	for _, name := range claims {
		tag := []string{"k8s:claim " + name}
		for _, p := range users[name] {
			p.tags = union(p.tags, tag)
		}
		s.constraints = append(s.constraints, cluster.Constraint{
			Name: "claim " + name + ": " + manifest.OncePod, Hard: true,
			Any: [][]cluster.Bound{{{Subject: tag, Target: tag, Max: 0, Group: wholeCluster}}},
		})
	}
}

// sharedOnce are the claims that one pod at a time may use, and that several do.
func (s *mounter) sharedOnce() (claims []string, users map[string][]*pod) {
	users = map[string][]*pod{}
	for i := range s.pods {
		p := &s.pods[i]
		for k := range p.volumes {
			v := &p.volumes[k].Volume
			name, c := s.storage.claimOf(p, v)
			if c == nil || v.Ephemeral != nil || !slices.Contains(c.AccessMode, manifest.OncePod) || slices.Contains(users[name], p) {
				continue
			}
			if users[name] = append(users[name], p); len(users[name]) == 2 {
				claims = append(claims, name)
			}
		}
	}
	return claims, users
}

// mounters are who mounts a disk.
type mounters struct {
	pods   []*pod
	fields []string // of each
	writes bool     // one of them does not only read
}

// refuseDisks refuses those that several pods name themselves.
func (s *mounter) refuseDisks() {
	disks := map[string]*mounters{}
	for i := range s.pods {
		p := &s.pods[i]
		for k := range p.volumes {
			field, name, readOnly := disk(&p.volumes[k].Disks)
			if field == "" {
				continue
			}
			d := disks[field+" "+name]
			if d == nil {
				d = &mounters{}
				disks[field+" "+name] = d
			}
			d.pods, d.writes = append(d.pods, p), d.writes || !readOnly
			d.fields = append(d.fields, fmt.Sprintf("spec.volumes[%d].%s", p.volumes[k].index, field))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(disks)) {
		d := disks[key]
		for i, p := range d.pods {
			if d.writes && len(d.pods) > 1 {
				s.gap(p.file, p.name, gap{d.fields[i], fmt.Sprintf("that a node mounts a disk for one pod alone is not simulated, and %d pods have this one", len(d.pods))})
			}
		}
	}
}

// disk is the field that names a disk, what it is called there, and whether the pod only reads it; empty for
// those that pods can share on a node.
func disk(d *manifest.Disks) (field, name string, readOnly bool) {
	switch {
	case d.AWS != nil:
		return "awsElasticBlockStore", d.AWS.Volume, false
	case d.GCE != nil:
		return "gcePersistentDisk", d.GCE.Name, d.GCE.ReadOnly
	case d.ISCSI != nil:
		return "iscsi", d.ISCSI.IQN, d.ISCSI.ReadOnly
	case d.RBD != nil:
		return "rbd", d.RBD.Pool + "/" + d.RBD.Image, d.RBD.ReadOnly
	}
	return "", "", false
}
