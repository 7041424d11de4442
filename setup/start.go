package setup

import (
	"errors"
	"io"

	"fairlead.dev/fairlead/sim/trace"
)

// This file reads what there is at the start of a source before all else.

// headed is a source of which the start was read ahead.
type headed struct {
	trace.Source
	first []trace.Record // at time 0, nodes before all else
	all   bool           // there are no more of them
	mixed bool           // a node came behind something else
	next  trace.Record   // the one after them
	err   error          // of reading that
	at    int            // how many were given out, next included
}

// mostAhead is how many tasks and constraints are read ahead: more than most traces have
// at time 0, and few beside what a simulation keeps of as many tasks.
const mostAhead = 1 << 18

// atStart reads what there is at the start, up to so many tasks and constraints. The
// nodes are to come first, and are given out so where the source mixes them: the size of
// a task does not depend on which of them stand before it.
func atStart(src trace.Source, most int) (*headed, error) {
	h := &headed{Source: src}
	var others []trace.Record
	for {
		if h.err = src.Next(&h.next); h.err != nil && !errors.Is(h.err, io.EOF) {
			return nil, h.err
		}
		h.all = h.err != nil || h.next.Time > 0
		switch node := h.next.What.OfNode(); {
		case h.all || !node && len(others) == most:
			h.first = append(h.first, others...)
			return h, nil
		case node:
			h.mixed = h.mixed || len(others) > 0
			h.first = append(h.first, h.next.Clone())
		default:
			others = append(others, h.next.Clone())
		}
	}
}

// standing are the nodes that are there once all of the start has happened, by their ids.
func (h *headed) standing() map[uint64]trace.Node {
	there := map[uint64]trace.Node{}
	for i := range h.first {
		settle(there, &h.first[i])
	}
	return there
}

// settle brings the nodes that are there up to date with a record.
func settle(there map[uint64]trace.Node, r *trace.Record) {
	switch r.What {
	case trace.NodeAdded, trace.NodeChanged:
		there[r.Node.ID] = r.Node
	case trace.NodeLost:
		delete(there, r.Node.ID)
	default: // no node comes or goes
	}
}

// NodesAtStart are the nodes that are there once all of the start has happened, however
// many tasks stand between them. It reads on to where the start is over.
func NodesAtStart(src trace.Source) (map[uint64]trace.Node, error) {
	there := map[uint64]trace.Node{}
	var r trace.Record
	for {
		switch err := src.Next(&r); {
		case errors.Is(err, io.EOF):
			return there, nil
		case err != nil:
			return nil, err
		case r.Time > 0:
			return there, nil
		case r.What.OfNode():
			own := r.Clone()
			settle(there, &own)
		}
	}
}

// Next fills in the next record.
func (h *headed) Next(r *trace.Record) error {
	h.at++
	switch i := h.at - 1; {
	case i < len(h.first):
		*r = h.first[i]
		return nil
	case i == len(h.first):
		h.first = nil // which may be large
		*r = h.next
		return h.err
	}
	return h.Source.Next(r)
}
