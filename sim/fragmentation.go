package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/report"
)

// This file measures how much of the free devices is of no use: the fragmentation
// of Weng et al. (USENIX ATC 2023), by the tasks that are typical of the
// workload. They are given by the source, or learned from what is submitted, each
// task once. Between two looks only the nodes that changed are measured anew.

// fragmentation is the sum over nodes.
type fragmentation struct {
	mix   *cluster.Mix
	read  uint64 // position up to which the change log was read
	all   bool   // every node has to be measured anew
	stale []cluster.NodeID
	node  []fragment
	waste wide.Number // quantities × tasks
	free  int64
}

// fragment is what a node adds to the sums.
type fragment struct {
	stale       bool
	waste, free int64
	admits      []bool
	left        []int64
}

// newFragmentation is nil for a cluster without devices.
func newFragmentation(kinds []cluster.Kind, typical []cluster.Typical) *fragmentation {
	for _, k := range kinds {
		if k.Devices {
			return &fragmentation{mix: cluster.NewMix(kinds, typical)}
		}
	}
	return nil
}

// follow reads what has changed, as holdings do.
func (f *fragmentation) follow(s *cluster.View) {
	if f == nil {
		return
	}
	touches, ok := s.ChangesSince(f.read)
	f.read = s.LogEnd()
	if !ok { // more happened at once than the core remembers
		f.all = true
		for t := range s.TaskRows() {
			f.mix.Learn(s, cluster.TaskID(t))
		}
	}
	for _, touch := range touches {
		switch touch.Table {
		case cluster.Tasks:
			f.all = f.mix.Learn(s, cluster.TaskID(touch.Row)) || f.all
		case cluster.Nodes:
			f.note(cluster.NodeID(touch.Row))
		case cluster.Sets:
			if touch.Node != cluster.NoNode {
				f.note(touch.Node)
			}
		case cluster.Jobs, cluster.Shapes, cluster.Constraints, cluster.Tables: // take nothing
		}
	}
}

// note says that the node has changed.
func (f *fragmentation) note(n cluster.NodeID) {
	for len(f.node) <= int(n) {
		f.node = append(f.node, fragment{})
	}
	if !f.node[n].stale {
		f.node[n].stale = true
		f.stale = append(f.stale, n)
	}
}

// share is the part of what is free now that is a fragment; 0 if nothing is
// free.
func (f *fragmentation) share(s *cluster.View) float64 {
	if f.all {
		for n := range s.NodeRows() {
			f.note(cluster.NodeID(n))
		}
		f.all = false
	}
	for _, n := range f.stale {
		f.measure(s, n)
	}
	f.stale = f.stale[:0]
	return float64(report.Ratio(f.waste.Float(), float64(float64(f.free)*float64(f.mix.Tasks()))))
}

// measure brings the sums up to date with the node.
func (f *fragmentation) measure(s *cluster.View, n cluster.NodeID) {
	row := &f.node[n]
	f.waste, f.free = f.waste.Minus(wide.Of(row.waste)), f.free-row.free
	row.stale, row.waste, row.free = false, 0, 0
	if !s.NodeLive(n) {
		return
	}
	row.left = s.FreeDevices(n, row.left[:0])
	for _, q := range row.left {
		row.free += q
	}
	row.admits = f.mix.Admits(s, n, row.admits[:0])
	row.waste = f.mix.Waste(row.admits, f.mix.FreeCPU(s, n), row.left)
	f.waste, f.free = f.waste.Plus(wide.Of(row.waste)), f.free+row.free
}
