package cluster

import "fmt"

// This file bounds rows. A table is as long as its largest row, so that a wild row would be
// a huge table: of an event that a world got wrong, or of a recording that somebody made up.
// Worlds number densely, in whatever order, and start anew with fewer than there once were.
// So a row may lie beyond those that were made, but not by far.

const (
	// maxRow is beyond all rows.
	maxRow = 1 << 28
	// spareRows is how many rows beyond those that were made may be named.
	spareRows = 1 << 18
	// spareNodes is the same of nodes, and spareQuantities of all kinds of them together,
	// as a node has a quantity of each kind in each of several tables.
	spareNodes, spareQuantities = 1 << 17, 1 << 22
)

// RowsOf is how many rows a table may have after so many of them were made in a cluster
// of so many kinds: an event that makes a row from there on is refused.
func RowsOf(t Table, kinds, made int) int {
	spare := spareRows
	if t == Nodes {
		spare = min(spareNodes, spareQuantities/max(kinds, 1))
	}
	return min(spare+2*made, maxRow)
}

// checkRow refuses a row that is wild.
func (s *State) checkRow(t Table, name string, row uint32) error {
	made := s.log.made[t]
	if rows := RowsOf(t, len(s.kinds), made); int64(row) >= int64(rows) {
		return fmt.Errorf("%s row %d is too large: %d such rows were made so far, want a row below %d", name, row, made, rows)
	}
	return nil
}
