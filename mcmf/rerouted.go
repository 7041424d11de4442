package mcmf

import "slices"

// This file says whose units may go another way than before, so that who turns flow
// into actions need not look at all that stayed: of 150,000 running tasks a round
// moves a few.
//
// A leaf goes another way only when it is given a seat, and the incremental solver
// notes whom it gives one. Of nodes that give more than a unit, or are no leaves for
// another reason, it does not know; they are few in a scheduling network, and are
// always named.

// followed is what a contracted network knows of units that went another way.
type followed struct {
	on     bool   // somebody has asked, and nothing was made anew since
	seated []Node // leaves that were given a seat
	givers []Node // nodes that give units and are no leaves; some may be so no more
}

// Rerouted lists the nodes whose own supply may leave them by another arc than when
// Rerouted was last asked, each once and in order: at most the leaves that were moved,
// and all nodes that give units and are no leaves. All says that it may be any: the
// first time, and after a solve from nothing.
//
// It is meant for the caller who takes note of the flow after each solve. One that
// asks only now and then is told of all that happened in between.
func (s *Solver) Rerouted() (nodes []Node, all bool) {
	c := s.warm
	if c == nil {
		return nil, true
	}
	f := &c.followed
	if !f.on || len(f.seated) > len(c.leaves) {
		f.on, f.seated, f.givers = true, f.seated[:0], f.givers[:0]
		for u, v := range c.name {
			if v != None && c.supply[u] > 0 {
				f.givers = append(f.givers, v)
			}
		}
		return nil, true
	}
	f.givers = slices.DeleteFunc(f.givers, func(v Node) bool {
		role := c.role[v]
		return role < 0 || c.supply[role] <= 0
	})
	slices.Sort(f.givers)
	f.givers = slices.Compact(f.givers)
	nodes = append(slices.Clone(f.givers), f.seated...)
	f.seated = f.seated[:0]
	nodes = slices.DeleteFunc(nodes, func(v Node) bool { return !s.graph.HasNode(v) })
	slices.Sort(nodes)
	return slices.Compact(nodes), false
}

// seat notes that a leaf was given a seat.
func (f *followed) seat(v Node) {
	if f.on {
		f.seated = append(f.seated, v)
	}
}

// give notes what a core node gives.
func (f *followed) give(v Node, supply int64) {
	if f.on && supply > 0 {
		f.givers = append(f.givers, v)
	}
}
