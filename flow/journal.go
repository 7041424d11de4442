package flow

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/book"
)

// journal says which nodes changed, and in what order. Whatever is derived of nodes
// remembers the position up to which it has read, and reads on from there. A node that was
// noted has room for more units than before, or for fewer; it is what it was, unless it was
// repriced.
type journal struct {
	book.Journal
	priced []uint64 // per node, the position after its last change that its price may follow
}

// reprice notes that a node changed, so that its price may have.
func (j *journal) reprice(n cluster.NodeID) {
	j.Note(n)
	j.priced = book.Grown(j.priced, n, 0)
	j.priced[n] = j.End()
}

// repriced reports whether more than the room of a node has changed since a position.
func (j *journal) repriced(n cluster.NodeID, since uint64) bool {
	return int(n) < len(j.priced) && j.priced[n] > since
}
