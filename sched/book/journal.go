package book

import (
	"iter"

	"fairlead.dev/fairlead/cluster"
)

// Journal is the nodes in the order in which they changed. Whoever derives something from nodes
// remembers the position up to which it has read, and catches up from there when it is used. The zero
// value is empty and ready to use.
type Journal struct {
	nodes  []cluster.NodeID
	start  uint64   // position of nodes[0]
	latest []uint64 // per node, the position after its last change
}

// Never is a position before all others: nothing was read.
const Never = 1<<64 - 1

// Note says that the node has changed.
func (j *Journal) Note(n cluster.NodeID) {
	j.latest = Grown(j.latest, n, 0)
	j.nodes = append(j.nodes, n)
	j.latest[n] = j.End()
}

// End is the position after the last change.
func (j *Journal) End() uint64 { return j.start + uint64(len(j.nodes)) }

// Latest is the position after the node's last change, and 0 before the first.
func (j *Journal) Latest(n cluster.NodeID) uint64 {
	if int(n) >= len(j.latest) {
		return 0
	}
	return j.latest[n]
}

// Len is how many changes it keeps.
func (j *Journal) Len() int { return len(j.nodes) }

// Reaches reports whether nothing has been cut from that position on.
func (j *Journal) Reaches(from uint64) bool { return from != Never && from >= j.start }

// Since yields the nodes that changed from that position on, each once, in the order of their last
// changes. Those that are noted meanwhile are among them.
func (j *Journal) Since(from uint64) iter.Seq[cluster.NodeID] {
	return func(yield func(cluster.NodeID) bool) {
		for at := max(from, j.start); at < j.End(); at++ {
			if n := j.nodes[at-j.start]; j.latest[n] == at+1 && !yield(n) {
				return
			}
		}
	}
}

// Cut forgets what is long past: the journal keeps some four changes a node. Who has not read them
// looks at all nodes.
func (j *Journal) Cut() {
	if keep := 4 * len(j.latest); len(j.nodes) > 2*keep {
		cut := len(j.nodes) - keep
		j.start += uint64(cut)
		j.nodes = append(j.nodes[:0], j.nodes[cut:]...)
	}
}
