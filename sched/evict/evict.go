// Package evict chooses who has to leave a node so that a task finds room there: one
// search for all policies that preempt.
//
// Occupants keep, node by node, who may be evicted, or has a place kept there that it would lose, and in which order they go. A Search
// begins with what a shape lacks on a node once those have left who are leaving
// (deficit.go), and with who is in its way there by constraints (intheway.go), and chooses among candidates those whose
// leaving makes up for both. The
// Objective says which of the sets that do is the best. Replace makes a bundle of the
// victims and the placement that they make room for.
//
// Those go last whose eviction violates a budget (budgets.go).
//
// Whether a run may be evicted at all is a question of the state (View.Evictable and
// View.Releases); who may evict whom, and what it costs, is the policy's, and so is on
// which node it costs least.
package evict

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// Objective says which of the sets of candidates that make enough room is the best. In
// either case nobody leaves whom the others make superfluous.
type Objective uint8

const (
	// LeastWorst goes by the order of the candidates alone: of two sets the better is the one
	// that does not contain the last of those in which they differ. So the last victim comes
	// as early in the order as can be, then the last but one, and so on. The search is
	// greedy: it takes candidates from the first on until there is room, and lets
	// those stay who turn out superfluous, from the last on.
	LeastWorst Objective = iota
	// LeastSum goes by the sum of prices, then by the number of victims. The best set is found
	// among few candidates, eight at least; among many one that is as cheap as
	// the greedy set, or cheaper (leastsum.go).
	LeastSum
)

// Candidate is somebody who could be evicted.
type Candidate struct {
	Task        cluster.TaskID
	Class       cluster.ClassID
	violates    bool // a budget, where that was asked
	Shape       cluster.ShapeID
	Seq         cluster.Seq
	Rank, Price int64 // as the policy says; lower ones go first
	demand      cluster.Vector
}

// candidateOf is the candidate of a task, but for what the policy says of it. It is valid
// until the task changes.
func candidateOf(s *cluster.View, t cluster.TaskID) Candidate {
	task := s.Task(t)
	return Candidate{Task: t, Class: task.Class, Shape: task.Shape, Seq: task.Seq, demand: s.Demand(t)}
}

// Search chooses victims on one node for one shape at a time. The zero value is ready.
type Search struct {
	// Victims are who was chosen last, the last to go first.
	Victims []Candidate
	// Sets is how many sets were looked at last for LeastSum.
	Sets int64
	// Violations is how many of the victims violate a budget that guards them.
	Violations int
	// Anyhow says that budgets count for nothing.
	Anyhow bool
	// Copies is for how many of the shape there is to be room at once; 0 is one. Of a shape with devices, or for which somebody is in the way by a constraint, it is one alone.
	Copies int64
	// Proven says that the search for LeastSum ended before its bound: no set is cheaper, nor is one as cheap smaller.
	Proven bool

	deficit
	inTheWay
	guarded
	nobody bool        // is to be evicted for the shape
	list   []Candidate // scratch
	gone   cluster.Vector
	sum    leastSum
}

// Begin begins a search, with nobody chosen, and reports whether the shape may go on the node
// at all, constraints aside.
func (x *Search) Begin(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) bool {
	x.Victims, x.Sets, x.Violations, x.Proven = x.Victims[:0], 0, 0, false
	x.shape, x.node = id, n
	if !s.NodeLive(n) || !s.Eligible(s.Shape(id).Eligible, n) {
		return false
	}
	x.deficit.begin(s, id, n, max(x.Copies, 1))
	x.obstacles, x.hopeless, x.companies = x.obstacles[:0], false, x.companies[:0]
	if s.ConstraintRows() > 0 {
		x.inTheWay.begin(s, id, n)
	}
	x.nobody = cluster.EvictsNobody(s, id)
	return true
}

