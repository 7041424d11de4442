package kubernetes

import (
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

// contested lists the ports that two pods could both want on one node, in a
// fixed order, with the kinds for single addresses behind.
func contested(pods []pod) []manifest.Port {
	users := map[manifest.Port][]*pod{} // by the port on all addresses
	for i := range pods {
		for _, p := range pods[i].ports {
			p.Address = ""
			if own := users[p]; len(own) == 0 || own[len(own)-1] != &pods[i] {
				users[p] = append(own, &pods[i])
			}
		}
	}
	wanted := map[manifest.Port]bool{} // those of users that are contested
	for p, own := range users {
		wanted[p] = !apart(own)
	}
	return portsOf(pods, func(p manifest.Port) bool { return wanted[p] })
}

// mostPorts is how many ports fairlead-scheduler has columns for.
const mostPorts = 512

// allPorts lists the ports that pods want, contested or not.
func allPorts(pods []pod) []manifest.Port {
	return portsOf(pods, func(manifest.Port) bool { return true })
}

// portsOf lists those of which the port on all addresses is wanted.
func portsOf(pods []pod, wanted func(manifest.Port) bool) []manifest.Port {
	found := map[manifest.Port]bool{}
	for i := range pods {
		for _, p := range pods[i].ports {
			anywhere := p
			anywhere.Address = ""
			if wanted(anywhere) {
				found[p], found[anywhere] = true, true
			}
		}
	}
	ports := make([]manifest.Port, 0, len(found))
	for p := range found {
		ports = append(ports, p)
	}
	slices.SortFunc(ports, func(a, b manifest.Port) int { return strings.Compare(a.String(), b.String()) })
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

func portKind(p manifest.Port) cluster.Kind {
	return cluster.Kind{Name: p.String(), Unit: cluster.ExclusiveUnit, PerUnit: wholePort}
}

// takePorts adds to the demand what the pod's ports take.
func takePorts(demand cluster.Vector, ports []manifest.Port, column map[manifest.Port]int) {
	take := func(p manifest.Port, q int64) {
		if at, ok := column[p]; ok {
			demand[at] = min(wholePort, demand[at]+q)
		}
	}
	for _, p := range ports {
		if p.Address == "" {
			take(p, wholePort)
			continue
		}
		take(p, wholePort)
		p.Address = ""
		take(p, 1)
	}
}
