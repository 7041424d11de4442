// Package dimacs reads and writes min-cost-flow problems, changes to them and
// their solutions as text, one fact a line.
//
// # Problems
//
// A .min file has these lines; what stands between two words are blanks or tabs,
// numbers are whole and fit int64:
//
//	c any comment
//	p min NODES ARCS                      first, once
//	n ID FLOW                             supply of a node, negative for a demand; else 0
//	a SRC DST LOW CAP COST                an arc
//
// Ids of nodes go from 1 to NODES. Lines n and a come in any order, at most one
// n a node, exactly ARCS times a. Arcs may be parallel, may be loops, may have
// any numbers: a problem that has no solution is still a problem. A file that
// begins like gzip is unpacked.
//
// # Changes
//
// A file of changes goes with a problem. It has batches, each but the last ended
// by a line "c EOI" (end of iteration; the last one may be, too):
//
//	c any comment
//	n ID SUPPLY                           adds a node, or sets its supply
//	r ID                                  removes a node, and all its arcs
//	a U V LOW CAP COST                    adds an arc
//	x U V LOW CAP COST                    changes the arc from U to V
//	x U V 0 0 COST                        removes it
//	c EOI
//
// Ids are any numbers from 1. That of a removed node may be used again, by a new
// node. Where several arcs go from U to V, x means the one that was added first
// among those still there; of those added in turn, none comes before its turn.
// So x with the capacity 0, again and again, removes all of them in their order.
// Two lines "c EOI" with nothing between them make an empty batch.
//
// # Solutions
//
//	s COST                                the least cost
//	f SRC DST FLOW                        flow on an arc, unless it is 0
package dimacs
