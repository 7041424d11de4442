package book

import "fairlead.dev/fairlead/cluster"

// zoneLabel is where Kubernetes has the zone of a node.
const zoneLabel = "topology.kubernetes.io/zone"

// nowhere is the zone of a node that is not there.
const nowhere = -1

// Zones are the zones that nodes are in, by their labels or groups, as numbers from 1 on. All that are in none are in zone 0. The number of a
// zone without nodes is given to the next one that is new. The zero value is ready.
type Zones struct {
	of    []int32 // by node row
	nodes []int32 // by number: how many are in it
	names []string
	named map[string]int32
}

// Learn takes in changed nodes.
func (z *Zones) Learn(s *cluster.View, nodes []cluster.NodeID) {
	if z.named == nil {
		z.nodes, z.names, z.named = []int32{0}, []string{""}, map[string]int32{}
	}
	for len(z.of) < s.NodeRows() {
		z.of = append(z.of, nowhere)
	}
	for _, n := range nodes {
		z.leave(z.of[n])
		z.of[n] = nowhere
		if s.NodeLive(n) {
			z.of[n] = z.number(zoneOf(s, n))
			z.nodes[z.of[n]]++
		}
	}
}

// leave says that the zone has one node less.
func (z *Zones) leave(zone int32) {
	if zone == nowhere {
		return
	}
	if z.nodes[zone]--; z.nodes[zone] == 0 && zone > 0 {
		delete(z.named, z.names[zone])
	}
}

// number is the number of the zone of that name.
func (z *Zones) number(name string) int32 {
	if name == "" {
		return 0
	}
	if zone, known := z.named[name]; known {
		return zone
	}
	zone := int32(1)
	for int(zone) < len(z.nodes) && z.nodes[zone] > 0 {
		zone++
	}
	if int(zone) == len(z.nodes) {
		z.nodes, z.names = append(z.nodes, 0), append(z.names, "")
	}
	z.names[zone], z.named[name] = name, zone
	return zone
}

// zoneOf is the name of the zone of a node; empty where it is in none.
func zoneOf(s *cluster.View, n cluster.NodeID) string {
	spec := s.NodeSpec(n)
	for _, list := range [][]cluster.Label{spec.Labels, spec.Groups} {
		for _, l := range list {
			if l.Key == zoneLabel {
				return l.Value
			}
		}
	}
	return ""
}

// Of is the zone of a node; 0 also of one that has come since.
func (z *Zones) Of(n cluster.NodeID) int32 {
	if int(n) >= len(z.of) {
		return 0
	}
	return max(z.of[n], 0)
}

// Numbers is one more than the largest number of a zone.
func (z *Zones) Numbers() int32 { return int32(len(z.nodes)) }

// Has reports whether any node is in the zone.
func (z *Zones) Has(zone int32) bool { return z.nodes[zone] > 0 }
