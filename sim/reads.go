package sim

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is where tasks' input lies, and what is read from where. A run reads
// each block of its task's input once, when it begins to work, from the nearest
// node that holds it and is there: its own, one of its rack, any other. Reading
// takes no time: what is counted is what a policy that knew where data lie could
// have saved. A node that is lost takes its replicas with it; it has its row for
// good, and they are there again if it comes back.

// rackFamily names the family of groups in which nodes are near each other.
const rackFamily = "rack"

// rackOf is the rack that the groups name; empty if they name none.
func rackOf(groups []cluster.Label) string {
	for _, g := range groups {
		if g.Key == rackFamily {
			return g.Value
		}
	}
	return ""
}

// input is a task's input as the core is told of it. A node of which nothing is
// known yet holds nothing.
func (b *nodes) input(blocks []trace.Block) []cluster.Block {
	if len(blocks) == 0 {
		return nil
	}
	input := make([]cluster.Block, len(blocks))
	for i := range blocks {
		input[i] = cluster.Block{Bytes: blocks[i].Bytes, Replicas: [trace.MostReplicas]cluster.NodeID{cluster.NoNode, cluster.NoNode, cluster.NoNode}}
		at := 0
		for _, id := range blocks[i].Replicas {
			if row, known := b.rows[id]; known {
				input[i].Replicas[at] = row
				at++
			}
		}
	}
	return input
}

// distance says how far away something is.
type distance uint8

const (
	local   distance = iota // on the node itself
	inRack                  // on another node of its rack
	remote                  // on any other node
	missing                 // on no node that is there
	distances
)

// nearest is how far from the node the nearest replica of the block is.
func (b *nodes) nearest(block *cluster.Block, from cluster.NodeID) distance {
	if slices.Contains(block.Replicas[:], from) {
		return local
	}
	near, rack := missing, b.list[from].rack
	for _, n := range block.Replicas {
		switch {
		case n == cluster.NoNode || !b.list[n].live:
		case rack != "" && b.list[n].rack == rack:
			return inRack
		default:
			near = remote
		}
	}
	return near
}

// reads are sums over what was read.
type reads struct {
	bystander
	nodes *nodes
	asked bool // some task has input
	runs  int
	bytes [distances]wide.Number
	share float64 // local of what could be read, summed over runs
	found int     // runs that could read something
}

func (r *reads) happened(h *happening) {
	switch {
	case h.what == submitted:
		r.asked = r.asked || len(h.input) > 0
	case h.what == fetches && len(h.input) > 0:
		r.fetch(h.input, h.task.node)
	}
}

// fetch counts what a run reads that begins to work now.
func (r *reads) fetch(input []cluster.Block, at cluster.NodeID) {
	r.runs++
	var bytes [distances]int64
	for i := range input {
		bytes[r.nodes.nearest(&input[i], at)] += input[i].Bytes
	}
	for d, n := range bytes {
		r.bytes[d] = r.bytes[d].Plus(wide.Of(n))
	}
	if all := bytes[local] + bytes[inRack] + bytes[remote]; all > 0 {
		r.share += float64(bytes[local]) / float64(all)
		r.found++
	}
}

// result is what was read in all, if any task has input.
func (r *reads) result(_ *span, run *report.Run) {
	if !r.asked {
		return
	}
	bytes := func(d distance) report.Number { return report.Number(r.bytes[d].Float()) }
	run.Reads = report.NewReads(report.Reads{Runs: r.runs, Local: bytes(local), Rack: bytes(inRack), Remote: bytes(remote), Missing: bytes(missing), RunLocality: report.Ratio(r.share, float64(r.found))}, run.Simulated)
}
