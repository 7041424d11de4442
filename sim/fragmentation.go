package sim

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/report"
)

// This file measures how much of the free devices is of no use: the fragmentation
// of Weng et al. (USENIX ATC 2023), by the tasks that are typical of the
// workload. They are given by the source, or learned from what is submitted, each
// task once. Between two looks only the nodes that changed are measured anew.

// fragments is the sum over nodes.
type fragments struct {
	kinds  []string // that come in devices
	mix    *fragmentation.Mix
	all    bool // every node has to be measured anew
	stale  []cluster.NodeID
	node   []fragment
	sums   []freeOf           // by kind
	left   fragmentation.Left // scratch
	admits []bool             // scratch
}

// freeOf is what is free of a kind on all nodes.
type freeOf struct {
	waste wide.Number // quantities × tasks
	free  int64
}

// fragment is what a node adds to the sums.
type fragment struct {
	stale       bool
	waste, free []int64 // by kind; nothing of a node that is not live, or has nothing free
}

// newFragments is nil for a cluster without devices.
func newFragments(kinds []cluster.Kind, typical []fragmentation.Typical) *fragments {
	f := &fragments{mix: fragmentation.NewMix(kinds, typical)}
	for _, of := range cluster.DeviceKinds(kinds) {
		f.kinds = append(f.kinds, kinds[of.Kind].Name)
	}
	if f.kinds == nil {
		return nil
	}
	f.sums = make([]freeOf, len(f.kinds))
	return f
}

func (f *fragments) advance(s *span) {
	for t := range s.tasks() {
		f.all = f.mix.Learn(s.state, t) || f.all
	}
	for n := range s.nodes() {
		f.note(n)
	}
	for _, touch := range s.touches {
		if touch.Table == cluster.Sets && touch.Node != cluster.NoNode {
			f.note(touch.Node)
		}
	}
}

func (f *fragments) result(s *span, r *report.Run) {
	r.Fragmentation = map[string]report.Fragmentation{}
	for k, name := range f.kinds {
		r.Fragmentation[name] = report.Fragmentation{Final: report.Number(f.share(s.state, k))}
	}
}

// note says that the node has changed.
func (f *fragments) note(n cluster.NodeID) {
	f.node = grown(f.node, n, fragment{})
	if !f.node[n].stale {
		f.node[n].stale = true
		f.stale = append(f.stale, n)
	}
}

// share is the part of what is free of a kind now that is a fragment; 0 if nothing is
// free.
func (f *fragments) share(s *cluster.View, kind int) float64 {
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
	of := &f.sums[kind]
	return float64(report.Ratio(of.waste.Float(), float64(float64(of.free)*float64(f.mix.Tasks()))))
}

// measure brings the sums up to date with the node.
func (f *fragments) measure(s *cluster.View, n cluster.NodeID) {
	row := &f.node[n]
	for k := range row.free {
		of := &f.sums[k]
		of.waste, of.free = of.waste.Minus(wide.Of(row.waste[k])), of.free-row.free[k]
	}
	row.stale, row.waste, row.free = false, row.waste[:0], row.free[:0]
	if !s.NodeLive(n) {
		return
	}
	f.mix.Left(s, n, &f.left)
	if !f.left.Some() {
		return // as on most nodes of many clusters: nobody asks which tasks these admit
	}
	f.admits = f.mix.Admits(s, n, f.admits[:0])
	for k, waste := range f.mix.Waste(f.admits, &f.left) {
		free := int64(0)
		for _, q := range f.left.Devices[k] {
			free += q
		}
		row.waste, row.free = append(row.waste, waste), append(row.free, free)
		of := &f.sums[k]
		of.waste, of.free = of.waste.Plus(wide.Of(waste)), of.free+free
	}
}
