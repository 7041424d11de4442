package book

import "fairlead.dev/fairlead/cluster"

// zoneLabel is where Kubernetes has the zone of a node.
const zoneLabel = "topology.kubernetes.io/zone"

// Zones are the zones that nodes are in, by their labels or groups, as numbers from 1 on in the order in which they were met. The zero value
// is ready.
type Zones struct {
	of    []int32 // by node row; 0: in none, or not there
	nodes []int32 // by number, less one: how many are in it
	named map[string]int32
}

// Learn takes in changed nodes.
func (z *Zones) Learn(s *cluster.View, nodes []cluster.NodeID) {
	for len(z.of) < s.NodeRows() {
		z.of = append(z.of, 0)
	}
	for _, n := range nodes {
		if was := z.of[n]; was > 0 {
			z.nodes[was-1]--
		}
		z.of[n] = z.find(s, n)
		if is := z.of[n]; is > 0 {
			z.nodes[is-1]++
		}
	}
}

// find is the zone of the node as it is now.
func (z *Zones) find(s *cluster.View, n cluster.NodeID) int32 {
	if !s.NodeLive(n) {
		return 0
	}
	spec := s.NodeSpec(n)
	for _, list := range [][]cluster.Label{spec.Labels, spec.Groups} {
		for _, l := range list {
			if l.Key != zoneLabel {
				continue
			}
			zone, known := z.named[l.Value]
			if !known {
				z.nodes = append(z.nodes, 0)
				zone = int32(len(z.nodes))
				if z.named == nil {
					z.named = map[string]int32{}
				}
				z.named[l.Value] = zone
			}
			return zone
		}
	}
	return 0
}

// Of is the zone of a node; 0 where it is in none.
func (z *Zones) Of(n cluster.NodeID) int32 { return z.of[n] }

// Last is the largest number of a zone.
func (z *Zones) Last() int32 { return int32(len(z.nodes)) }

// Has reports whether any node is in the zone, which is not 0.
func (z *Zones) Has(zone int32) bool { return z.nodes[zone-1] > 0 }