// Choose fills in the victims after Begin, and what they cost: the price of the last to go,
// or the sum of prices. It is false where the shape would not fit even if all candidates
// left, where a constraint that binds who comes keeps it off all the same, and where nobody is to be evicted for it
// (cluster.EvictsNobody). Where it fits without that, there are no victims.
func (x *Search) Choose(best Objective, candidates []Candidate) (price int64, ok bool) {
	switch {
	case x.Met():
		x.Proven = true
		return 0, true
	case x.nobody || x.hopeless:
		return 0, false
	}
	if price, ok = x.chooseWithin(best, candidates); !ok || !x.deserts(x.Victims) {
		return price, ok
	}
	x.again()
	if price, ok = x.chooseWithin(best, x.others(candidates)); !ok {
		price, ok = x.chooseBeside(best, candidates)
	}
	x.Proven = false
	return price, ok
}

// mostBeside is how many candidates are tried as the company that stays.
const mostBeside = 16

// chooseBeside is Choose where there is too little room if the company that the shape needs is the last of the candidates: then it is another one alone, as late in their
// order as can be.
func (x *Search) chooseBeside(best Objective, candidates []Candidate) (price int64, ok bool) {
	tries, sets := 0, x.Sets
	for i := len(candidates) - 1; i >= 0 && tries < mostBeside; i-- {
		if !x.isCompany(&candidates[i]) {
			continue
		}
		tries++
		x.again()
		price, ok = x.chooseWithin(best, slices.Delete(slices.Clone(candidates), i, i+1))
		sets += x.Sets
		if x.Sets = sets; ok && !x.deserts(x.Victims) {
			return price, true
		}
	}
	x.Victims, x.Violations = x.Victims[:0], 0
	return 0, false
}

// again begins the search anew, for other candidates.
func (x *Search) again() { x.Begin(x.s, x.shape, x.node) }

// chooseWithin is Choose where somebody has to leave, budgets included.
func (x *Search) chooseWithin(best Objective, candidates []Candidate) (price int64, ok bool) {
	if !x.Anyhow && guardsAny(x.s, candidates) {
		price, ok = x.chooseGuarded(best, candidates)
		x.Proven = false
		return price, ok
	}
	return x.choose(best, candidates)
}

// choose is Choose where somebody has to leave, and no budget guards anybody.
func (x *Search) choose(best Objective, candidates []Candidate) (price int64, ok bool) {
	switch {
	case len(x.obstacles) > 0:
		return x.clear(best, candidates)
	case best == LeastSum:
		return x.leastSum(candidates)
	}
	return x.leastWorst(candidates)
}

// Met reports whether nothing is lacking, and nobody in the way who stays.
func (x *Search) Met() bool { return !x.hopeless && len(x.obstacles) == 0 && x.deficit.Met() }

// Obstructed reports whether somebody is in the way by a constraint, or a constraint keeps the shape off whoever leaves.
func (x *Search) Obstructed() bool { return x.hopeless || len(x.obstacles) > 0 }

// HasRoom reports whether nothing is lacking, whoever is in the way.
func (x *Search) HasRoom() bool { return x.deficit.Met() }

// leastWorst chooses by LeastWorst.
func (x *Search) leastWorst(list []Candidate) (price int64, ok bool) {
	taken, ok := x.take(list)
	if !ok {
		return 0, false
	}
	x.Victims = append(x.Victims, list[taken-1]) // without whom there was no room
	for i := taken - 2; i >= 0; i-- {
		if x.leave(&list[i], -1); !x.deficit.Met() {
			x.leave(&list[i], 1)
			x.Victims = append(x.Victims, list[i])
		}
	}
	return list[taken-1].Price, true
}

// Releasable leaves out candidates beside whom somebody must stand who stays. What it
// returns is valid until the next call.
func (x *Search) Releasable(s *cluster.View, candidates []Candidate) []Candidate {
	if s.ConstraintRows() == 0 {
		return candidates
	}
	held := func(c Candidate) bool { return s.Constrained(c.Shape) && s.Releases(c.Task).Refused() }
	if !slices.ContainsFunc(candidates, held) {
		return candidates
	}
	x.list = slices.DeleteFunc(append(x.list[:0], candidates...), held)
	return x.list
}

// Gone is what will have left the node of the last search once the victims have, and those
// who are leaving it already. It is valid until the next call.
func (x *Search) Gone(s *cluster.View, n cluster.NodeID) cluster.Vector {
	x.gone = append(x.gone[:0], s.LeavingDemand(n)...)
	for i := range x.Victims {
		for k, q := range x.Victims[i].demand {
			x.gone[k] += q
		}
	}
	return x.gone
}
