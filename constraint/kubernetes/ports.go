package kubernetes

import (
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
)

// This file is host ports: pods that want the same one share no node, which is anti-affinity
// by a tag for the port. A port on all addresses shuns the port on any; one on a single
// address shuns the port there and on all.

const everyAddress = "every address"

// portTag is the tag of pods that take the port, on that address or, without one, on any.
func portTag(p manifest.Port, address string) []string {
	p.Address = address
	return []string{tagPrefix + p.String()}
}

// tagPorts puts the tags of its host ports on a workload.
func (t *translator) tagPorts(i int) {
	for _, p := range t.cluster.Workloads[i].Spec.HostPorts() {
		address := p.Address
		if address == "" {
			address = everyAddress
		}
		t.Tags[i] = append(append(t.Tags[i], portTag(p, "")...), portTag(p, address)...)
	}
}

// separatePorts keeps those who want a port of the workload off its nodes.
func (t *translator) separatePorts(i int) {
	shun := func(p manifest.Port, target []string) {
		t.hard(i, fmt.Sprint(p), [][]cluster.Bound{{{Subject: t.subject[i], Target: target, Group: cluster.EachNode}}})
	}
	for _, p := range t.cluster.Workloads[i].Spec.HostPorts() {
		if p.Address == "" {
			shun(p, portTag(p, ""))
			continue
		}
		shun(p, portTag(p, p.Address))
		shun(p, portTag(p, everyAddress))
	}
}
