package flow

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/mcmf"
)

// routing solves the network, and answers for the flow that it found.
type routing struct {
	net       *network
	solver    Solver
	algorithm mcmf.Algorithm
	effort    *effort
	cut       bool // the last solve spent its budget
	solves    int  // of the turn
	first     Cost // of the turn's first solve
	fresh     bool // and whether that knew all there was
}

// solve finds the cheapest flow, over all arcs there could be.
func (r *routing) solve(s *cluster.View, budget int64) mcmf.Status {
	w := r.net
	w.columns.fill(s, w.turn.asking)
	w.slots.update(s)
	for {
		if w.stopped() {
			return mcmf.Cancelled
		}
		o := mcmf.Options{Algorithm: r.algorithm, Budget: r.effort.left(budget), Stop: w.stop}
		if r.cut && budget > 0 && o.Algorithm != mcmf.Automatic {
			o.Algorithm = mcmf.Incremental // from nothing it would be cut again and again
		}
		result := r.solver.Solve(o)
		r.effort.arcs += result.Ticks
		r.cut = result.Status == mcmf.Exhausted
		if result.Status != mcmf.Optimal {
			if result.Status != mcmf.Exhausted && result.Status != mcmf.Cancelled {
				w.answers.refuse("the network cannot be solved: %v", result.Status)
			}
			return result.Status
		}
		if !w.columns.widen(s, w.turn.asking, r.solver.Price) {
			if r.solves == 0 {
				r.first, r.fresh = result.Cost, w.fresh()
			}
			r.solves++
			return result.Status
		}
		w.slots.update(s)
	}
}

// unit is what a unit along an arc costs when so many are before it.
func (r *routing) unit(a mcmf.Arc, before int64) Cost {
	cost := r.net.graph.Arc(a).Cost
	for _, step := range r.net.graph.Curve(a) {
		cost = step.Cost
		if before < step.Capacity {
			break
		}
		before -= step.Capacity
	}
	return cost
}

// residual is what a unit more along an arc costs, or what one less does, and false
// if there cannot be one.
func (r *routing) residual(a mcmf.Arc, more bool) (Cost, bool) {
	flow := r.solver.Flow(a)
	if more {
		return r.unit(a, flow), flow < r.net.graph.Arc(a).Capacity
	}
	return -r.unit(a, flow-1), flow > 0
}

// rerouter is a solver that knows who may have been rerouted since it was last asked;
// see mcmf.Solver.Rerouted.
type rerouter interface {
	Rerouted() (nodes []mcmf.Node, all bool)
}

// rerouted appends the task groups of running tasks to a list whose units may have
// left by another arc than before.
func (r *routing) rerouted(list []int32) []int32 {
	w := r.net
	if solver, ok := r.solver.(rerouter); ok {
		if nodes, all := solver.Rerouted(); !all {
			for _, v := range nodes {
				if row := w.graph.owner[v]; row >= 0 && len(w.group(row).stays) > 0 {
					list = append(list, row)
				}
			}
			return list
		}
	}
	for row := range w.supply.groups {
		if c := w.group(int32(row)); c.live && len(c.stays) > 0 {
			list = append(list, int32(row))
		}
	}
	return list
}
