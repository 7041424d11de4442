package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/manifest"
)

// This file turns host ports into kinds of which every node has one unit. A port
// on all addresses takes the whole of it; one on a single address takes a tiny
// part of that, and the whole of a kind for the port on this address. A port
// that nobody else can ask a node for needs no kind: that of one pod alone, and
// that of pods which are each pinned to a node of their own, as a DaemonSet's.

// wholePort is one unit: more than the number of addresses that any node has.
const wholePort = 1 << 20

// port is a host port. No address means all of them.
type port struct {
	protocol string
	number   int32
	address  string
}

// String is the port as the Kubernetes front end calls it.
func (p port) String() string {
	return strings.TrimSuffix(fmt.Sprintf("host port %s/%d on %s", p.protocol, p.number, p.address), " on ")
}

// hostPorts lists the ports that the pod takes on its node, each once.
func hostPorts(s *manifest.Spec) []port {
	var ports []port
	add := func(c *manifest.Container) {
		for _, want := range c.Ports {
			p := port{protocol: want.Protocol, number: want.HostPort, address: want.HostIP}
			if p.protocol == "" {
				p.protocol = "TCP"
			}
			if p.address == "0.0.0.0" {
				p.address = ""
			}
			if p.number > 0 && !slices.Contains(ports, p) {
				ports = append(ports, p)
			}
		}
	}
	for i := range s.InitContainers {
		if s.InitContainers[i].IsSidecar() {
			add(&s.InitContainers[i])
		}
	}
	for i := range s.Containers {
		add(&s.Containers[i])
	}
	return ports
}

// contested lists the ports that two pods could both want on one node, in a
// fixed order, with the kinds for single addresses behind.
func contested(pods []pod) []port {
	users := map[port][]*pod{} // by the port on all addresses
	for i := range pods {
		for _, p := range pods[i].ports {
			p.address = ""
			if own := users[p]; len(own) == 0 || own[len(own)-1] != &pods[i] {
				users[p] = append(own, &pods[i])
			}
		}
	}
	wanted := map[port]bool{} // those of users that are contested
	for p, own := range users {
		wanted[p] = !apart(own)
	}
	found := map[port]bool{}
	for i := range pods {
		for _, p := range pods[i].ports {
			anywhere := p
			anywhere.address = ""
			if wanted[anywhere] {
				found[p], found[anywhere] = true, true
			}
		}
	}
	ports := make([]port, 0, len(found))
	for p := range found {
		ports = append(ports, p)
	}
	slices.SortFunc(ports, func(a, b port) int { return strings.Compare(a.String(), b.String()) })
	return ports
}

// apart reports whether no two of the pods can ever be on one node.
func apart(pods []*pod) bool {
	if len(pods) == 1 {
		return true
	}
	taken := map[string]bool{}
	for _, p := range pods {
		on := p.rules.pinned()
		if on == "" || taken[on] {
			return false
		}
		taken[on] = true
	}
	return true
}

// portUnit is what kinds of ports are measured in.
const portUnit = "ports"

func portKind(p port) cluster.Kind {
	return cluster.Kind{Name: p.String(), Unit: portUnit, PerUnit: wholePort}
}

// takePorts adds to the demand what the pod's ports take.
func takePorts(demand cluster.Vector, ports []port, column map[port]int) {
	take := func(p port, q int64) {
		if at, ok := column[p]; ok {
			demand[at] = min(wholePort, demand[at]+q)
		}
	}
	for _, p := range ports {
		if p.address == "" {
			take(p, wholePort)
			continue
		}
		take(p, wholePort)
		p.address = ""
		take(p, 1)
	}
}
