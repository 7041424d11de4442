package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// This file is host ports, of which a node has each once on each of its addresses.

// Port is a host port. No address means all of them.
type Port struct {
	Protocol string
	Number   int32
	Address  string
}

// String is the port as the Kubernetes front end calls it.
func (p Port) String() string {
	return strings.TrimSuffix(fmt.Sprintf("host port %s/%d on %s", p.Protocol, p.Number, p.Address), " on ")
}

// HostPorts lists the ports that the pod takes on its node, each once.
func (s *Spec) HostPorts() []Port {
	var ports []Port
	add := func(c *Container) {
		for _, want := range c.Ports {
			p := Port{Protocol: want.Protocol, Number: want.HostPort, Address: want.HostIP}
			if p.Protocol == "" {
				p.Protocol = "TCP"
			}
			if p.Address == "0.0.0.0" {
				p.Address = ""
			}
			if p.Number > 0 && !slices.Contains(ports, p) {
				ports = append(ports, p)
			}
		}
	}
	for i := range s.InitContainers {
		if s.InitContainers[i].isSidecar() {
			add(&s.InitContainers[i])
		}
	}
	for i := range s.Containers {
		add(&s.Containers[i])
	}
	return ports
}
