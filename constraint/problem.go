package constraint

import (
	"math"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file is the problem that every solver is given: a cluster, applications that are to
// be placed on it or run there already, and what is asked of the placement. Rows are
// indices into its slices.

// Nowhere stands where a container is on no node.
const Nowhere int32 = -1

// Problem is one decision of the constraint scheduler. A solver reads it and never writes.
type Problem struct {
	Kinds  []cluster.Kind
	Nodes  []Node
	Groups []Group // Groups[0] is cluster.EachNode
	// Applications own consecutive containers.
	Applications []Application
	Shapes       []Shape
	Containers   []Container
	Constraints  []cluster.Constraint
	Objective    Objective
}

// Node is a node of the problem.
type Node struct {
	ID       cluster.NodeID
	Name     string
	Capacity cluster.Vector
	// Free is what is left beside everything that is on the node when the problem is
	// posed, containers of the problem included; it may be below 0.
	Free cluster.Vector
	// Devices is what is left of each of its devices, by place; NoDevice where it has none.
	Devices []int64
}

// NoDevice is left of a device that a node does not have. Nobody fits there; who holds one
// that was lost may stay.
const NoDevice = math.MinInt64 / 2

// AddDevices adds devices of the kind, which comes behind those that the node has.
func (n *Node) AddDevices(kind cluster.DeviceKind, left ...int64) {
	if len(left) == 0 {
		return
	}
	for len(n.Devices) < kind.First {
		n.Devices = append(n.Devices, NoDevice)
	}
	n.Devices = append(n.Devices, left...)
}

// HasDevices reports whether the node has as many devices, empty or not.
func (n *Node) HasDevices(needs cluster.DeviceNeeds) bool {
	for _, need := range needs {
		count := 0
		for i, left := range n.Devices {
			if need.Places.Has(i) && left > NoDevice/2 {
				count++
			}
		}
		if count < need.Count {
			return false
		}
	}
	return true
}

// WholeDevices adds as many empty devices of each kind as the node's capacity says.
func (n *Node) WholeDevices(kinds []cluster.Kind) {
	for _, kind := range cluster.DeviceKinds(kinds) {
		n.AddDevices(kind, slices.Repeat([]int64{kind.Size}, kind.Count(n.Capacity))...)
	}
}

// Group is a family of node sets.
type Group struct {
	Name string
	Sets []string // the names of its sets, sorted
	// SetOf is the set that each node is in, by node; Nowhere if in none.
	SetOf []int32
}

// Application is what is placed whole or not at all: its containers from First up to
// End.
type Application struct {
	Name       string
	First, End int32
	// Deployed says that it runs already. It is never taken off; of its containers, those
	// that are Fixed stay where they are. Those that are on no node, since their node was lost or
	// they were evicted, are loose: each is placed by itself or not.
	Deployed bool
}

// Shape is what containers of an application that nothing distinguishes have in common: cluster.Shape,
// with the nodes that it may use written out.
type Shape struct {
	Application int32
	Demand      cluster.Vector
	Needs       cluster.DeviceNeeds
	Tags        []string // sorted, cluster.AppTag included
	// Eligible says which nodes the shape may use, by node; nil is all of them.
	Eligible []bool
	// PerNode is how many containers of the application a node may hold where one of
	// this shape is; 0 is no limit. It is as hard as room is.
	PerNode int32
}

// Container is one container of an application: Medea's word for what is a task elsewhere.
type Container struct {
	Task  cluster.TaskID // whose it is, where the problem is a cluster's
	Shape int32
	// At is where it is when the problem is posed; Nowhere if it is to be placed.
	At int32
	// Devices are those that it holds there.
	Devices cluster.DeviceSet
	// Fixed says that it stays there.
	Fixed bool
}

// Objective weighs what an operator cares for, all in thousandths of one violation of a
// constraint of weight 1. What is weighed with 0 is reported all the same. Less is better.
type Objective struct {
	// Unplaced is for each application that is not placed, Loose for each container of a
	// deployed one that is on no node.
	Unplaced, Loose int64
	// Violation is for each subject for which a bound of the chosen alternative does not
	// hold, and Extent for all that it misses, cluster.Bound.Misses of 1000; both times
	// the constraint's weight.
	Violation, Extent int64
	// Moved is for each container that leaves the node it is on.
	Moved int64
	// Fragmented is for each node that has less than Least left of some kind.
	Fragmented int64
	Least      cluster.Vector
	// Used is for each node that holds a container of the problem.
	Used int64
	// Peak is for all of a node, in the kind of which the largest share is taken, on the
	// node that is the fullest.
	Peak int64
}

// Standard is the objective that is meant where none is given: applications, and each container
// that one lacks, come before constraints, and what is fragmented breaks ties, where few nodes are.
func Standard() Objective {
	return Objective{Unplaced: 1_000_000, Loose: 1_000_000, Violation: 1000, Extent: 100, Moved: 1500, Fragmented: 10}
}

// Assignment says on which node each container is, by container; Nowhere if on none.
type Assignment []int32

// Start is the assignment as it is when the problem is posed.
func (p *Problem) Start() Assignment {
	a := make(Assignment, len(p.Containers))
	for i := range p.Containers {
		a[i] = p.Containers[i].At
	}
	return a
}
