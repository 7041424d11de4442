// Package locality says where the input of tasks lies: how much of it a node has, and its rack, and how much has
// to come from elsewhere. Racks are the sets of the node group "rack".
package locality

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Rack is a number of a rack.
type Rack int32

// What is no rack.
const (
	Lost Rack = -1 // the node is not there
	None Rack = 0  // the node is in no rack
)

// Locality is where input lies. The zero value is ready; what it says is about the task that was located last.
type Locality struct {
	Nodes []OnNode // that have some of the input, in no order that matters
	Racks []InRack // that have some

	total  int64
	rackOf []Rack // by node row
	named  map[string]Rack
}

// OnNode is how much of an input a node has.
type OnNode struct {
	Node  cluster.NodeID
	Bytes int64
}

// InRack is how much of an input a rack has, whichever of its nodes; or those that are in no rack, each by itself.
type InRack struct {
	Rack  Rack
	Bytes int64
}

// Learn takes in changed nodes, or all of them, and reports whether one came, went, or is in another rack.
func (l *Locality) Learn(s *cluster.View, all bool, nodes []cluster.NodeID) (moved bool) {
	if all {
		l.rackOf, l.named = l.rackOf[:0], nil
	}
	for len(l.rackOf) < s.NodeRows() {
		l.rackOf = append(l.rackOf, Lost)
	}
	for _, n := range nodes {
		rack := l.find(s, n)
		moved = moved || rack != l.rackOf[n]
		l.rackOf[n] = rack
	}
	return moved
}

// find is the rack of a node as it is now.
func (l *Locality) find(s *cluster.View, n cluster.NodeID) Rack {
	if !s.NodeLive(n) {
		return Lost
	}
	for _, g := range s.NodeSpec(n).Groups {
		if g.Key != "rack" {
			continue
		}
		rack, ok := l.named[g.Value]
		if !ok {
			if l.named == nil {
				l.named = map[string]Rack{}
			}
			rack = Rack(len(l.named) + 1)
			l.named[g.Value] = rack
		}
		return rack
	}
	return None
}

// RackOf is the rack of a node.
func (l *Locality) RackOf(n cluster.NodeID) Rack { return l.rackOf[n] }

// Locate adds up what of the task's input is where, and returns how much it is in all.
func (l *Locality) Locate(s *cluster.View, t cluster.TaskID) (bytes int64) {
	l.total, l.Nodes, l.Racks = 0, l.Nodes[:0], l.Racks[:0]
	for _, block := range s.Input(t) {
		l.total += block.Bytes
		for i, n := range block.Replicas {
			if !l.holds(s, n) {
				continue
			}
			l.addNode(n, block.Bytes)
			sameRack := func(o cluster.NodeID) bool { return l.holds(s, o) && l.rackOf[o] == l.rackOf[n] }
			if !slices.ContainsFunc(block.Replicas[:i], sameRack) {
				l.addRack(l.rackOf[n], block.Bytes)
			}
		}
	}
	return l.total
}

// Copy is what it says of the task that was located last, to be kept for as long as no node changes.
func (l *Locality) Copy() Locality {
	return Locality{Nodes: slices.Clone(l.Nodes), Racks: slices.Clone(l.Racks), total: l.total, rackOf: l.rackOf}
}

func (l *Locality) holds(s *cluster.View, n cluster.NodeID) bool {
	return n != cluster.NoNode && int(n) < len(l.rackOf) && s.NodeLive(n)
}

func (l *Locality) addNode(n cluster.NodeID, bytes int64) {
	for i := range l.Nodes {
		if l.Nodes[i].Node == n {
			l.Nodes[i].Bytes += bytes
			return
		}
	}
	l.Nodes = append(l.Nodes, OnNode{n, bytes})
}

func (l *Locality) addRack(r Rack, bytes int64) {
	for i := range l.Racks {
		if l.Racks[i].Rack == r {
			l.Racks[i].Bytes += bytes
			return
		}
	}
	l.Racks = append(l.Racks, InRack{r, bytes})
}

// From is how much of the input a task on the node would have to fetch from others of its rack, and how much from
// elsewhere.
func (l *Locality) From(n cluster.NodeID) (rack, elsewhere int64) {
	here, near := int64(0), l.InRackOf(n)
	for i := range l.Nodes {
		if l.Nodes[i].Node == n {
			here = l.Nodes[i].Bytes
		}
	}
	near = max(near, here)
	return near - here, l.total - near
}

// InRackOf is how much of the input the node's rack has; 0 of a node that is in none.
func (l *Locality) InRackOf(n cluster.NodeID) int64 {
	if l.rackOf[n] == None {
		return 0
	}
	for i := range l.Racks {
		if l.Racks[i].Rack == l.rackOf[n] {
			return l.Racks[i].Bytes
		}
	}
	return 0
}
