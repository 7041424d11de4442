package fairlead

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sched/lifetime"
	"fairlead.dev/fairlead/sched/worth"
)

// This file has tasks go where others leave no sooner than they do, if lifetimes are asked for (LAVA, MLSys 2025): a place on a node is
// the dearer the longer the task would keep it in use beyond what is thought of it now, and on an empty node the longer it stays. That
// depends on the task, so that nodes are looked at that could be cheaper without it (finding.cheapest). Where this counts nobody is moved, as for
// who has input.

// outlivePrice is for each bin of time, of which there are four to a doubling: two days cost as much as any room.
const outlivePrice = worth.Most / 48

// outliving is until when nodes will be in use, and how long the task stays that was located last.
type outliving struct {
	nodes *lifetime.Nodes // nil: lifetimes count for nothing
	stay  int
}

// learn takes in what changed.
func (o *outliving) learn(s *cluster.View, c *sched.Changed) {
	if o.nodes != nil {
		o.nodes.Learn(s, c, func(cluster.NodeID) {}) // it is in no index
	}
}

// locate prepares for the prices of a task, and reports whether it pays any.
func (o *outliving) locate(s *cluster.View, t cluster.TaskID) bool {
	if o.nodes == nil {
		return false
	}
	o.stay = lifetime.Bin(o.nodes.By.Remaining(s, t))
	return true
}

// price is what the task that was located last pays on the node.
func (o *outliving) price(n cluster.NodeID) worth.Price {
	if o.nodes == nil {
		return 0
	}
	return outlivePrice * worth.Price(o.nodes.Extends(o.stay, n))
}

// placed takes in that a task has come to the node.
func (o *outliving) placed(s *cluster.View, n cluster.NodeID) {
	if o.nodes != nil {
		o.nodes.Look(s, n)
	}
}
