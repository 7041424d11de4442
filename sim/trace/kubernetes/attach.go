package kubernetes

import (
	"strings"

	"fairlead.dev/fairlead/internal/manifest"
)

// This file is how many volumes a node attaches, which its CSINode says for each driver. They are a resource
// for each driver that has a limit anywhere, of which a pod asks for one for each of its volumes; a node without
// a limit offers as many as all pods ask for.
//
// A volume that several pods share takes one of a node, however many of them are there. So among pods that
// run it counts for the first on each node; of a pod that waits it always counts, as nobody knows where the
// pod comes to stand: a node may then be taken for full that is not.

// attachable is the name of the resource of a driver.
func attachable(driver string) string { return "attachable volumes of " + driver }

// limitsOf are the limits that a CSINode says.
func limitsOf(o *manifest.Object) map[string]int64 {
	limits := map[string]int64{}
	for _, d := range o.Spec.Drivers {
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			limits[d.Name] = max(*d.Allocatable.Count, 0)
		}
	}
	return limits
}

// attach adds the resources to what pods ask for, and nodes offer.
func (s *mounter) attach() {
	limited := map[string]bool{}
	for i := range s.nodes {
		for driver := range s.storage.limits[s.nodes[i].csi] {
			limited[driver] = true
		}
	}
	if len(limited) == 0 {
		return
	}
	there := map[string]bool{}  // volumes, behind their nodes
	asked := map[string]int64{} // drivers: how many volumes in all
	for i := range s.pods {
		p := &s.pods[i]
		count := map[string]int64{}
		for _, volume := range s.storage.attachedBy(p) {
			driver, _, _ := strings.Cut(volume, "\n")
			at := p.node + "\n" + volume
			if !limited[driver] || p.node != "" && there[at] {
				continue
			}
			there[at] = true
			asked[driver]++
			count[attachable(driver)]++
		}
		p.requests = with(p.requests, count)
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		limits := map[string]int64{}
		for driver, all := range asked {
			most, known := s.storage.limits[n.csi][driver]
			if !known {
				most = all
			}
			limits[attachable(driver)] = most
		}
		n.capacity = with(n.capacity, limits)
	}
}

// attachedBy are the volumes that a node attaches for the pod, each once: the driver, and what it calls them.
func (s *storage) attachedBy(p *pod) (list []string) {
	seen := map[string]bool{}
	for i := range p.volumes {
		name, c := s.claimOf(p, &p.volumes[i].Volume)
		if c == nil {
			continue
		}
		driver, handle := "", "claim "+name
		if v := s.volumes[c.Volume]; v != nil {
			driver, handle = v.Driver, v.Handle
		} else if class := s.classes[c.Class]; class != nil {
			driver = manifest.DriverOf(class.Provisioner)
		}
		if volume := driver + "\n" + handle; driver != "" && handle != "" && !seen[volume] {
			seen[volume] = true
			list = append(list, volume)
		}
	}
	return list
}

// mount is a volume of a pod that matters to where it may be, and its place among all of them.
type mount struct {
	manifest.Volume
	index int
}

// mountsOf are those of a pod.
func mountsOf(spec *manifest.Spec) (list []mount) {
	for i, v := range spec.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.Disks != (manifest.Disks{}) {
			list = append(list, mount{v, i})
		}
	}
	return list
}
